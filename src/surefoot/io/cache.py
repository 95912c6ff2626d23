"""The folder where Surefoot keeps what it can fetch or compute again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder that SUREFOOT_CACHE names, or the operating system's folder for the user's caches.

    It need not exist, nor be possible to make.
    """
    if own := os.environ.get("SUREFOOT_CACHE"):
        return Path(own)
    import platformdirs

    try:
        return Path(platformdirs.user_cache_dir("surefoot"))
    except RuntimeError:  # a user without a home and a name, as in containers: nothing can be kept
        return Path(os.devnull) / "surefoot"


def evict(newest: Path, largest: int) -> None:
    """Remove the files beside the newest that were used longest ago while all together have too many bytes."""
    states = [(file, file.stat()) for file in newest.parent.iterdir() if file != newest]
    room = largest - newest.stat().st_size
    for file, state in sorted(states, key=lambda pair: pair[1].st_mtime_ns, reverse=True):
        room -= state.st_size
        if room < 0:
            file.unlink(missing_ok=True)
