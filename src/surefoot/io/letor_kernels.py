"""Compiled parsing of LETOR lines, in two passes over chunks of whole lines that threads process in parallel.

The first pass finds labels, queries, document ids and where the features of each line are, so that the second can
write every value directly to its cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, kernel
from surefoot._typing import Array
from surefoot.io.tokens import (
    BELOW_33,
    HASH,
    HIGH_BITS,
    MINUS,
    NEWLINE,
    POINT,
    POWERS_OF_TEN,
    SPACE,
    Text,
    byte_at,
    low_zeros,
    parse_number,
    same,
    short_word,
    skip_blanks,
    text_of,
    token_end,
    word_at,
)
from surefoot.io.trec_kernels import next_line

COLON, EQUALS = 58, 61
MOST_FEATURES = 10_000_000
LARGEST_LABEL = float(1 << 24)  # whole numbers up to here are exact in float32

FINE, BAD_LABEL, BAD_QUERY, BAD_FEATURE, BAD_VALUE, TWICE, OPEN = range(7)
"""Problems of a line; OPEN marks a value that Python has to parse."""

QID = np.uint64(int.from_bytes(b"qid:", "little"))
DOCID = np.uint64(int.from_bytes(b"docid", "little"))
NA, NAN, NULL = (np.uint64(int.from_bytes(word, "little")) for word in (b"na", b"nan", b"null"))
SMALL_LETTERS = np.uint64(0x2020202020202020)

EACH_BYTE = np.uint64(0x0101010101010101)
LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
NEWLINES, HASHES, COLONS = EACH_BYTE * np.uint64(NEWLINE), EACH_BYTE * np.uint64(HASH), EACH_BYTE * np.uint64(COLON)
ZEROS = np.uint64(0x3030303030303030)
BEYOND_9 = np.uint64(0x7676767676767676)
LAST_BYTE = np.uint64(1 << 63)
PAIRS_OF_DIGITS = np.uint64(0x000000FF000000FF)
WEIGHTS_1_AND_3 = np.uint64(100 + (1_000_000 << 32))
WEIGHTS_2_AND_4 = np.uint64(1 + (10_000 << 32))
WHOLE_POWERS = np.array([10**power for power in range(8)], np.uint64)
SIGNS = np.array([1.0, -1.0])
FAST_REACH = 32
"""How many bytes `short_pair` may read."""


class Rows(NamedTuple):
    """What each line holds: its label, where its features start and stop, how many there are, and its document id."""

    labels: Array
    start: Array
    stop: Array
    pairs: Array
    document: Array
    document_size: Array


class Blocks(NamedTuple):
    """Runs of lines of one query: where its id starts, the id's size, and the first row."""

    start: Array
    size: Array
    row: Array


class FeatureRows(NamedTuple):
    """Where the features of each row start and stop, how many there are, and the row of the matrix they belong to."""

    start: Array
    stop: Array
    pairs: Array
    target: Array


class Pairs(NamedTuple):
    """Features and values of a sparse matrix by row (CSR)."""

    bounds: Array
    indices: Array
    values: Array


@inlined
def signed(number: Any) -> Any:
    """A number as int64; numba would make a float of the sum of it and an unsigned one."""
    return np.int64(number)


@inlined
def equal_bytes(word: Any, pattern: Any) -> Any:
    """The high bits of those bytes of a word that equal the pattern's."""
    other = word ^ pattern
    return ~(((other & LOW_BITS) + LOW_BITS) | other | LOW_BITS)


@inlined
def count_bytes(marked: Any) -> Any:
    """How many bytes have their high bit set, of words that have no other bit set."""
    return signed(((marked >> np.uint64(7)) * EACH_BYTE) >> np.uint64(56))


