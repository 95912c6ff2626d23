"""Results as text: a terminal table, CSV, JSON, Markdown, HTML or LaTeX."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO

from surefoot._names import csv_text, json_text, markdown, one_line, spreadsheet, visible
from surefoot.errors import choose, counted

if TYPE_CHECKING:
    from surefoot.results import Highlights, Result

Cells = dict[str, list[str]]

DAGGER = "†"
HTML_ROWS = MANY_ROWS = 60
ALL = ["all"]
"""The name of all columns."""
UNDEFINED = "–"
LATEX = {
    **{mark: f"\\{mark}" for mark in "_&%#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
}
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
        Whether a table may use the terminal's bold and dim type.
    columns
        The columns to show; by default all in CSV and JSON, those of `Result.brief` in other formats. ``["all"]``: all.
    caption, label
        Caption and label of a LaTeX table, in LaTeX; ``% _ # &`` in the words of the caption are escaped. With one of
        them the table is a float.

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
    if choose(format, FORMATS, "format") == "table":
        return _table(result, _terminal_width(sys.stdout) if width is None else width, color)
    text = FORMATS[format](result)
    return _latex_float(text, _latex_caption(result, caption), label) if format == "latex" else text


def _brief(result: Result) -> Result:
    """The columns that a terminal shows by default, and notes on how to see more of them or fewer rows."""
    names = result.brief()
    left_out = [name for name in result.columns if name not in names]
    notes = [f"{counted(len(left_out), 'more column')} with --columns all: {', '.join(left_out)}"] if left_out else []
    if left_out and {"p", "urisk"} <= set(names):
        notes.insert(0, "p tests U_Risk at this alpha; surefoot compare tests the mean")
    if len(result) > MANY_ROWS and "system" in result.columns:
        notes.append(
            f"{len(result):,} rows: show fewer with --systems A,B or one --alpha; -o table.csv writes them all"
        )
    return replace(result.only(names) if left_out else result, notes=(*result.notes, *notes)) if notes else result


def print_result(result: Result, format: str = "table", stream: TextIO | None = None, **options: Any) -> None:
    """Print a result, as wide as the stream's terminal, and in colour on a terminal unless NO_COLOR is set.

    Other options are those of `render`.
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


def _json(result: Result) -> str:
    return json_text(result.to_dict())


def _table(result: Result, width: int | None, color: bool) -> str:
    from surefoot.show.terminal import terminal_table

    highlights = result.highlights()
    cells = _marked(_cells(result), highlights, DAGGER, filler=" ")
    best = {name: column.tolist() for name, column in highlights.best.items()}
    return terminal_table(cells, _text_columns(result), best, _notes(result), one_line(result.signature), width, color)


def html_table(result: Result) -> str:
    """A result as an HTML table, for notebooks; at most ``HTML_ROWS`` of its rows."""
    from html import escape

    highlights = result.highlights()
    cells = {name: [escape(cell) for cell in column] for name, column in _cells(result).items()}
    cells = _bold(_marked(cells, highlights, DAGGER), highlights, "<b>{}</b>")
    align = ["left" if text else "right" for text in _text_columns(result)]
    shown = list(zip(*cells.values(), strict=True))[:HTML_ROWS]
    rows = "".join(f"<tr>{_html_row('td', row, align)}</tr>\n" for row in shown)
    if len(result) > len(shown):
        rows += f"<tr><td colspan={len(cells)}>… {counted(len(result) - len(shown), 'more row')}</td></tr>\n"
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in _notes(result))
    body = f"<thead><tr>{_html_row('th', map(escape, cells), align)}</tr></thead>\n<tbody>\n{rows}</tbody>"
    head = f"<p><b>{escape(result.headline())}</b></p>\n" if result.headline() else ""
    return f"{head}<table>\n{body}\n</table>\n{notes}<p><code>{escape(result.signature)}</code></p>\n"


def _html_row(tag: str, cells: Iterable[str], align: Sequence[str]) -> str:
    styled = zip(cells, align, strict=True)
    return "".join(f'<{tag} style="text-align:{side}">{cell}</{tag}>' for cell, side in styled)


