"""Rankings: the best documents of each query, by each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from surefoot.io.trec_writer import run_lines
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.index import Index, Sparse, largest, with_values
from surefoot_lab.retrieval.models import MODELS, Model

DEPTH = 20
"""The depth of runs, enough for the usual measures (nDCG@10, ERR@20)."""

DECIMALS = 6
"""Scores are rounded before sorting, so that the order agrees with the scores as written."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The documents that one system retrieved for each topic, best first."""

    system: str
    topics: tuple[str, ...]
    documents: tuple[str, ...]
    best: Sparse

    def __getitem__(self, topic: str) -> list[tuple[str, float]]:
        """The documents of a topic with their scores, best first."""
        return self._documents(self.topics.index(topic))

    def lines(self) -> Iterator[str]:
        """The ranking as lines of a TREC run: topic, Q0, document, rank, score, tag."""
        return run_lines(
            ((topic, self._documents(row)) for row, topic in enumerate(self.topics)), self.system, DECIMALS
        )

    def _documents(self, row: int) -> list[tuple[str, float]]:
        """The documents of the topic in a row with their scores, best first."""
        cells = slice(self.best.indptr[row], self.best.indptr[row + 1])
        found = zip(self.best.indices[cells].tolist(), self.best.data[cells].tolist(), strict=True)
        return [(self.documents[column], score) for column, score in found]


def rank(task: Collection, models: Mapping[str, Model] = MODELS, depth: int = DEPTH) -> dict[str, Ranking]:
    """The ranking of each model for all queries of a collection."""
    index = Index.of(task)
    return {
        name: Ranking(name, index.topics, index.documents, best(model(index), depth)) for name, model in models.items()
    }


def best(scores: Sparse, depth: int) -> Sparse:
    """The best documents of each query, in the order of their rounded scores."""
    return largest(with_values(scores, np.round(scores.data, DECIMALS)), depth)
