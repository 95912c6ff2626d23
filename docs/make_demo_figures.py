"""Draws the guides' figures from the embedded collection: `.venv/bin/python docs/make_demo_figures.py`."""

import contextlib
import shlex
import sys
import tempfile
from pathlib import Path

from make_figures import FIGURES, shrink

from surefoot.cli import main

RUNS = "--baseline demo/runs/BM25.run --candidate demo/runs/chargrams.run"
LETOR = " ".join(f"--{part} demo/letor/{part}.txt.gz" for part in ("train", "valid", "test"))
SCORES = "--scores scores.csv --measure nDCG@10"
PREPARED = (
    "demo -o demo",
    "scores demo/runs/{} --qrels demo/qrels.txt -o scores.csv",
    f"tradeoff {LETOR} --baseline feature:1 --alpha 0,1,5 --n-estimators 50 -o sweep",
)
DRAWN = {
    "helped": f"figure helped {SCORES} --system chargrams --baseline BM25 -o helped.png",
    "plane": f"figure plane {SCORES} --baseline BM25 -o plane.png",
    "tradeoff": "figure tradeoff sweep -o tradeoff.png",
    "guard": f"guard fit {RUNS} --qrels demo/qrels.txt --measure nDCG@10 --plot guard.png -o guard.json",
}


def run(command: str) -> None:
    words = shlex.split(command)
    if "demo/runs/{}" in words:
        words[1:2] = map(str, sorted(Path("demo/runs").iterdir()))
    if main(words) != 0:
        sys.exit(f"failed: surefoot {command}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for command in (*PREPARED, *DRAWN.values()):
            run(command)
        for name in DRAWN:
            path = FIGURES / f"demo-{name}.png"
            Path(f"{name}.png").rename(path)
            shrink(path)
