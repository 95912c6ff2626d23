"""The hosts of the gate: pytest with the plugin, and the step of the GitHub Action."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder, with the plugin."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not any(point.value == "surefoot.integrations.pytest_plugin" for point in entry_points(group="pytest11")):
        command += ["-p", "surefoot.integrations.pytest_plugin"]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


class Step(NamedTuple):
    """What a step of the Action leaves behind."""

    code: int
    output: str
    summary: str
    json: str


def run_action(folder: Path, arguments: str) -> Step:
    """Run the step of the Action that gates, in a folder."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    assert re.findall(r"\$\{\{ (.*?) \}\}", str(step)) == ["inputs.arguments"]
    host = folder / "host"
    host.mkdir(exist_ok=True)
    for name, module in (("surefoot", "-m surefoot"), ("python", "")):
        (host / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (host / name).chmod(0o755)
    files = {"GITHUB_STEP_SUMMARY": host / "summary.md", "GITHUB_OUTPUT": host / "out"}
    for file in files.values():
        file.write_text("")
    own = environment(
        PATH=f"{host}:{os.environ['PATH']}",
        RUNNER_TEMP=str(host),
        ARGUMENTS=arguments,
        **{name: str(path) for name, path in files.items()},
    )
    found = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=own, check=False)
    texts = [file.read_text() for file in (*files.values(), host / "surefoot-gate.json")]
    return Step(found.returncode, texts[1], texts[0], texts[2])
