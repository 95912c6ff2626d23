"""Features of queries and documents, for rankers that re-rank the documents found by BM25."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, counted, listed
from surefoot.learn.data import RankingData
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.index import Index, Indices, Sparse, with_values
from surefoot_lab.retrieval.models import MODELS, bm25, field_bm25
from surefoot_lab.retrieval.ranking import best

NAME_MODELS = ("BM25+names", "names")
"""The models that are redundant where documents have no names."""

BLOCK = 1 << 18
"""Cells of a sparse matrix that are made dense at a time, few enough for the processor's cache."""

Columns = dict[str, FloatArray]


def ranking_data(task: Collection, topics: Iterable[str] | None = None, depth: int = 100) -> RankingData:
    """The best ``depth`` documents of each query by BM25, with features and grades.

    Relevant documents that BM25 ranks lower are lost, as for any ranker that re-ranks its list. A query without a
    relevant candidate is kept; one without any candidate has no rows and is dropped. Queries, and documents within a
    query, are sorted by name, so their order carries no information about relevance.

    Features depend only on the query and the documents, not on other queries or on grades, so queries of several
    collections over the same documents can be combined. Each model gives its score (0 where it does not find the
    document), named as the model in lower case, and ``.max``: the score divided by the largest absolute score among the
    query's candidates. The others (terms that no document has are ignored):

    - ``length``, ``distinct``, ``name.length``: the document's terms, the different ones among them, its name's
    - ``query.length``, ``query.idf``, ``query.idf.max``, ``query.idf.mean``: the query's different terms, their idf
    - ``matched``, ``matched.share``: the query's terms that the document has, and their fraction of the query's
    - ``matched.idf``: the same fraction, each term weighted by its idf
    - ``frequency``, ``frequency.share``: occurrences of the query's terms in the document, and over its length
    - ``grams.share``: the fraction of the query's character 4-grams that the document has
    - ``pairs``: BM25 over pairs of adjacent terms
    - ``name.matched``, ``name.share``, ``name.covered``: the query's terms that the document's name has, and their
      fraction of the query's terms and of the name's

    >>> task = Collection({"fruit.pie": "bake an apple pie", "tea": "boil water"}, {"q": "apple pie"}, {"q": {}})
    >>> data = ranking_data(task)
    >>> data, data.column("matched"), data.column("name.covered")
    (RankingData(1 query, 1 document, 39 features), array([2.], dtype=float32), array([0.5], dtype=float32))
    """
    if depth < 1:
        raise SurefootError(f"depth must be 1 or more; got {depth}")
    task = task if topics is None else _only(task, topics)
    if not task.documents or not task.queries:
        found = f"{counted(len(task.documents), 'document')} and {counted(len(task.queries), 'query')}"
        raise SurefootError(f"features need documents and queries; got {found}")
    index = Index.of(task)
    pool = _Pool.of(best(bm25(index), depth))
    columns = _scores(index, pool, task.named) | _terms(index, pool)
    if task.named:
        columns |= _names(index, pool)
    return _assembled(task, index, pool, columns)


