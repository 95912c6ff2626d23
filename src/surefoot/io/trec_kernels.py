"""Runs and qrels from their bytes, compiled.

Both kinds of file are lists of documents by topic: a line's first field is the topic, its third the document, and a
number follows; so the same walks serve both. Places in a file are kept as offset and length, and each document has
the hash of its bytes.
"""

from __future__ import annotations

import numpy as np

from surefoot._numba import inlined, kernel
from surefoot._typing import Array
from surefoot.io.tokens import (
    EMPTY,
    HASH,
    NEWLINE,
    Text,
    byte_at,
    find,
    hash_of,
    parse_number,
    same,
    skip_blanks,
    text_of,
    token_end,
)


@kernel
def count_lines(data: Array) -> tuple[int, bool]:
    """The number of line ends, and whether any byte is beyond ASCII."""
    lines, high = 0, 0
    for byte in data:
        lines += byte == NEWLINE
        high += byte >= 128
    return lines, high > 0


@inlined
def next_line(text: Text, at: int) -> int:
    """Where the next line begins that is neither blank nor a comment, or the end."""
    while True:
        at = skip_blanks(text, at)
        if at == text.size or (byte_at(text.address, at) != NEWLINE and byte_at(text.address, at) != HASH):
            return at
        while at < text.size and byte_at(text.address, at) != NEWLINE:
            at += 1
        at += at < text.size


@inlined
def split_line(text: Text, at: int, is_run: bool) -> tuple[int, int, int, int, int, int, int]:
    """Ends of the topic, the document, the number and the last field, each but the first with where it starts.

    A line with too few fields has an empty last one; one with too many doesn't end behind it.
    """
    topic_end = token_end(text, at)
    document = skip_blanks(text, token_end(text, skip_blanks(text, topic_end)))
    document_end = token_end(text, document)
    number = skip_blanks(text, document_end)
    if not is_run:
        number_end = token_end(text, number)
        return topic_end, document, document_end, number, number_end, number, number_end
    number = skip_blanks(text, token_end(text, number))
    number_end = token_end(text, number)
    tag = skip_blanks(text, number_end)
    return topic_end, document, document_end, number, number_end, tag, token_end(text, tag)


@kernel
def walk_lines(
    data: Array, at: int, is_run: bool, documents: tuple[Array, ...], blocks: tuple[Array, ...]
) -> tuple[int, int, int]:
    """Fill in the documents (start, length, hash, number) and the blocks of lines of one topic (start, length, line).

    Returns the number of documents, the number of blocks, and the offset of the first malformed line or -1.
    """
    text = text_of(data)
    start, length, codes, numbers = documents
    block_start, block_length, block_line = blocks
    line, block, topic, topic_size = 0, 0, 0, -1
    while True:
        at = next_line(text, at)
        if at == text.size:
            return line, block, -1
        topic_end, document, document_end, number, number_end, last, last_end = split_line(text, at, is_run)
        end = skip_blanks(text, last_end)
        if last == last_end or (end < text.size and byte_at(text.address, end) != NEWLINE):
            return line, block, at
        if topic_end - at != topic_size or not same(text, at, text, topic, topic_size):
            topic, topic_size = at, topic_end - at
            block_start[block], block_length[block], block_line[block] = topic, topic_size, line
            block += 1
        start[line] = document
        length[line] = document_end - document
        codes[line] = hash_of(text, document, document_end - document)
        numbers[line] = parse_number(text, number, number_end)
        line += 1
        at = end


@kernel
def other_tag(data: Array, at: int) -> tuple[int, int, int]:
    """Where a run's first tag starts and ends, and the offset of the first line with another tag, or -1."""
    text = text_of(data)
    tag, tag_end = 0, 0
    while True:
        at = next_line(text, at)
        if at == text.size:
            return tag, tag_end, -1
        last, last_end = split_line(text, at, True)[5:]
        if tag == tag_end:
            tag, tag_end = last, last_end
        elif last_end - last != tag_end - tag or not same(text, last, text, tag, tag_end - tag):
            return tag, tag_end, at
        at = last_end


