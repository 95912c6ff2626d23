"""Atomic writes: a reader of the file sees the old content or the new, never a part of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot._typing import PathLike


def write_text(path: PathLike, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file atomically. A pipe or a device such as /dev/stdout can't be replaced and is written to directly."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            with replacing(target) as draft:
                draft.write_bytes(data)
    except OSError as error:
        raise SurefootError(f"{path}: can't be written: {error.strerror}") from None


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file beside the target to write to, which replaces the target when the block ends without an error."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield draft
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def digest_of(content: str | bytes, size: int = 20) -> str:
    """A hash of ``size`` bytes, in hexadecimal digits, by which a reader tells whether a content is complete."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    return blake2b(data, digest_size=size).hexdigest()
