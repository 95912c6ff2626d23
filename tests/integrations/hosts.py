"""The hosts of the gate: pytest with the plugin, and the GitHub Action, run by the rules of its runner."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

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


class Job(NamedTuple):
    """What the Action leaves behind: its exit code and outputs, the page of the run, and what pip installed."""

    code: int
    outputs: dict[str, str]
    summary: str
    json: str
    installed: list[str]


RUNNERS = {"bash": ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"], "python": ["python"]}
"""How the runner starts the script of a step."""


def run_action(folder: Path, arguments: str, **inputs: str) -> Job:
    """Run all steps of the Action in a folder, as the runner does: expressions, environment, files, outputs.

    Two things are not GitHub's: ``actions/setup-python`` is the Python of the tests, and pip only writes down what it
    should install.
    """
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    host = folder.parent / f"host of {folder.name}"
    host.mkdir(exist_ok=True)
    installed = host / "installed.txt"
    pip = f'if [ "$1 $2" = "-m pip" ]; then printf "%s\\n" "$5" >> "{installed}"; exit 0; fi\n'
    for name, module, before in (("surefoot", "-m surefoot", ""), ("python", "", pip)):
        (host / name).write_text(f'#!/bin/sh\n{before}exec {sys.executable} {module} "$@"\n')
        (host / name).chmod(0o755)
    files = {name: host / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH")}
    known = {"github": {"token": "x"}, "steps": {}}  # when defaults are evaluated, github has no action_path
    given = {"arguments": arguments, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    known["inputs"] = {
        name: given.get(name, _evaluated(one.get("default", ""), known)) for name, one in action["inputs"].items()
    }
    assert not [name for name, one in action["inputs"].items() if one.get("required") and name not in given]
    own = environment(
        PATH=f"{host}:{os.environ['PATH']}", RUNNER_TEMP=str(host), GITHUB_ACTION_PATH=str(ROOT),
        GITHUB_WORKSPACE=str(folder), **{name: str(path) for name, path in files.items()},
    )  # fmt: skip
    code = 0
    for path in (*files.values(), installed):
        path.write_text("")
    for step in action["runs"]["steps"]:
        if "uses" in step:
            assert _evaluated(step["with"]["python-version"], known)
            continue
        script = host / "script"
        script.write_text(_evaluated(step["run"], known))
        files["GITHUB_OUTPUT"].write_text("")
        more = {name: _evaluated(value, known) for name, value in step.get("env", {}).items()}
        where = folder / _evaluated(step.get("working-directory", "."), known)
        found = subprocess.run([*RUNNERS[step["shell"]], str(script)], cwd=where, env={**own, **more}, check=False)
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        known["steps"][step.get("id", "")] = {"outputs": outputs}
        if code := found.returncode:
            break
    outputs = {name: _evaluated(one["value"], known) for name, one in action["outputs"].items()}
    result = host / "surefoot-gate.json"
    return Job(
        code, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), result.read_text() if result.exists() else "",
        installed.read_text().splitlines(),
    )  # fmt: skip


def _evaluated(text: str, known: dict[str, Any]) -> str:
    """A text with its expressions replaced by what they name; what is not there is empty."""

    def value(found: re.Match[str]) -> str:
        place: Any = known
        for name in found[1].split("."):
            place = place.get(name, "") if isinstance(place, dict) else ""
        return str(place)

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)
