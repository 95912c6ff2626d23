"""Compiled functions for tokens in bytes: their ends, hashes and numbers, without making strings.

A token ends before a byte of at most 32; bytes beyond ASCII belong to tokens. Eight bytes are processed together where
possible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, instruction
from surefoot._typing import Array

NEWLINE, SPACE, HASH, POINT, MINUS, PLUS = 10, 32, 35, 46, 45, 43
LETTER_E, SMALL_E = 69, 101
EMPTY = -1
CROWDED = -1
REACH = 1024
"""Slots within which a key is found or is not there; ids that need more were made to collide."""
BAD_EXPONENT = 1 << 30

HIGH_BITS = np.uint64(0x8080808080808080)
BELOW_33 = np.uint64(0x2121212121212121)
MIX = np.uint64(0x9E3779B97F4A7C15)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)

POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(23)])
"""The powers that float64 represents exactly."""


@instruction
def byte_at(typingctx: Any, text: Any, at: Any) -> Any:
    """The byte at an offset."""
    from numba.core import types

    return types.uint8(types.uintp, types.intp), _load(8)


@instruction
def word_at(typingctx: Any, text: Any, at: Any) -> Any:
    """Eight bytes from an offset on, as one little-endian number."""
    from numba.core import types

    return types.uint64(types.uintp, types.intp), _load(64)


def _load(bits: int) -> Any:
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = builder.add(*arguments)
        return builder.load(builder.inttoptr(address, ir.IntType(bits).as_pointer()), align=1)

    return generate


@instruction
def low_zeros(typingctx: Any, word: Any) -> Any:
    """How many low bits of a word are 0."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


class Text(NamedTuple):
    """The bytes of a file, by their address; the caller keeps the bytes alive."""

    address: int
    size: int


class Token(NamedTuple):
    """A token of a text: where it starts, its size and its hash."""

    text: Text
    start: int
    size: int
    code: Any


class Tokens(NamedTuple):
    """Many tokens of a text: where each starts, its size and its hash."""

    text: Text
    start: Array
    length: Array
    codes: Array


@inlined
def text_of(data: Any) -> Text:
    """The text in an array of bytes."""
    return Text(data.ctypes.data, data.size)


@inlined
def is_blank(byte: int) -> bool:
    """Whether a byte is a space, a tab, a return or a feed; a line end is not."""
    return byte == SPACE or (9 <= byte <= 13 and byte != NEWLINE)


@inlined
def skip_blanks(text: Text, at: int) -> int:
    """The next offset that holds no blank."""
    while at < text.size and is_blank(byte_at(text.address, at)):
        at += 1
    return at


@inlined
def token_end(text: Text, at: int) -> int:
    """Where the token that begins here ends; here, if none begins here."""
    while at + 8 <= text.size:
        word = word_at(text.address, at)
        low = (word - BELOW_33) & ~word & HIGH_BITS
        if low != 0:
            return at + int(low_zeros(low) >> np.uint64(3))
        at += 8
    while at < text.size and byte_at(text.address, at) > SPACE:
        at += 1
    return at


@inlined
def short_word(text: Text, at: int, size: int) -> Any:
    """Up to eight bytes as one number."""
    if at + 8 <= text.size:
        return word_at(text.address, at) & (ALL_BITS >> np.uint64(64 - 8 * size)) if size > 0 else np.uint64(0)
    word = np.uint64(0)
    for index in range(size):
        word |= np.uint64(byte_at(text.address, at + index)) << np.uint64(8 * index)
    return word


@inlined
def hash_of(text: Text, at: int, size: int) -> Any:
    """A hash of a range of bytes, whose low bits are well mixed."""
    code = np.uint64(size) * MIX
    while size > 8:
        code = (code ^ word_at(text.address, at)) * MIX
        code ^= code >> np.uint64(32)
        at += 8
        size -= 8
    code = (code ^ short_word(text, at, size)) * MIX
    return code ^ (code >> np.uint64(32))


@inlined
def same(text: Text, at: int, other: Text, other_at: int, size: int) -> bool:
    """Whether two ranges of bytes of one size are equal."""
    while size > 8:
        if word_at(text.address, at) != word_at(other.address, other_at):
            return False
        at += 8
        other_at += 8
        size -= 8
    return bool(short_word(text, at, size) == short_word(other, other_at, size))


