"""Writing output whole or not at all."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from surefoot._types import PathLike
from surefoot.errors import SurefootError


def write_text(path: PathLike, text: str) -> None:
    """Write a text file, UTF-8, so that a reader sees the old content or the new and never a part of it."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file by way of a second one beside it, which takes its name when it is complete."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a pipe or a device such as /dev/stdout: nothing to replace
        else:
            _replace(target, data)
    except OSError as error:
        raise SurefootError(f"{path}: can't be written: {error.strerror}") from None


def digest_of(text: str) -> str:
    """A hash to write beside a text, by which a reader sees that it is whole."""
    return blake2b(text.encode("utf-8"), digest_size=20).hexdigest()


def _replace(target: Path, data: bytes) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
