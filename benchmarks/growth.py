"""How time grows with the number of runs, topics and documents: the exponent, which should be 1."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import logs, runs
from benchmarks.timing import medians, slope
from surefoot.analysis.evaluate import evaluate
from surefoot.analysis.streaming import evaluate_parquet
from surefoot.effectiveness import score_runs_by
from surefoot.scores import Scores

ROUNDS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        qrels = folder / "qrels.txt"
        runs.write_qrels(qrels)
        paths = [folder / f"system{number}.run" for number in range(16)]
        for number, path in enumerate(paths):
            runs.write_run(path, 250, number)
        long = [folder / f"long{topics}.run" for topics in (250, 1000, 4000)]
        for path, topics in zip(long, (250, 1000, 4000), strict=True):
            runs.write_run(path, topics, 1)
        deep = {depth: folder / f"deep{depth}.run" for depth in (100, 1000, 10_000)}
        for depth, path in deep.items():
            write_deep(path, depth)
        report("runs of 250 topics × 1,000, scored", [2, 4, 8, 16], lambda n: score(paths[:n], qrels))
        report("topics of a run × 1,000, scored", [250, 1000, 4000], lambda n: score([folder / f"long{n}.run"], qrels))
        report("documents of 100 topics, scored", list(deep), lambda n: score([deep[n]], qrels))
        report("topics of 50 systems, 21 alphas", [10_000, 40_000, 160_000], lambda n: risk(50, n))
        report("systems on 20,000 topics, 21 alphas", [25, 50, 100, 200], lambda n: risk(n, 20_000))
        report("topics of 3 systems, BCa intervals", [5_000, 20_000, 80_000], intervals)
        for rows in (250_000, 1_000_000, 4_000_000):
            (folder / f"log{rows}").mkdir()
            logs.write(str(folder / f"log{rows}"), "wide", "2", str(rows // logs.PARTS))
        sizes = [250_000, 1_000_000, 4_000_000]
        report("rows of a wide log of two systems", sizes, lambda n: evaluate_parquet(folder / f"log{n}", "s00"))


def report(title: str, sizes: Sequence[int], work: Callable[[int], object]) -> None:
    """Print processor seconds by size, and the exponent."""
    found = medians({str(size): lambda size=size: work(size) for size in sizes}, ROUNDS)
    seconds = [times.processor for times in found.values()]
    listed = ", ".join(f"{size:,}: {one:.3f}" for size, one in zip(sizes, seconds, strict=True))
    print(f"  {title:<38} {slope([*map(float, sizes)], seconds):5.2f}   ({listed} s)", flush=True)


def write_deep(path: Path, depth: int) -> None:
    random = np.random.default_rng(depth)
    with path.open("w") as file:
        for topic in range(100):
            scores = np.sort(random.random(depth))[::-1]
            file.writelines(f"{topic + 1} Q0 d{rank} {rank} {score:.6f} x\n" for rank, score in enumerate(scores, 1))


def score(paths: Sequence[Path], qrels: Path) -> None:
    score_runs_by(paths, qrels, ["nDCG@20"], workers=1)


def risk(systems: int, topics: int) -> None:
    evaluate(generated(systems, topics), "s0", np.linspace(0, 10, 21))


def intervals(topics: int) -> None:
    evaluate(generated(3, topics), "s0", ci="bca", n_resamples=1000)


@cache
def generated(systems: int, topics: int) -> Scores:
    values = np.random.default_rng(0).random((systems, topics))
    return Scores(values, [f"s{number}" for number in range(systems)], range(topics))