@inlined
def features_end(text: Text, at: int) -> tuple[int, int]:
    """Where the features of a line end, at its comment or its last byte, and how many colons they have."""
    colons = 0
    while at + 8 <= text.size:
        word = word_at(text.address, at)
        stop = equal_bytes(word, NEWLINES) | equal_bytes(word, HASHES)
        found = equal_bytes(word, COLONS)
        if stop != 0:
            return at + signed(low_zeros(stop) >> np.uint64(3)), colons + count_bytes(found & (stop ^ (stop - 1)))
        colons += count_bytes(found)
        at += 8
    while at < text.size and byte_at(text.address, at) != NEWLINE and byte_at(text.address, at) != HASH:
        colons += byte_at(text.address, at) == COLON
        at += 1
    return at, colons


@inlined
def word_end(text: Text, at: int) -> int:
    """Where a token ends, which a comment may follow at once."""
    while at < text.size and byte_at(text.address, at) > SPACE and byte_at(text.address, at) != HASH:
        at += 1
    return at


@inlined
def label_of(text: Text, at: int, end: int) -> float:
    """The label that a token stands for, or -1."""
    number = parse_number(text, at, end)
    return number if 0 <= number <= LARGEST_LABEL and number == np.rint(number) else -1.0


@inlined
def document_of(text: Text, at: int) -> tuple[int, int]:
    """Start and size of the document id in the comment that begins here: what follows docid, or the first word."""
    if at == text.size or byte_at(text.address, at) != HASH:
        return at, 0
    while at < text.size and byte_at(text.address, at) == HASH:
        at += 1
    at = skip_blanks(text, at)
    first = at
    while at < text.size and byte_at(text.address, at) != NEWLINE:
        if at + 5 < text.size and short_word(text, at, 5) | (SMALL_LETTERS >> np.uint64(24)) == DOCID:
            sign = skip_blanks(text, at + 5)
            if sign < text.size and (byte_at(text.address, sign) == EQUALS or byte_at(text.address, sign) == COLON):
                document = skip_blanks(text, sign + 1)
                return document, token_end(text, document) - document
        at = skip_blanks(text, max(token_end(text, at), at + 1))
    return first, token_end(text, first) - first


@inlined
def outer_features(text: Text, at: int, end: int) -> tuple[int, int]:
    """The number before the first colon and that before the last one: the range of features, if they are in order."""
    first, last, power = 0, 0, 1
    while at < end and byte_at(text.address, at) - np.uint8(48) <= 9 and first < MOST_FEATURES:
        first = first * 10 + signed(byte_at(text.address, at) - np.uint8(48))
        at += 1
    end -= 1
    while end > at and byte_at(text.address, end) != COLON:
        end -= 1
    while byte_at(text.address, end - 1) - np.uint8(48) <= 9 and power <= MOST_FEATURES:
        end -= 1
        last += power * signed(byte_at(text.address, end) - np.uint8(48))
        power *= 10
    return first, max(first, last)


@kernel
def parse_lines(data: Array, at: int, end: int, rows: Rows, blocks: Blocks) -> tuple[int, int, int, int, int, int]:
    """Fill in the rows and the blocks of lines of one query, which are overwritten.

    Returns the number of rows and of blocks, the lowest and the highest feature if each line has its features in
    order, the problem if any, and its offset.
    """
    text = Text(data.ctypes.data, end)
    labels, start, stop, pairs, document, document_size = rows
    block_start, block_size, block_row = blocks
    row, block, query, query_size = 0, 0, 0, -1
    lowest, highest = 1, 0
    while True:
        at = next_line(text, at)
        if at == text.size:
            return row, block, lowest, highest, FINE, at
        label_end = token_end(text, at)
        labels[row] = label_of(text, at, label_end)
        if labels[row] < 0:
            return row, block, lowest, highest, BAD_LABEL, at
        name = skip_blanks(text, label_end) + 4
        name_end = word_end(text, name)
        if name_end <= name or short_word(text, name - 4, 4) != QID:
            return row, block, lowest, highest, BAD_QUERY, name - 4
        if name_end - name != query_size or not same(text, name, text, query, query_size):
            query, query_size = name, name_end - name
            block_start[block], block_size[block], block_row[block] = query, query_size, row
            block += 1
        start[row] = skip_blanks(text, name_end)
        stop[row], pairs[row] = features_end(text, start[row])
        if pairs[row] > 0:
            first, last = outer_features(text, start[row], stop[row])
            lowest, highest = min(lowest, first), max(highest, last)
        document[row], document_size[row] = document_of(text, stop[row])
        at = stop[row]
        row += 1


