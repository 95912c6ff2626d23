"""Lists of texts, stored as ranges of bytes in one text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

import numpy as np
import numpy.typing as npt

from surefoot._typing import IntArray
from surefoot.native import kernel

_trim_tokens = kernel("trim_tokens")

SPACE, LARGEST_BYTE = 32, 255


class Texts:
    """An immutable list of texts, each the ``length`` bytes from ``start`` on in one UTF-8 text."""

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

    def trimmed(self) -> Texts:
        """The texts without white space around them."""
        if self.text.isascii() and self.data.min(initial=LARGEST_BYTE) > SPACE:
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
