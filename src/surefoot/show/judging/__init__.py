"""The judging page: one HTML file to judge documents in, offline and by keyboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surefoot._version import __version__
from surefoot.errors import SurefootError
from surefoot.io.atomic import digest_of
from surefoot.show.html import embedded, self_contained

GRADES = (0, 1, 2, 3)
_SCRIPTS = ("surefoot.show:dom", "state", "page")


def judging_page(rows: Iterable[Mapping[str, Any]], grades: Sequence[int] = GRADES, *, name: str = "judgments") -> str:
    """A page to judge documents in, one at a time, in the order of the rows.

    The assessor presses the key of a grade, and the page shows the next document. The browser keeps the judgments, if
    it allows that, and saves them as qrels. The page loads and sends nothing. It does not say why to judge a document:
    an assessor should not know what depends on the grade.

    Parameters
    ----------
    rows
        The ``topic`` and ``document`` of each document to judge, and ``query`` and ``text`` if known.
    grades
        The grades to choose from, whole numbers from 0 to 9.
    name
        The name of the file that the page saves, without its ending.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> page = judging_page([{"topic": "q1", "document": "d7", "query": "ties", "text": "A tie."}])
    >>> page.startswith("<!doctype html>")
    True
    """
    documents = [_document(row) for row in rows]
    if not documents:
        raise SurefootError("there is nothing to judge: the page would be empty")
    scale = sorted(set(grades))
    if len(scale) < 2 or any(int(grade) != grade or not 0 <= grade <= 9 for grade in scale):
        raise SurefootError(f"the page takes two or more grades, each one key from 0 to 9; got {list(grades)}")
    data = {"documents": documents, "grades": [int(grade) for grade in scale], "name": name, "surefoot": __version__}
    return self_contained(__name__, _SCRIPTS, {**data, "key": f"surefoot-judging-{digest_of(embedded(data), 8)}"})


def _document(row: Mapping[str, Any]) -> dict[str, str]:
    found = {key: str(row.get(key) or "") for key in ("topic", "document", "query", "text")}
    for key in ("topic", "document"):
        if not found[key].strip() or len(found[key].splitlines()) > 1 or "\t" in found[key]:
            raise SurefootError(f"qrels can't hold the {key} {found[key]!r}: it is empty, or has a tab or line break")
    return found
