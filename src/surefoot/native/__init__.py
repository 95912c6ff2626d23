"""The native library: kernels in C, called with numpy arrays by ctypes.

To add a kernel, say ``scale``:

1. Declare its arguments in ``kernels.h``, which C and this module both read::

       struct scale {
           const double *x SIZE(rows, topics);
           double *out SIZE(rows, topics);
           double factor;
           int64_t rows, topics;
       };

2. Define it in the C file that it belongs to: ``SF_KERNEL(scale) { ... a->out[i] = a->factor * a->x[i]; ... }``. It
   returns an integer. ``SF_OUT_OF_RANGE`` raises an IndexError: check each index and count that comes from an array.
3. Call it: ``scale = kernel("scale")`` at the top of a module, then ``scale(x, out, 2.0)``. Arguments are in the order
   of the fields, without the sizes: these come from the shapes, and are checked. A field that is a struct takes a tuple
   of its fields, usually a NamedTuple; `records` makes an array of structs.

A source tree compiles the library on the first call after a change (`surefoot.native.build`).
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from operator import itemgetter, sub
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from surefoot.errors import SurefootError

FOLDER = Path(__file__).parent
LEVELS = ("base", "v3")
OUT_OF_RANGE = -(1 << 63)
RELEASED = (1 << 25) - (1 << 13)
"""Bytes of a block just below 32 MiB: once it is freed, glibc keeps freed memory of up to twice its size."""
TYPES = {
    "bool": "?",
    "uint8_t": "u1",
    "int32_t": "i4",
    "uint32_t": "u4",
    "int64_t": "i8",
    "uint64_t": "u8",
    "float": "f4",
    "double": "f8",
}
WORDS = {"int64_t": "q", "double": "d"}
_NO_BYTES: Any = ctypes.c_char * 0
_lock = Lock()


class Field(NamedTuple):
    """A word of a kernel's arguments: a number, a named choice, the address of an array, or a size.

    ``shape`` has, for each axis, the name of a size and a number to add to it.
    """

    name: str
    word: str
    choices: dict[str, int] | None = None
    dtype: np.dtype[Any] | None = None
    is_const: bool = True
    shape: tuple[tuple[str, int], ...] = ()
    is_size: bool = False

    @property
    def axes(self) -> str:
        """The shape as declared."""
        axes = (f"{name} + {more}" if name and more else name or str(more) for name, more in self.shape)
        return f"[{', '.join(axes)}]"

    def problem(self, value: Any) -> str | None:
        """The problem with a value, except the lengths of its axes; None if it is valid."""
        if self.choices is not None:
            expected, right = f"one of {', '.join(self.choices)}", value in self.choices
        elif self.dtype is None:
            expected = {"d": "a number", "q": "an integer"}[self.word]
            right = isinstance(value, {"d": (float, int, np.number), "q": (int, np.integer)}[self.word])
            right = right and (self.word == "d" or -(1 << 63) <= value < 1 << 63)
        else:
            expected = f"{self.dtype} {self.axes}, {'' if self.is_const else 'writable, '}contiguous"
            right = isinstance(value, np.ndarray) and value.dtype == self.dtype and value.ndim == len(self.shape)
            right = right and value.flags.c_contiguous and value.flags.aligned
            right = right and (self.is_const or value.flags.writeable)
        return None if right else f"{self.name} must be {expected}; got {_described(value)}"


class Layout:
    """The declared fields of a kernel; checks arguments and packs them into its struct."""

    def __init__(self, fields: Iterable[Field]) -> None:
        words = list(fields)
        self.inputs = [field for field in words if not field.is_size]
        axes = [axis for field in self.inputs for axis in field.shape]
        # A fixed length n is declared as 0 + n. The size 0 is last, and twice, so that itemgetter returns a tuple.
        names = [name for name, _ in axes] + ["", ""]
        where = {field.name: index for index, field in enumerate(self.inputs)}
        where |= {name: len(self.inputs) + names.index(name) for name in names}
        self._more = [more for _, more in axes] + [0, 0]
        self._first = itemgetter(*map(names.index, names))
        self._order = itemgetter(*(where[field.name] for field in words))
        self._struct = struct.Struct("=" + "".join(field.word for field in words))

    def pack(self, values: Iterable[Any]) -> bytes:
        """The struct of the values; raises some error if they are not as declared."""
        words: list[Any] = []
        lengths: list[int] = []
        for field, value in zip(self.inputs, values, strict=True):
            if field.dtype is None:
                words.append(value if field.choices is None else field.choices[value])
                continue
            if value.dtype != field.dtype or value.ndim != len(field.shape):
                raise TypeError
            if value.flags.carray:  # C-contiguous, aligned and writable: faster than value.ctypes
                words.append(ctypes.addressof(_NO_BYTES.from_buffer(value)))
            elif field.is_const and value.flags.c_contiguous and value.flags.aligned:
                words.append(value.ctypes.data)
            else:
                raise TypeError
            lengths += value.shape
        sizes = tuple(map(sub, (*lengths, 0, 0), self._more))
        if self._first(sizes) != sizes or min(sizes) < 0:
            raise ValueError("sizes differ")
        return self._struct.pack(*self._order((*words, *sizes)))

    def problem(self, values: list[Any]) -> str:
        """The reason why values can't be packed."""
        if len(values) != len(self.inputs):
            return f"takes {len(self.inputs)} arguments ({', '.join(field.name for field in self.inputs)})"
        pairs = [*zip(self.inputs, values, strict=True)]
        shapes = (f"{field.name} {field.axes} = {list(np.shape(value))}" for field, value in pairs if field.shape)
        return next(
            filter(None, (field.problem(value) for field, value in pairs)), f"sizes differ: {', '.join(shapes)}"
        )


