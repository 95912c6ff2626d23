"""A hundred million rows of a log, evaluated in bounded memory, beside polars: the same checks, and the limit.

The check is that no topic comes twice, with the means of all systems; the limit is to read and hash every column once.
"""

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

from benchmarks.timing import BEFORE

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
            words = {what: (what, folder, layout) for what in ("evaluate", "check", "read")}
            sources = dict.fromkeys(words)
            if BEFORE:
                words["evaluate, before"], sources["evaluate, before"] = words["evaluate"], BEFORE
            rounds = [[_apart(*words[what], source=sources[what]) for what in words] for _ in range(ROUNDS)]
        clock, processor, peaks = np.moveaxis(np.array(rounds), -1, 0)
        limit = np.median(processor[:, 2])
        for place, what in enumerate(words):
            own = np.median(processor[:, place])
            times = (
                f"{np.median(clock[:, place]):8.1f} s by the clock {own:8.1f} s of the processor {own / limit:6.1f} ×"
            )
            print(f"  {what:<18} {times}   peak memory {peaks[:, place].max():.2f} GiB", flush=True)


def _apart(*words: str, source: str | None = None) -> tuple[float, ...]:
    """Both seconds and peak memory in a process of its own; this one stays small, as a child's peak begins with it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((source, str(Path.cwd())))} if source else None
    command = [sys.executable, "-m", "benchmarks.logs", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return tuple(map(float, done.stdout.split()))


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


def check(folder: str, layout: str) -> None:
    """By polars: no topic twice (of a long log, no topic and system), and the mean of each system."""
    log = polars.scan_parquet(Path(folder) / "*.parquet")
    if layout == "wide":
        log.select(polars.col("topic").n_unique(), polars.exclude("topic").mean()).collect(engine="streaming")
    else:
        distinct = polars.struct("topic", "system").n_unique()
        log.select(distinct).collect(engine="streaming")
        log.group_by("system").agg(polars.col("score").mean()).collect(engine="streaming")


def read(folder: str, layout: str) -> None:
    log = polars.scan_parquet(Path(folder) / "*.parquet")
    log.select(polars.all().hash().sum()).collect(engine="streaming")


if __name__ == "__main__":
    begin = time.perf_counter()
    {"write": write, "evaluate": evaluate, "check": check, "read": read}[sys.argv[1]](*sys.argv[2:])
    print(time.perf_counter() - begin, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
