"""The kernels' bitcode, which the package carries so that commands start without numba.

``KERNEL.DIGEST.bc`` in this folder is what numba made of a kernel for certain types of arguments: optimised bitcode,
the same for every 64-bit little-endian platform, which llvmlite turns into machine code in a few milliseconds. It does
so in haste at first; a kernel that gets much work is translated once more, with care. Where llvmlite is too old for the
bitcode, numba compiles the kernel instead. ``make bitcode`` makes the files.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from surefoot._bitcode.machine_code import kept

FOLDER = Path(__file__).parent
KEPT = (1 << 25) - (1 << 13)
"""Bytes of a block just below 32 MiB: glibc keeps freed memory up to twice the largest such block that was released."""

MUCH = 1 << 24
"""Bytes of arguments after which a kernel is worth the time of a careful translation."""

NONE = "none"
"""What a kernel returns that returns nothing."""

HASTY, CAREFUL = 0, 2
MATHEMATICS = ("erfc", "exp", "exp2", "expf", "log", "log1p", "log2", "sqrt", "sqrtf")
"""The functions of the C library that kernels call."""

SCALARS: dict[str, Any] = {
    "b1": ctypes.c_bool,
    "i8": ctypes.c_int64,
    "f4": ctypes.c_float,
    "f8": ctypes.c_double,
}
_PLAIN = {bool: "b1", int: "i8", float: "f8"}
_LOCK = RLock()


class Codes:
    """The code of one kernel, by the types of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__.removeprefix('surefoot.')}.{function.__name__}"
        self._by_types: dict[str, Code | None] = {}

    def find(self, types: str) -> Code | None:
        """The code for arguments of these types; None if it is not carried."""
        if types not in self._by_types:
            with _LOCK:
                file = file_of(self.name, types)
                self._by_types[types] = Code(types, file.read_bytes()) if file.exists() and is_usable() else None
        return self._by_types[types]

    @property
    def are_carried(self) -> bool:
        """Whether there is code for any types."""
        return any(FOLDER.glob(f"{self.name}.*.bc")) and is_usable()


class Code:
    """A kernel for arguments of given types."""

    def __init__(self, types: str, bitcode: bytes) -> None:
        self._types, self._bitcode, self._work = types, bitcode, 0
        self._machine = _translate(types, bitcode, HASTY)

    def __call__(self, leaves: list[Any]) -> Any:
        words: list[Any] = []
        work = 0
        for leaf in leaves:
            if isinstance(leaf, np.ndarray):
                words += (None, None, leaf.size, leaf.itemsize, leaf.ctypes.data, *leaf.shape, *leaf.strides)
                work += leaf.nbytes
            else:
                words.append(leaf)
        return self._machine_for(work)(words)

    def _machine_for(self, work: int) -> Machine:
        with _LOCK:
            if self._work <= MUCH < self._work + work:
                self._machine = _translate(self._types, self._bitcode, CAREFUL)
            self._work += work
            return self._machine


class Machine(NamedTuple):
    """Machine code that can be called, the types of its result, and what owns its memory."""

    function: Any
    result: Any
    engine: Any

    def __call__(self, words: list[Any]) -> Any:
        result = self.result()
        if self.function(ctypes.byref(result), None, *words):
            raise SystemError("a kernel failed")
        values = tuple(getattr(result, name) for name, _ in result._fields_)
        return values if len(values) > 1 else values[0] if values else None


def file_of(name: str, types: str) -> Path:
    """Where the bitcode of a kernel for arguments of these types is; types are too long for some file systems."""
    return FOLDER / f"{name}.{sha256(types.encode()).hexdigest()[:8]}.bc"


def leaves_of(arguments: Any) -> Iterator[Any]:
    """The arguments, those in tuples one by one."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from leaves_of(argument)
        else:
            yield argument


def types_of(leaves: list[Any]) -> str:
    """The types of arguments, as file names and signatures write them.

    >>> types_of([np.zeros((2, 3)), True, 7])
    'f8x2-b1-i8'
    """
    return "-".join(map(_type_of, leaves))


def _type_of(leaf: Any) -> str:
    if isinstance(leaf, np.ndarray):
        plain = leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype.isnative
        return f"{leaf.dtype.str[1:]}x{leaf.ndim}" if plain else "other"
    if isinstance(leaf, np.generic):
        return leaf.dtype.str[1:]
    return _PLAIN.get(type(leaf), "other")


def _translate(types: str, bitcode: bytes, effort: int) -> Machine:
    """Machine code for this processor, from the user's cache if it is there."""
    import llvmlite
    from llvmlite import binding

    target, features = binding.Target.from_default_triple(), binding.get_host_cpu_features().flatten()
    processor = binding.get_host_cpu_name()
    machine = target.create_target_machine(processor, features, effort, jit=True)
    origin = "\n".join((llvmlite.__version__, target.triple, processor, features, str(effort))).encode() + bitcode
    name, _, code = kept(origin, lambda: _emit(bitcode, machine)).partition(b"\n")
    engine = binding.create_mcjit_compiler(_for_machine(binding.parse_assembly(""), machine), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    words = [word for one in types.split("-") for word in _words_of(one)]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *words)
    returned = [(f"_{index}", SCALARS[one]) for index, one in enumerate(name.decode().split("-")) if one != NONE]
    result = type("Result", (ctypes.Structure,), {"_fields_": returned})
    return Machine(prototype(engine.get_function_address(name.decode())), result, engine)


def _emit(bitcode: bytes, machine: Any) -> bytes:
    """The name of the one function that can be called, in a line of its own, and an object file."""
    from llvmlite import binding

    module = _for_machine(binding.parse_bitcode(bitcode), machine)
    (entry,) = (one for one in module.functions if one.linkage.name == "external" and not one.is_declaration)
    return bytes(entry.name.encode() + b"\n" + machine.emit_object(module))


def _for_machine(module: Any, machine: Any) -> Any:
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def _words_of(leaf: str) -> list[Any]:
    """How numba passes an argument: of an array its owners, size, size of items, address, shape and strides."""
    if "x" not in leaf:
        return [SCALARS[leaf]]
    word = ctypes.c_int64
    return [ctypes.c_void_p, ctypes.c_void_p, word, word, ctypes.c_void_p, *[word] * (2 * int(leaf.partition("x")[2]))]


@cache
def is_usable() -> bool:
    """Whether the bitcode can be translated here."""
    if sys.byteorder != "little" or sys.maxsize < 1 << 32:
        return False
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    try:
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        for name in MATHEMATICS:
            binding.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
        binding.parse_bitcode(next(FOLDER.glob("*.bc")).read_bytes())
    except (AttributeError, OSError, RuntimeError):  # no such function; bitcode of a newer LLVM
        return False
    _keep_freed_memory()
    return True


def _keep_freed_memory() -> None:
    """Free a large array: glibc then keeps as much, else the pages of arrays cost half as much as parsing a run."""
    np.empty(KEPT, np.uint8)


@cache
def digest_of_sources() -> str:
    """A hash of all sources that are compiled."""
    package = FOLDER.parent
    files = [package / "_numba.py", *package.rglob("*kernels.py"), *package.rglob("tokens.py")]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()
