"""Results as text: a terminal table, CSV, JSON, Markdown, HTML or LaTeX."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TextIO

from surefoot._names import csv_text, escape_commands, json_text, markdown, one_line, spreadsheet, visible, wrapped
from surefoot.errors import choose, counted

if TYPE_CHECKING:
    from surefoot._typing import BoolArray
    from surefoot.results import Result

Cells = dict[str, list[str]]

DAGGER = "†"
HTML_ROWS = MANY_ROWS = 60
ALL = ["all"]
"""Columns for all of them."""
UNDEFINED = "–"
GAP = 2
NARROWEST = 30
LABELS = frozenset({"alpha", "topic"})
"""Columns that identify a row, besides those of text."""
Style = Callable[[str], str]
COUNTS = frozenset({"wins", "losses", "ties", "loss20", "topics", "systems", "rank", "n"})


def render(
    result: Result,
    format: str = "table",
    *,
    width: int | None = None,
    color: bool = False,
    columns: Sequence[str] | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> str:
    """A result as text, which ends in a newline.

    Parameters
    ----------
    result
        Any result of Surefoot.
    format
        ``table``, ``csv``, ``json``, ``md`` or ``latex``.
    width
        Width of a table in characters. By default the width of the terminal; no limit if there is none.
    color
        Whether a table may use bold and dim type.
    columns
        The columns to show; by default all in CSV and JSON, those of `Result.brief` in other formats. ``["all"]`` is
        all.
    caption, label
        Caption and label of a LaTeX table, in LaTeX; ``% _ # &`` in the words of the caption are escaped. Either makes
        the table a float.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> from surefoot import Result
    >>> result = Result("demo|alpha=5", {"system": ["bm25"], "urisk": [-0.25], "p": [float("nan")]})
    >>> print(render(result, "csv"), end="")
    system,urisk,p,signature
    bm25,-0.25,,demo|alpha=5
    >>> print(render(result, "md"), end="")
    | system | urisk | p |
    | :--- | ---: | ---: |
    | bm25 | -0.2500 | – |
    <BLANKLINE>
    `demo|alpha=5`
    """
    if columns is not None and list(columns) != ALL:
        result = result.only(columns)
    elif columns is None and format == "table":
        result = _brief(result)
    elif columns is None and format in ("md", "latex") and len(names := result.brief()) < len(result.columns):
        result = result.only(names)
    width = _terminal_width(sys.stdout) if width is None else width
    options = {"table": (width, color), "latex": (caption, label)}
    return FORMATS[choose(format, FORMATS, "format")](result, *options.get(format, ()))


def _brief(result: Result) -> Result:
    """The columns that a terminal shows by default, and notes on how to see more columns or fewer rows."""
    names = result.brief()
    left_out = [name for name in result.columns if name not in names]
    notes = [f"{counted(len(left_out), 'more column')} with --columns all: {', '.join(left_out)}"] if left_out else []
    if left_out and {"p", "urisk"} <= set(names):
        notes.insert(0, "p tests U_Risk at this alpha; surefoot compare tests the mean")
    if len(result) > MANY_ROWS and "system" in result.columns:
        notes.append(
            f"{len(result):,} rows: show fewer with --systems A,B or one --alpha; -o table.csv writes them all"
        )
    result = result.only(names) if left_out else result
    return replace(result, notes=(*result.notes, *notes))


def print_result(result: Result, format: str = "table", stream: TextIO | None = None, **options: Any) -> None:
    """Print a result, as wide as the stream's terminal, with bold and dim type there unless NO_COLOR is set.

    ``options`` are further options of `render`.
    """
    stream = sys.stdout if stream is None else stream
    color = stream.isatty() and not os.environ.get("NO_COLOR")
    text = render(result, format, width=_terminal_width(stream), color=color, **options)
    unescaped = format in ("csv", "json")  # for programs; on a terminal, control characters are replaced
    stream.write(visible(text) if unescaped and stream.isatty() else text)


def _terminal_width(stream: TextIO) -> int | None:
    """COLUMNS if it is set, else the width of the terminal, if the stream is one."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, ValueError, OSError):
        return None


