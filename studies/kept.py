"""Finished work is kept on disk, so that a stopped study resumes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from surefoot._typing import FloatArray
from surefoot.io.atomic import write_bytes

FOLDER = "SUREFOOT_STUDIES"
"""The environment variable of the folder; without it nothing is kept."""

Arrays = dict[str, FloatArray]


def kept(name: str, compute: Callable[[], Arrays]) -> Arrays:
    """Arrays from the folder, or computed and kept there if there is one."""
    path = Path(os.environ[FOLDER]) / f"{name}.npz" if FOLDER in os.environ else None
    if path is not None and path.exists():
        return dict(np.load(path, allow_pickle=False))
    found = compute()
    if path is not None:
        text = io.BytesIO()
        np.savez_compressed(text, **found)  # type: ignore[arg-type]
        write_bytes(path, text.getvalue())
    return found


Row = dict[str, object]


def kept_row(name: str, compute: Callable[[], Row]) -> Row:
    """A row of a table from the folder, or computed and kept there if there is one."""
    path = Path(os.environ[FOLDER]) / f"{name}.json" if FOLDER in os.environ else None
    if path is not None and path.exists():
        found: Row = json.loads(path.read_text())
        return found
    row = compute()
    if path is not None:
        write_bytes(path, json.dumps(row).encode())
    return row
