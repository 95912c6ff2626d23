"""Functions compiled to machine code by numba: one way to declare them, seen by type checkers as plain functions."""

from __future__ import annotations

from collections.abc import Callable
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
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep the code in: compile afresh in each process
        return numba.njit(function, nogil=True, error_model="numpy")  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a small function into the kernels that call it.

    Kept machine code is made anew when the kernel's own file changes. After a change in an inlined function, touch
    the files of the kernels that use it.
    """
    return numba.njit(function, forceinline=True, error_model="numpy")  # type: ignore[no-any-return]


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a few machine instructions for use inside kernels, where the call leaves out the first argument."""
    return intrinsic(function)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is at hand, so that its first call won't wait for the compiler."""
    if function.signatures:  # type: ignore[attr-defined]
        return True
    code = function.py_func.__code__  # type: ignore[attr-defined]
    kept = Path(function.stats.cache_path or "")  # type: ignore[attr-defined]
    return any(kept.glob(f"{Path(code.co_filename).stem}.{code.co_qualname}-{code.co_firstlineno}.*.nbi"))
