"""How long ``surefoot --help`` takes beside a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import medians, show


def main() -> None:
    def process(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    seconds = medians(
        {
            "surefoot --help": lambda: process("-m", "surefoot.cli", "--help"),
            "import surefoot": lambda: process("-c", "import surefoot"),
            "python -c pass": lambda: process("-c", "pass"),
        },
        rounds=11,
    )
    show("Startup", seconds, "python -c pass")
