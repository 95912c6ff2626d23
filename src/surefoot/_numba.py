"""Decorators for functions that numba compiles, which type checkers see as plain functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function on its first call.

    The machine code is cached next to the source if that folder is writable. Kernels release the interpreter lock, so
    that threads run them in parallel, and divide by zero as numpy does.
    """
    try:
        return _stamped(numba.njit(function, cache=True, nogil=True, error_model="numpy"))  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to cache the code in: every process compiles it
        return numba.njit(function, nogil=True, error_model="numpy")  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Inline a small function into the kernels that call it."""
    return numba.njit(function, forceinline=True, error_model="numpy")  # type: ignore[no-any-return]


def vectorised(function: Function) -> Function:
    """Inline a small loop into the kernels that call it, with sums in any order so that it can be vectorised.

    The order is fixed at compile time: the same machine gives the same sums for any number of threads.
    """
    fast = {"reassoc", "contract"}
    return numba.njit(function, forceinline=True, error_model="numpy", fastmath=fast)  # type: ignore[no-any-return]


def _stamped(dispatcher: Any) -> Any:
    """Let cached machine code expire when any compiled source changes.

    numba checks the kernel's own file only, and would miss a change in a function that is inlined from another file.
    """
    kept = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, _sources())
    return dispatcher


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
