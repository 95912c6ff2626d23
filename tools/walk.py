"""Count the files that a command walks through: those of the packages whose functions are entered.

``python -m tools.walk evaluate demo/runs/*.run --qrels demo/qrels.txt`` runs the command and then prints the files with
the number of functions entered in each. Imports do not count: the bodies of modules and classes are left out. Without a
command it walks the usual ones on the embedded collection, in a temporary folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

SOURCES = [Path(__file__).parents[1] / "src", Path(__file__).parents[1] / "lab" / "src"]
RUNS = "demo/runs/BM25.run demo/runs/fusion.run --qrels demo/qrels.txt --baseline BM25"
LETOR = "--train train.txt --baseline feature:1 --n-estimators 5 --num-leaves 4 --min-child-samples 5"
WALKS = {
    "evaluate": f"evaluate {RUNS}",
    "gate": f"gate {RUNS} --candidate fusion",
    "report": f"report {RUNS} --candidate fusion -o report.html",
    "train": f"train {LETOR} -o model",
    "train --safe": f"train {LETOR} --safe --n-bags 2 -o safe",
    "predict": "predict model train.txt -o out.run",
    "experiment": "experiment sigir2014 --data train.txt --baseline feature:1 --trees 3 --workers 1 -o results",
}


def walk(words: list[str]) -> dict[str, set[str]]:
    """The functions entered by a command, by file."""
    from surefoot.cli import main

    seen: set[CodeType] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        main(words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found = defaultdict(set)
    for code in seen:
        is_function = bool(code.co_flags & 2)  # CO_NEWLOCALS: not the body of a module or a class
        if is_function and code.co_name != "<module>" and any(s in Path(code.co_filename).parents for s in SOURCES):
            found[code.co_filename].add(code.co_qualname)
    return found


def prepare() -> None:
    """The embedded collection, and small ranking data."""
    from surefoot.cli import main

    main(["demo", "-o", "demo"])
    import random

    rng = random.Random(0)
    lines = [
        f"{rng.randint(0, 2)} qid:{query} " + " ".join(f"{f}:{rng.random():.3f}" for f in range(1, 6))
        for query in range(60)
        for _ in range(8)
    ]
    Path("train.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        files = walk(sys.argv[1:])
        for path, names in sorted(files.items()):
            print(f"{len(names):4}  {path}")
        print(f"{len(files)} files, {sum(map(len, files.values()))} functions")
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with contextlib.redirect_stdout(io.StringIO()):
                prepare()
            for name, words in WALKS.items():
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    files = walk(words.split())
                print(f"{name:14}{len(files):4} files {sum(map(len, files.values())):5} functions")
