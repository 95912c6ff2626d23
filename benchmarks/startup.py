"""How long ``surefoot --help`` takes beside a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.timing import medians, show


def main() -> None:
    python, surefoot = sys.executable, str(Path(sys.executable).with_name("surefoot"))

    def process(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    seconds = medians(
        {
            "surefoot --help": lambda: process(surefoot, "--help"),
            "import surefoot": lambda: process(python, "-c", "import surefoot"),
            "python -c pass": lambda: process(python, "-c", "pass"),
        },
        rounds=11,
    )
    show("Startup", seconds, "python -c pass")