@dataclass(frozen=True, eq=False)
class _Pool:
    """The candidates, as cells of a queries × documents matrix: those of query ``q`` begin at ``starts[q]``."""

    starts: Indices
    query: Indices
    document: Indices

    @classmethod
    def of(cls, found: Sparse) -> _Pool:
        ordered = found.sorted_indices()
        query = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        return cls(ordered.indptr.astype(np.intp), query, ordered.indices.astype(np.intp))

    @property
    def bounds(self) -> Indices:
        """Where each query that has candidates begins and ends."""
        return np.unique(self.starts)

    def values(self, matrix: Sparse) -> FloatArray:
        """The values of a matrix for the candidates, 0 where it has none."""
        rows, columns = matrix.shape
        step = max(1, BLOCK // columns)
        found = np.empty(self.query.size)
        for first in range(0, rows, step):
            here = slice(self.starts[first], self.starts[min(first + step, rows)])
            block = matrix[first : first + step].toarray()
            found[here] = block[self.query[here] - first, self.document[here]]
        return found

    def scale_by_largest(self, values: FloatArray) -> FloatArray:
        """Values divided by the largest absolute value of the same query."""
        if not values.size:
            return values
        bounds = self.bounds
        largest = np.maximum.reduceat(np.abs(values), bounds[:-1])
        return _ratio(values, np.repeat(largest, np.diff(bounds)))


def _scores(index: Index, pool: _Pool, named: bool) -> Columns:
    columns: Columns = {}
    for name, model in MODELS.items():
        if named or name not in NAME_MODELS:
            scores = pool.values(model(index))
            columns |= {name.lower(): scores, f"{name.lower()}.max": pool.scale_by_largest(scores)}
    return columns


def _terms(index: Index, pool: _Pool) -> Columns:
    """Statistics of the document and of the query, and which terms of the query the document has."""
    text, grams = index.text, _present(index.grams.queries)
    asked, has = _present(text.queries), _present(text.counts)
    idf = with_values(asked, text.idf[asked.indices])
    document_length, query_length = text.lengths[pool.document], _row_sums(asked)[pool.query]
    query_idf = _row_sums(idf)[pool.query]
    matched, frequency = pool.values(asked @ has.T), pool.values(asked @ text.counts.T)
    return {
        "length": document_length,
        "distinct": _row_sums(has)[pool.document],
        "query.length": query_length,
        "query.idf": query_idf,
        "query.idf.max": idf.max(axis=1).toarray()[pool.query],
        "query.idf.mean": query_idf / query_length,
        "matched": matched,
        "matched.share": matched / query_length,
        "matched.idf": pool.values(idf @ has.T) / query_idf,
        "frequency": frequency,
        "frequency.share": frequency / document_length,
        "grams.share": pool.values(grams @ _present(index.grams.counts).T) / _row_sums(grams)[pool.query],
        "pairs": pool.values(field_bm25(index.pairs)),
    }


def _names(index: Index, pool: _Pool) -> Columns:
    """Which terms of the query the document's name has."""
    asked, has = _present(index.names.queries), _present(index.names.counts)
    matched = pool.values(asked @ has.T)
    return {
        "name.length": index.names.lengths[pool.document],
        "name.matched": matched,
        "name.share": matched / _row_sums(asked)[pool.query],
        "name.covered": _ratio(matched, _row_sums(has)[pool.document]),
    }


def _assembled(task: Collection, index: Index, pool: _Pool, columns: Columns) -> RankingData:
    import polars

    kept = [index.topics[row] for row in np.unique(pool.query).tolist()]
    documents = [index.documents[column] for column in pool.document.tolist()]
    grades = [task.qrels.get(topic, {}) for topic in index.topics]
    labels = [max(0, grades[row].get(each, 0)) for row, each in zip(pool.query.tolist(), documents, strict=True)]
    features = np.empty((len(documents), len(columns)), np.float32)
    for column, values in enumerate(columns.values()):
        features[:, column] = values
    return RankingData(
        features,
        np.array(labels, np.float32),
        pool.bounds.astype(np.int64),
        tuple(kept),
        polars.Series(documents, dtype=polars.String),
        tuple(columns),
    )


def _only(task: Collection, topics: Iterable[str]) -> Collection:
    wanted = list(topics)
    unknown = [topic for topic in wanted if topic not in task.queries]
    if unknown:
        raise SurefootError(f"no topic {listed(unknown)} in the collection; it has {listed(task.queries, most=5)}")
    return replace(task, queries={topic: task.queries[topic] for topic in wanted})


def _present(counts: Sparse) -> Sparse:
    """1 for each stored value."""
    return with_values(counts, np.ones(counts.nnz))


def _row_sums(matrix: Sparse) -> FloatArray:
    return np.asarray(matrix.sum(axis=1))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Numerators over denominators, 0 where the denominator is."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
