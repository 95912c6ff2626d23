"""Delimited text against the csv module, and ids as ranges of bytes."""

import csv
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import InputError
from surefoot.io.containers import MISSING_WORDS, read_delimited, validate_text
from surefoot.io.ids import Texts

CELLS = st.text("ab\u00a0\u3000\u2003é \t\x1f'", max_size=5)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.sampled_from(
    [*MISSING_WORDS, "NaN", "NULL", "N/A", "1e-320", "0.1234567890123456789", "+.5", "-7.", "12345678901234567890"]
)


def slow_number(text):
    return math.nan if text.lower() in MISSING_WORDS else float(text)


@given(st.lists(st.tuples(CELLS, NUMBERS, st.booleans()), min_size=1, max_size=6), st.sampled_from(",;\t"))
def test_cells_equal_those_of_the_csv_module(rows, mark):
    lines = [f'"{name}"{mark}"{number}"' if quoted else f"{name}{mark}{number}" for name, number, quoted in rows]
    lines = [line for line in lines if mark != "\t" or "\t" not in line.replace(mark, "", 1)]
    expected = [next(csv.reader([line], delimiter=mark, strict=True)) for line in lines]
    expected = [row for row in expected if any(cell.strip() for cell in row)]
    data = f"name{mark}number\r\n".encode() + "\r\n".join(lines).encode()
    if not expected:
        return
    table = read_delimited("a.csv", data)
    assert table.height == len(expected)
    assert table._texts(0).to_list() == [name.strip() for name, _ in expected]
    found, right = table.numbers([1])[:, 0], [slow_number(number) for _, number in expected]
    assert np.array_equal(found, right, equal_nan=True)


def test_quotes_inside_of_quoted_cells():
    table = read_delimited("a.csv", b'a,b\n"x ""y""",1\n\n"z",2\n')
    assert table.texts(0).to_list() == ['x "y"', "z"]
    assert [table.line(row) for row in range(2)] == [2, 4]
    assert table.numbers([1]).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        (b'"x,1\n', 2, "a quote is not closed"),
        (b'"x"y,1\n', 2, "expected after"),
        (b'y,1\n"x\ny",2\n', 3, "a quote is not closed"),
        (b"x,1\n\ny\n", 4, "expected 2 columns as in the header, found 1"),
        (b'x,1\n"y",2,\n', 3, "expected 2 columns as in the header, found 3"),
        (b'"x ""y""",1\nz\n', 3, "expected 2 columns as in the header, found 1"),
    ],
)
def test_malformed_rows(rows, line, message):
    with pytest.raises(InputError, match=message) as error:
        read_delimited("a.csv", validate_text("a.csv", b"a,b\n" + rows))
    assert error.value.line == line


@given(st.lists(st.text("a é\n\u2028\u00a0", max_size=4), max_size=5), st.data())
def test_texts_are_a_list_of_texts(words, data):
    texts = Texts.of(words)
    assert texts.to_list() == list(texts) == words
    assert texts.trimmed().to_list() == [word.strip() for word in words]
    rows = data.draw(st.lists(st.integers(0, len(words) - 1))) if words else []
    chosen = texts[np.array(rows, np.int64)]
    assert chosen.to_list() == pickle.loads(pickle.dumps(chosen)).to_list() == [words[row] for row in rows]
