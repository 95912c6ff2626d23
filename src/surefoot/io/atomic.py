"""Atomic writes: a reader of the file sees the old content or the new, never a part of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import SurefootError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from surefoot._typing import PathLike

LONGEST = 200
"""Bytes of the target's name in the name of its draft; file systems allow 255 in all."""


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
    is written to. Drafts that a killed process left behind are removed.
    """
    _remove_abandoned(target)
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
    """An empty file, locked for as long as this process lives; where there are no such locks, None."""
    while True:
        draft = target.with_name(f".{_beginning(target)}.{os.urandom(8).hex()}.part")
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is None:
            os.close(lock)
            return draft, None
        fcntl.flock(lock, fcntl.LOCK_EX)
        if draft.exists():  # else another writer took it for an abandoned one before it was locked
            return draft, lock
        os.close(lock)


def _beginning(target: Path) -> str:
    """The name of the target, cut so that the draft's name is not too long for a file system."""
    return os.fsdecode(os.fsencode(target.name)[:LONGEST])


def _remove_abandoned(target: Path) -> None:
    """Remove drafts of the target that nobody holds a lock on."""
    if fcntl is None:
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
