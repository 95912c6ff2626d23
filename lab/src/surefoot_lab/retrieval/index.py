"""Words of texts, and a sparse index: term frequencies in documents, and the statistics of retrieval models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surefoot._typing import FloatArray
from surefoot_lab.retrieval.collection import Collection

_STOP_WORDS = """
    a an and are as at be been but by can do does for from has have if in into is it its may no not of on or
    self so such than that the their then there these they this to was we when where which will with you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Capitals before a capitalised word, a word, capitals, or a number: HTTPServer2 is http, server, 2.
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def terms(text: str) -> list[str]:
    """The terms of a text, in order.

    >>> terms("Returns the HTTPServer's max_size, not an iterator over cached copies.")
    ['return', 'http', 'server', 'max', 'siz', 'iterator', 'over', 'cach', 'copy']
    """
    words = (piece.lower() for piece in _PIECES.findall(text))
    return [stem(word) for word in words if len(word) > 1 and word not in STOP_WORDS]


@cache
def stem(word: str) -> str:
    """A word without its plural, -ing or -ed, and without a final e or doubled letter.

    Harman's S stemmer ("How effective is suffixing?", JASIS 42(1), 1991) with two more suffixes. The stem need not be
    a word; it is enough that most forms of a word have the same stem.

    >>> [stem(word) for word in "queries classes files parsing parse parsed stopped status string".split()]
    ['query', 'class', 'fil', 'pars', 'pars', 'pars', 'stop', 'status', 'string']
    """
    word = _singular(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and re.search("[aeiouy]", base):
            return _bare(base)
    return _bare(word) if word.endswith("e") else word


def _singular(word: str) -> str:
    if len(word) < 4 or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1]


def _bare(word: str) -> str:
    word = word.removesuffix("e") if len(word) > 3 else word
    doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word


Sparse: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
Indices: TypeAlias = npt.NDArray[np.intp]
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
        """The number of documents that each term occurs in."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1]).astype(np.float64)

    @cached_property
    def idf(self) -> FloatArray:
        """The idf of BM25: ln(1 + (N - n + ½) / (n + ½)) of a term that n of the N documents have."""
        n = self.document_frequency
        return np.log1p((self.size - n + 0.5) / (n + 0.5))

    @cached_property
    def collection_frequency(self) -> FloatArray:
        """The number of occurrences of each term in all documents."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def size(self) -> int:
        """The number of documents."""
        return int(self.counts.shape[0])

    @property
    def postings(self) -> tuple[FloatArray, Indices, Indices]:
        """The frequency, document and term of each posting, as three vectors."""
        documents = np.repeat(np.arange(self.size), np.diff(self.counts.indptr))
        return self.counts.data, documents, self.counts.indices.astype(np.intp)


@dataclass(frozen=True, eq=False)
class Index:
    """The documents of a collection in four fields: terms, terms of the name, character 4-grams, pairs of terms.

    Documents and topics are sorted by name. A document's terms are those of its name and its text;
    names share the vocabulary of all terms, so that the two can be added. Without names that field is empty.
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
def grams(term: str) -> tuple[str, ...]:
    """The character 4-grams of a term, its ends marked by underscores.

    >>> grams("parse"), grams("of")
    (('_par', 'pars', 'arse', 'rse_'), ('_of_',))
    """
    marked = f"_{term}_"
    return tuple(marked[start : start + 4] for start in range(max(1, len(marked) - 3)))


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
    # The constructor sums repeated cells, which counts the terms.
    return sparse.csr_array((np.ones(len(rows)), (rows, flat)), shape=(len(texts), len(vocabulary)))


def with_values(matrix: Sparse, data: FloatArray) -> Sparse:
    """A matrix with the same sparsity and other values."""
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def repeat_rows(rows: npt.ArrayLike, matrix: Sparse) -> FloatArray:
    """One value for each row, repeated for each of the row's stored values."""
    return np.repeat(np.asarray(rows, dtype=np.float64), np.diff(matrix.indptr))


def largest(matrix: Sparse, k: int) -> Sparse:
    """The k largest values of each row, largest first; of equal ones the last columns, as in trec_eval.

    >>> kept = largest(sparse.csr_array(np.array([[3.0, 1.0, 3.0, 2.0]])), k=3)
    >>> kept.indices, kept.data
    (array([2, 0, 3]...), array([3., 3., 2.]))
    """
    chosen = []
    for start, end in pairwise(matrix.indptr):
        values, columns = matrix.data[start:end], matrix.indices[start:end]
        # Values that tie with the k-th are kept until the sort breaks the ties: select by value, sort, then cut.
        least = np.partition(values, -k)[-k] if len(values) > k else -np.inf
        few = np.flatnonzero(values >= least)
        chosen.append(start + few[np.lexsort((columns[few], values[few]))[::-1][:k]])
    kept = np.concatenate(chosen)
    starts = np.cumsum([0, *map(len, chosen)])
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)
