"""Tables for papers: LaTeX with the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

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


def latex_tabular(alignment: str, head: Sequence[str], rows: Sequence[Sequence[str]], comments: Sequence[str]) -> str:
    """A tabular of lines of the head and of rows of cells, with comments behind it."""
    lines = [
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        *head,
        "\\midrule",
        *(_row(row) for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        *comments,
    ]
    return "\n".join(lines) + "\n"


def latex_head(headings: Mapping[str, str], groups: Mapping[str, str]) -> list[str]:
    """The lines of the head: the headings, below the groups of adjacent columns if there are any."""
    if not groups:
        return [_row(list(headings.values()))]
    cells, rules, column = [], [], 1
    for group, names in groupby(headings, lambda name: groups.get(name, "")):
        width = len(list(names))
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{latex_cell(group)}}}" if group else " & ".join([""] * width))
        rules += [f"\\cmidrule(lr){{{column}-{column + width - 1}}}"] if group else []
        column += width
    return [_row(cells), " ".join(rules), _row(list(headings.values()))]


def latex_float(tabular: str, caption: str | None, label: str | None) -> str:
    """The tabular as a float, if it has a caption or a label."""
    if caption is None and label is None:
        return tabular
    head = [f"\\caption{{{caption}}}"] * (caption is not None) + [f"\\label{{{label}}}"] * (label is not None)
    return "\n".join(["\\begin{table}", "\\centering", *head, tabular.rstrip("\n"), "\\end{table}"]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def latex_cell(text: str) -> str:
    """A text as a cell, special characters escaped."""
    if text == UNDEFINED:
        return "--"
    if re.fullmatch(r"-[\d.]+", text):
        return f"$-${text[1:]}"
    escaped = "".join(LATEX.get(mark, mark) for mark in " ".join(text.split()))
    # At the start of a row LaTeX would take these two as an argument of the \\\\ before it.
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped
