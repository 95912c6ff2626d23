"""Machine code in the user's cache, so that bitcode is translated once; without that it costs time alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_ISVTX

from surefoot.io.cache import cache_folder, evict

LARGEST = 1 << 24
"""Bytes of all files together."""

DIGEST_SIZE = sha256().digest_size
WRITABLE_BY_OTHERS, ROOT = 0o022, 0


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
    """The content of a file that nobody else can write to, if its digest is right."""
    try:
        with file.open("rb") as opened:
            data = opened.read() if _is_own(os.fstat(opened.fileno())) else b""
    except OSError:
        return None
    content, digest = data[:-DIGEST_SIZE], data[-DIGEST_SIZE:]
    if sha256(content).digest() != digest:
        return None
    with suppress(OSError):  # a cache that can't be written to, as in an image
        os.utime(file)
    return content


def _write(file: Path, content: bytes) -> None:
    from surefoot.io.atomic import replacing

    with suppress(OSError):
        file.unlink(missing_ok=True)  # else the new file gets the mode of one that is not to be trusted
        with replacing(file) as draft:
            draft.chmod(0o600)
            draft.write_bytes(content + sha256(content).digest())
        evict(file, LARGEST)


@cache
def _folder() -> Path | None:
    """The folder for machine code; None where it can't be made, or others might write to it what is executed here."""
    folder = cache_folder() / "code"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        above = folder.parent.stat()
    except OSError:
        return None
    is_shared = above.st_uid == ROOT and above.st_mode & S_ISVTX  # like /tmp, where nobody moves what is another's
    return folder if _is_own(folder.stat()) and (_is_own(above) or is_shared) else None


def _is_own(state: os.stat_result) -> bool:
    """Whether this user owns it and nobody else can write to it; Windows keeps caches in the user's own folders."""
    return not hasattr(os, "geteuid") or (state.st_uid == os.geteuid() and not state.st_mode & WRITABLE_BY_OTHERS)