def _markdown(result: Result) -> str:
    is_text, highlights = _text_columns(result), result.highlights()
    escaped = {name: [markdown(cell) for cell in column] for name, column in _cells(result).items()}
    cells = _bold(_marked(escaped, highlights, DAGGER), highlights, "**{}**")
    header = [markdown(name) for name in cells]
    lines = [header, [":---" if text else "---:" for text in is_text], *zip(*cells.values(), strict=True)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    notes = "".join(f"- {markdown(note)}\n" for note in _notes(result))
    return "\n".join(part for part in (table, notes, f"`{one_line(result.signature).replace('`', '')}`\n") if part)


def _latex(result: Result) -> str:
    highlights, raised = result.highlights(), result.superscripts()
    escaped = {name: [_latex_cell(cell) for cell in column] for name, column in _cells(result).items()}
    cells = _bold(_marked(escaped, highlights, "$^{\\dagger}$"), highlights, "\\textbf{{{}}}")
    for name, other in raised.items():
        letters = cells.pop(other)
        cells[name] = [
            f"{cell}$^{{{mark}}}$" if mark else cell for cell, mark in zip(cells[name], letters, strict=True)
        ]
    texts = dict(zip(result.columns, _text_columns(result), strict=True))
    headings = {name: result.headings().get(name, _latex_cell(one_line(name))) for name in cells}
    head = _latex_head(headings, result.groups())
    alignment = "".join("l" if texts[name] else "r" for name in cells)
    notes = [note for note in _notes(result) if note not in _letters(result)]
    comments = [f"% {one_line(note)}" for note in (*notes, result.signature)]
    return _latex_tabular(alignment, head, list(zip(*cells.values(), strict=True)), comments)


def _latex_tabular(alignment: str, head: Sequence[str], rows: Sequence[Sequence[str]], comments: Sequence[str]) -> str:
    """A tabular of the package booktabs, followed by comments."""
    lines = [
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        *head,
        "\\midrule",
        *(_latex_row(row) for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        *comments,
    ]
    return "\n".join(lines) + "\n"


def _latex_head(headings: Mapping[str, str], groups: Mapping[str, str]) -> list[str]:
    """The lines of the header: the groups of adjacent columns, if there are any, and the headings."""
    if not groups:
        return [_latex_row(list(headings.values()))]
    cells, rules, column = [], [], 1
    for group, names in groupby(headings, lambda name: groups.get(name, "")):
        width = len(list(names))
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{_latex_cell(group)}}}" if group else " & ".join([""] * width))
        rules += [f"\\cmidrule(lr){{{column}-{column + width - 1}}}"] if group else []
        column += width
    return [_latex_row(cells), " ".join(rules), _latex_row(list(headings.values()))]


def _latex_caption(result: Result, caption: str | None) -> str | None:
    """The caption, and what letters and daggers stand for; none unless it is given or there are letters."""
    letters = _letters(result)
    if caption is None and not letters:
        return None
    legends = [_latex_cell(f"{letter[0].upper()}{letter[1:]}.") for letter in letters]
    if any(column.any() for column in result.highlights().significant.values()):
        legends.append(f"$^{{\\dagger}}$: {_latex_cell(result.highlights().legend)}.")
    words = _LATEX_PLAIN.sub(_escaped, caption) if caption else ""
    ended = f"{words}." if words and legends and words[-1] not in ".!?" else words
    return " ".join(filter(None, [ended, *legends]))


_LATEX_PLAIN = re.compile(r"\$[^$]*\$|\\[a-zA-Z]+(?:\{[^}]*\})?|\\.|[%_#&]", re.DOTALL)
"""Mathematics, commands, and characters that are special in text."""


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if len(found[0]) == 1 else found[0]


def _letters(result: Result) -> list[str]:
    """The legend of the letters, if there are any."""
    return [note for note in result.notes if note.startswith("letters: ")] if result.superscripts() else []


def _latex_float(tabular: str, caption: str | None, label: str | None) -> str:
    """The tabular as a float, if it has a caption or a label."""
    if caption is None and label is None:
        return tabular
    head = [f"\\caption{{{caption}}}"] * (caption is not None) + [f"\\label{{{label}}}"] * (label is not None)
    return "\n".join(["\\begin{table}", "\\centering", *head, tabular.rstrip("\n"), "\\end{table}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _latex_cell(text: str) -> str:
    """A text as a cell, special characters escaped."""
    if text == UNDEFINED:
        return "--"
    if text[:1] == "-" and text[1:].replace(".", "").isdecimal():
        return f"$-${text[1:]}"
    escaped = "".join(LATEX.get(mark, mark) for mark in " ".join(text.split()))
    # At the start of a row, LaTeX reads these two as an argument of the \\\\ before it.
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped


def _marked(cells: Cells, highlights: Highlights, mark: str, filler: str = "") -> Cells:
    """The cells, significant ones followed by a mark and the others by a filler that keeps digits aligned."""
    marked = {
        name: [cell + (mark if found else filler) for cell, found in zip(cells[name], column.tolist(), strict=True)]
        for name, column in highlights.significant.items()
        if column.any()
    }
    return {**cells, **marked}


def _bold(cells: Cells, highlights: Highlights, form: str) -> Cells:
    bold = {
        name: [form.format(cell) if best else cell for cell, best in zip(cells[name], column.tolist(), strict=True)]
        for name, column in highlights.best.items()
    }
    return {**cells, **bold}


def _notes(result: Result) -> tuple[str, ...]:
    """The notes, and the legend of the dagger if a cell has one."""
    highlights = result.highlights()
    used = any(column.any() for column in highlights.significant.values())
    return (*map(one_line, result.notes), *([f"{DAGGER} {highlights.legend}"] if used else []))


def _cells(result: Result) -> Cells:
    """The columns as text, rounded for reading."""
    rows = result.rows()
    return {name: [_readable(name, row[name]) for row in rows] for name in result.columns}


def _text_columns(result: Result) -> list[bool]:
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
    if name in COUNTS and value.is_integer():
        return f"{value:.0f}"
    if name == "alpha":
        return f"{value:g}"
    if name == "p" or name.startswith("p_"):
        return "<0.001" if value < 0.0005 else f"{value:.3f}"
    return f"{value:z.4f}"


FORMATS: dict[str, Callable[[Result], str]] = {
    "table": str,
    "csv": _csv,
    "json": _json,
    "md": _markdown,
    "latex": _latex,
}
"""The formats of ``--format``."""
