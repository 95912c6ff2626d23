"""The pytest plugin, the GitHub Action and the pre-commit hook, run as their hosts run them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.hosts import ROOT, environment, run_action, run_pytest

TABLE = "topic,old,new\n" + "".join(f"q{i},0.{5 + i % 3},0.{{}}\n" for i in range(400))
BAD, GOOD = TABLE.replace("{}", "1"), TABLE.replace("{}", "8")


@pytest.mark.parametrize(("table", "passes"), [(BAD, False), (GOOD, True)])
def test_the_pytest_plugin(tmp_path: Path, table: str, passes: bool) -> None:
    (tmp_path / "scores.csv").write_text(table)
    (tmp_path / "test_search.py").write_text(
        "def test_search(surefoot):\n    surefoot.gate('scores.csv', baseline='old', candidate='new')\n"
    )
    found = run_pytest(tmp_path)
    assert found.returncode == (0 if passes else 1), found.stdout
    assert ("1 passed" if passes else "1 failed") in found.stdout
    if not passes:
        assert "queries lost" in found.stdout
        assert "Traceback" not in found.stdout


@pytest.mark.parametrize(("table", "code", "verdict"), [(BAD, 1, "fail"), (GOOD, 0, "pass")])
def test_the_step_of_the_action(tmp_path: Path, table: str, code: int, verdict: str) -> None:
    (tmp_path / "scores.csv").write_text(table)
    found = run_action(tmp_path, "--scores scores.csv --candidate new --baseline old")
    assert found.code == code
    assert found.output == f"verdict={verdict}\n"
    assert "new" in found.summary


def test_the_hook_of_pre_commit_names_a_command() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    module, command = hook["entry"].split()
    found = subprocess.run(
        [sys.executable, "-m", module, command, "--help"], env=environment(), capture_output=True, text=True, check=True
    )
    assert "--candidate" in found.stdout
