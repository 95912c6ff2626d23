"""Commands from the shell, as users and CI run them: processor seconds of whole processes, beside Python and its peers.

``SUREFOOT_BENCH_BEFORE`` may name the ``src`` folder of an earlier version, which then takes turns with this one.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import surefoot

ROUNDS = 3
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.10"})
for path in sys.argv[2:]:
    with open(path) as file:
        found = evaluator.evaluate(pytrec_eval.parse_run(file))
    print(path, sum(row["ndcg_cut_10"] for row in found.values()) / len(found))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs, qrels, letor = small_task(folder)
        commands = {
            "--help": ["--help"],
            "evaluate, two runs": ["evaluate", *runs, "--qrels", qrels, "--baseline", "old"],
            "gate, two runs": ["gate", *runs, "--qrels", qrels, "--baseline", "old", "--candidate", "new"],
            "train, 5 trees": ["train", "--train", letor, "--baseline", "feature:1", "--n-estimators", "5"],
        }
        versions = {"": str(Path(surefoot.__file__).parents[1])}
        if "SUREFOOT_BENCH_BEFORE" in os.environ:
            versions[", before"] = os.environ["SUREFOOT_BENCH_BEFORE"]
        contestants = {
            "python -c pass": process(folder, "-c", "pass"),
            "python -c 'import numpy'": process(folder, "-c", "import numpy"),
            "pytrec_eval, two runs, nDCG@10 alone": process(folder, "-c", PYTREC_EVAL, qrels, *runs),
        }
        for title, words in commands.items():
            for version, source in versions.items():
                for first in (False, True) if title != "--help" else (False,):
                    label = f"surefoot {title}{version}{', first use' * first}"
                    contestants[label] = process(folder, "-m", "surefoot", *words, source=source, first=first)
        show(medians(contestants))


def process(folder: Path, *words: str, source: str | None = None, first: bool = False) -> list[list[str]]:
    """A command of Python; a first use finds no cache, and a training no model that it would overwrite."""
    cache = tempfile.mkdtemp(dir=folder)
    environment = [f"NUMBA_CACHE_DIR={cache}", f"XDG_CACHE_HOME={cache}", *([f"PYTHONPATH={source}"] if source else [])]
    clear = ["rm", "-rf", f"{cache}/model", *([f"{cache}/{part}" for part in ("", "surefoot")] if first else [])]
    output = ["-o", f"{cache}/model"] if "train" in words else []
    return [clear, ["env", *environment, sys.executable, *words, *output]]


def medians(contestants: Mapping[str, list[list[str]]]) -> dict[str, float]:
    """The median processor seconds of each command over rounds in turn, after one that does not count.

    Whoever pays for a first use in each round needs no round before.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(ROUNDS + 1):
        for name, (clear, command) in contestants.items():
            if turn == 0 and name.endswith("first use"):
                continue
            subprocess.run(clear, check=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, capture_output=True)  # a gate may refuse
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                seconds[name].append(used)
    return {name: statistics.median(times) for name, times in seconds.items()}


def show(seconds: Mapping[str, float]) -> None:
    print("\nCommands from the shell, processor seconds")
    for name, value in seconds.items():
        print(f"  {name:<50} {value:7.3f} s")


def small_task(folder: Path) -> tuple[list[str], str, str]:
    """Two runs of 50 topics × 200 documents with judgments of all, and 100 queries × 20 documents to learn."""
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 4, (50, 300)) * (rng.random((50, 300)) < 0.2)
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(f"{t} 0 d{d} {grade}\n" for t, row in enumerate(grades) for d, grade in enumerate(row)))
    runs = []
    for name, noise in (("old", 1.5), ("new", 1.2)):
        scores = grades + noise * rng.normal(size=grades.shape)
        lines = (
            f"{t} Q0 d{d} {rank} {row[d]:.6f} {name}\n"
            for t, row in enumerate(scores)
            for rank, d in enumerate(np.argsort(-row)[:200], start=1)
        )
        runs.append(folder / f"{name}.run")
        runs[-1].write_text("".join(lines))
    letor = folder / "train.txt"
    features = rng.normal(size=(2000, 10))
    letor.write_text(
        "".join(
            f"{int(row[0] + row[1] > 1)} qid:{index // 20} "
            + " ".join(f"{k + 1}:{x:.4f}" for k, x in enumerate(row))
            + "\n"
            for index, row in enumerate(features)
        )
    )
    return [str(run) for run in runs], str(qrels), str(letor)
