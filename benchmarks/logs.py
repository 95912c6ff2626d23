"""A hundred million rows of a log, evaluated in bounded memory, beside a plain mean of the same columns."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars

ROWS = int(os.environ.get("SUREFOOT_BENCH_ROWS", 100_000_000))
PARTS, ROUNDS = 16, 3
ALPHAS = [0, 1, 5, 10]
SHAPES = {
    "long, a row a score of 50 systems": ("long", 50, 1),
    "wide, 50 systems, a 50th of the rows": ("wide", 50, 1),
    "wide, 2 systems": ("wide", 2, 2),
}
"""Layout, systems, and scores for each of the rows."""


def main() -> None:
    for title, (layout, systems, scores) in SHAPES.items():
        topics = max(1, ROWS * scores // systems // PARTS)
        with tempfile.TemporaryDirectory() as folder:
            _apart("write", folder, layout, str(systems), str(topics))
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 2**30
            print(f"\n{title}: {PARTS * topics:,} topics in {PARTS} files, {size:.2f} GiB")
            rounds = [(_apart("evaluate", folder, layout), _apart("mean", folder, layout)) for _ in range(ROUNDS)]
        seconds, peaks = np.moveaxis(np.array(rounds), -1, 0)
        middle = np.median(seconds, axis=0)
        for place, what in enumerate(("evaluate", "mean")):
            times = f"{middle[place]:8.1f} s {middle[place] / middle[1]:6.1f} ×"
            print(f"  {what:<10} {times}   peak memory {peaks[:, place].max():.2f} GiB", flush=True)


def _apart(*words: str) -> tuple[float, float]:
    """Seconds and peak memory in a process of its own; this one stays small, as a child's peak begins with it."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.logs", *words], check=True, capture_output=True, text=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def write(folder: str, layout: str, systems: str, topics: str) -> None:
    for part in range(PARTS):
        frame = generated(part, int(systems), int(topics))
        if layout == "long":
            names = frame.columns[1:]
            frame = polars.DataFrame(
                {
                    "topic": frame["topic"][np.repeat(np.arange(frame.height), len(names))],
                    "system": polars.Series(names)[np.tile(np.arange(len(names)), frame.height)],
                    "score": frame[:, 1:].to_numpy().ravel(),
                }
            )
        frame.write_parquet(Path(folder) / f"part-{part:03}.parquet")


def generated(part: int, systems: int, topics: int) -> polars.DataFrame:
    """Easy and hard topics, and systems that do more or less well on them."""
    random = np.random.default_rng([2016, part])
    ease = random.random(topics)
    names = polars.Series("topic", np.arange(part * topics, (part + 1) * topics)).cast(polars.String)
    return polars.DataFrame([("q" + names).alias("topic")]).with_columns(
        polars.Series(f"s{system:02}", random.random(topics) * ease) for system in range(systems)
    )


def evaluate(folder: str, layout: str) -> None:
    from surefoot.analysis.streaming import evaluate_parquet

    evaluate_parquet(folder, "s00", ALPHAS)


def mean(folder: str, layout: str) -> None:
    log = polars.scan_parquet(Path(folder) / "*.parquet")
    if layout == "wide":
        log.select(polars.exclude("topic").mean()).collect(engine="streaming")
    else:
        log.group_by("system").agg(polars.col("score").mean()).collect(engine="streaming")


if __name__ == "__main__":
    begin = time.perf_counter()
    {"write": write, "evaluate": evaluate, "mean": mean}[sys.argv[1]](*sys.argv[2:])
    print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
