"""Decorators for functions that are compiled, which type checkers see as plain functions.

The package carries the bitcode of the kernels that its commands call (`surefoot._bitcode`); whatever it does not carry
numba compiles, and is imported only then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, update_wrapper
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar

from surefoot import _bitcode

PATIENCE = 2.0
"""Seconds before a compilation is told of."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Kernel:
    """A function that is compiled on its first call."""

    def __init__(self, function: Callable[..., Any], cached: bool = False, **options: Any) -> None:
        update_wrapper(self, function)
        self.function, self.cached, self.options = function, cached, {"error_model": "numpy", **options}
        self.codes = _bitcode.Codes(function)

    def __call__(self, *arguments: Any) -> Any:
        leaves = [*_bitcode.leaves_of(arguments)]
        code = self.codes.find(_bitcode.types_of(leaves))
        return self.dispatcher(*arguments) if code is None else code(leaves)

    def __reduce__(self) -> str:
        return self.function.__qualname__  # of its module: machine code stays in its process

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba compiles it."""
        import numba

        from surefoot._numba_cache import keep_code

        dispatcher = numba.njit(self.function, **self.options)
        if self.cached:
            keep_code(dispatcher)
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this for where another kernel calls it."""
        return self.dispatcher._numba_type_

    @property
    def is_compiled(self) -> bool:
        """Whether the machine code is loaded, carried or cached, so that the first call does not wait for numba."""
        if self.codes.are_carried or self.dispatcher.signatures:
            return True
        code = self.function.__code__
        kept = Path(self.dispatcher.stats.cache_path or "")
        return any(kept.glob(f"{Path(code.co_filename).stem}.{code.co_qualname}-{code.co_firstlineno}.*.nbi"))


class Instruction:
    """Machine instructions for use inside kernels."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        self.intrinsic = intrinsic(self.function)  # numba keeps a weak reference
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(self.intrinsic)


def kernel(function: Function) -> Function:
    """Compile a function on its first call.

    Kernels release the interpreter lock, so that threads run them in parallel, and divide by zero as numpy does. The
    machine code that numba makes is cached next to the source, or in the user's cache folder where that is not
    writable.
    """
    return Kernel(function, cached=True, nogil=True)  # type: ignore[return-value]


def inlined(function: Function) -> Function:
    """Inline a small function into the kernels that call it."""
    return Kernel(function, forceinline=True)  # type: ignore[return-value]


def vectorised(function: Function) -> Function:
    """Inline a small loop into the kernels that call it, with sums in any order so that it can be vectorised.

    The order is fixed at compile time: the same machine gives the same sums for any number of threads.
    """
    return Kernel(function, forceinline=True, fastmath={"reassoc", "contract"})  # type: ignore[return-value]


def instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare machine instructions for use inside kernels, where the call omits the first argument."""
    return Instruction(function)  # type: ignore[return-value]


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a kernel's first call does not have to compile it."""
    return not isinstance(function, Kernel) or function.is_compiled


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
