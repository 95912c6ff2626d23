"""Small files: settings in TOML, the baseline of each system, the segment of each topic, lists of names."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, choose, counted, listed
from surefoot.io.containers import records
from surefoot.io.files import read_bytes
from surefoot.io.roles import NAMES


def read_map(path: PathLike, what: str) -> dict[str, str]:
    r"""Read a CSV of two columns, such as the baseline of each system.

    Parameters
    ----------
    path
        The file; a header of ``system`` and ``what`` is optional.
    what
        The name of the second column.

    Returns
    -------
    dict
        The second column by the first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "baselines.csv")
    >>> _ = file.write_text("system,baseline\nnew,old\n")
    >>> read_map(file, "baseline")
    {'new': 'old'}
    """
    header, lines = _table(path, ["system", what])
    return _mapping(path, lines, header, 1, filled=2)


def read_segments(path: PathLike, column: str | None = None) -> dict[str, str]:
    r"""Read the segment of each topic.

    Parameters
    ----------
    path
        A CSV of topic and segment, or one with a header and several columns of segments.
    column
        The column to read, if there are several.

    Returns
    -------
    dict
        The segment by topic; a topic whose cell is empty is left out.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "segments.csv")
    >>> _ = file.write_text("topic,intent,length\nq1,navigational,short\nq2,informational,long\n")
    >>> read_segments(file, "intent")
    {'q1': 'navigational', 'q2': 'informational'}
    """
    header, lines = _table(path, ["topic", "segment"])
    place = 1
    if column is not None:
        place = header.index(choose(column, header[1:], f"{path}: the column of segments"))
    elif len(header) != 2:
        raise InputError(path, f"there are several columns of segments: name one of {listed(header[1:]) or 'none'}")
    return {topic: segment for topic, segment in _mapping(path, lines, header, place).items() if segment}


def read_points(path: PathLike) -> list[tuple[float, float]]:
    r"""Read a value function, such as an elicited one.

    Parameters
    ----------
    path
        A CSV of difference and value; a header is optional.

    Returns
    -------
    list
        The points.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "values.csv")
    >>> _ = file.write_text("difference,value\n-1,-3\n0,0\n1,1\n")
    >>> read_points(file)
    [(-1.0, -3.0), (0.0, 0.0), (1.0, 1.0)]
    """
    points: list[tuple[float, float]] = []
    for line, cells in _table(path, ["difference", "value"])[1]:
        try:
            difference, value = map(float, cells)
        except ValueError:
            raise InputError(path, f"expected two numbers, difference,value; found {','.join(cells)}", line) from None
        points.append((difference, value))
    return points


def read_names(path: PathLike) -> list[str]:
    r"""Read a list of names.

    Parameters
    ----------
    path
        A text file with one name on each line; empty lines and lines that begin with ``#`` are skipped.

    Returns
    -------
    list
        The names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "protected.txt")
    >>> _ = file.write_text("# ours\nq1\nq7\n")
    >>> read_names(file)
    ['q1', 'q7']
    """
    lines = (line.strip() for line in _text(path, "a name on each line").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _mapping(
    path: PathLike, lines: list[tuple[int, list[str]]], header: list[str], column: int, filled: int = 1
) -> dict[str, str]:
    """A column by the first column; the first ``filled`` cells of a line must not be empty."""
    found: dict[str, str] = {}
    expected = ",".join(header)
    for line, cells in lines:
        if len(cells) != len(header) or not all(cells[:filled]):
            raise InputError(path, f"expected {expected}; found {counted(len(cells), 'column')}", line)
        if cells[0] in found:
            raise InputError(path, f"{header[0]} {cells[0]!r} has a line already; keep one", line)
        found[cells[0]] = cells[column]
    if not any(found.values()):
        raise InputError(path, f"expected lines of {expected}; found none")
    return found


def _table(path: PathLike, header: list[str]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV, or this one if it has none, and its lines that are not blank, with their numbers."""
    text = _text(path, f"a CSV of {','.join(header)}")
    lines = [(number, [cell.strip() for cell in cells]) for number, cells in records(path, text, ",")]
    first = lines[0][1][0].lower() if lines and len(lines[0][1]) > 1 else ""
    if first == header[0] or (header[0] == "topic" and first in NAMES["topic"]):
        return lines[0][1], lines[1:]
    return header, lines


def _text(path: PathLike, expected: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path, f"expected {expected}; this is not text") from None


@dataclass(frozen=True)
class TomlFile:
    """The content of a TOML file."""

    path: PathLike
    text: str
    content: dict[str, Any]

    def error(self, key: str, message: str) -> InputError:
        """An error about a key or a table, with the line of its first occurrence."""
        return InputError(self.path, message, self.line_of(key))

    def line_of(self, key: str) -> int | None:
        r"""The number of the first line that assigns to a key or opens a table of that name.

        >>> TomlFile("a.toml", "# alpha\n[gate]\nalpha = 1\n", {}).line_of("alpha")
        3
        """
        name = rf"""["']?{re.escape(key)}["']?"""
        found = re.search(rf"^\s*(\[+\s*{name}\s*[].]|{name}\s*[=.])", self.text, re.MULTILINE)
        return None if found is None else self.text.count("\n", 0, found.start(1)) + 1


def read_toml(path: PathLike) -> TomlFile:
    """Read a TOML file; errors name the line."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
        return TomlFile(path, text, tomllib.loads(text))
    except UnicodeDecodeError:
        raise InputError(path, "not valid TOML: not UTF-8 text") from None
    except RecursionError:
        raise InputError(path, "not valid TOML: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        message, _, where = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", where)
        raise InputError(path, f"not valid TOML: {message}", int(line[1]) if line else None) from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(path, f"not valid TOML: {error}") from None
