"""Atomic writes, and locks between processes and threads.

A reader of a file sees its old content or its new content, never a part.
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
"""The most bytes of a draft's name for the name of its target; file systems allow 255 in all."""
PATIENCE = 3.0
"""Seconds until waiting for a lock is reported."""
PAUSE = 0.02
"""Seconds between attempts to take a lock."""

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def _try_lock(lock: int) -> bool:
    """Lock an open file or folder; False if another handle has locked it. True if the file system has no locks."""
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
    """Write a UTF-8 text file atomically; characters that UTF-8 can't encode become question marks."""
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
    """Make a folder for the output of long work; raise now if it can't be written to."""
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
    """A draft beside the target, which replaces the target when the block ends without an error.

    The name of the draft can't be guessed, and the draft must be new, so that no other writer's file and no link is
    written to.
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
    """Remove a file, if it exists, and its drafts that a killed process left behind."""
    path.unlink(missing_ok=True)
    _remove_abandoned(path)


def _create_draft(target: Path) -> tuple[Path, int | None]:
    """An empty draft and its lock, which is held while this process lives; None if files can't be locked.

    Drafts of the target that a killed process left behind are removed.
    """
    _remove_abandoned(target)
    while True:
        draft = target.with_name(f".{_beginning(target)}.{os.urandom(8).hex()}.part")
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform == "win32":  # Windows can't replace an open file
            os.close(lock)
            return draft, None
        if _try_lock(lock) and draft.exists():  # else another writer removed it as abandoned before it was locked
            return draft, lock
        os.close(lock)


def _beginning(target: Path) -> str:
    """The name of the target, cut so that the name of the draft fits the file system."""
    return os.fsdecode(os.fsencode(target.name)[:LONGEST])


def _remove_abandoned(target: Path) -> None:
    """Remove drafts of the target that no process has locked."""
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
    """A hash of ``size`` bytes, in hexadecimal digits, to verify content."""
    from hashlib import blake2b

    data = content.encode("utf-8") if isinstance(content, str) else content
    return blake2b(data, digest_size=size).hexdigest()


@contextmanager
def sole_writer(folder: PathLike) -> Iterator[None]:
    """Lock a folder that exists, or raise if another process or thread holds it.

    The lock is on the folder itself, so it leaves no file behind. The operating system releases the lock of a killed
    process. If folders can't be locked (Windows, some network file systems), nothing is locked.
    """
    if sys.platform == "win32":
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        if not _try_lock(lock):
            raise SurefootError(f"{folder}: another process writes to it; wait for it, or name another folder")
        yield
    finally:
        os.close(lock)


@contextmanager
def exclusive(path: PathLike) -> Iterator[None]:
    """Lock a file, which need not exist, against others that do the same; wait until it is free.

    A file beside it holds the lock, since writing replaces the file itself. The operating system releases the lock of a
    killed process. On Windows the lock file stays, since Windows can't remove an open file.
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
    """Wait until the lock file is locked, and return it open."""
    report_at: float | None = time.monotonic() + PATIENCE
    while True:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        if _try_lock(lock) and _is_there(beside, lock):
            return lock
        os.close(lock)
        if report_at is not None and time.monotonic() >= report_at:
            report_at = None
            if sys.stderr is not None:
                print(f"surefoot: waiting for another process that uses {path}", file=sys.stderr, flush=True)
        time.sleep(PAUSE)


def _is_there(beside: Path, lock: int) -> bool:
    """Whether the open file still has its name: its last holder removes it."""
    try:
        return os.path.samestat(beside.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False
