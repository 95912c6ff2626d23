"""Containers: tables of columns with line numbers, read from delimited text.

`surefoot.io.formats` makes tables of JSON, `surefoot.io.frames` of data frames and of Parquet files.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._names import MISSING_TEXTS
from surefoot._typing import FloatArray, IntArray, PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.document_lists import Tokens
from surefoot.io.files import BYTE_ORDER_MARK, line_number
from surefoot.io.ids import Texts
from surefoot.native import kernel

MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")
OUTCOMES = dict.fromkeys(("true", "pass", "passed", "correct"), 1.0)
OUTCOMES |= dict.fromkeys(("false", "fail", "failed", "incorrect"), 0.0)
"""Words that stand for a score."""
_NUMBER_TYPES = {float, int, bool, type(None)}
_BAD_ROW, _DOUBLED_QUOTE = 1, 2
_split_rows, _read_numbers = kernel("split_rows"), kernel("read_numbers")


class CellError(SurefootError):
    """An error in one row of a table; `in_file` adds the file and the row's line."""

    def __init__(self, row: int, message: str) -> None:
        self.row, self.message = row, message
        super().__init__(row, message)

    def __str__(self) -> str:
        return f"row {self.row + 1}: {self.message}"


@dataclass(frozen=True)
class Labels:
    """A column of labels: the distinct names in order of appearance, and the index of the name of each row."""

    codes: IntArray
    names: tuple[str, ...]

    def name(self, row: int) -> str:
        """The name of a row."""
        return self.names[int(self.codes[row])]

    def __getitem__(self, rows: IntArray | slice) -> Labels:
        """The labels of some rows, without the names that don't occur there."""
        codes = self.codes[rows]
        occurs = np.bincount(codes, minlength=len(self.names)) > 0
        if occurs.all():
            return Labels(codes, self.names)
        return Labels((np.cumsum(occurs) - 1)[codes], tuple(np.array(self.names, dtype=object)[occurs]))


