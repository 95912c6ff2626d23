"""Compiled writing and joining of runs: lines put together byte by byte, documents found by their hashes."""

from __future__ import annotations

from typing import NamedTuple

from surefoot._numba import inlined, kernel
from surefoot._typing import Array
from surefoot.io.tokens import EMPTY, NEWLINE, REACH, SPACE, home_slot

ZERO, MINUS = 48, 45
LONGEST_NUMBER = 20
"""Bytes of a whole number of 64 bits with its sign."""


class Ids(NamedTuple):
    """The ids of documents, in the bytes of a text: where each starts, and its length."""

    data: Array
    start: Array
    length: Array


@inlined
def put_bytes(out: Array, at: int, data: Array, start: int, size: int) -> int:
    """Copy bytes; returns the offset behind them."""
    for index in range(size):
        out[at + index] = data[start + index]
    return at + size


@inlined
def put_number(out: Array, at: int, number: int) -> int:
    """Write a whole number in decimal digits; returns the offset behind it."""
    if number < 0:
        out[at] = MINUS
        at, number = at + 1, -number
    size, rest = 1, number // 10
    while rest > 0:
        size, rest = size + 1, rest // 10
    for index in range(size):
        out[at + size - 1 - index] = ZERO + number % 10
        number //= 10
    return at + size


@kernel
def write_lines(ids: Ids, bounds: Array, heads: Ids, scores: Array, tag: Array, out: Array) -> int:
    """Fill in ``head document rank score tag`` for the documents of each topic; returns the number of bytes.

    ``scores`` are whole numbers; ``heads`` are the topics with what follows them.
    """
    at = 0
    for topic in range(bounds.size - 1):
        for item in range(bounds[topic], bounds[topic + 1]):
            at = put_bytes(out, at, heads.data, heads.start[topic], heads.length[topic])
            at = put_bytes(out, at, ids.data, ids.start[item], ids.length[item])
            out[at] = SPACE
            at = put_number(out, at + 1, item - bounds[topic] + 1)
            out[at] = SPACE
            at = put_number(out, at + 1, scores[item])
            out[at] = SPACE
            at = put_bytes(out, at + 1, tag, 0, tag.size)
            out[at] = NEWLINE
            at += 1
    return at


@inlined
def slot_of(key: int, keys: Array, slots: Array) -> int:
    """The slot of a key, or the empty one where it belongs; -1 if neither is within REACH."""
    slot = home_slot(key, slots.size)
    for _ in range(REACH):
        if slots[slot] == EMPTY or keys[slots[slot]] == key:
            return slot
        slot = (slot + 1) & (slots.size - 1)
    return -1


@kernel
def find_keys(known: Array, wanted: Array, slots: Array, found: Array) -> bool:
    """Fill in the index of each wanted key among the known ones, or EMPTY; false if known keys collide.

    ``slots`` is overwritten: a hash table, a power of two of them, more than there are known keys.
    """
    slots[:] = EMPTY
    for item in range(known.size):
        slot = slot_of(known[item], known, slots)
        if slot < 0 or slots[slot] != EMPTY:
            return False
        slots[slot] = item
    for item in range(wanted.size):
        slot = slot_of(wanted[item], known, slots)
        found[item] = slots[slot] if slot >= 0 else EMPTY
    return True
