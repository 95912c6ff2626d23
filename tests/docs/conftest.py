"""The embedded collection, written once for all pages and notebooks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = "surefoot demo -o demo"


def run(command: list[str], folder: Path) -> None:
    """Run a command of a page; the `surefoot` of this environment is on the path."""
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": scripts, "MPLBACKEND": "agg", "COLUMNS": "120"}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert found.returncode == 0, f"{command[-1]}\n{found.stdout[-2000:]}\n{found.stderr[-2000:]}"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the first command of many pages writes."""
    folder = tmp_path_factory.mktemp("docs")
    run(["sh", "-c", DEMO], folder)
    return folder / "demo"
