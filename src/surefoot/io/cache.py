"""The folder where Surefoot keeps what it can fetch or compute again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder that SUREFOOT_CACHE names, or the operating system's folder for the user's caches."""
    if own := os.environ.get("SUREFOOT_CACHE"):
        return Path(own)
    import pooch

    return Path(pooch.os_cache("surefoot"))
