"""Threads do not survive a fork: a library that keeps some waits for them forever in the child process."""

from __future__ import annotations

import os

from surefoot.errors import SurefootError

_started = False
_lost = False


def uses_threads() -> None:
    """Announce work in a library that keeps threads (polars, LightGBM), and refuse it where a fork has ended them.

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
