"""The pytest plugin, the GitHub Action and the pre-commit hook, run as their hosts run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = "topic,old,new\n" + "".join(f"q{i},0.{5 + i % 3},0.{{}}\n" for i in range(400))
BAD, GOOD = TABLE.replace("{}", "1"), TABLE.replace("{}", "8")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


@pytest.mark.parametrize(("table", "passes"), [(BAD, False), (GOOD, True)])
def test_the_pytest_plugin(tmp_path: Path, table: str, passes: bool) -> None:
    (tmp_path / "scores.csv").write_text(table)
    (tmp_path / "test_search.py").write_text(
        "def test_search(surefoot):\n    surefoot.gate('scores.csv', baseline='old', candidate='new')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not _is_installed():
        command += ["-p", "surefoot.integrations.pytest_plugin"]
    found = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert found.returncode == (0 if passes else 1), found.stdout
    assert ("1 passed" if passes else "1 failed") in found.stdout
    if not passes:
        assert "queries lost" in found.stdout
        assert "Traceback" not in found.stdout


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "surefoot.integrations.pytest_plugin" for point in entry_points(group="pytest11"))


@pytest.mark.parametrize(("table", "code", "verdict"), [(BAD, 1, "fail"), (GOOD, 0, "pass")])
def test_the_step_of_the_action(tmp_path: Path, table: str, code: int, verdict: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    assert re.findall(r"\$\{\{ (.*?) \}\}", str(step)) == ["inputs.arguments"]
    (tmp_path / "scores.csv").write_text(table)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "surefoot").write_text(f'#!/bin/sh\nexec {sys.executable} -m surefoot "$@"\n')
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    files = {"GITHUB_STEP_SUMMARY": tmp_path / "summary.md", "GITHUB_OUTPUT": tmp_path / "out"}
    own = environment(
        PATH=f"{tools}:{os.environ['PATH']}",
        RUNNER_TEMP=str(tmp_path),
        ARGUMENTS="--scores scores.csv --candidate new --baseline old",
        **{name: str(path) for name, path in files.items()},
    )
    found = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=own, check=False)
    assert found.returncode == code
    assert files["GITHUB_OUTPUT"].read_text() == f"verdict={verdict}\n"
    assert "new" in files["GITHUB_STEP_SUMMARY"].read_text()


def test_the_hook_of_pre_commit_names_a_command() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    module, command = hook["entry"].split()
    found = subprocess.run(
        [sys.executable, "-m", module, command, "--help"], env=environment(), capture_output=True, text=True, check=True
    )
    assert "--candidate" in found.stdout
