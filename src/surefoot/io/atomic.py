"""Writing files that others read or write at the same time: atomic writes, and locks between processes and threads.

A reader of a file sees the old content or the new, never a part of it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot._typing import PathLike

LONGEST = 200
"""Bytes of the target's name in the name of its draft; file systems allow 255 in all."""
PATIENCE = 3.0
"""Seconds of waiting for a file before the wait is reported."""
PAUSE = 0.02
"""Seconds between two attempts to take a lock."""

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def _take(lock: int) -> bool:
    """Lock an open file or folder; False if another handle holds it. True where a file system has no locks."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return sys.platform != "win32"
    return True


def write_text(path: PathLike, text: str) -> None:
    """Write a UTF-8 text file atomically; a byte of the command line that is no text becomes a question mark."""
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file atomically. ``-`` is standard output; pipes and devices are written to directly."""
    if str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    try:
        if Path(path).exists() and not Path(path).is_file():
            Path(path).write_bytes(data)
        else:
            with replacing(Path(os.path.realpath(path))) as draft:
                draft.write_bytes(data)
    except OSError as error:
        raise SurefootError(f"{path}: can't be written: {error.strerror}") from None


def make_folder(path: PathLike) -> Path:
    """Make a folder for what long work will write; refuse at once one that can't be written to."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft, lock = _create_draft(folder / "test")
        draft.unlink()
        if lock is not None:
            os.close(lock)
    except OSError as error:
        raise SurefootError(f"{path}: can't be written: {error.strerror}") from None
    return folder


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file beside the target to write to, which replaces the target when the block ends without an error.

    Its name can't be guessed, and it is created exclusively, so that neither another writer nor a link that waits there
    is written to.
    """
    draft, lock = _create_draft(target)
    try:
        yield draft
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def remove(path: Path) -> None:
    """Remove a file, if it is there, and the drafts of it that a killed process left behind."""
    path.unlink(missing_ok=True)
    _remove_abandoned(path)


def _create_draft(target: Path) -> tuple[Path, int | None]:
    """An empty file, locked for as long as this process lives; where there are no such locks, None.

    Drafts of the target that a killed process left behind are removed.
    """
    _remove_abandoned(target)
    while True:
        draft = target.with_name(f".{_beginning(target)}.{os.urandom(8).hex()}.part")
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform == "win32":  # an open file can't be replaced there
            os.close(lock)
            return draft, None
        if _take(lock) and draft.exists():  # else another writer took it for an abandoned one before it was locked
            return draft, lock
        os.close(lock)


def _beginning(target: Path) -> str:
    """The name of the target, cut so that the draft's name is not too long for a file system."""
    return os.fsdecode(os.fsencode(target.name)[:LONGEST])


def _remove_abandoned(target: Path) -> None:
    """Remove drafts of the target that nobody holds a lock on."""
    if sys.platform == "win32":
        return
    for draft in target.parent.glob(f".{escape(_beginning(target))}.{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):
            lock = os.open(draft, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()
            finally:
                os.close(lock)


def digest_of(content: str | bytes, size: int = 20) -> str:
    """A hash of ``size`` bytes, in hexadecimal digits, to verify that a content is complete."""
    from hashlib import blake2b

    data = content.encode("utf-8") if isinstance(content, str) else content
    return blake2b(data, digest_size=size).hexdigest()


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
