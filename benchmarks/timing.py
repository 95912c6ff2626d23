"""Contestants take turns in one process, so that a busy machine slows all of them alike; medians are compared."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Times(NamedTuple):
    """Seconds by the clock, and of all threads of the processor."""

    wall: float
    processor: float


def medians(contestants: Mapping[str, Callable[[], object]], rounds: int, warm: bool = False) -> dict[str, Times]:
    """The median times of each contestant over rounds in turn, after one that doesn't count unless they are warm."""
    taken: dict[str, list[Times]] = {name: [] for name in contestants}
    for turn in range(warm, rounds + 1):
        for name, work in contestants.items():
            gc.collect()
            begin = Times(time.perf_counter(), time.process_time())
            work()
            end = Times(time.perf_counter(), time.process_time())
            if turn:
                taken[name].append(Times(end.wall - begin.wall, end.processor - begin.processor))
    return {name: Times(*map(statistics.median, zip(*times, strict=True))) for name, times in taken.items()}


def show(title: str, times: Mapping[str, Times], ours: str) -> None:
    """Print both times of each, and as multiples of ours."""
    print(f"\n{title:<60} {'clock':>11} {'':10} {'processor':>10}")
    for name, (wall, processor) in times.items():
        by_wall, by_processor = wall / times[ours].wall, processor / times[ours].processor
        print(f"  {name:<58} {wall:9.4f} s {by_wall:8.2f} × {processor:8.4f} s {by_processor:8.2f} ×")
