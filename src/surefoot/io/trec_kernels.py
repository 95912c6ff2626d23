"""Compiled parsing of runs and qrels.

Both are lists of documents by topic: the first field of a line is the topic, the third the document, and a number
follows, so the same kernels serve both. Fields are kept as offsets and lengths, documents also as hashes.
"""

from __future__ import annotations

from typing import NamedTuple

from surefoot._numba import inlined, kernel
from surefoot._typing import Array
from surefoot.io.tokens import (
    CROWDED,
    EMPTY,
    HASH,
    NEWLINE,
    Text,
    Token,
    Tokens,
    byte_at,
    find,
    hash_of,
    parse_number,
    same,
    skip_blanks,
    text_of,
    token_end,
)

NONE = -1


class Documents(NamedTuple):
    """Documents in the order of the lines: where their ids start, the ids' lengths and hashes, and their numbers."""

    start: Array
    length: Array
    codes: Array
    numbers: Array


class Blocks(NamedTuple):
    """Runs of lines of one topic: where the topic's id starts, its length, and the first line."""

    start: Array
    length: Array
    line: Array


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
def parse_lines(data: Array, at: int, is_run: bool, documents: Documents, blocks: Blocks) -> tuple[int, int, int]:
    """Fill in the documents and the blocks, which are overwritten.

    Returns the number of documents, the number of blocks, and the offset of the first malformed line or -1.
    """
    text = text_of(data)
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
            blocks.start[block], blocks.length[block], blocks.line[block] = topic, topic_size, line
            block += 1
        documents.start[line] = document
        documents.length[line] = document_end - document
        documents.codes[line] = hash_of(text, document, document_end - document)
        documents.numbers[line] = parse_number(text, number, number_end)
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
def number_topics(data: Array, start: Array, length: Array, codes: Array, slots: Array, topics: Array) -> int:
    """Give each block of lines the number of its topic, by first appearance; returns how many topics there are.

    CROWDED if their ids collide in the table, ``slots``.
    ``start``, ``length`` and ``codes``, the hashes, are overwritten with one entry for each topic.
    """
    text = text_of(data)
    keys = Tokens(text, start, length, codes)
    count = 0
    for block in range(start.size):
        at, size = start[block], length[block]
        code = hash_of(text, at, size)
        slot = find(slots, Token(text, at, size, code), keys)
        if slot == CROWDED:
            return CROWDED
        if slots[slot] == EMPTY:
            start[count], length[count], codes[count] = at, size, code
            slots[slot] = count
            count += 1
        topics[block] = slots[slot]
    return count


@inlined
def goes_before(text: Text, documents: Documents, one: int, two: int) -> bool:
    """Whether a document ranks before another: higher number, then later in the order of bytes, as in trec_eval."""
    start, length, numbers = documents.start, documents.length, documents.numbers
    if numbers[one] != numbers[two]:
        return bool(numbers[one] > numbers[two])
    for index in range(min(length[one], length[two])):
        if byte_at(text.address, start[one] + index) != byte_at(text.address, start[two] + index):
            return bool(byte_at(text.address, start[one] + index) > byte_at(text.address, start[two] + index))
    return bool(length[one] >= length[two])


@inlined
def is_ranked(text: Text, documents: Documents, first: int, end: int) -> bool:
    """Whether these documents are in ranking order."""
    for index in range(first + 1, end):
        falling = documents.numbers[index - 1] > documents.numbers[index]
        if not falling and not goes_before(text, documents, index - 1, index):
            return False
    return True