@inlined
def near_end(text: Text, at: int) -> int:
    """Where the token that begins here ends, if it has at most 15 bytes; else here."""
    word, next_word = word_at(text.address, at), word_at(text.address, at + 8)
    low = (word - BELOW_33) & ~word & HIGH_BITS
    next_low = (next_word - BELOW_33) & ~next_word & HIGH_BITS
    end = at if low != 0 else at + 8
    low = low if low != 0 else next_low
    return end + signed(low_zeros(low) >> np.uint64(3)) if low != 0 else at


@inlined
def leading_digits(word: Any) -> Any:
    """How many digits a word begins with, at most 7."""
    digits = word ^ ZEROS
    return low_zeros((((digits + BEYOND_9) | digits) & HIGH_BITS) | LAST_BYTE) >> np.uint64(3)


@inlined
def whole_number(word: Any, size: Any) -> Any:
    """The number that the first ``size`` digits of a word stand for, at most 7: neighbours are joined three times."""
    digits = ((word ^ ZEROS) << (np.uint64(56) - np.uint64(8) * size)) << np.uint64(8)
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    odd = (digits & PAIRS_OF_DIGITS) * WEIGHTS_1_AND_3
    even = ((digits >> np.uint64(16)) & PAIRS_OF_DIGITS) * WEIGHTS_2_AND_4
    return (odd + even) >> np.uint64(32)


@inlined
def short_pair(text: Text, at: int, end: int) -> tuple[bool, int, float]:
    """Whether a pair is as simple as 17:-0.471076, and if so its feature and value, without branches.

    Seven digits before and after the point make a mantissa below 2^53, so that one division rounds as float() does.
    """
    word = word_at(text.address, at)
    size = leading_digits(word)
    feature = whole_number(word, size)
    at += signed(size)
    fits = (size > np.uint64(0)) & (byte_at(text.address, at) == COLON)
    negative = signed(byte_at(text.address, at + 1) == MINUS)
    at += 1 + negative
    word = word_at(text.address, at)
    size = leading_digits(word)
    fits &= size > np.uint64(0)
    whole = whole_number(word, size)
    at += signed(size)
    point = signed(byte_at(text.address, at) == POINT)
    at += point
    word = word_at(text.address, at)
    size = leading_digits(word) * np.uint64(point)
    mantissa = whole * WHOLE_POWERS[size] + whole_number(word, size)
    value = float(signed(mantissa)) / POWERS_OF_TEN[size] * SIGNS[negative]
    return fits & (at + signed(size) == end), signed(feature), value


@inlined
def any_pair(text: Text, at: int, stop: int) -> tuple[int, int, float, int]:
    """End, feature and value of any pair, and its problem."""
    end, feature, cursor = min(token_end(text, at), stop), 0, at
    while cursor < end and byte_at(text.address, cursor) - np.uint8(48) <= 9 and feature <= MOST_FEATURES:
        feature = feature * 10 + signed(byte_at(text.address, cursor) - np.uint8(48))
        cursor += 1
    if cursor in (at, end) or byte_at(text.address, cursor) != COLON or feature > MOST_FEATURES:
        return end, feature, np.nan, BAD_FEATURE
    cursor += 1
    if cursor == end:
        return end, feature, np.nan, BAD_VALUE
    if end - cursor <= 4:
        word = short_word(text, cursor, end - cursor) | (SMALL_LETTERS >> np.uint64(64 - 8 * (end - cursor)))
        if word in (NULL, NAN, NA):
            return end, feature, np.nan, FINE
    value = parse_number(text, cursor, end)
    return end, feature, value, OPEN if np.isnan(value) else FINE


