"""Results of jobs on disk: one .npz file each, written atomically and named by the hash of the job's request."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import InputError
from surefoot.io.atomic import write_bytes
from surefoot.learn.checkpoint import Request, request_key, request_text

JobResult = Mapping[str, FloatArray]
"""What a job computed: arrays by name."""

REQUEST = "about"
"""The array of a file that holds the request's text, for inspection."""


@dataclass(frozen=True)
class JobStore:
    """The folder of the job results."""

    folder: Path

    def path(self, request: Request) -> Path:
        """The file of a job's result."""
        return self.folder / f"{request_key(request)}.npz"

    def __contains__(self, request: Request) -> bool:
        return self.path(request).exists()

    def save(self, request: Request, result: JobResult) -> None:
        """Write the result of a job."""
        self.folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **{REQUEST: np.array(request_text(request)), **result})
        write_bytes(self.path(request), buffer.getvalue())

    def load(self, request: Request) -> JobResult:
        """Read the result of a job."""
        path = self.path(request)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files if name != REQUEST}
        except (ValueError, zipfile.BadZipFile, EOFError, KeyError):
            raise InputError(path, "is not the result of a job; remove it, and it will be computed again") from None
