"""Write docs/studies/papers.md from docs/papers.csv: `SUREFOOT_DATA=... .venv/bin/python docs/make_papers.py`.

No state is written by hand. The page shows each command that the parser refuses, each missing test or picture, and each
cell that is not recomputed.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shlex
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from surefoot_lab.reproduce import load_scores, reproduce
from surefoot_lab.reproduce.cells import VERDICTS

from surefoot.cli import build_parser

DOCS = Path(__file__).parent
ROOT = DOCS.parent
HEAD = """# The papers, item by item

Which equation, table, figure or claim of the five papers does Surefoot reproduce, and by which command? This page lists
every one with its state.

`docs/make_papers.py` writes the page: it checks that the parser accepts each command and that each test and picture
exists, and recomputes each table. `tests/test_papers.py` compares the page with the result, runs every command and
checks that its output shows the item (`shows` in docs/papers.csv). Commands that train run in `make papers`, on a part
of MSLR's sample. Commands that need MSLR-WEB10K and studies are not run there. `err20.csv` is ERR@20 of the TREC 2012
Web runs (`surefoot data get trec-web-2012`). [The errata](errata.md) list the errors of the papers.

| state | means |
| --- | --- |
| equal | the printed value, to the digit |
| proved | a proof explains why print and data differ |
| consistent with one copy | one pair of copies of two runs gives all such cells; the copies are not identified |
| unexplained | no reason was found; [published and recomputed](reproduction.md) shows what is known |
| tested, drawn, written | a test checks it, a picture shows it, a page has the numbers |
| not run | needs data that this page was made without |
| **missing** | the command or its evidence does not exist |
"""


def page() -> str:
    """The whole page."""
    with (DOCS / "papers.csv").open(encoding="utf-8", newline="") as file:
        items = list(csv.DictReader(file))
    cells = reproduce(load_scores()).rows()
    states = [_state(item, cells) for item in items]
    papers: dict[str, list[str]] = defaultdict(list)
    for item, state in zip(items, states, strict=True):
        command = f"`{item['command']}`" if item["command"] else ""
        papers[item["paper"]].append(f"| {item['item']} | {item['what']} | {command} | {state} |")
    parts = [HEAD, f"{len(items)} items, {sum('**missing' in state for state in states)} missing.\n"]
    for paper, rows in papers.items():
        parts.append(
            "\n".join([f"## {paper}\n", "| item | what | command | state |", "| --- | --- | --- | --- |", *rows, ""])
        )
    return "\n".join(parts)


def _state(item: dict[str, str], cells: list[dict[str, Any]]) -> str:
    if item["command"] and not accepted(item["command"]):
        return "**missing**: no such command"
    kind, _, name = item["evidence"].partition(":")
    if kind == "table":
        return _counts([cell for cell in cells if cell["table"] == name])
    if kind == "claim":
        return _counts([cell for cell in cells if name in (f"{cell['row']} {cell['column']}", cell["row"])])
    path, _, test = item["evidence"].partition("::")
    if not path.startswith(("tests/", "docs/")):
        return item["evidence"]
    if not (ROOT / path).exists() or (test and f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8")):
        return f"**missing**: no {item['evidence']}"
    if path.startswith("tests/"):
        return f"tested: `{path}`"
    link = os.path.relpath(path, "docs/studies")
    return f"{'drawn' if path.endswith('.png') else 'written'}: [{Path(link).stem}]({link})"


def _counts(cells: list[dict[str, Any]]) -> str:
    if not cells:
        return "**missing**: no such cell"
    counts = Counter(cell["verdict"] for cell in cells)
    if len(cells) == 1:
        return str(cells[0]["verdict"])
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def accepted(command: str) -> bool:
    """Whether the parser of the command line takes this command; studies are looked up by name."""
    words = shlex.split(command)
    if words[0] != "surefoot":
        return (ROOT / "studies" / f"{words[-1]}.py").exists()
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            build_parser(words[1:2]).parse_args(words[1:])
        except SystemExit:
            return False
    return True


if __name__ == "__main__":
    (DOCS / "studies" / "papers.md").write_text(page(), encoding="utf-8")