@kernel
def sort_pairs(indices: Array, values: Array) -> bool:
    """Sort the pairs of a line by feature, in cursor (Shell sort); returns whether a feature occurs twice."""
    gap = indices.size // 2
    while gap > 0:
        for begin in range(gap, indices.size):
            index, value, slot = indices[begin], values[begin], begin
            while slot >= gap and indices[slot - gap] > index:
                indices[slot], values[slot] = indices[slot - gap], values[slot - gap]
                slot -= gap
            indices[slot], values[slot] = index, value
        gap = max(1, gap * 5 // 11) if gap > 1 else 0
    twice = 0
    for slot in range(1, indices.size):
        twice += indices[slot] == indices[slot - 1]
    return twice > 0


@inlined
def read_pairs(
    text: Text, at: int, stop: int, first: int, indices: Array, values: Array, open_pairs: Array, opened: int
) -> tuple[int, int, int, int]:
    """Fill in the pairs of a line; returns how many, how many are open so far, the problem, and its offset."""
    count, last, in_order = 0, -1, True
    while at < stop:
        begin, end, fits, feature, value = at, at, False, 0, 0.0
        if at + FAST_REACH <= text.size:
            end = near_end(text, at)  # first, so that parsing the numbers overlaps with the next pair
            fits, feature, value = short_pair(text, at, end)
        if not fits:
            end, feature, value, problem = any_pair(text, at, stop)
            if problem == OPEN:
                open_pairs[opened, 0], open_pairs[opened, 1] = begin, end
                opened += 1
            elif problem != FINE:
                return count, opened, problem, begin
            elif np.isinf(np.float32(value)):
                return count, opened, BAD_VALUE, begin
        indices[count], values[count] = feature - first, value
        count += 1
        in_order &= feature > last
        last = feature
        at = end + (byte_at(text.address, end) == SPACE) if end < stop else stop
        if at < stop and byte_at(text.address, at) <= SPACE:
            at = skip_blanks(text, at)
    if not in_order and sort_pairs(indices[:count], values[:count]):
        return count, opened, TWICE, at
    return count, opened, FINE, at


@kernel
def read_features(
    data: Array,
    row: int,
    end: int,
    rows: FeatureRows,
    first: int,
    matrix: Array,
    pairs: Pairs,
    open_pairs: Array,
) -> tuple[int, int, int, int, int, int]:
    """Fill in the features of the rows from ``row`` to ``end``.

    ``pairs`` are those of a sparse matrix; or they have room for one line and no bounds, and are copied from there to
    ``matrix``. Stops when the open values might not fit, to be continued. Returns the row reached, the number of open
    values, the lowest and highest column, the problem if any, and its offset.
    """
    text = text_of(data)
    bounds, indices, values = pairs
    opened, lowest, highest = 0, 0, -1
    while row < end and opened + rows.pairs[row] <= len(open_pairs):
        target = rows.target[row]
        base = bounds[target] if bounds.size else 0
        count, opened, problem, at = read_pairs(
            text, rows.start[row], rows.stop[row], first, indices[base:], values[base:], open_pairs, opened
        )
        if problem != FINE:
            return row, opened, lowest, highest, problem, at
        if count > 0:
            lowest, highest = min(lowest, indices[base]), max(highest, indices[base + count - 1])
        if not bounds.size and lowest >= 0 and highest < matrix.shape[1]:
            for pair in range(count):
                matrix[target, indices[pair]] = values[pair]
        row += 1
    return row, opened, lowest, highest, FINE, 0


@kernel
def gather_words(data: Array, start: Array, size: Array, words: Array) -> None:
    """Copy ranges of bytes one after another, with a newline between them."""
    at = 0
    for item in range(start.size):
        for index in range(size[item]):
            words[at + index] = data[start[item] + index]
        at += size[item]
        if at < words.size:
            words[at] = NEWLINE
        at += 1
