"""The lines of CSV and TSV files, cell by cell, with their numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from surefoot._typing import PathLike
from surefoot.errors import InputError


def records(path: PathLike, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of the lines that are not blank, including the header, each with its line's number."""
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        cells = cells_of(path, line.rstrip("\r\n"), separator, number)
        if any(cell.strip() for cell in cells):
            yield number, cells


def cells_of(path: PathLike, line: str, separator: str, number: int) -> list[str]:
    """The cells of one line. A stray quote must not swallow lines, so a cell ends with its line."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        reason = "a quote is not closed" if "end of data" in str(error) else str(error)
        raise InputError(path, f"can't be read as cells of a table: {reason}", number) from None
