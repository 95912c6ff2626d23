"""Draws the manual's figures from TREC 2012: `SUREFOOT_DATA=... .venv/bin/python docs/make_figures.py [NAME...]`."""

import os
import shlex
import sys
from importlib.resources import files
from pathlib import Path

from PIL import Image
from surefoot_lab.plots.presets import PRESETS

from surefoot.cli import main

FIGURES = Path(__file__).resolve().parent / "figures"
NINE = "uogTrA44xi,srchvrs12c09,DFalah121A,QUTparaBline,utw2012fc1,ICTNET12ADR2,indriCASP,irra12c,qutwb"
PAIR = "--system uogTrA44xi --baseline indriCASP"

EXAMPLE = "shape"
"""Of SIGIR 2016's own example, not of TREC 2012."""

COMMANDS = {
    "shape": EXAMPLE,
    "shape-trec": f"shape --systems {NINE} --label uogTrA44xi,indriCASP,qutwb --order mean",
    "profile": "profile",
    "alpha-trisk": f"alpha --of trisk --baseline indriCASP --systems {NINE} --label uogTrA44xi,qutwb,irra12c",
    "alpha-urisk": "alpha --of urisk --baseline indriCASP",
    "alpha-georisk": f"alpha --of georisk --alpha 0,20 --systems {NINE} --label {NINE}",
    "alpha-georisk-nine": f"alpha --of georisk --alpha 0,20 --population {NINE} --label {NINE}",
    "topics": f"topics {PAIR} --alpha 0,1,5",
    "topics-two": "topics --system uogTrA44xi,qutwb --baseline indriCASP --alpha 0,1,5",
    "pca": f"pca --systems {NINE}",
    "pca-virtual": f"pca --systems {NINE} --include",
    "pca-all": "pca",
    "correlation": "correlation --baseline indriCASP --alpha 5",
    "paired": f"paired {PAIR}",
    "sorted": "sorted --systems uogTrA44xi,qutwb,irra12c --baseline indriCASP --alpha 5",
    "sorted-mutual": "sorted --systems uogTrA44xi --baseline qutwb --alpha 5 --mutual",
    "sorted-alphas": "sorted --systems uogTrA44xi --baseline qutwb --alpha 0,1,5,10",
    "differences": "differences --baseline indriCASP",
    "values": "values --baseline indriCASP",
    "values-5": "values --baseline indriCASP --alpha 5",
    "qq": "qq --system ICTNET12ADR3 --baseline indriCASP",
    "rbo": "rbo --baseline indriCASP --of urisk,zrisk,geominus_published",
    "helped": f"helped {PAIR}",
    "cross": f"cross --alpha 10 --systems {NINE}",
    "cross-all": "cross --alpha 10",
    "plane": "plane --baseline indriCASP",
    "forest": "forest --of trisk --baseline indriCASP --alpha 5",
}


def draw(name: str) -> None:
    path = FIGURES / f"{name}.png"
    if COMMANDS[name] == EXAMPLE:
        table, measure = files("surefoot_lab.reproduce") / "published/sigir2016-table3-example-matrix.csv", "score"
    else:
        table, measure = Path(os.environ["SUREFOOT_DATA"]) / "trec-web-2012/err20.csv", "ERR@20"
    inputs = ["--scores", str(table), "--measure", measure]
    save(path, *shlex.split(COMMANDS[name]), *inputs)


def save(path: Path, *words: str) -> None:
    name = path.stem
    if main(["figure", *words, "-o", str(path), "--force"]) != 0:
        sys.exit(f"{name} was not drawn")
    shrink(path)


def shrink(path: Path) -> None:
    """Two thirds of the size and 64 colours: enough for a screen, and a quarter of the bytes."""
    image = Image.open(path).convert("RGB")
    smaller = image.resize((image.width * 2 // 3, image.height * 2 // 3), Image.Resampling.LANCZOS)
    smaller.quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or [*COMMANDS, *PRESETS]:
        if name in PRESETS:
            save(FIGURES / f"{name}.png", "paper", name)
        else:
            draw(name)