@kernel
def number_topics(data: Array, start: Array, length: Array, slots: Array, topics: Array) -> int:
    """Give each block of lines the number of its topic, by first appearance; returns how many topics there are.

    ``start`` and ``length`` are shortened in place to one entry a topic.
    """
    text = text_of(data)
    codes = np.empty(start.size, np.uint64)
    count = 0
    for block in range(start.size):
        at, size = start[block], length[block]
        code = hash_of(text, at, size)
        slot = find(slots, text, at, size, code, text, start, length, codes)
        if slots[slot] == EMPTY:
            start[count], length[count], codes[count] = at, size, code
            slots[slot] = count
            count += 1
        topics[block] = slots[slot]
    return count


@inlined
def goes_before(text: Text, start: Array, length: Array, numbers: Array, one: int, two: int) -> bool:
    """Whether a document ranks before another: higher number, then later in the order of bytes, as in trec_eval."""
    if numbers[one] != numbers[two]:
        return bool(numbers[one] > numbers[two])
    for place in range(min(length[one], length[two])):
        if byte_at(text.address, start[one] + place) != byte_at(text.address, start[two] + place):
            return bool(byte_at(text.address, start[one] + place) > byte_at(text.address, start[two] + place))
    return bool(length[one] >= length[two])


@inlined
def is_ranked(text: Text, start: Array, length: Array, numbers: Array, first: int, end: int) -> bool:
    """Whether these documents are in ranking order."""
    for place in range(first + 1, end):
        falling = numbers[place - 1] > numbers[place]
        if not falling and not goes_before(text, start, length, numbers, place - 1, place):
            return False
    return True


@inlined
def merge_sort(text: Text, start: Array, length: Array, numbers: Array, first: int, order: Array, spare: Array) -> None:
    """Put the documents from ``first`` on in ranking order, as places in ``order``; what is in order costs little."""
    n = order.size
    for place in range(n):
        order[place] = first + place
    width = 1
    while width < n:
        for left in range(0, n - width, 2 * width):
            middle, right = left + width, min(left + 2 * width, n)
            if goes_before(text, start, length, numbers, order[middle - 1], order[middle]):
                continue
            for place in range(left, middle):
                spare[place] = order[place]
            one, two, place = left, middle, left
            while one < middle:
                if two == right or goes_before(text, start, length, numbers, spare[one], order[two]):
                    order[place] = spare[one]
                    one += 1
                else:
                    order[place] = order[two]
                    two += 1
                place += 1
        width *= 2


@kernel
def rank_topics(
    data: Array, bounds: Array, start: Array, length: Array, codes: Array, numbers: Array, spare: Array
) -> None:
    """Sort each topic's documents into ranking order, in place; the rows of ``spare`` have room for any topic."""
    text = text_of(data)
    order, new_start, new_length, new_codes, new_numbers = spare
    for topic in range(bounds.size - 1):
        first, size = bounds[topic], bounds[topic + 1] - bounds[topic]
        if is_ranked(text, start, length, numbers, first, first + size):
            continue
        merge_sort(text, start, length, numbers, first, order[:size], new_start)
        for place in range(size):
            item = order[place]
            new_start[place], new_length[place] = start[item], length[item]
            new_codes[place], new_numbers[place] = codes[item], numbers[item]
        for place in range(size):
            start[first + place], length[first + place] = new_start[place], new_length[place]
            codes[first + place], numbers[first + place] = new_codes[place], new_numbers[place]


@kernel
def index_topics(
    data: Array, bounds: Array, tables: Array, start: Array, length: Array, codes: Array, slots: Array
) -> tuple[int, int]:
    """Enter each topic's documents in a table of its own: ``slots`` from ``tables[t, 0]`` on, of size ``tables[t, 1]``.

    Returns the offsets of the first document that occurs again, and of where it does; or -1 and the end of the data.
    """
    text = text_of(data)
    earlier, again = -1, text.size
    for topic in range(bounds.size - 1):
        table = slots[tables[topic, 0] : tables[topic, 0] + tables[topic, 1]]
        for slot in range(table.size):
            table[slot] = EMPTY
        for item in range(bounds[topic], bounds[topic + 1]):
            slot = find(table, text, start[item], length[item], codes[item], text, start, length, codes)
            if table[slot] != EMPTY:
                low, high = start[item], start[table[slot]]
                low, high = min(low, high), max(low, high)
                if high < again:
                    earlier, again = low, high
                if start[table[slot]] <= start[item]:
                    continue
            table[slot] = item
    return earlier, again
