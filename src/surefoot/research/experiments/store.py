"""Results of units on disk: one file each, written whole, named by a hash of all that defines it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError
from surefoot.io.atomic import write_bytes
from surefoot.results import plain
from surefoot.scores import FloatArray

Found = Mapping[str, FloatArray]
"""What a unit measured: columns of numbers."""

ABOUT = "about"


def key_of(definition: Mapping[str, Any]) -> str:
    """A name for what is defined so.

    >>> key_of({"alpha": 1.0}) == key_of({"alpha": 1.0}), key_of({"alpha": 1.0}) == key_of({"alpha": 2.0})
    (True, False)
    """
    return _hash(json.dumps(plain(dict(definition)), sort_keys=True).encode())


def digest(numbers: FloatArray) -> str:
    """A name for a column of numbers."""
    return _hash(np.ascontiguousarray(numbers).tobytes())


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()


@dataclass(frozen=True)
class Store:
    """The folder of the units' files."""

    folder: Path

    def path(self, key: str) -> Path:
        """The file of a unit."""
        return self.folder / f"{key}.npz"

    def __contains__(self, key: str) -> bool:
        return self.path(key).exists()

    def save(self, key: str, about: Mapping[str, Any], found: Found) -> None:
        """Keep what a unit measured, with its definition for whoever looks at the file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        text = np.array(json.dumps(plain(dict(about)), sort_keys=True))
        np.savez_compressed(buffer, allow_pickle=False, **{ABOUT: text, **found})
        write_bytes(self.path(key), buffer.getvalue())

    def load(self, key: str) -> dict[str, FloatArray]:
        """What a unit measured."""
        path = self.path(key)
        try:
            with np.load(path, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files if name != ABOUT}
        except (ValueError, zipfile.BadZipFile, EOFError, KeyError):
            raise InputError(path, "is no result of a unit; remove it, and it will be computed again") from None
