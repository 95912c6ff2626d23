"""State of the process: random generators, threads, forks and standard error."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, TypeVar

from surefoot.errors import SurefootError

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T")
MOST_WORKERS = 8
"""The most threads of a pool: each holds a file or a block of resamples in memory."""


def available_cores() -> int:
    """The number of cores that this process may use; ``taskset`` or a container may limit them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_workers() -> int:
    """The default number of threads: one for each core, up to `MOST_WORKERS`."""
    return min(available_cores(), MOST_WORKERS)


def in_threads(function: Callable[..., _T], *items: Iterable[Any], threads: int) -> Iterator[_T]:
    """Apply a function to the items in threads, results in order; a failure cancels the calls that have not begun.

    >>> list(in_threads(pow, (2, 3), (3, 2), threads=2))
    [8, 9]
    """
    if threads == 1:
        yield from map(function, *items)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(function, *items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_threads_started = False
_threads_lost = False


def enter_threaded_library() -> None:
    """Call this before work in a library that keeps threads (polars, LightGBM); it raises if a fork has ended them.

    Threads do not survive a fork, and such a library would wait for them forever in the child process.

    >>> enter_threaded_library()
    """
    global _threads_started
    if _threads_lost:
        raise SurefootError(
            "this process was forked from one whose threads it needs; start processes by 'spawn' or 'forkserver', as "
            "with multiprocessing.get_context('spawn')"
        )
    _threads_started = True


def _after_fork() -> None:
    global _threads_lost
    _threads_lost = _threads_started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


STDERR = 2
"""The descriptor of standard error, to which polars prints its panics and LightGBM its fatal errors."""

in_command = False
"""Set by the command line, which owns the process; a library must not redirect the descriptors of its caller."""

in_script = False
"""Set by the script ``surefoot``: the process runs one command of this package and no other code."""


@contextmanager
def hide_packages(*packages: str) -> Iterator[None]:
    """In the script, hide these packages from imports, except those that are loaded already.

    LightGBM imports scikit-learn and pandas where they are installed, to accept their types, which takes a second. No
    command passes it any.

    >>> with hide_packages("email"):
    ...     import email
    """
    hidden = [package for package in packages if in_script and package not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]


@contextmanager
def quiet_failures() -> Iterator[None]:
    """In a command, hold what the block writes to the descriptor of standard error, and drop it if the block fails.

    Other threads share the descriptor: their output comes late, or is dropped too. So the block should be the one call
    that may fail. If no temporary file can be made, the output is printed; if native code ends the process, it is lost.

    >>> with quiet_failures():
    ...     _ = os.write(STDERR, b"")
    """
    if not in_command:
        yield
        return
    _held.begin()
    try:
        yield
    except BaseException:
        _held.end(drop=True)
        raise
    _held.end(drop=False)


class _HeldOutput:
    """Standard error, redirected to a file while any thread holds it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.blocks = 0
        self.file: IO[bytes] | None = None
        self.stderr = -1

    def begin(self) -> None:
        from tempfile import TemporaryFile

        with self.lock:
            self.blocks += 1
            if self.blocks == 1:
                with suppress(OSError):  # standard error is closed, or no file can be made
                    self.stderr = os.dup(STDERR)
                    self.file = TemporaryFile(buffering=0)  # noqa: SIM115
                    os.dup2(self.file.fileno(), STDERR)

    def end(self, drop: bool) -> None:
        with self.lock:
            self.blocks -= 1
            if self.file is not None and drop:
                self.file.seek(0)  # the descriptor of standard error shares its position
                self.file.truncate()
            if not self.blocks:
                self._restore()

    def _restore(self) -> None:
        if self.file is not None:
            os.dup2(self.stderr, STDERR)
            self.file.seek(0)
            with suppress(OSError):
                os.write(STDERR, self.file.read())
            self.file.close()
        if self.stderr >= 0:
            os.close(self.stderr)
        self.file, self.stderr = None, -1


_held = _HeldOutput()


def generator(seed: int) -> np.random.Generator:
    """A random generator.

    >>> int(generator(0).integers(100))
    85
    """
    from numpy.random import default_rng

    return default_rng(validate_seed(seed))


def validate_seed(seed: int, largest: float = math.inf) -> int:
    """Return the seed if it is a whole number within the range, else raise.

    >>> validate_seed(7)
    7
    """
    if not hasattr(seed, "__index__") or seed < 0:
        raise SurefootError(f"seed must be a whole number of 0 or more; got {seed!r}")
    if seed > largest:
        raise SurefootError(f"seed must be at most {largest}; got {seed}")
    return int(seed)
