"""Rankings of `RankingData` as lines of TREC runs and qrels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot._types import FloatArray
from surefoot.learn.data import RankingData


def run_lines(data: RankingData, scores: FloatArray, tag: str) -> Iterator[str]:
    """Lines of a run: each query's documents by score, ties in the order of the rows.

    Scores are written in full; where documents tie, readers of runs break the tie by document id.

    >>> data = RankingData.of([[1.0], [2.0]], [0, 1], qid=["q", "q"], documents=["d1", "d2"])
    >>> print("".join(run_lines(data, np.array([0.5, 2.0]), "mine")), end="")
    q Q0 d2 1 2.0 mine
    q Q0 d1 2 0.5 mine
    """
    names = _documents(data)
    for query, begin, end in zip(data.queries, data.bounds[:-1], data.bounds[1:], strict=True):
        for rank, place in enumerate(np.argsort(-scores[begin:end], kind="stable"), 1):
            yield f"{query} Q0 {names[begin + place]} {rank} {float(scores[begin + place])!r} {tag}\n"


def qrels_lines(data: RankingData) -> Iterator[str]:
    """Lines of qrels: the label of each document."""
    names = _documents(data)
    for query, begin, end in zip(data.queries, data.bounds[:-1], data.bounds[1:], strict=True):
        yield from (f"{query} 0 {names[row]} {int(data.labels[row])}\n" for row in range(begin, end))


def _documents(data: RankingData) -> list[str]:
    """The documents' ids; without any, the query and the document's place in it."""
    if data.documents is not None:
        return data.documents.to_list()
    return [f"{q}-{i + 1}" for q, size in zip(data.queries, data.sizes.tolist(), strict=True) for i in range(size)]
