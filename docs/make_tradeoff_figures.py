"""The trade-off page's example: `SUREFOOT_DATA=... .venv/bin/python docs/make_tradeoff_figures.py FOLDER`."""

import os
import shlex
import sys
from pathlib import Path

from make_figures import FIGURES, shrink

from surefoot.cli import main

MQ2008 = Path(os.environ["SUREFOOT_DATA"]) / "mq2008"
SETS = {"train": (1, 2, 3), "valid": (4,), "test": (5,)}
TREES = "--trees 200 --leaves 10 --rate 0.05 --docs-per-leaf 20"

TRAINED = {
    "ucro": f"--objective ucro --select mean:25 {TREES}",
    "saro": f"--objective saro --select mean:25 {TREES}",
    "search": f"--search 30 {TREES} --early-stopping 30",
}
DRAWN = {
    "tradeoff": "tradeoff {0}/ucro",
    "tradeoff-two": "tradeoff {0}/ucro {0}/saro",
    "tradeoff-convergence": "convergence {0}/ucro",
    "tradeoff-churn": "churn {0}/ucro",
    "tradeoff-changes": "changes {0}/ucro",
    "tradeoff-reward": "reward-by-churn {0}/ucro",
    "tradeoff-best": "best-alpha {0}/ucro",
    "tradeoff-front": "front {0}/search",
}


def run(words: list[str]) -> None:
    if main(words) != 0:
        sys.exit(f"failed: surefoot {shlex.join(words)}")


if __name__ == "__main__":
    folder = sys.argv[1]
    sets = [
        word for name, parts in SETS.items() for word in (f"--{name}", *(str(MQ2008 / f"S{n}.txt.gz") for n in parts))
    ]
    for name, options in TRAINED.items():
        run(["tradeoff", *sets, "--baseline", "feature:25", *shlex.split(options), "-o", f"{folder}/{name}"])
    for name, words in DRAWN.items():
        path = FIGURES / f"{name}.png"
        run(["figure", *shlex.split(words.format(folder)), "-o", str(path), "--force"])
        shrink(path)
