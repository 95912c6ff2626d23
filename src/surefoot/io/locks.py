"""One process in an output folder: a second one is told so instead of mixing its files with those of the first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.errors import SurefootError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from surefoot._typing import PathLike


@contextmanager
def sole_writer(folder: PathLike) -> Iterator[None]:
    """Lock a folder that exists against other processes, and against other threads of this one.

    The lock is on the folder itself, so it leaves no file behind, and the operating system releases that of a killed
    process. Where there are no such locks (Windows, some network file systems) nothing is locked.
    """
    if fcntl is None:
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait = "another process writes to it; wait for it, or name another folder"
            raise SurefootError(f"{folder}: {wait}") from None
        except OSError:
            pass
        yield
    finally:
        os.close(lock)