@inlined
def home_slot(code: Any, size: int) -> int:
    """The first slot of a hash in a table of so many, a power of two: high bits of a product, which depend on all."""
    return np.int64((code * MIX) >> (np.uint64(64) - low_zeros(np.uint64(size))))  # type: ignore[return-value]


@inlined
def find(slots: Array, token: Token, keys: Tokens) -> int:
    """The slot of an open-addressing hash table whose key equals a token, or the empty slot where it belongs.

    CROWDED if neither is within REACH: then the token is not in the table, and can't be put there. The slots hold
    indices of ``keys``, or EMPTY.
    """
    mask: int = slots.size - 1
    slot = home_slot(token.code, slots.size)
    for _ in range(REACH):
        item = slots[slot]
        if item == EMPTY or (
            keys.codes[item] == token.code
            and keys.length[item] == token.size
            and same(token.text, token.start, keys.text, keys.start[item], token.size)
        ):
            return slot
        slot = (slot + 1) & mask
    return CROWDED


@inlined
def exact_number(mantissa: Any, exponent: int) -> float:
    """The mantissa × 10^exponent, rounded as float() rounds; NaN where that takes more than float64 arithmetic.

    A mantissa below 2^53 and a power of ten up to 22 are exact, so one division or product rounds right (Clinger,
    PLDI 1990). Longer mantissas are divided in twice the precision; NaN if the result is close to a rounding border.
    """
    if exponent < -22 or exponent > 22:
        return np.nan
    if mantissa <= np.uint64(1 << 53):
        if exponent < 0:
            return float(mantissa) / float(POWERS_OF_TEN[-exponent])
        return float(mantissa) * float(POWERS_OF_TEN[exponent])
    if exponent > 0:
        return np.nan
    divisor = float(POWERS_OF_TEN[-exponent])
    head = float(mantissa)
    rest = float(np.int64(mantissa) - np.int64(head))
    quotient = head / divisor
    # Dekker's product: quotient × divisor = product + error, exactly.
    split = 134217729.0
    high_q = quotient * split - (quotient * split - quotient)
    high_d = divisor * split - (divisor * split - divisor)
    low_q, low_d = quotient - high_q, divisor - high_d
    product = quotient * divisor
    error = ((high_q * high_d - product) + high_q * low_d + low_q * high_d) + low_q * low_d
    correction = ((head - product) - error + rest) / divisor
    doubt = quotient * 2.0**-95
    value = quotient + (correction - doubt)
    return value if value == quotient + (correction + doubt) else np.nan


@inlined
def parse_exponent(text: Text, at: int, end: int) -> int:
    """The power of ten that the rest of a token stands for, such as e-5."""
    if byte_at(text.address, at) != LETTER_E and byte_at(text.address, at) != SMALL_E:
        return BAD_EXPONENT
    at += 1
    negative = at < end and byte_at(text.address, at) == MINUS
    if negative or (at < end and byte_at(text.address, at) == PLUS):
        at += 1
    if at == end or end - at > 4:
        return BAD_EXPONENT
    power = 0
    for index in range(at, end):
        digit = byte_at(text.address, index) - np.uint8(48)
        if digit > 9:
            return BAD_EXPONENT
        power = power * 10 + int(digit)
    return -power if negative else power


@inlined
def parse_number(text: Text, at: int, end: int) -> float:
    """The number that a token stands for; NaN if it has to be parsed by Python."""
    negative = byte_at(text.address, at) == MINUS
    if negative or byte_at(text.address, at) == PLUS:
        at += 1
    mantissa, digits, exponent, seen, fraction = np.uint64(0), 0, 0, 0, 0
    while at < end:
        digit = byte_at(text.address, at) - np.uint8(48)
        if digit <= 9:
            mantissa = mantissa * np.uint64(10) + np.uint64(digit)
            seen += 1
            digits += mantissa != 0
            exponent -= fraction
        elif byte_at(text.address, at) == POINT and fraction == 0:
            fraction = 1
        else:
            break
        at += 1
    if seen == 0 or digits > 18:  # longer ones could overflow
        return np.nan
    if at < end:
        power = parse_exponent(text, at, end)
        if power == BAD_EXPONENT:
            return np.nan
        exponent += power
    value = exact_number(mantissa, exponent)
    return -value if negative else value
