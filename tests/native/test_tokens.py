"""Tokens, hashes, numbers and lines of the native library against the obvious way, at every level."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.io.document_lists import FINGERPRINT_KEY, KEY, Tokens
from surefoot.native import kernel
from tests.native.levels import RUNNABLE

MASK = (1 << 64) - 1
MIX = 0x9E3779B97F4A7C15
WORDS = st.text("abcdefgh-0é", min_size=1, max_size=30)


def slow_hash(word: bytes) -> int:
    code, rest = len(word) * MIX & MASK, word
    while len(rest) > 8:
        code = (code ^ int.from_bytes(rest[:8], "little")) * MIX & MASK
        code, rest = code ^ code >> 32, rest[8:]
    code = (code ^ int.from_bytes(rest, "little")) * MIX & MASK
    return code ^ code >> 32


def slow_keyed_hash(word: bytes) -> int:
    start, factor = (part & MASK for part in KEY)
    code, rest = start ^ len(word), word
    while True:
        product = (code ^ int.from_bytes(rest[:8], "little")) * factor
        code, rest = product & MASK ^ product >> 64, rest[8:]
        if not rest:
            return code


def tokens_of(words: list[str], key: tuple[int, int] = KEY) -> Tokens:
    text = " ".join(words).encode()
    length = np.array([len(word.encode()) for word in words], np.int32)
    start = np.cumsum(length, dtype=np.int64) - length + np.arange(len(words))
    return Tokens.of(np.frombuffer(text, np.uint8), start, length, key)


@given(st.lists(WORDS, min_size=1, max_size=40))
def test_tokens_are_hashed_and_numbered_by_first_appearance(words):
    tokens = tokens_of(words)
    assert tokens.codes.tolist() == [slow_keyed_hash(word.encode()) for word in words]
    assert tokens_of(words, FINGERPRINT_KEY).codes.tolist() == [slow_hash(word.encode()) for word in words]
    known = list(dict.fromkeys(words))
    numbers, first = tokens.number()
    assert numbers.tolist() == [known.index(word) for word in words]
    assert first.tolist() == [words.index(word) for word in known]


@given(st.lists(WORDS, min_size=1, max_size=40))
def test_tokens_are_gathered_on_lines(words):
    tokens, joined = tokens_of(words), "\n".join(words).encode()
    out = np.empty(len(joined), np.uint8)
    kernel("gather_tokens")(tokens.text, tokens.start, tokens.length, out)
    assert out.tobytes() == joined


def number_text(rng: random.Random) -> str:
    """A number as files write them, of up to 21 digits."""
    digits = str(rng.randrange(10 ** rng.randrange(1, 22)))
    point = rng.randrange(len(digits) + 1)
    text = rng.choice(["", "", "-", "+"]) + rng.choice(["", "0", "000"]) + digits[:point] + "." + digits[point:]
    return text + rng.choice(["", "", f"e{rng.randrange(-30, 30)}", f"E+{rng.randrange(9):03}"])


def parsed(texts: list[str], level: str) -> np.ndarray:
    data = np.frombuffer("".join(f"q 0 d{row} {text}\n" for row, text in enumerate(texts)).encode(), np.uint8)
    columns = [np.empty(len(texts), dtype) for dtype in (np.int64, np.int32, np.uint64, np.float64)]
    blocks, found = (np.empty(1, np.int64), np.empty(1, np.int32), np.empty(1, np.int64)), np.empty(3, np.int64)
    kernel("parse_trec", level)(data, KEY, 0, False, tuple(columns), blocks, found)
    assert found.tolist() == [len(texts), 1, -1]
    return columns[3]


@pytest.mark.parametrize("level", RUNNABLE)
def test_numbers_are_those_of_python_or_left_to_it(level):
    texts = [number_text(random.Random(seed)) for seed in range(20_000)]
    numbers = parsed(texts, level)
    left = np.isnan(numbers)
    assert 0.05 < left.mean() < 0.5
    for text, number in zip(texts, numbers.tolist(), strict=True):
        assert math.isnan(number) or (number, math.copysign(1, number)) == (float(text), math.copysign(1, float(text)))


def test_short_numbers_are_not_left_to_python():
    texts = [repr(round(random.Random(seed).gauss(0, 100), seed % 12)) for seed in range(2000)]
    assert parsed(texts, RUNNABLE[-1]).tolist() == [float(text) for text in texts]


@pytest.mark.parametrize(
    "text", ["x", "1x", "--1", "1..2", ".", "-", "e5", "1e", "1e+", "1e5.0", "1e12345", "0x1", "inf"]
)
def test_other_words_are_left_to_python(text):
    assert np.isnan(parsed([text], RUNNABLE[-1]))[0]


@pytest.mark.parametrize("size", [0, 1, 223, 224, 225, 5000])
def test_lines_are_counted(size):
    text = np.random.default_rng(size).choice(np.frombuffer(b"\n\n\n\n a", np.uint8), size)
    found = np.empty(3, np.int64)
    for last in (ord("\n"), 128):
        data = np.append(text, np.uint8(last))
        kernel("count_lines")(data, 0, found)
        assert found[:2].tolist() == [data.tobytes().count(b"\n"), last == 128]


def refused(name: str, *arguments: object) -> None:
    with pytest.raises(IndexError, match=f"{name}: an index or a count in its arrays is out of range"):
        kernel(name)(*arguments)


def test_tokens_beyond_the_text_are_refused():
    text, codes, out = np.frombuffer(b"abcd", np.uint8), np.empty(1, np.uint64), np.empty(9, np.uint8)
    for start, length in ((-1, 2), (3, 2), (5, 0), (0, -1), (1 << 62, 1)):
        where = np.array([start]), np.array([length], np.int32)
        refused("hash_tokens", text, *where, KEY, codes)
        refused("gather_tokens", text, *where, out)
        refused("read_numbers", text, *where, np.empty(1))
        columns, one, bounds = (*where, codes, np.zeros(1)), np.zeros(1, np.int32), np.array([0, 1])
        refused("rank_topics", text, bounds, columns, one, columns)
        slots = np.empty(8, np.int32)
        refused("number_tokens", Tokens(text, *where, codes), bounds, np.array([[0, 8]]), slots, one, np.zeros(1, int))
        heads, numbers = np.empty(0, np.uint8), np.zeros(1, np.int64)
        many = np.empty(99, np.uint8)
        ends = np.zeros(2, np.int64)
        refused("write_run", text, *where, numbers, np.array([0, 1]), heads, ends, heads, ord(" "), many)


def test_arrays_without_room_are_refused():
    tokens = tokens_of(["a", "b"])
    text, found = np.frombuffer(b"q 0 a 1\nq 0 b 1\n", np.uint8), np.empty(3, np.int64)
    columns = tuple(np.empty(1, dtype) for dtype in (np.int64, np.int32, np.uint64, np.float64))
    blocks = np.empty(2, np.int64), np.empty(2, np.int32), np.empty(2, np.int64)
    refused("parse_trec", text, KEY, 0, False, columns, blocks, found)
    for at in (-1, 99):
        refused("parse_trec", text, KEY, at, False, columns, blocks, found)
        refused("other_tag", text, at, found)
    for table in ((0, 7), (0, 16), (4, 8), (-1, 8), (0, 1), (0, -8)):
        arguments = np.array([table]), np.empty(8, np.int32), np.empty(2, np.int32), np.empty(2, np.int64)
        refused("number_tokens", tokens, np.array([0, 2]), *arguments)
        refused("number_tokens", tokens, np.array([0, 9]), *arguments)
