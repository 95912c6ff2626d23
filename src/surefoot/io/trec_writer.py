"""Writing TREC runs and qrels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from surefoot._typing import FloatArray
from surefoot.native import kernel

if TYPE_CHECKING:
    from surefoot.io.document_lists import Run
    from surefoot.learn.data import RankingData

ScoredTopics = Iterable[tuple[str, Iterable[tuple[str, float]]]]
"""The documents of each topic, with their scores or grades."""

MOST_WHOLE = 2.0**53
"""Below it, floats hold all whole numbers."""

LONGEST_NUMBER = 20
"""The most bytes of a 64-bit whole number with its sign."""

_write_run = kernel("write_run")


def separator_for(ids: Iterable[str]) -> str:
    r"""The separator of fields for these ids of topics and documents: a tab if one of them has a blank, else a blank.

    >>> separator_for(["q1", "d1"]), separator_for(["red dress", "d1"])
    (' ', '\t')
    """
    return "\t" if any(" " in name for name in ids) else " "


def run_lines(topics: ScoredTopics, tag: str, decimals: int | None = None, separator: str = " ") -> Iterator[str]:
    """Lines of a run, ``topic Q0 document rank score tag``; each topic's documents come best first.

    Scores are written with all their digits unless ``decimals`` limits them.

    >>> print("".join(run_lines([("q", [("d2", 2.0), ("d1", 0.5)])], "mine")), end="")
    q Q0 d2 1 2.0 mine
    q Q0 d1 2 0.5 mine
    """
    s = separator
    for topic, documents in topics:
        for rank, (document, score) in enumerate(documents, start=1):
            text = repr(score) if decimals is None else f"{score:.{decimals}f}"
            yield f"{topic}{s}Q0{s}{document}{s}{rank}{s}{text}{s}{tag}\n"


def written_run(run: Run) -> bytes:
    """The lines of a run, its name as the tag; whole scores are written as whole numbers."""
    tag, separator = "-".join(run.name.split()), separator_for(chain(run.topics, run.documents))
    if (np.abs(run.scores) < MOST_WHOLE).all() and np.array_equal(run.scores, np.rint(run.scores)):
        return _whole_lines(run, tag.encode(), separator)
    topics = ((topic, zip(own, scores.tolist(), strict=True)) for topic, own, scores in run.by_topic())
    return "".join(run_lines(topics, tag, separator=separator)).encode()


def _whole_lines(run: Run, tag: bytes, separator: str) -> bytes:
    """The lines of a run whose scores are whole numbers, copied from the bytes of its ids."""
    heads = [f"{topic}{separator}Q0{separator}".encode() for topic in run.topics]
    bounds = np.cumsum([0, *map(len, heads)])
    most = int(np.diff(bounds) @ np.diff(run.bounds) + run.length.sum())
    most += run.scores.size * (2 * LONGEST_NUMBER + len(tag) + 4)
    out = np.empty(most, np.uint8)
    joined, own = (np.frombuffer(text, np.uint8) for text in (b"".join(heads), tag))
    scores = run.scores.astype(np.int64)
    size = _write_run(run.data, run.start, run.length, scores, run.bounds, joined, bounds, own, ord(separator), out)
    return out[:size].tobytes()


def qrels_lines(topics: ScoredTopics) -> Iterator[str]:
    """Lines of qrels, ``topic 0 document grade``; whole grades are written as whole numbers.

    >>> print("".join(qrels_lines([("q", [("d1", 0.0), ("d2", 1.5)])])), end="")
    q 0 d1 0
    q 0 d2 1.5
    """
    rows = [(topic, document, str(float(grade))) for topic, documents in topics for document, grade in documents]
    separator = separator_for(name for row in rows for name in row[:2])
    yield from (separator.join((topic, "0", name, f"{grade.removesuffix('.0')}\n")) for topic, name, grade in rows)


def ranked_documents(data: RankingData, scores: FloatArray) -> ScoredTopics:
    """The documents of each query by descending score; ties keep the order of the rows.

    Readers of runs break ties by document id, so tied scores are changed in their last digit.
    """
    names = document_ids(data)
    for query, begin, end in zip(data.queries, data.bounds[:-1], data.bounds[1:], strict=True):
        order = begin + np.argsort(-scores[begin:end], kind="stable")
        yield (
            query,
            [
                (names[row], score)
                for row, score in zip(order, strictly_descending(scores[order].tolist()), strict=True)
            ],
        )


def strictly_descending(scores: Iterable[float]) -> Iterator[float]:
    """Make descending scores strictly descending.

    >>> list(strictly_descending([2.0, 1.0, 1.0]))
    [2.0, 1.0, 0.9999999999999999]
    """
    last = math.inf
    for score in scores:
        last = score if score < last else math.nextafter(last, -math.inf)
        yield last


def labelled_documents(data: RankingData) -> ScoredTopics:
    """The documents of each query with their labels."""
    names = document_ids(data)
    for query, begin, end in zip(data.queries, data.bounds[:-1], data.bounds[1:], strict=True):
        yield query, [(names[row], int(data.labels[row])) for row in range(begin, end)]


def document_ids(data: RankingData) -> list[str]:
    """The ids of the documents; without any, the query and the number of the document within it."""
    if data.documents is not None:
        return data.documents.to_list()
    return [f"{q}-{i + 1}" for q, size in zip(data.queries, data.sizes.tolist(), strict=True) for i in range(size)]
