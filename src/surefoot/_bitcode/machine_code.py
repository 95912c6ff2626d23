"""Machine code in the user's cache, so that bitcode is translated once; without that it costs time alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.io.cache import cache_folder, evict

LARGEST = 1 << 24
"""Bytes of all files together."""

DIGEST_SIZE = sha256().digest_size
WRITABLE_BY_OTHERS = 0o022


def kept(origin: bytes, make: Callable[[], bytes]) -> bytes:
    """What is made of the origin: read from the cache if it is there undamaged, else made and written to it."""
    folder = _folder()
    file = folder and folder / sha256(origin).hexdigest()[:32]
    found = file and _read(file)
    if not found:
        found = make()
        if file:
            _write(file, found)
    return found


def _read(file: Path) -> bytes | None:
    """The content of a file, if its digest is right."""
    with suppress(OSError):
        data = file.read_bytes()
        content, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
        if sha256(content).digest() == digest:
            os.utime(file)
            return content
    return None


def _write(file: Path, content: bytes) -> None:
    from surefoot.io.atomic import write_bytes

    with suppress(OSError, SurefootError):
        write_bytes(file, content + sha256(content).digest())
        evict(file, LARGEST)


@cache
def _folder() -> Path | None:
    """The folder for machine code; None where it can't be made, or others might write to it what is executed here."""
    folder = cache_folder() / "code"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError:
        return None
    is_own = not hasattr(os, "geteuid") or (state.st_uid == os.geteuid() and not state.st_mode & WRITABLE_BY_OTHERS)
    return folder if is_own else None
