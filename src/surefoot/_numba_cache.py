"""Machine code that numba made, kept on disk; where it is damaged or can't be kept, that costs time alone."""

from __future__ import annotations

import pickle
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core import caching

from surefoot._bitcode import digest_of_sources

FunctionCache: Any = caching.FunctionCache
IndexDataCacheFile: Any = caching.IndexDataCacheFile
DIGEST_SIZE = sha256().digest_size


def keep_code(dispatcher: Any) -> None:
    """Cache a kernel's machine code next to its source, or in the user's cache folder where that is not writable."""
    with suppress(RuntimeError):  # no folder to cache the code in: every process compiles it
        dispatcher._cache = _CodeCache(dispatcher.py_func)


class _CodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """Cached machine code that is compiled anew where it is damaged or any source has changed.

    numba checks the kernel's own source only, and would miss a change in a function that is inlined from another file.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: object) -> None:
        super().__init__(cache_path, filename_base, (source_stamp, digest_of_sources()))

    def save(self, key: object, data: object) -> None:
        try:
            super().save(key, data)
        except OSError as error:
            warnings.warn(f"compiled code can't be kept in {self._cache_path} ({error.strerror})", stacklevel=2)

    def _load_index(self) -> dict[object, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # pickle raises almost anything on damaged data
            return {}

    def _dump(self, obj: object) -> bytes:
        data: bytes = super()._dump(obj)
        return data + sha256(data).digest()

    def _load_data(self, name: str) -> object:
        content = Path(self._data_path(name)).read_bytes()
        data, digest = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
        if sha256(data).digest() != digest:
            raise OSError("damaged")  # which numba takes for a file that is not there
        return pickle.loads(data)


class _CodeCache(FunctionCache):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _CodeFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # the folder can't be made
            super().save_overload(sig, data)
