"""Ids in the bytes of a text, found by their hashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from surefoot._typing import IntArray
from surefoot.native import kernel

_hash_tokens, _number_tokens = kernel("hash_tokens"), kernel("number_tokens")
_trim_tokens = kernel("trim_tokens")

SPACE, MOST = 32, 255
KEY = hash("surefoot: start"), hash("surefoot: factor") | 1
"""The key of hashes, as secret as Python's own: nobody can choose ids that collide. PYTHONHASHSEED sets both."""
FIXED = 0, 0
"""The key of fingerprints, which are the same in every process."""


class Tokens(NamedTuple):
    """Ids as kernels take them: the text, where each id starts, its length and its hash."""

    text: npt.NDArray[np.uint8]
    start: IntArray
    length: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint64]

    @classmethod
    def of(
        cls, text: npt.NDArray[np.uint8], start: IntArray, length: npt.NDArray[np.int32], key: tuple[int, int] = KEY
    ) -> Tokens:
        """The ids with their hashes."""
        codes = np.empty(start.size, np.uint64)
        _hash_tokens(text, start, length, key, codes)
        return cls(text, start, length, codes)

    def number(self) -> tuple[npt.NDArray[np.int32], IntArray]:
        """The number of each id, by first appearance, and the first id of each number.

        >>> text = np.frombuffer(b"q1 q2 q1", np.uint8)
        >>> Tokens.of(text, np.array([0, 3, 6]), np.full(3, 2, np.int32)).number()
        (array([0, 1, 0], dtype=int32), array([0, 1]))
        """
        bounds = np.array([0, self.start.size])
        sizes = table_sizes(bounds)
        return self.number_within(bounds, np.stack([0 * sizes, sizes], axis=1), np.empty(sizes[0], np.int32))

    def number_within(
        self, bounds: IntArray, tables: IntArray, slots: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], IntArray]:
        """The same for the ids within each pair of bounds, of which hash tables are filled.

        ``tables`` has the first slot and the size of each; a slot holds the index of an id.
        """
        numbers, first = np.empty(self.start.size, np.int32), np.empty(self.start.size, np.int64)
        count = _number_tokens(self, bounds, tables, slots, numbers, first)
        return numbers, first[:count]


class Texts:
    """An immutable list of texts: each is the ``length`` bytes from ``start`` on of a UTF-8 text."""

    def __init__(self, text: bytes, start: IntArray, length: npt.NDArray[np.int32]) -> None:
        self.text, self.start, self.length = text, start, length

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """The texts one after another; UnicodeEncodeError if one is not Unicode.

        >>> Texts.of(["d1", "é2"])[1]
        'é2'
        """
        given = texts if isinstance(texts, list) else list(texts)
        joined = "".join(given).encode()
        sizes = map(len, given) if joined.isascii() else (len(text.encode()) for text in given)
        return cls.joined(joined, np.fromiter(sizes, np.int64, len(given)))

    @classmethod
    def joined(cls, text: bytes, length: IntArray) -> Texts:
        """The texts of these lengths, one after another."""
        return cls(text, np.cumsum(length) - length, length.astype(np.int32))

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes of the text, for kernels."""
        return np.frombuffer(self.text, np.uint8)

    @property
    def tokens(self) -> Tokens:
        """The texts with their hashes, for kernels."""
        return Tokens.of(self.data, self.start, self.length)

    def trimmed(self) -> Texts:
        """The texts without white space around them."""
        if self.text.isascii() and self.data.min(initial=MOST) > SPACE:
            return self
        start, length = self.start.copy(), self.length.copy()
        _trim_tokens(self.data, start, length)
        return Texts(self.text, start, length)

    def to_list(self) -> list[str]:
        """The texts as Python has them.

        >>> Texts.of(["d1", "d2", "d3"])[np.array([2, 0])].to_list()
        ['d3', 'd1']
        """
        ends = (self.start + self.length).tolist()
        return [self.text[start:end].decode() for start, end in zip(self.start.tolist(), ends, strict=True)]

    def __len__(self) -> int:
        return self.start.size

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | npt.NDArray[np.generic]) -> Texts: ...
    def __getitem__(self, index: int | slice | npt.NDArray[np.generic]) -> str | Texts:
        if isinstance(index, int | np.integer):
            return self.text[self.start[index] : self.start[index] + self.length[index]].decode()
        return Texts(self.text, self.start[index], self.length[index])


def table_sizes(bounds: IntArray) -> IntArray:
    """Powers of two that leave a hash table of the ids within each pair of bounds at most half full."""
    powers: IntArray = np.maximum(3, np.ceil(np.log2(np.maximum(1, 2 * np.diff(bounds))))).astype(np.int64)
    return np.left_shift(np.ones_like(powers), powers)
