"""Results as LaTeX tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from surefoot._names import one_line
from surefoot.show.tables import UNDEFINED, notes_of, significant, styled, text_columns

if TYPE_CHECKING:
    from surefoot.results import Result

LATEX = {
    **{mark: f"\\{mark}" for mark in "_&%#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
}


def latex(result: Result, caption: str | None, label: str | None) -> str:
    """A booktabs tabular, followed by comments; a float if it has a caption or a label."""
    marks = result.highlights()
    cells = styled(result, _latex_cell, "$^{\\dagger}$", "\\textbf{{{}}}")
    letters: list[str] = []
    for name, other in marks.superscripts.items():
        if name in cells and other in cells:
            raised = zip(cells[name], cells.pop(other), strict=True)
            cells[name] = [f"{cell}$^{{{mark}}}$" if mark else cell for cell, mark in raised]
            letters = [note for note in result.notes if note.startswith("letters: ")]
    texts = dict(zip(result.columns, text_columns(result), strict=True))
    headings = {name: marks.headings.get(name, _latex_cell(one_line(name))) for name in cells}
    lines = [
        f"\\begin{{tabular}}{{{''.join('l' if texts[name] else 'r' for name in cells)}}}",
        "\\toprule",
        *_latex_head(headings, marks.groups),
        "\\midrule",
        *map(_latex_row, zip(*cells.values(), strict=True)),
        "\\bottomrule",
        "\\end{tabular}",
        *(f"% {one_line(note)}" for note in (*notes_of(result), result.signature) if note not in letters),
    ]
    head = []
    if caption is not None or letters:
        head.append(f"\\caption{{{_latex_caption(result, caption or '', letters)}}}")
    if label is not None:
        head.append(f"\\label{{{label}}}")
    if head:
        lines = ["\\begin{table}", "\\centering", *head, *lines, "\\end{table}"]
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


def _latex_caption(result: Result, caption: str, letters: Sequence[str]) -> str:
    """The caption, with the meaning of letters and daggers."""
    legends = [_latex_cell(f"{letter[0].upper()}{letter[1:]}.") for letter in letters]
    if significant(result):
        legends.append(f"$^{{\\dagger}}$: {_latex_cell(result.highlights().legend)}.")
    words = _LATEX_PLAIN.sub(_escaped, caption)
    ended = f"{words}." if words and legends and words[-1] not in ".!?" else words
    return " ".join(filter(None, [ended, *legends]))


_LATEX_PLAIN = re.compile(r"\$[^$]*\$|\\[a-zA-Z]+(?:\{[^}]*\})?|\\.|[%_#&]", re.DOTALL)
"""Mathematics, commands, and characters that are special in text."""


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if len(found[0]) == 1 else found[0]


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _latex_cell(text: str) -> str:
    """A text as a cell, special characters escaped."""
    if text == UNDEFINED:
        return "--"
    if text[:1] == "-" and text[1:].replace(".", "").isdecimal():
        return f"$-${text[1:]}"
    escaped = "".join(LATEX.get(mark, mark) for mark in " ".join(text.split()))
    # At the start of a row, LaTeX reads these two as an argument of the preceding \\\\.
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped
