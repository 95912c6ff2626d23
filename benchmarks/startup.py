"""Commands from the shell, as users and CI run them: whole processes, beside Python and its peers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

import surefoot
from benchmarks.runs import TOPICS, write_qrels, write_run
from benchmarks.timing import BEFORE, TREC_EVAL, Times, medians, timed_process

Commands = list[list[str]]
"""The command that removes earlier output, and the command to time."""

ROUNDS = 5
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
        small = peers(folder, runs, qrels)
        small |= ours(folder, "evaluate, two runs", ["evaluate", *runs, "--qrels", qrels, "--baseline", "old"])
        gate = ["gate", *runs, "--qrels", qrels, "--baseline", "old", "--candidate", "new"]
        small |= ours(folder, "gate, two runs", gate)
        small |= ours(
            folder, "train, 5 trees", ["train", "--train", letor, "--baseline", "feature:1", "--n-estimators", "5"]
        )
        show("Commands from the shell, two runs of 50 topics × 200", small)
        runs, qrels = large_task(folder)
        large = peers(folder, runs, qrels)
        large["limit: reading the files (cat)"] = [["true"], ["cat", qrels, *runs]]
        large |= ours(folder, "evaluate, two runs", ["evaluate", *runs, "--qrels", qrels, "--baseline", "system0"])
        show("Two runs of 250 topics × 1,000, 27 MB", large)


def peers(folder: Path, runs: list[str], qrels: str) -> dict[str, Commands]:
    """Other programs, and the cost of any command in Python."""
    found = {
        "limit: python -c 'import numpy'": process(folder, "-c", "import numpy"),
        "surefoot --help": process(folder, "-m", "surefoot", "--help"),
        "pytrec_eval, nDCG@10 alone": process(folder, "-c", PYTREC_EVAL, qrels, *runs),
    }
    if TREC_EVAL:
        both = " && ".join(f"'{TREC_EVAL}' -q -m ndcg_cut.10 '{qrels}' '{run}'" for run in runs)
        found["trec_eval, nDCG@10 alone"] = [["true"], ["sh", "-c", both]]
    else:
        print("trec_eval is not on the PATH, and SUREFOOT_BENCH_TREC_EVAL names none: left out")
    return found


def ours(folder: Path, title: str, words: list[str]) -> dict[str, Commands]:
    """A command, warm and with no cache, of this version and of the one before."""
    versions = {"": str(Path(surefoot.__file__).parents[1]), **({", before": BEFORE} if BEFORE else {})}
    return {
        f"surefoot {title}{', first use' * first}{version}": process(
            folder, "-m", "surefoot", *words, source=source, first=first
        )
        for first in (False, True)
        for version, source in versions.items()
    }


def process(folder: Path, *words: str, source: str | None = None, first: bool = False) -> Commands:
    """A command of Python, its modules compiled as by pip; a first use finds no cache, a training no model."""
    cache = tempfile.mkdtemp(dir=folder)
    environment = [f"NUMBA_CACHE_DIR={cache}", f"XDG_CACHE_HOME={cache}", *([f"PYTHONPATH={source}"] if source else [])]
    environment += ["-u", "PYTHONDONTWRITEBYTECODE", "-u", "SUREFOOT_CACHE", f"PYTHONPYCACHEPREFIX={folder}/compiled"]
    environment.sort(key=lambda word: "=" in word)  # options of env come first
    clear = ["rm", "-rf", f"{cache}/model", *([f"{cache}/{part}" for part in ("", "surefoot")] if first else [])]
    output = ["-o", f"{cache}/model"] if "train" in words else []
    return [clear, ["env", *environment, sys.executable, *words, *output]]


def timed_command(clear: list[str], command: list[str]) -> Times:
    subprocess.run(clear, check=True)
    return timed_process(command)


def show(title: str, contestants: Mapping[str, Commands]) -> None:
    """Print the median times of each command over rounds in turn."""
    print(f"\n{title:<60} {'clock':>9} {'processor':>11}")
    times = medians({name: partial(timed_command, *commands) for name, commands in contestants.items()}, ROUNDS)
    for name, (wall, processor) in times.items():
        print(f"  {name:<58} {wall:8.3f} s {processor:8.3f} s", flush=True)


def large_task(folder: Path) -> tuple[list[str], str]:
    """Two of the runs of the benchmark of runs."""
    qrels, paths = folder / "large.qrels", [folder / f"system{number}.run" for number in range(2)]
    write_qrels(qrels)
    for number, path in enumerate(paths):
        write_run(path, TOPICS, number)
    return [str(path) for path in paths], str(qrels)


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
