"""Collections on this machine: where they are, and how they get there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.io.atomic import sole_writer
from surefoot_lab.datasets.registry import Collection, collection


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


TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from surefoot._typing import Progress


def locate(name: str) -> Path | None:
    """The folder of a collection, if it is on this machine: below SUREFOOT_DATA, or in the cache.

    Parameters
    ----------
    name
        The name of the collection in the registry.

    Returns
    -------
    Path or None
        The folder; None if the collection has to be downloaded first.

    """
    wanted = collection(name)
    places = [Path(own)] if (own := os.environ.get("SUREFOOT_DATA")) else []
    found = (place / name for place in (*places, cache_folder()) if wanted.is_in(place / name))
    return next(found, None)


def fetch(name: str, progress: Progress | None = None) -> Path:
    """The folder of a collection, downloaded first if it is not on this machine.

    An interrupted download is resumed. The folder gets its name when its content is complete and verified.
    SUREFOOT_MIRROR names another address to download from.

    Parameters
    ----------
    name
        The name of the collection in the registry.
    progress
        Called with the bytes downloaded, the total if it is known, and the path of the file.

    Returns
    -------
    Path
        The folder of the collection.

    """
    wanted = collection(name)
    found = locate(name)
    if found is not None:
        if found.parent == cache_folder():  # left by a process that was killed before its last step
            shutil.rmtree(_arriving(found.parent, name), ignore_errors=True)
        return found
    if wanted.ask:
        raise SurefootError(
            f"the owner of {name} distributes it under an agreement: ask at {wanted.page}, and put it in the folder "
            f"{name} below the folder that SUREFOOT_DATA names"
        )
    try:
        return _fetch(wanted, cache_folder(), progress)
    except OSError as error:
        raise SurefootError(
            f"can't store {name} in {cache_folder()}: {error.strerror or error}; SUREFOOT_CACHE names another folder"
        ) from None


def _fetch(wanted: Collection, home: Path, progress: Progress | None) -> Path:
    from surefoot_lab.datasets.download import download
    from surefoot_lab.datasets.prepare import build

    arriving = _arriving(home, wanted.name)
    finished = home / wanted.name
    if finished.exists():
        lacking = [name for name in wanted.shows if not (finished / name).exists()]
        raise SurefootError(f"{finished} is there but lacks {', '.join(lacking)}; move it away and run this again")
    arriving.mkdir(parents=True, exist_ok=True)
    with sole_writer(arriving):
        base = os.environ.get("SUREFOOT_MIRROR")
        mirror = f"{base.rstrip('/')}/{wanted.name}" if base else None
        files = {source: download(source, arriving, mirror, progress) for source in wanted.sources}
        draft = arriving / ".draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        build(wanted, files, draft)
        draft.rename(finished)
        shutil.rmtree(arriving, ignore_errors=True)
    return finished


def _arriving(home: Path, name: str) -> Path:
    """Where the parts of a collection are until it is complete: a name that no folder of the user's has."""
    return home / ".surefoot-downloads" / name
