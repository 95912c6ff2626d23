"""A sparse index: how often each term occurs in each document, and the statistics that retrieval models need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surefoot.research.retrieval.collection import Collection
from surefoot.research.retrieval.words import terms

Sparse: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
Texts: TypeAlias = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Field:
    """One field of the documents, and the queries in its vocabulary. Rows are documents or queries.

    >>> field = Field.of([["a", "b", "a"], ["b"]], queries=[["b", "c"]])
    >>> field.counts.toarray(), field.queries.toarray()
    (array([[2., 1.], [0., 1.]]), array([[0., 1.]]))
    >>> field.document_frequency, field.mean_length
    (array([1., 2.]), 2.0)
    """

    counts: Sparse
    queries: Sparse

    @classmethod
    def of(cls, documents: Texts, queries: Texts) -> Field:
        """The field of tokenised documents and queries; terms of queries that no document has are left out."""
        vocabulary = vocabulary_of(documents)
        return cls(count(documents, vocabulary), count(queries, vocabulary))

    @cached_property
    def lengths(self) -> FloatArray:
        """The number of terms of each document."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms of a document."""
        return float(self.lengths.mean())

    @cached_property
    def document_frequency(self) -> FloatArray:
        """In how many documents each term occurs."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1]).astype(np.float64)

    @cached_property
    def rarity(self) -> FloatArray:
        """How much a term tells: ln(1 + (N - n + ½) / (n + ½)), n of the N documents have it. The idf of BM25."""
        n = self.document_frequency
        return np.log1p((self.size - n + 0.5) / (n + 0.5))

    @cached_property
    def collection_frequency(self) -> FloatArray:
        """How often each term occurs in all documents."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def size(self) -> int:
        """The number of documents."""
        return int(self.counts.shape[0])

    @property
    def postings(self) -> tuple[FloatArray, IntArray, IntArray]:
        """The frequency, document and term of each posting, as three vectors."""
        documents = np.repeat(np.arange(self.size), np.diff(self.counts.indptr))
        return self.counts.data, documents, self.counts.indices.astype(np.intp)


@dataclass(frozen=True, eq=False)
class Index:
    """The documents of a collection in four fields: all terms, the name's terms, letters by fours, terms by twos.

    Documents and topics are in the order of their names. A document's terms are those of its name and its text;
    names share the vocabulary of all terms, so the two can be added. Where documents have no names, none has a term.
    """

    documents: tuple[str, ...]
    topics: tuple[str, ...]
    text: Field
    names: Field
    grams: Field
    pairs: Field

    @classmethod
    def of(cls, task: Collection) -> Index:
        """The index of a collection."""
        documents, topics = tuple(sorted(task.documents)), tuple(sorted(task.queries))
        names = [terms(document) if task.named else [] for document in documents]
        texts = [name + terms(task.documents[document]) for name, document in zip(names, documents, strict=True)]
        queries = [terms(task.queries[topic]) for topic in topics]
        text = Field.of(texts, queries)
        name = Field(count(names, vocabulary_of(texts)), text.queries)
        letters = Field.of(_all_grams(texts), _all_grams(queries))
        return cls(documents, topics, text, name, letters, Field.of(_all_pairs(texts), _all_pairs(queries)))


@cache
def grams(term: str, n: int = 4) -> tuple[str, ...]:
    """The n-grams of letters of a term, its ends marked.

    >>> grams("parse"), grams("of")
    (('_par', 'pars', 'arse', 'rse_'), ('_of_',))
    """
    marked = f"_{term}_"
    return tuple(marked[start : start + n] for start in range(max(1, len(marked) - n + 1)))


def _all_grams(texts: Texts) -> Texts:
    return [[gram for term in text for gram in grams(term)] for text in texts]


def _all_pairs(texts: Texts) -> Texts:
    return [[f"{one} {two}" for one, two in pairwise(text)] for text in texts]


def vocabulary_of(texts: Texts) -> dict[str, int]:
    """The column of each term."""
    return {term: column for column, term in enumerate(sorted({term for text in texts for term in text}))}


def count(texts: Texts, vocabulary: Mapping[str, int]) -> Sparse:
    """How often each term of the vocabulary occurs in each text."""
    columns = [[vocabulary[term] for term in text if term in vocabulary] for text in texts]
    rows = np.repeat(np.arange(len(texts)), [len(own) for own in columns])
    flat = np.fromiter(chain.from_iterable(columns), dtype=np.int64, count=len(rows))
    # Cells given more than once are added up: that is the count.
    return sparse.csr_array((np.ones(len(rows)), (rows, flat)), shape=(len(texts), len(vocabulary)))


def replaced(matrix: Sparse, data: FloatArray) -> Sparse:
    """A matrix with the same cells and other values in them."""
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def spread(rows: npt.ArrayLike, matrix: Sparse) -> FloatArray:
    """A value for each row, repeated for each of the row's cells."""
    return np.repeat(np.asarray(rows, dtype=np.float64), np.diff(matrix.indptr))


def largest(matrix: Sparse, k: int) -> Sparse:
    """The k largest cells of each row, largest first; of equal ones, those further right, as trec_eval has it.

    >>> kept = largest(sparse.csr_array(np.array([[3.0, 1.0, 3.0, 2.0]])), k=3)
    >>> kept.indices, kept.data
    (array([2, 0, 3]...), array([3., 3., 2.]))
    """
    chosen = []
    for start, end in pairwise(matrix.indptr):
        values, columns = matrix.data[start:end], matrix.indices[start:end]
        # Whatever ties with the k-th must stay until the order decides, so: select by value, sort the few, then cut.
        least = np.partition(values, -k)[-k] if len(values) > k else -np.inf
        few = np.flatnonzero(values >= least)
        chosen.append(start + few[np.lexsort((columns[few], values[few]))[::-1][:k]])
    kept = np.concatenate(chosen)
    starts = np.cumsum([0, *map(len, chosen)])
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)
