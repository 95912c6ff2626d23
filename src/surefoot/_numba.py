"""Functions compiled to machine code by numba: one way to declare them, seen by type checkers as plain functions."""

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

    The machine code is kept beside the source for the next process, where that place can be written. Kernels
    release the interpreter lock, so that threads run them side by side, and divide as numpy does.
    """
    try:
        return _stamped(numba.njit(function, cache=True, nogil=True, error_model="numpy"))  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep the code in: compile afresh in each process
        return numba.njit(function, nogil=True, error_model="numpy")  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a small function into the kernels that call it."""
    return numba.njit(function, forceinline=True, error_model="numpy")  # type: ignore[no-any-return]


def vectorised(function: Function) -> Function:
    """Compile a small loop into the kernels that call it, free to add in any order and so to use vector units.

    The order is fixed when it is compiled: the same machine gives the same sums whatever the number of threads.
    """
    fast = {"reassoc", "contract"}
    return numba.njit(function, forceinline=True, error_model="numpy", fastmath=fast)  # type: ignore[no-any-return]


def _stamped(dispatcher: Any) -> Any:
    """Let kept machine code expire when any compiled source changes.

    numba looks at the kernel's own file alone, but what is inlined into it comes from others, and an upgrade that
    changed only those would go on running the old code.
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
    """Declare a few machine instructions for use inside kernels, where the call leaves out the first argument."""
    return intrinsic(function)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is at hand, so that its first call won't wait for the compiler."""
    if getattr(function, "signatures", True):
        return True
    code = function.py_func.__code__  # type: ignore[attr-defined]
    kept = Path(function.stats.cache_path or "")  # type: ignore[attr-defined]
    return any(kept.glob(f"{Path(code.co_filename).stem}.{code.co_qualname}-{code.co_firstlineno}.*.nbi"))
