"""Ids in the bytes of a text, found by their hashes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._typing import IntArray
from surefoot.native import kernel

_hash_tokens, _number_tokens = kernel("hash_tokens"), kernel("number_tokens")

COLLIDING = "ids that collide in hash tables, as if made to; give them other ids"


class Tokens(NamedTuple):
    """Ids as kernels take them: the text, where each id starts, its length and its hash."""

    text: npt.NDArray[np.uint8]
    start: IntArray
    length: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, text: npt.NDArray[np.uint8], start: IntArray, length: npt.NDArray[np.int32]) -> Tokens:
        """The ids with their hashes."""
        codes = np.empty(start.size, np.uint64)
        _hash_tokens(text, start, length, codes)
        return cls(text, start, length, codes)

    def number(self) -> tuple[npt.NDArray[np.int32], IntArray] | None:
        """The number of each id, by first appearance, and the first id of each number; None if ids collide.

        >>> text = np.frombuffer(b"q1 q2 q1", np.uint8)
        >>> Tokens.of(text, np.array([0, 3, 6]), np.full(3, 2, np.int32)).number()
        (array([0, 1, 0], dtype=int32), array([0, 1]))
        """
        numbers, first = np.empty(self.start.size, np.int32), np.empty(self.start.size, np.int64)
        slots = np.empty(table_sizes(np.array([0, self.start.size]))[0], np.int32)
        count = _number_tokens(self, slots, numbers, first)
        return (numbers, first[:count]) if count >= 0 else None


def table_sizes(bounds: IntArray) -> IntArray:
    """Powers of two that leave a hash table of the ids within each pair of bounds at most half full."""
    powers: IntArray = np.maximum(3, np.ceil(np.log2(2 * np.diff(bounds)))).astype(np.int64)
    return np.left_shift(np.ones_like(powers), powers)
