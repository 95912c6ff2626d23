"""The folder of downloaded collections."""

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
