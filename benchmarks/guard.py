"""Guards: one query of 100 documents in a service, and a whole run compared with reading its two inputs."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import medians, show
from surefoot.guard.guard import Guard, fit_second_stage
from surefoot.guard.pairs import Pair
from surefoot.guard.runs import apply_guard
from surefoot.io.atomic import write_bytes
from surefoot.io.trec import read_run
from surefoot.io.trec_writer import written_run

DOCUMENTS, QUERIES, REPEATS = 100, 200, 1_000
TOPICS, DEPTH = 250, 1_000


def main() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=QUERIES * DOCUMENTS)
    b, c = truth + rng.normal(size=truth.size), truth + rng.normal(size=truth.size)
    bounds = np.arange(0, truth.size + 1, DOCUMENTS)
    trees = fit_second_stage(Pair.of(b, c, bounds), np.searchsorted([1.2, 2.0], truth))
    guards = {"log-rank": Guard("log-rank", 0.35), "z": Guard("z", 0.3), "second-stage": trees}
    one = (b[:DOCUMENTS], c[:DOCUMENTS])
    calls: dict[str, Callable[[], object]] = {"numpy's sort of the candidate's scores": lambda: np.argsort(-one[1])}
    calls |= {f"{name} guard": lambda guard=guard: guard.rank(*one) for name, guard in guards.items()}
    times = {name: [seconds(call) for _ in range(REPEATS)] for name, call in calls.items()}
    sort = min(next(iter(times.values())))
    print(f"\none query of {DOCUMENTS} documents: median and least of {REPEATS:,} calls, the least by a sort")
    for name, own in times.items():
        least = f"{1e3 * min(own):9.4f} ms {min(own) / sort:8.1f} ×"
        print(f"  {name:<58} {1e3 * statistics.median(own):9.4f} ms {least}")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.run") for name in ("old", "new", "safe")]
        for path in paths[:2]:
            path.write_text("".join(
                f"{topic} Q0 doc{number:06d} {rank} {score:.6f} {path.stem}\n"
                for topic in range(TOPICS)
                for rank, (number, score) in enumerate(
                    zip(rng.permutation(2 * DEPTH)[:DEPTH], -np.sort(-rng.normal(size=DEPTH)), strict=True), 1
                )
            ))  # fmt: skip
        contestants = {"reading both runs": lambda: [read_run(path) for path in paths[:2]]}
        for name, guard in guards.items():
            contestants[f"reading, {name} guard, writing"] = lambda guard=guard: write_bytes(
                paths[2], written_run(apply_guard(guard, *paths[:2])[0])
            )
        show(f"two runs of {TOPICS} topics × {DEPTH:,}", medians(contestants, 5), "reading both runs")


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
