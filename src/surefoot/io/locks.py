"""Locks between processes and threads: one writer in a folder, and one at a time between reading and writing a file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import SurefootError

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from surefoot._typing import PathLike

PATIENCE = 3.0
"""Seconds of waiting for a file before the wait is reported."""
PAUSE = 0.02
"""Seconds between two attempts to take a lock."""

if sys.platform == "win32":
    import msvcrt

    def _take(lock: int) -> bool:
        """Lock an open file; False if another handle holds it."""
        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(lock: int) -> bool:
        """Lock an open file or folder; False if another handle holds it. True where a file system has no locks."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True


@contextmanager
def sole_writer(folder: PathLike) -> Iterator[None]:
    """Lock a folder that exists, or raise if another process or thread holds it.

    The lock is on the folder itself, so it leaves no file behind, and the operating system releases that of a killed
    process. Where folders can't be locked (Windows, some network file systems) nothing is locked.
    """
    if sys.platform == "win32":
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        if not _take(lock):
            raise SurefootError(f"{folder}: another process writes to it; wait for it, or name another folder")
        yield
    finally:
        os.close(lock)


@contextmanager
def exclusive(path: PathLike) -> Iterator[None]:
    """Lock a file, which need not exist, against all others that do the same; wait until it is free.

    A file beside it holds the lock, since a file that is replaced can't. The operating system releases the lock of a
    killed process. Windows can't remove an open file, so the lock file stays there.
    """
    try:
        target = Path(os.path.realpath(path))
        beside = target.with_name(f".{target.name[:60]}.lock")
        lock = _wait(beside, path)
    except (OSError, ValueError) as error:
        raise SurefootError(f"{path}: can't be written: {getattr(error, 'strerror', None) or error}") from None
    try:
        yield
    finally:
        if sys.platform != "win32":
            beside.unlink(missing_ok=True)
        os.close(lock)


def _wait(beside: Path, path: PathLike) -> int:
    """The open lock file, once it is locked."""
    report_at: float | None = time.monotonic() + PATIENCE
    while True:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        if _take(lock) and _is_there(beside, lock):
            return lock
        os.close(lock)
        if report_at is not None and time.monotonic() >= report_at:
            report_at = None
            if sys.stderr is not None:
                print(f"surefoot: waiting for another process that uses {path}", file=sys.stderr, flush=True)
        time.sleep(PAUSE)


def _is_there(beside: Path, lock: int) -> bool:
    """Whether the open file is still the one of that name: its last holder removes it."""
    try:
        return os.path.samestat(beside.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False
