"""The embedded collection, written once for all pages and notebooks, and the runner of their blocks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = "surefoot demo -o demo"

ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "MPLBACKEND": "agg",
    "COLUMNS": "100",
}
"""With the `surefoot` of this environment on the path."""

ENDED = "-- the block has ended --"
LOOP = f"""
import json, sys
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    exec(compile(json.loads(line), "block", "exec"), names)
    print("{ENDED}", flush=True)
"""


def run(command: list[str], folder: Path) -> str:
    """Run a command of a page and return its standard output."""
    found = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert found.returncode == 0, f"{command[-1]}\n{found.stdout[-2000:]}\n{found.stderr[-2000:]}"
    return found.stdout


class Python:
    """A process that runs the Python blocks of a page one after another, as a reader would."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", LOOP], cwd=folder, env=ENVIRONMENT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def __enter__(self) -> "Python":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(self, block: str) -> str:
        """Run a block and return its output."""
        self._process.stdin.write(json.dumps(block) + "\n")
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            if line.rstrip() == ENDED:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"{block}\n{''.join(lines[-40:])}")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the first command of many pages writes."""
    folder = tmp_path_factory.mktemp("docs")
    run(["sh", "-c", DEMO], folder)
    return folder / "demo"
