"""CSV and TSV tables, parsed by polars; they are parsed a second time only to find the line of an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from surefoot._fork import uses_threads
from surefoot._lazy import LazyModule
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.csv_lines import cells_of, records
from surefoot.io.files import BYTE_ORDER_MARK
from surefoot.io.frames import PolarsTable
from surefoot.io.layouts import Long, recognise
from surefoot.io.score_file import ScoreFile

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")


@dataclass(frozen=True)
class Header:
    """The cells of the first line that is not blank."""

    cells: tuple[str, ...]
    separator: str
    lines: int
    """The number of lines before the first row."""
    end: int
    """The offset of the first row."""


def validate_text(path: PathLike, data: bytes) -> bytes:
    """The data if it is UTF-8 text; if lines end in carriage returns alone, these become newlines."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\0" in data:
        raise InputError(path, "holds binary data, not a table as UTF-8 text")
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(path, "not UTF-8 text; save it with that encoding", line) from None
        if BYTE_ORDER_MARK in data:
            line = data.count(b"\n", 0, data.index(BYTE_ORDER_MARK)) + 1
            raise InputError(path, "a byte order mark, as where files were joined; remove it", line)
    if b"\n" not in data:
        return data.replace(b"\r", b"\n")
    stray = re.search(rb"\r(?!\n)", data) if b"\r" in data else None
    if stray:
        line = data.count(b"\n", 0, stray.start()) + 1
        raise InputError(path, "a carriage return inside the line; end all lines alike", line)
    return data


def header_of(path: PathLike, data: bytes) -> Header:
    """The header of a table; separated by tabs if it has any, else by commas, else by semicolons."""
    start = re.search(rb"\S", data).start()  # type: ignore[union-attr]
    stop = data.find(b"\n", start)
    stop = len(data) if stop < 0 else stop
    line = data[start:stop].decode("utf-8").strip("\r")
    separator = next((mark for mark in "\t,;" if mark in line), ",")
    cells = tuple(cell.strip() for cell in cells_of(path, line, separator, data.count(b"\n", 0, start) + 1))
    row = re.compile(rb"\S").search(data, stop)
    end = len(data) if row is None else max(data.rfind(b"\n", 0, row.start()) + 1, 0)
    return Header(cells, separator, data.count(b"\n", 0, end), end)


def read_delimited(path: PathLike, data: bytes) -> ScoreFile:
    """Read a CSV or TSV file."""
    header = header_of(path, data)
    try:
        layout = recognise(header.cells)
    except SurefootError as error:
        raise InputError(path, str(error), header.lines) from None
    scores = layout.values if isinstance(layout, Long) else range(1, len(header.cells))
    return ScoreFile(
        path,
        PolarsTable(read_rows(path, data, header, set(scores)), header.cells),
        layout,
        line_of=lambda row: next(islice(_records(path, data, header), row + 1, None), (None,))[0],
    )


def read_rows(path: PathLike, data: bytes, header: Header, numeric: Collection[int] = ()) -> polars.DataFrame:
    """The rows below a header, as texts but for the numeric columns, if all of these are numbers."""
    if not re.compile(rb"\S").search(data, header.end):
        raise InputError(path, "there is a header but no row of scores")
    frame = _without_blank_lines(_parsed(path, data, header, numeric))
    if _may_be_ragged(data, header, frame):
        _refuse_other_widths(path, data, header)
    return frame


def _parsed(path: PathLike, data: bytes, header: Header, numeric: Collection[int]) -> polars.DataFrame:
    """The rows; scores are numbers if all of them are, else text to be parsed later."""
    uses_threads()
    if b'"' in data:
        return _quoted(path, data, header)
    problem: Exception | None = None
    for numbers in (numeric, ()):
        schema = {
            str(index): polars.Float64() if index in numbers else polars.String() for index in range(len(header.cells))
        }
        try:
            return polars.read_csv(
                data, has_header=False, skip_lines=header.lines, separator=header.separator, schema=schema
            )
        except polars.exceptions.PolarsError as error:
            problem = error
    _refuse_other_widths(path, data, header)
    raise InputError(path, f"can't be read as a table: {str(problem).splitlines()[0]}")


def _without_blank_lines(frame: polars.DataFrame) -> polars.DataFrame:
    first = frame.to_series(0)
    empty = first.is_null()
    if first.dtype == polars.String:
        empty |= (first.str.strip_chars() == "").fill_null(value=True)
    rows = empty.arg_true()
    if not len(rows):
        return frame
    blank = [row for row, cells in zip(rows, frame[rows].iter_rows(), strict=True) if not _filled(cells)]
    kept = polars.int_range(frame.height, eager=True).is_in(blank).not_()
    return frame.filter(kept)


def _quoted(path: PathLike, data: bytes, header: Header) -> polars.DataFrame:
    """The rows of a table with quotes, as text. A stray quote must not swallow lines, so a cell ends with its line."""
    rows = list(islice(_full_rows(path, data, header), 1, None))
    names = [str(index) for index in range(len(header.cells))]
    return polars.DataFrame(rows, dict.fromkeys(names, polars.String), orient="row")


def _may_be_ragged(data: bytes, header: Header, frame: polars.DataFrame) -> bool:
    """Whether some line may have too few cells, which polars fills with nulls, or the last one an empty one more."""
    mark = header.separator.encode()
    if data.endswith(mark):
        return True
    if not frame.to_series(-1).has_nulls():
        return False
    marks = data.count(mark, header.end)
    return marks != frame.height * (len(header.cells) - 1)


def _refuse_other_widths(path: PathLike, data: bytes, header: Header) -> None:
    for _ in _full_rows(path, data, header):
        pass


def _full_rows(path: PathLike, data: bytes, header: Header) -> Iterator[list[str]]:
    """The cells of the header and of each row, which must have as many."""
    width = len(header.cells)
    for line, cells in _records(path, data, header):
        if len(cells) != width:
            raise InputError(path, f"expected {width} columns as in the header, found {len(cells)}", line)
        yield cells


def _records(path: PathLike, data: bytes, header: Header) -> Iterator[tuple[int, list[str]]]:
    return records(path, data.decode("utf-8"), header.separator)


def _filled(cells: Collection[object]) -> bool:
    return any(cell is not None and str(cell).strip() for cell in cells)
