"""The package without PyTorch: importable, and one line that says what to install."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules[{missing!r}] = None
import surefoot.torch
assert "RiskLoss" in dir(surefoot.torch)
try:
    surefoot.torch.{name}
except surefoot.errors.SurefootError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "name", "message"),
    [
        ("torch", "RiskLoss", "torch is not installed; pip install 'surefoot[torch]'"),
        ("torch", "RiskWeights", "torch is not installed; pip install 'surefoot[torch]'"),
    ],
)
def test_one_line_says_what_is_missing(missing: str, name: str, message: str) -> None:
    code = CODE.format(missing=missing, name=name)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == message


def test_import_star_leaves_out_what_is_not_installed() -> None:
    code = "import sys; sys.modules['sentence_transformers'] = None; from surefoot.torch import *; print(*dir())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if "torch is not installed" in found.stderr:
        pytest.skip("torch is not installed")
    assert found.returncode == 0, found.stderr
    assert "RiskLoss" in found.stdout.split()
    assert "RiskLambdaLoss" not in found.stdout.split()
