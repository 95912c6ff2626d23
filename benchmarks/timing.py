"""Contestants take turns, so that a busy machine slows all of them alike; medians are compared.

``SUREFOOT_BENCH_BEFORE`` may name the ``src`` folder of an earlier version, which then takes turns with this one, each
in a process of its own without the peers. ``SUREFOOT_BENCH_TREC_EVAL`` names trec_eval where it is not on the PATH.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import pickle
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import surefoot

BEFORE = os.environ.get("SUREFOOT_BENCH_BEFORE")
TREC_EVAL = os.environ.get("SUREFOOT_BENCH_TREC_EVAL") or shutil.which("trec_eval")


class Times(NamedTuple):
    """Seconds by the clock, and of all threads of the processor."""

    wall: float
    processor: float


def timed(work: Callable[[], object]) -> Times:
    """The times of some work; of work in another process, which returns them, its own."""
    gc.collect()
    begin = Times(time.perf_counter(), time.process_time())
    result = work()
    end = Times(time.perf_counter(), time.process_time())
    return result if isinstance(result, Times) else Times(end.wall - begin.wall, end.processor - begin.processor)


def timed_process(command: list[str]) -> Times:
    """The times of a process, whatever its exit code."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Times(end - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def medians(contestants: Mapping[str, Callable[[], object]], rounds: int, warm: bool = False) -> dict[str, Times]:
    """The median times of each contestant over rounds in turn, after one that doesn't count unless they are warm."""
    taken: dict[str, list[Times]] = {name: [] for name in contestants}
    for turn in range(warm, rounds + 1):
        for name, work in contestants.items():
            times = timed(work)
            if turn:
                taken[name].append(times)
    return {name: Times(*map(statistics.median, zip(*times, strict=True))) for name, times in taken.items()}


def show(title: str, times: Mapping[str, Times], ours: str, limit: str | None = None) -> None:
    """Print both times of each, as multiples of ours, and processor seconds as multiples of the limit."""
    print(f"\n{title:<60} {'clock':>11} {'':10} {'processor':>10} {'':10} {'limits' if limit else ''}")
    for name, (wall, processor) in times.items():
        by_wall, by_processor = wall / times[ours].wall, processor / times[ours].processor
        of_limit = f"{processor / times[limit].processor:8.1f} ×" if limit else ""
        print(f"  {name:<58} {wall:9.4f} s {by_wall:8.2f} × {processor:8.4f} s {by_processor:8.2f} × {of_limit}")
    sys.stdout.flush()


def slope(sizes: list[float], seconds: list[float]) -> float:
    """The exponent by which time grows with size: the least-squares line of the logarithms.

    >>> round(slope([1, 2, 4], [3, 6, 12]), 6)
    1.0
    """
    x, y = [math.log(size) for size in sizes], [math.log(one) for one in seconds]
    return statistics.linear_regression(x, y).slope


class Version:
    """Another version of the package, in a process that does one piece of work after the other."""

    def __init__(self, source: str) -> None:
        root = str(Path(__file__).resolve().parents[1])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((source, root))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.timing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def times(self, function: Callable[..., object], *arguments: object) -> Times:
        """The times of a function of a benchmark there."""
        sent, answers = self._process.stdin, self._process.stdout
        pickle.dump((function.__module__, function.__name__, arguments), sent)
        sent.flush()
        return Times(*map(float, answers.readline().split()))


def with_before(name: str, function: Callable[..., object], *arguments: object) -> dict[str, Callable[[], object]]:
    """A contestant; with an earlier version both versions, each in a process of its own."""
    if not BEFORE:
        return {name: lambda: function(*arguments)}
    now, before = Version(str(Path(surefoot.__file__).parents[1])), Version(BEFORE)
    for version in (now, before):
        version.times(function, *arguments)  # which loads its kernels
    return {
        name: lambda: now.times(function, *arguments),
        f"{name}, before": lambda: before.times(function, *arguments),
    }


def serve() -> None:
    """Run the calls that standard input asks for, until it ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            module, name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        function = getattr(importlib.import_module(module), name)
        print(*timed(lambda: function(*arguments)), file=answers, flush=True)  # noqa: B023


if __name__ == "__main__":
    importlib.import_module("benchmarks.timing").serve()  # whose `Times` are those of the benchmarks