class Table:
    """A table of columns in memory: lists of Python objects, arrays of numbers, `Texts`, or ids as `Labels`."""

    def __init__(self, columns: Iterable[str], cells: Sequence[Any], lines: Sequence[int] = ()) -> None:
        self.columns, self._cells, self._lines = tuple(columns), cells, lines
        self.height = len(cells[-1]) if cells else 0

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], lines: Sequence[int] = ()) -> Table:
        """A table of records; missing cells are None."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls((str(name).strip() for name in names), [[row.get(name) for row in rows] for name in names], lines)

    def line(self, row: int) -> int | None:
        """The line number of a row; None if the table has no lines."""
        return self._lines[row] if self._lines else None

    def texts(self, column: int) -> Texts:
        """A column of ids without surrounding white space; raise if one is empty."""
        texts = self._texts(column)
        if not texts.length.all():
            raise CellError(int(np.argmin(texts.length)), f"the {self.columns[column]} is empty")
        return texts

    def labels(self, column: int) -> Labels:
        """A column of ids that repeat."""
        if self._cells and isinstance(self._cells[column], Labels):
            found: Labels = self._cells[column]
            return found
        texts = self.texts(column)
        codes, first = Tokens.of(texts.data, texts.start, texts.length).number()
        return Labels(codes.astype(np.int64), tuple(texts[first]))

    def numbers(self, columns: Sequence[int], rows: IntArray | None = None) -> FloatArray:
        """Rows × columns; NaN where a number is missing."""
        values = self._numbers(columns, rows)
        infinite = np.isinf(values)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            raise self._no_number("a finite number", values[row, column], row, columns[column], rows)
        return values

    def _texts(self, column: int) -> Texts:
        cells = self._cells[column]
        if isinstance(cells, Texts):
            return cells.trimmed()
        if isinstance(cells, np.ndarray):
            cells = [*map(str, cells)] if cells.dtype.kind in "iu" else cells.tolist()
        try:
            try:
                return Texts.of(cells).trimmed()
            except TypeError:  # not all are texts
                return Texts.of([cell if type(cell) is str else as_text(cell) for cell in cells]).trimmed()
        except (TypeError, UnicodeEncodeError):
            raise SurefootError(f"column {self.columns[column]!r}: expected names, as UTF-8 text or numbers") from None

    def _numbers(self, columns: Sequence[int], rows: IntArray | None) -> FloatArray:
        return np.column_stack([self._parsed(self._cells[column], column, rows) for column in columns])

    def _parsed(self, cells: Any, column: int, rows: IntArray | None) -> FloatArray:
        """The cells of a column as numbers; ``rows`` are the rows to parse."""
        if isinstance(cells, np.ndarray):
            return (cells if rows is None else cells[rows]).astype(np.float64, copy=False)
        chosen = list(cells) if rows is None else [cells[row] for row in rows.tolist()]
        try:
            if set(map(type, chosen)) <= _NUMBER_TYPES:
                return np.array(chosen, np.float64)
        except OverflowError:
            pass
        values = np.empty(len(chosen))
        for index, cell in enumerate(chosen):
            try:
                values[index] = parse_number(cell)
            except (TypeError, ValueError, OverflowError):
                found = cell.strip() if isinstance(cell, str) else str(cell)
                raise self._no_number("a number", repr(found), index, column, rows) from None
        return values

    def _no_number(self, expected: str, found: object, index: int, column: int, rows: IntArray | None) -> CellError:
        row = index if rows is None else int(rows[index])
        return CellError(row, f"column {self.columns[column]!r}: expected {expected}, found {found}")


class Content(NamedTuple):
    """A table of scores, or a run or judgments as `surefoot.io.memory` takes them.

    ``name`` is the name of the system, if the file has it outside of the table; ``summaries`` are ids of rows over all
    topics; ``notes`` are assumptions; ``noun`` is the word for topics. A table with rankings of several systems has a
    column ``system``.
    """

    source: Any
    name: str | None = None
    summaries: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    noun: str = "queries"


class DelimitedTable(Table):
    """The rows of delimited text, by the start and the length of each cell; numbers are parsed on demand."""

    def __init__(self, header: Header, data: bytes, start: IntArray, length: npt.NDArray[np.int32]) -> None:
        super().__init__(header.cells, [Texts(data, *column) for column in zip(start.T, length.T, strict=True)])
        self.data, self.start, self.length = data, start, length

    def line(self, row: int) -> int:
        return line_number(self.data, int(self.start[row, 0]))

    def _numbers(self, columns: Sequence[int], rows: IntArray | None) -> FloatArray:
        chosen = slice(None) if rows is None else rows
        start, length = (cells[chosen].take(columns, axis=1) for cells in (self.start, self.length))
        values = np.empty(start.shape)
        data = np.frombuffer(self.data, np.uint8)
        _read_numbers(data, start.reshape(-1), length.reshape(-1), values.reshape(-1))
        for row, index in np.argwhere(np.isnan(values) & np.signbit(values)).tolist():  # left to Python
            begin = int(start[row, index])
            text = self.data[begin : begin + int(length[row, index])].decode()
            try:
                values[row, index] = parse_number(text)
            except ValueError:
                raise self._no_number("a number", repr(text), row, columns[index], rows) from None
        return values


def parse_number(cell: Any) -> float:
    """The number in a cell, NaN if it is missing; other cells raise ValueError, TypeError or OverflowError.

    >>> parse_number(" 0.5 "), parse_number("N/A"), parse_number("pass")
    (0.5, nan, 1.0)
    """
    if isinstance(cell, str):
        word = cell.strip()
        if word.lower() in MISSING_WORDS:
            return np.nan
        if word.lower() in OUTCOMES:
            return OUTCOMES[word.lower()]
        if "_" in word or not word.isascii():  # only Python reads these as numbers
            raise ValueError(word)
        return float(word)
    return np.nan if str(cell) in MISSING_TEXTS else float(cell)


def as_text(cell: Any) -> str:
    """An id as text: 151.0, from a column with missing values, is 151; a missing id is the empty text."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    if hasattr(cell, "__len__") and not isinstance(cell, str):
        raise TypeError
    text = str(cell)
    return "" if text in MISSING_TEXTS and not isinstance(cell, str) else text


@contextmanager
def in_file(path: PathLike, table: Table | None = None, line: int | None = None) -> Iterator[None]:
    """Add the file, and the line if it is known, to errors raised in the block."""
    try:
        yield
    except InputError:
        raise
    except CellError as error:
        line = None if table is None else table.line(error.row)
        raise InputError(path, str(error) if line is None else error.message, line) from None
    except SurefootError as error:
        raise InputError(path, str(error), line) from None


