"""Decorators for functions that numba compiles, which type checkers see as plain functions."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar

import numba
from numba.core import caching
from numba.extending import intrinsic

PATIENCE = 2.0
"""Seconds before a compilation is told of."""

Function = TypeVar("Function", bound=Callable[..., Any])
FunctionCache: Any = caching.FunctionCache
IndexDataCacheFile: Any = caching.IndexDataCacheFile
DIGEST_SIZE = sha256().digest_size


def kernel(function: Function) -> Function:
    """Compile a function on its first call.

    The machine code is cached next to the source, or in the user's cache folder where that is not writable. Kernels
    release the interpreter lock, so that threads run them in parallel, and divide by zero as numpy does.
    """
    dispatcher = numba.njit(function, nogil=True, error_model="numpy")
    with suppress(RuntimeError):  # no folder to cache the code in: every process compiles it
        dispatcher._cache = _CodeCache(function)
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Inline a small function into the kernels that call it."""
    return numba.njit(function, forceinline=True, error_model="numpy")  # type: ignore[no-any-return]


def vectorised(function: Function) -> Function:
    """Inline a small loop into the kernels that call it, with sums in any order so that it can be vectorised.

    The order is fixed at compile time: the same machine gives the same sums for any number of threads.
    """
    fast = {"reassoc", "contract"}
    return numba.njit(function, forceinline=True, error_model="numpy", fastmath=fast)  # type: ignore[no-any-return]


class _CodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """Cached machine code that is compiled anew where it is damaged or any source has changed.

    numba checks the kernel's own source only, and would miss a change in a function that is inlined from another file.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: object) -> None:
        super().__init__(cache_path, filename_base, (source_stamp, _sources()))

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
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _CodeFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # the folder can't be made
            super().save_overload(sig, data)


@cache
def _sources() -> str:
    """A hash of all sources that are compiled."""
    here = Path(__file__)
    files = [here, *here.parent.rglob("*kernels.py"), *here.parent.rglob("tokens.py")]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare machine instructions for use inside kernels, where the call omits the first argument."""
    return intrinsic(function)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is loaded or cached, so that its first call does not have to compile it."""
    if getattr(function, "signatures", True):
        return True
    code = function.py_func.__code__  # type: ignore[attr-defined]
    kept = Path(function.stats.cache_path or "")  # type: ignore[attr-defined]
    return any(kept.glob(f"{Path(code.co_filename).stem}.{code.co_qualname}-{code.co_firstlineno}.*.nbi"))


@contextmanager
def compiling(is_needed: bool) -> Iterator[None]:
    """Say on standard error why the block takes long, if it has to compile; on a terminal progress bars say so."""
    if not is_needed or sys.stderr is None or sys.stderr.isatty():
        yield
        return
    tell = partial(print, "surefoot: compiling, once; the next call is fast", file=sys.stderr, flush=True)
    timer = Timer(PATIENCE, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
