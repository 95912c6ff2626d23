"""Contestants take turns in one process, so that a busy machine slows all of them alike; medians are compared."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping


def medians(contestants: Mapping[str, Callable[[], object]], rounds: int, warm: bool = False) -> dict[str, float]:
    """The median seconds of each contestant over rounds in turn, after one that doesn't count unless they are warm."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warm, rounds + 1):
        for name, work in contestants.items():
            gc.collect()
            begin = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in seconds.items()}


def show(title: str, seconds: Mapping[str, float], ours: str) -> None:
    """Print seconds, and each as a multiple of ours."""
    print(f"\n{title}")
    for name, value in seconds.items():
        print(f"  {name:<58} {value:9.4f} s {value / seconds[ours]:8.2f} ×")
