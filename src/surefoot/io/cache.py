"""The folder for data that can be downloaded or computed again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The folder that SUREFOOT_CACHE names, or the operating system's folder for the user's caches.

    It may not exist, and may be impossible to create.
    """
    if own := os.environ.get("SUREFOOT_CACHE"):
        return Path(own)
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "surefoot" / "surefoot" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "surefoot"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "surefoot"
    except RuntimeError:  # a user without a home, as in containers: nothing can be cached
        return Path(os.devnull) / "surefoot"


def evict(newest: Path, largest: int) -> None:
    """Remove the least recently used entries beside the newest while all together have more than ``largest`` bytes.

    An entry is a regular file with a name of as many hexadecimal digits; other files stay.
    """
    digits = frozenset("0123456789abcdef")
    entries = [
        (file, file.stat())
        for file in newest.parent.iterdir()
        if len(file.name) == len(newest.name) and digits.issuperset(file.name)
        if file != newest and file.is_file() and not file.is_symlink()
    ]
    room = largest - newest.stat().st_size
    for file, state in sorted(entries, key=lambda entry: entry[1].st_mtime_ns, reverse=True):
        room -= state.st_size
        if room < 0:
            file.unlink(missing_ok=True)
