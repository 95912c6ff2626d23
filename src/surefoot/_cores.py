"""How many cores there are for this process."""

from __future__ import annotations

import os

MOST_WORKERS = 8
"""Of a pool: each thread holds a file or a block of resamples in memory."""


def available_cores() -> int:
    """The cores that this process may use, fewer than the machine has under ``taskset`` or in a container's cpuset."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_workers() -> int:
    """The threads of a pool for which none are asked: one for each core, up to a limit."""
    return min(available_cores(), MOST_WORKERS)