def validate_text(path: PathLike, data: bytes) -> bytes:
    """Raise unless the data is UTF-8 text; remove a byte order mark, and carriage returns that end all lines."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\0" in data:
        raise InputError(path, "holds binary data, not a table as UTF-8 text")
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = line_number(data, error.start)
            raise InputError(path, "not UTF-8 text; save it with that encoding", line) from None
        if BYTE_ORDER_MARK in data:
            line = line_number(data, data.index(BYTE_ORDER_MARK))
            raise InputError(path, "a byte order mark inside the file, perhaps from joining files; remove it", line)
    if b"\n" not in data:
        return data.replace(b"\r", b"\n")
    stray = re.search(rb"\r(?!\n)", data) if b"\r" in data else None
    if stray:
        raise InputError(
            path, "a carriage return inside the line; end all lines alike", line_number(data, stray.start())
        )
    return data


class Header(NamedTuple):
    """The cells of the first line that is not blank, its number, and the offset of the next line."""

    cells: tuple[str, ...]
    separator: str
    line: int
    end: int

    @classmethod
    def of(cls, path: PathLike, data: bytes) -> Header:
        """The header of a table; separated by tabs if it has any, else by commas, else by semicolons."""
        start = re.search(rb"\S", data).start()  # type: ignore[union-attr]
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        line, number = data[start:stop].decode("utf-8").strip("\r"), line_number(data, start)
        separator = next((mark for mark in "\t,;" if mark in line), ",")
        cells = (cell.strip() for cell in cells_of(path, line, separator, number))
        return cls(tuple(cells), separator, number, min(stop + 1, len(data)))


def read_delimited(path: PathLike, data: bytes, header: Header | None = None) -> Table:
    """The rows of validated text below its header; blank lines are skipped."""
    header = header or Header.of(path, data)
    shape, found = (data.count(b"\n", header.end) + 1, len(header.cells)), np.empty(2, np.int64)
    start, length = np.empty(shape, np.int64), np.empty(shape, np.int32)
    content, quoted = np.frombuffer(data, np.uint8), int(b'"' in data)
    problem = _split_rows(content, header.end, ord(header.separator), quoted, start, length, found)
    count, stopped = found.tolist()
    if problem == _DOUBLED_QUOTE:
        return _read_slowly(path, data, header)
    if problem == _BAD_ROW:
        begin = line_number(data, stopped)
        line = data[stopped : data.find(b"\n", stopped) if b"\n" in data[stopped:] else len(data)]
        _refuse_other_width(path, cells_of(path, line.decode().rstrip("\r"), header.separator, begin), header, begin)
        raise InputError(path, "can't be read as cells of a table", begin)
    if not count:
        raise InputError(path, "there is a header but no row of scores")
    return DelimitedTable(header, data, start[:count], length[:count])


def _read_slowly(path: PathLike, data: bytes, header: Header) -> Table:
    """Read a table with quotes inside quoted cells by the csv module."""
    lines, rows = [], []
    for number, cells in records(path, data[header.end :].decode(), header.separator):
        line = number + data.count(b"\n", 0, header.end)
        _refuse_other_width(path, cells, header, line)
        lines.append(line)
        rows.append(cells)
    return Table(header.cells, [*zip(*rows, strict=True)], lines)


def _refuse_other_width(path: PathLike, cells: Collection[str], header: Header, line: int) -> None:
    if len(cells) != len(header.cells):
        raise InputError(path, f"expected {len(header.cells)} columns as in the header, found {len(cells)}", line)


def records(path: PathLike, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The line number and the cells of each line that is not blank, including the header."""
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        cells = cells_of(path, line.rstrip("\r\n"), separator, number)
        if any(cell.strip() for cell in cells):
            yield number, cells


def cells_of(path: PathLike, line: str, separator: str, number: int, strict: bool = True) -> list[str]:
    """The cells of one line. A cell ends with its line, so that a stray quote does not swallow further lines."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=strict), [])
    except csv.Error as error:
        reason = "a quote is not closed" if "end of data" in str(error) else str(error)
        raise InputError(path, f"can't be read as cells of a table: {reason}", number) from None


def objects_with(content: Any, key: str) -> Iterator[dict[str, Any]]:
    """The objects that have a key, at any depth of JSON, outermost first."""
    if isinstance(content, Mapping) and key in content:
        yield dict(content)
    elif isinstance(content, Mapping | list):
        for value in content.values() if isinstance(content, Mapping) else content:
            yield from objects_with(value, key)
