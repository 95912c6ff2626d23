"""The rows of ``docs/studies/speed.md`` beside an earlier version: processor time as a multiple of that version's.

``SUREFOOT_BENCH_BEFORE`` names its ``src`` folder, and its dependencies must be installed. Both versions run in
processes of their own and take turns. The median of the ratios of neighbours holds on a busy machine.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import surefoot
from benchmarks import runs
from benchmarks.letor import write_letor
from benchmarks.startup import process, small_task
from benchmarks.timing import BEFORE, Times, Version, timed_process

ROUNDS = 7


def main() -> None:
    if not BEFORE:
        sys.exit("name the src folder of the earlier version: SUREFOOT_BENCH_BEFORE=.../src")
    print(f"\n{'processor time':<48} {'before':>10} {'now':>10} {'ratio':>7}   ratios of the rounds")
    with tempfile.TemporaryDirectory() as name:
        in_processes(Path(name))
        from_the_shell(Path(name))


def in_processes(folder: Path) -> None:
    """Work that each version repeats in one process; the first call, which loads its kernels, doesn't count."""
    qrels, paths = folder / "qrels.txt", [folder / f"system{number}.run" for number in range(runs.FEW)]
    runs.write_qrels(qrels)
    for number, path in enumerate(paths):
        runs.write_run(path, runs.TOPICS, number)
    packed = [Path(f"{path}.gz") for path in paths]
    for path, target in zip(paths, packed, strict=True):
        target.write_bytes(gzip.compress(path.read_bytes(), 6))
    write_letor(letor := folder / "train.txt")
    work: dict[str, tuple[Any, ...]] = {
        "4 runs × 250 topics × 1,000": (runs.surefoot, paths, qrels, 1),
        "the same, gzip": (runs.surefoot, packed, qrels, 1),
        "the same as polars frames": (frames, tuple(paths), qrels),
        "risk, 200 × 100,000, 21 alphas": (risk, False),
        "risk, systems in another order": (risk, True),
        "bootstrap, percentile": (bootstrap, "percentile"),
        "bootstrap, BCa": (bootstrap, "bca"),
        "LETOR text, 120 MB, parsed": (read_letor, letor),
        "LETOR text, 120 MB, from the cache of 0.2": (read_letor, letor, True),
    }
    if data := os.environ.get("SUREFOOT_DATA"):
        covid = Path(data, "trec-covid-r1")
        unpacked = folder / "covid"
        unpacked.mkdir()
        for path in sorted((covid / "runs").iterdir()):
            (unpacked / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        work["143 runs of TREC-COVID"] = runs.surefoot, sorted(unpacked.iterdir()), covid / "qrels.txt", 1
    now, before = Version(str(Path(surefoot.__file__).parents[1])), Version(str(BEFORE))
    for title, call in work.items():
        show(title, [(before.times(*call), now.times(*call)) for _ in range(ROUNDS + 1)][1:])


def from_the_shell(folder: Path) -> None:
    """Whole commands; the earlier version finds its cache."""
    (old, new), qrels, letor = small_task(folder)
    both, here = [old, new, "--qrels", qrels, "--baseline", "old"], str(Path(surefoot.__file__).parents[1])
    commands = {
        "surefoot evaluate, two small runs": ["evaluate", *both],
        "surefoot gate, the same": ["gate", *both, "--candidate", "new"],
        "surefoot train, 5 trees": ["train", "--train", letor, "--baseline", "feature:1", "--n-estimators", "5"],
    }
    for title, words in commands.items():
        taken = []
        versions = [process(folder, "-m", "surefoot", *words, source=source) for source in (str(BEFORE), here)]
        for _ in range(ROUNDS + 1):
            for clear, _ in versions:
                subprocess.run(clear, check=True)
            taken.append((timed_process(versions[0][1]), timed_process(versions[1][1])))
        show(title, taken[1:])


def show(title: str, taken: list[tuple[Times, Times]]) -> None:
    before, now = (median(one.processor for one in side) for side in zip(*taken, strict=True))
    ratios = [new.processor / old.processor for old, new in taken]
    listed = " ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
    print(f"{title:<48} {before:8.3f} s {now:8.3f} s {median(ratios):7.2f}   {listed}", flush=True)


@cache
def loaded(paths: tuple[Path, ...], qrels: Path) -> tuple[Any, Any]:
    from surefoot import read_qrels, read_run

    return {path.stem: read_run(path).to_frame() for path in paths}, read_qrels(qrels)


def frames(paths: tuple[Path, ...], qrels: Path) -> None:
    from surefoot.effectiveness import score_runs_by

    runs, judged = loaded(paths, qrels)
    score_runs_by(runs, judged, ["nDCG@20"], workers=1)


def risk(shuffled: bool) -> None:
    from benchmarks.risk import TOPICS, by_surefoot

    by_surefoot(TOPICS, shuffled)


def bootstrap(method: str) -> None:
    from benchmarks.bootstrap import TOPICS, generated, ours

    ours(generated(TOPICS), method)


def read_letor(path: Path, cache: bool = False) -> None:
    """Parse the text; version 0.2 may also find it in its cache, which later versions do not have."""
    try:
        from surefoot.learn.letor import read_letor
    except ImportError:
        from surefoot.io.letor import read_letor  # type: ignore[import-not-found, no-redef]

        read_letor(path, cache=cache, workers=1)
        return
    read_letor(path, workers=1)
