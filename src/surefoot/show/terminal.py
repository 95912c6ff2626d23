"""Tables for terminals: where one is too wide, its columns are stacked in panels; numbers are never cut."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest

from surefoot._names import one_line

Columns = Mapping[str, Sequence[str]]

GAP = 2
NARROWEST = 30
LABELS = frozenset({"alpha", "topic"})
"""Columns that identify a row, besides those of text."""

Style = Callable[[str], str]


def terminal_table(
    cells: Columns,
    is_text: Sequence[bool],
    best: Mapping[str, Sequence[bool]],
    notes: Sequence[str],
    signature: str,
    width: int | None,
    color: bool,
) -> str:
    """The table with the best value of each column in bold, and below it the notes and the signature.

    Where it is too wide, columns that are constant move to a line above the table, and the others are stacked in
    panels that each repeat the labels of the rows.
    """
    limit = None if width is None else max(width, NARROWEST)
    texts = {name for name, text in zip(cells, is_text, strict=True) if text}
    heading, panels, text_cap = "", [cells], None
    if limit is not None and _natural_width(cells) > limit:
        text_cap = max(limit // 3, 8)
        cells, heading = _lift_constants(cells, texts | LABELS)
        panels = _panels(cells, texts | LABELS, limit, text_cap)
    style = _bold if color else str
    lines = [style(line) for line in _folded(heading, limit or NARROWEST)] if heading else []
    for index, panel in enumerate(panels):
        lines += [*[""] * bool(index), *_lines(panel, texts, best, text_cap, style)]
    return "\n".join([*lines, "", *_caption(notes, signature, limit, color)]) + "\n"


def _caption(notes: Sequence[str], signature: str, limit: int | None, color: bool) -> list[str]:
    """The wrapped notes, and the signature on one line so that it can be copied."""
    wrapped = [line for note in notes for line in textwrap.wrap(f"note: {note}", limit or 100, subsequent_indent="  ")]
    return [f"\x1b[2m{line}\x1b[0m" if color else line for line in (*wrapped, signature)]


def _lines(
    cells: Columns, texts: set[str], best: Mapping[str, Sequence[bool]], text_cap: int | None, style: Style
) -> Iterator[str]:
    """The header and the rows: texts to the left and folded at ``text_cap``, numbers to the right."""
    columns, blanks = [], []
    for name, column in cells.items():
        width = _width_of(name, column)
        if name in texts and text_cap:
            width = min(width, text_cap)
        marks = (True, *(best[name] if name in best else (False,) * len(column)))
        styled = zip((one_line(name), *column), marks, strict=True)
        columns.append([_padded(text, width, name in texts, style if mark else str) for text, mark in styled])
        blanks.append(" " * width)
    for row in zip(*columns, strict=True):
        for line in zip_longest(*row):
            yield (" " * GAP).join(part or blank for part, blank in zip(line, blanks, strict=True)).rstrip()


def _padded(text: str, width: int, is_text: bool, style: Style) -> list[str]:
    """The lines of a cell, each as wide as its column."""
    if is_text:
        return [style(part) + " " * (width - _cell_width(part)) for part in _folded(text, width)]
    text = text.rstrip()
    return [" " * (width - _cell_width(text)) + style(text)]


def _folded(text: str, width: int) -> list[str]:
    """The text in lines of at most this width; between words where it can be."""
    if _cell_width(text) <= width:
        return [text]
    return [part for line in textwrap.wrap(text, width, break_on_hyphens=False) for part in _chopped(line, width)]


def _chopped(text: str, width: int) -> Iterator[str]:
    """The text in pieces of at most this width, where wide characters leave less room than there are letters."""
    begin, room = 0, width
    for index, character in enumerate(text):
        if _character_width(character) > room:
            yield text[begin:index]
            begin, room = index, width
        room -= _character_width(character)
    yield text[begin:]


def _cell_width(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@cache
def _character_width(character: str) -> int:
    """Ideographs and most emoji take two columns, marks on another character none."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if text else text


def _width_of(name: str, column: Sequence[str]) -> int:
    return max(map(_cell_width, (name, *column)))


def _natural_width(cells: Columns) -> int:
    return sum(_width_of(name, column) + GAP for name, column in cells.items()) - GAP


def _lift_constants(cells: Columns, labels: set[str]) -> tuple[Columns, str]:
    constant = [name for name in list(cells)[1:] if name in labels and len(set(cells[name])) == 1]
    kept = {name: column for name, column in cells.items() if name not in constant}
    return kept, ", ".join(f"{one_line(name)} {cells[name][0]}" for name in constant)


def _panels(cells: Columns, labels: set[str], limit: int, text_cap: int) -> list[Columns]:
    """Columns in as few panels as fit, each led by the labels."""
    leading = {name: column for name, column in cells.items() if name in labels}
    full_room = limit - sum(min(_width_of(name, column), text_cap) + GAP for name, column in leading.items())
    panels, room = [dict(leading)], full_room
    for name, column in cells.items():
        if name in leading:
            continue
        needed = _width_of(name, column)
        if needed > room and len(panels[-1]) > len(leading):
            panels.append(dict(leading))
            room = full_room
        panels[-1][name] = column
        room -= needed + GAP
    return list(panels)
