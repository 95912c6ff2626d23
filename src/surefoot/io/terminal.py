"""Tables for terminals: where one is too wide, its columns are stacked in panels; numbers are never cut."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

Columns = Mapping[str, Sequence[str]]

GAP = 2
NARROWEST = 30
LABELS = frozenset({"alpha", "topic"})
"""Columns that identify a row, besides those of text."""


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
    out = io.StringIO()
    console = Console(
        file=out,
        width=limit or _natural_width(cells),
        force_terminal=color,
        force_jupyter=False,  # in a notebook rich would print to the cell, and the text would be lost
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    if heading:
        console.print(Text(heading, style="bold"), overflow="fold")
    for index, panel in enumerate(panels):
        console.print(*[""] * bool(index), _rich_table(panel, texts, best, text_cap), sep="\n")
    lines = [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
    return "\n".join([*lines, "", *_caption(notes, signature, limit, color)]) + "\n"


def _caption(notes: Sequence[str], signature: str, limit: int | None, color: bool) -> list[str]:
    """The wrapped notes, and the signature on one line so that it can be copied."""
    wrapped = [line for note in notes for line in textwrap.wrap(f"note: {note}", limit or 100, subsequent_indent="  ")]
    return [f"\x1b[2m{line}\x1b[0m" if color else line for line in (*wrapped, signature)]


def _rich_table(cells: Columns, texts: set[str], best: Mapping[str, Sequence[bool]], text_cap: int | None) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name in cells:
        if name in texts:
            table.add_column(Text(name), overflow="fold", max_width=text_cap)
        else:
            table.add_column(Text(name), justify="right", no_wrap=True)
    styled = [
        [Text(cell, style="bold" if name in best and best[name][row] else "") for row, cell in enumerate(column)]
        for name, column in cells.items()
    ]
    for row in zip(*styled, strict=True):
        table.add_row(*row)
    return table


def _width_of(name: str, column: Sequence[str]) -> int:
    return max(map(cell_len, (name, *column)))


def _natural_width(cells: Columns) -> int:
    return sum(_width_of(name, column) + GAP for name, column in cells.items()) - GAP


def _lift_constants(cells: Columns, labels: set[str]) -> tuple[Columns, str]:
    constant = [name for name in list(cells)[1:] if name in labels and len(set(cells[name])) == 1]
    kept = {name: column for name, column in cells.items() if name not in constant}
    return kept, ", ".join(f"{name} {cells[name][0]}" for name in constant)


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