def _csv(result: Result) -> str:
    rows = ([*(_exact(*cell) for cell in row.items()), spreadsheet(result.signature)] for row in result.rows())
    return csv_text([[*map(spreadsheet, result.columns), "signature"], *rows])


def _exact(name: str, value: Any) -> str:
    """All digits of a value; an alpha of 5 is written as 5, not 5.0."""
    if value is None:
        return ""
    if name == "alpha":
        return str(value).removesuffix(".0")
    if isinstance(value, str):
        return spreadsheet(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(result: Result, width: int | None, color: bool) -> str:
    """The table with the best value of each column in bold, then the notes and the signature.

    If it is too wide, constant columns move to a line above the table, and the others are stacked in panels that each
    repeat the labels of the rows.
    """
    limit, style = None if width is None else max(width, NARROWEST), _bold if color else str
    cells = styled(result, str, DAGGER, "{}", filler=" ")
    texts = {name for name, is_text in zip(cells, text_columns(result), strict=True) if is_text}
    heading, panels, text_cap = "", [cells], None
    if limit is not None and _natural_width(cells) > limit:
        text_cap = max(limit // 3, 8)
        cells, heading = _lift_constants(cells, texts | LABELS)
        panels = _panels(cells, texts | LABELS, limit, text_cap)
    best = {name: column.tolist() for name, column in result.highlights().best.items()}
    lines = [style(line) for line in _folded(heading, limit or NARROWEST)] if heading else []
    for index, panel in enumerate(panels):
        lines += [*[""] * bool(index), *_lines(panel, texts, best, text_cap, style)]
    notes = [line for note in notes_of(result) for line in wrapped(f"note: {note}", limit or 100, rest="  ")]
    caption = (*notes, one_line(result.signature))  # the signature is on one line, so that it can be copied
    return "\n".join([*lines, "", *(f"\x1b[2m{line}\x1b[0m" if color else line for line in caption)]) + "\n"


def _lines(
    cells: Cells, texts: set[str], best: Mapping[str, Sequence[bool]], text_cap: int | None, style: Style
) -> Iterator[str]:
    """The header and the rows: texts on the left, folded at ``text_cap``, numbers on the right."""
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
    """The text in lines of at most this width, split between words if possible."""
    if _cell_width(text) <= width:
        return [text]
    return [escape_commands(part) for line in wrapped(text, width) for part in _chopped(line, width)]


def _chopped(text: str, width: int) -> Iterator[str]:
    """The text in pieces of at most this width; wide characters take two columns."""
    begin, room = 0, width
    for index, character in enumerate(text):
        if _character_width(character) > room:
            yield text[begin:index]
            begin, room = index, width
        room -= _character_width(character)
    yield text[begin:]


def _cell_width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@cache
def _character_width(character: str) -> int:
    """Ideographs and most emoji take two columns, combining marks none."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if text else text


def _width_of(name: str, column: Sequence[str]) -> int:
    return max(map(_cell_width, (name, *column)))


def _natural_width(cells: Cells) -> int:
    return sum(_width_of(name, column) + GAP for name, column in cells.items()) - GAP


def _lift_constants(cells: Cells, labels: set[str]) -> tuple[Cells, str]:
    constant = [name for name in list(cells)[1:] if name in labels and len(set(cells[name])) == 1]
    kept = {name: column for name, column in cells.items() if name not in constant}
    return kept, ", ".join(f"{one_line(name)} {cells[name][0]}" for name in constant)


def _panels(cells: Cells, labels: set[str], limit: int, text_cap: int) -> list[Cells]:
    """Columns in as few panels as possible, each beginning with the labels."""
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


def html_table(result: Result) -> str:
    """A result as an HTML table, for notebooks; at most ``HTML_ROWS`` rows."""
    from html import escape

    cells = styled(result, escape, DAGGER, "<b>{}</b>")
    align = ["left" if text else "right" for text in text_columns(result)]
    shown = list(zip(*cells.values(), strict=True))[:HTML_ROWS]
    rows = "".join(f"<tr>{_html_row('td', row, align)}</tr>\n" for row in shown)
    if len(result) > len(shown):
        rows += f"<tr><td colspan={len(cells)}>… {counted(len(result) - len(shown), 'more row')}</td></tr>\n"
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in notes_of(result))
    body = f"<thead><tr>{_html_row('th', map(escape, cells), align)}</tr></thead>\n<tbody>\n{rows}</tbody>"
    head = f"<p><b>{escape(result.headline())}</b></p>\n" if result.headline() else ""
    return f"{head}<table>\n{body}\n</table>\n{notes}<p><code>{escape(result.signature)}</code></p>\n"


def _html_row(tag: str, cells: Iterable[str], align: Sequence[str]) -> str:
    styled = zip(cells, align, strict=True)
    return "".join(f'<{tag} style="text-align:{side}">{cell}</{tag}>' for cell, side in styled)


def _markdown(result: Result) -> str:
    cells = styled(result, markdown, DAGGER, "**{}**")
    rules = [":---" if text else "---:" for text in text_columns(result)]
    lines = [list(map(markdown, cells)), rules, *zip(*cells.values(), strict=True)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    notes = "".join(f"- {markdown(note)}\n" for note in notes_of(result))
    return "\n".join(part for part in (table, notes, f"`{one_line(result.signature).replace('`', '')}`\n") if part)


def _latex(result: Result, caption: str | None, label: str | None) -> str:
    from surefoot.show.latex import latex

    return latex(result, caption, label)


def styled(result: Result, escape: Callable[[str], str], dagger: str, bold: str, filler: str = "") -> Cells:
    """The cells: a dagger after significant ones, a filler after others to align digits, and the best in bold."""
    marks, daggers, made = result.highlights(), significant(result), dict[str, list[str]]()
    for name, column in _cells(result).items():
        cells = list(map(escape, column))
        if name in daggers:
            found = daggers[name].tolist()
            cells = [cell + (dagger if mark else filler) for cell, mark in zip(cells, found, strict=True)]
        if name in marks.best:
            found = marks.best[name].tolist()
            cells = [bold.format(cell) if mark else cell for cell, mark in zip(cells, found, strict=True)]
        made[name] = cells
    return made


def significant(result: Result) -> Mapping[str, BoolArray]:
    """The columns that have significant cells, and which these are."""
    marks = result.highlights().significant
    return {name: marks[name] for name in result.columns if name in marks and marks[name].any()}


def notes_of(result: Result) -> tuple[str, ...]:
    """The notes, and the legend of the dagger if a cell has one."""
    legend = [f"{DAGGER} {result.highlights().legend}"] if significant(result) else []
    return (*map(one_line, result.notes), *legend)


def _cells(result: Result) -> Cells:
    """The columns as text, rounded for reading."""
    rows = result.rows()
    return {name: [_readable(name, row[name]) for row in rows] for name in result.columns}


def text_columns(result: Result) -> list[bool]:
    """Which columns hold texts."""
    return [any(isinstance(value, str) for value in column) for column in result.columns.values()]


def _readable(name: str, value: Any) -> str:
    if value is None:
        return UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _decimal(name, value)
    return one_line(str(value))


def _decimal(name: str, value: float) -> str:
    name = name.partition(" (")[0]  # of several measures side by side
    if name in COUNTS and value.is_integer():
        return f"{value:.0f}"
    if name == "alpha":
        return f"{value:g}"
    if name == "p" or name.startswith("p_"):
        return "<0.001" if value < 0.0005 else f"{value:.3f}"
    return f"{value:z.4f}"


FORMATS: dict[str, Callable[..., str]] = {
    "table": _table,
    "csv": _csv,
    "json": lambda result: json_text(result.to_dict()),
    "md": _markdown,
    "latex": _latex,
}
"""The formats of ``--format``."""
