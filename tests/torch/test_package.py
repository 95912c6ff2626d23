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
