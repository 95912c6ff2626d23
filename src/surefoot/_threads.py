"""Threads: the number to start, and a check that a fork has not ended those that libraries keep."""

from __future__ import annotations

import os

from surefoot.errors import SurefootError

MOST_WORKERS = 8
"""The most threads of a pool: each holds a file or a block of resamples in memory."""


def available_cores() -> int:
    """The number of cores that this process may use, which ``taskset`` or a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_workers() -> int:
    """The default number of threads: one for each core, up to `MOST_WORKERS`."""
    return min(available_cores(), MOST_WORKERS)


_started = False
_lost = False


def uses_threads() -> None:
    """Announce work in a library that keeps threads (polars, LightGBM); raise if a fork has ended them.

    Threads do not survive a fork, and such a library would wait for them forever in the child process.

    >>> uses_threads()
    """
    global _started
    if _lost:
        raise SurefootError(
            "this process was forked from one whose threads it needs; start processes by 'spawn' or 'forkserver', as "
            "with multiprocessing.get_context('spawn')"
        )
    _started = True


def _after_fork() -> None:
    global _lost
    _lost = _started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