@inlined
def merge_sort(text: Text, documents: Documents, first: int, order: Array, spare: Array) -> None:
    """Fill ``order`` with the indices of the documents from ``first`` on in ranking order; ``spare`` is overwritten."""
    n = order.size
    for index in range(n):
        order[index] = first + index
    width = 1
    while width < n:
        for left in range(0, n - width, 2 * width):
            middle, right = left + width, min(left + 2 * width, n)
            if goes_before(text, documents, order[middle - 1], order[middle]):
                continue
            for index in range(left, middle):
                spare[index] = order[index]
            one, two, index = left, middle, left
            while one < middle:
                if two == right or goes_before(text, documents, spare[one], order[two]):
                    order[index] = spare[one]
                    one += 1
                else:
                    order[index] = order[two]
                    two += 1
                index += 1
        width *= 2


@kernel
def rank_topics(data: Array, bounds: Array, documents: Documents, order: Array, spare: Documents) -> None:
    """Sort the documents of each topic into ranking order, in place.

    ``order`` and ``spare`` are overwritten; they have room for the largest topic.
    """
    text = text_of(data)
    for topic in range(bounds.size - 1):
        first, size = bounds[topic], bounds[topic + 1] - bounds[topic]
        if is_ranked(text, documents, first, first + size):
            continue
        merge_sort(text, documents, first, order[:size], spare.start)
        for index in range(size):
            copy_document(documents, order[index], spare, index)
        for index in range(size):
            copy_document(spare, index, documents, first + index)


@inlined
def copy_document(source: Documents, item: int, target: Documents, index: int) -> None:
    """Copy one document of ``source`` to ``target``."""
    target.start[index], target.length[index] = source.start[item], source.length[item]
    target.codes[index], target.numbers[index] = source.codes[item], source.numbers[item]


@kernel
def index_topics(data: Array, bounds: Array, documents: Documents, tables: Array, slots: Array) -> tuple[int, int]:
    """Fill the hash table of each topic's documents: the ``tables[t, 1]`` slots from ``tables[t, 0]`` on.

    Returns the offsets of the two occurrences of the first repeated document, or NONE and the end of the data; of a
    document whose id collides with too many others, the offset twice.
    """
    text, start = text_of(data), documents.start
    keys = Tokens(text, start, documents.length, documents.codes)
    earlier, again = NONE, text.size
    for topic in range(bounds.size - 1):
        table = slots[tables[topic, 0] : tables[topic, 0] + tables[topic, 1]]
        for slot in range(table.size):
            table[slot] = EMPTY
        for item in range(bounds[topic], bounds[topic + 1]):
            slot = find(table, Token(text, start[item], keys.length[item], keys.codes[item]), keys)
            if slot == CROWDED:
                return start[item], start[item]
            if table[slot] != EMPTY:
                low, high = start[item], start[table[slot]]
                low, high = min(low, high), max(low, high)
                if high < again:
                    earlier, again = low, high
                if start[table[slot]] <= start[item]:
                    continue
            table[slot] = item
    return earlier, again


@kernel
def hash_documents(data: Array, documents: Documents) -> None:
    """Fill in the hashes of the documents' ids."""
    text = text_of(data)
    for item in range(documents.start.size):
        documents.codes[item] = hash_of(text, documents.start[item], documents.length[item])


@kernel
def mark_repeated(
    data: Array, bounds: Array, documents: Documents, tables: Array, slots: Array, best: bool, kept: Array
) -> None:
    """Set ``kept`` to false for all occurrences of a document in a topic but one.

    The tables have room for all documents, as `index_topics` found. Documents are in ranking order: the first that is
    met is the best, the one with the lowest offset the first given.
    """
    text, start = text_of(data), documents.start
    keys = Tokens(text, start, documents.length, documents.codes)
    for topic in range(bounds.size - 1):
        table = slots[tables[topic, 0] : tables[topic, 0] + tables[topic, 1]]
        for slot in range(table.size):
            table[slot] = EMPTY
        for item in range(bounds[topic], bounds[topic + 1]):
            slot = find(table, Token(text, start[item], keys.length[item], keys.codes[item]), keys)
            other = table[slot]
            if other != EMPTY and (best or start[other] <= start[item]):
                kept[item] = False
                continue
            if other != EMPTY:
                kept[other] = False
            table[slot] = item