class Kernel:
    """A function of the native library; it releases the interpreter lock."""

    def __init__(self, name: str, level: str | None = None) -> None:
        self.name, self.level = name, level

    def __reduce__(self) -> tuple[Any, ...]:
        return kernel, (self.name, self.level) if self.level else (self.name,)

    def __repr__(self) -> str:
        return f"kernel({self.name!r})"

    def __call__(self, *arguments: Any) -> int:
        """Call the kernel, and return its integer."""
        returned: int = self._function(self.pack(arguments))
        if returned == OUT_OF_RANGE:
            raise IndexError(f"{self.name}: an index or a count in its arrays is out of range")
        return returned

    def pack(self, arguments: Iterable[Any]) -> bytes:
        """The struct of the arguments."""
        try:
            return self.layout.pack(_leaves(arguments))
        except (AttributeError, KeyError, TypeError, ValueError, struct.error) as error:
            raise TypeError(f"{self.name}: {self.layout.problem([*_leaves(arguments)])}") from error

    @cached_property
    def layout(self) -> Layout:
        """The declaration of the arguments."""
        return Layout(_fields(self.name))

    @cached_property
    def _function(self) -> Any:
        function = getattr(_library(), f"sf_{self.name}_{self.level or level()}")
        function.argtypes, function.restype = [ctypes.c_char_p], ctypes.c_int64
        return function


@cache
def kernel(name: str, level: str | None = None) -> Kernel:
    """The kernel of a name, for the level of the processor unless one is given; its first call loads the library."""
    return Kernel(name, level)


def records(name: str, rows: Iterable[tuple[Any, ...]]) -> np.ndarray[Any, Any]:
    """An array of structs, from the fields of each."""
    return np.frombuffer(bytearray().join(map(kernel(name).pack, rows)), _dtype(f"struct {name}"))


def _leaves(arguments: Iterable[Any]) -> Iterator[Any]:
    """The arguments, with tuples flattened."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _leaves(argument)
        else:
            yield argument


def _described(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    contiguous = "" if value.flags.c_contiguous else ", not contiguous"
    contiguous += "" if value.flags.aligned else ", not aligned"
    return f"{value.dtype} {list(value.shape)}{contiguous}{'' if value.flags.writeable else ', read-only'}"


@cache
def _declarations() -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """The bodies of the structs of ``kernels.h``, and the words of its enums."""
    text = re.sub(r"/\*.*?\*/", "", (FOLDER / "kernels.h").read_text(encoding="utf-8"), flags=re.DOTALL)
    enums = {
        name: {word.strip().removeprefix(f"{name}_"): number for number, word in enumerate(words.split(","))}
        for name, words in re.findall(r"enum (\w+) \{([^}]*)\};", text)
    }
    structs = dict(re.findall(r"struct (\w+) \{([^}]*)\};", text))
    for name, kernels in re.findall(r"^KERNELS\((\w+), (.*)\)$", text, re.MULTILINE):
        structs |= dict.fromkeys(kernels.split(", "), structs[name])
    return structs, enums


def _fields(name: str, prefix: str = "") -> Iterator[Field]:
    """The fields of a struct, with nested structs flattened."""
    structs, enums = _declarations()
    sizes = set(re.findall(r"\w+", " ".join(re.findall(r"SIZE\((.*?)\)", structs[name]))))
    for const, kind, words, note in re.findall(
        r"(const )?((?:struct )?\w+) (\*?\w+(?:, \*?\w+)*)(?: (?:SIZE|ONE_OF)\((.*?)\))?;", structs[name]
    ):
        for word in words.split(", "):
            if word.startswith("*"):
                shape = tuple(_axis(axis, prefix) for axis in note.split(", "))
                yield Field(prefix + word[1:], "q", dtype=_dtype(kind), is_const=bool(const), shape=shape)
            elif kind.startswith("struct "):
                yield from _fields(kind.removeprefix("struct "), f"{prefix}{word}.")
            else:
                yield Field(prefix + word, WORDS[kind], enums.get(note), is_size=word in sizes)


def _dtype(kind: str) -> np.dtype[Any]:
    """The type of the elements of an array; structs consist of words, so their type is their size in bytes."""
    fields = _fields(kind.removeprefix("struct ")) if kind.startswith("struct ") else ()
    return np.dtype(TYPES.get(kind) or f"V{8 * len(list(fields))}")


def _axis(text: str, prefix: str) -> tuple[str, int]:
    """The name of the size of an axis, and the number added to it, from ``topics``, ``topics + 1`` or ``2``."""
    if text.isdigit():
        return "", int(text)
    name, _, more = text.partition(" + ")
    return prefix + name, int(more or 0)


@cache
def level() -> str:
    """The level of the processor."""
    return LEVELS[_library().sf_level_base()]


def _library() -> ctypes.CDLL:
    with _lock:
        return _loaded()


@cache
def _loaded() -> ctypes.CDLL:
    """The library; compile it first if sources beside it are newer."""
    try:
        if (FOLDER / "build.py").exists():
            from surefoot.native import build

            if build.is_stale():
                build.build()
        np.empty(RELEASED, np.uint8)  # otherwise page faults add a third to the time of parsing a run
        return ctypes.CDLL(str(FOLDER / "libsurefoot.so"))
    except (OSError, RuntimeError) as error:
        raise SurefootError(f"the native library can't be loaded: {error}") from error
