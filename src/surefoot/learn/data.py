"""Ranking data: documents by query, each with features and a label. Rankers learn from them and predict for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from surefoot._lazy import optional
from surefoot.errors import SurefootError, counted, listed
from surefoot.guard.pairs import rows_of
from surefoot.io.roles import NAMES, normalise_name

if TYPE_CHECKING:
    import polars
    from scipy import sparse

    Matrix: TypeAlias = npt.NDArray[np.float32] | sparse.csr_array[np.float32, tuple[int, int]]


Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

KEY_BITS = 60
"""The bits of a query's key."""

ROLES: dict[str, tuple[str, ...]] = {
    "topic": ("qid", *(name for name in NAMES["topic"] if name != "qid")),
    "label": ("label", "labels", "relevance", "rel", "grade"),
    "document": ("docno", "docid", "doc_id", "document", "document_id", "doc"),
}
"""The names of columns that are not features."""


@dataclass(frozen=True, eq=False, repr=False)
class RankingData:
    """Documents (rows) by query.

    Parameters
    ----------
    features : array
        A float32 matrix, dense, or a scipy CSR array where most of it is zero; a missing value is NaN.
    labels : array
        The grade of each row.
    bounds : array
        The rows of query ``q`` are those from ``bounds[q]`` to ``bounds[q + 1]``.
    queries : tuple of str
        The ids of the queries.
    documents : polars.Series, optional
        The ids of the rows, if known.
    feature_names : tuple of str, optional
        The names of the features, if they have any.
    first_feature : int
        The number of the first feature, as in the file that it comes from.
    source : str
        The name of the data in messages.

    Examples
    --------
    >>> data = RankingData.of([[1.0], [2.0], [3.0]], [0, 1, 0], qid=["a", "b", "a"])
    >>> data
    RankingData(2 queries, 3 documents, 1 feature)
    >>> data.queries, data.bounds, data.features[:, 0]
    (('a', 'b'), array([0, 2, 3]), array([1., 3., 2.], dtype=float32))
    """

    features: Matrix
    labels: Floats
    bounds: Ints
    queries: tuple[str, ...]
    documents: polars.Series | None = None
    feature_names: tuple[str, ...] | None = None
    first_feature: int = 1
    source: str = "data"

    def __post_init__(self) -> None:
        (rows, columns), queries = self.features.shape, self.bounds.size - 1
        for what, found, expected, noun in (
            ("labels", self.labels, rows, "row"),
            ("query names", self.queries, queries, "query"),
            ("document ids", self.documents, rows, "row"),
            ("feature names", self.feature_names, columns, "feature"),
        ):
            if found is not None and len(found) != expected:
                raise SurefootError(f"{self.source}: {len(found)} {what} for {counted(expected, noun)}")
        if int(self.bounds[-1]) != rows:
            raise SurefootError(f"{self.source}: the queries have {int(self.bounds[-1])} of {counted(rows, 'row')}")
        bad = np.flatnonzero(~(self.labels >= 0) | (self.labels != np.rint(self.labels)))
        if bad.size:
            raise SurefootError(
                f"{self.source}: labels must be whole numbers of 0 or more; document {bad[0] + 1} has "
                f"{self.labels[bad[0]]:g}"
            )

    @property
    def size(self) -> str:
        """The numbers of queries, documents and features, in words."""
        rows, columns = self.features.shape
        return f"{counted(len(self.queries), 'query')}, {counted(rows, 'document')}, {counted(columns, 'feature')}"

    def __repr__(self) -> str:
        return f"RankingData({self.size})"

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @classmethod
    def of(
        cls,
        features: Any,
        labels: npt.ArrayLike,
        qid: Iterable[object],
        documents: Iterable[object] | None = None,
        feature_names: Sequence[str] | None = None,
        source: str = "data",
    ) -> RankingData:
        """Data of arrays, one row per document; scattered rows of a query are brought together, in order.

        Parameters
        ----------
        features : array, frame or sparse matrix
            The features; anything that numpy takes as a matrix.
        labels : array
            A grade of 0 or more for each row.
        qid : iterable
            The query of each row.
        documents : iterable, optional
            The id of each row.
        feature_names : sequence of str, optional
            The names of the columns.
        source : str
            The name of the data in messages.

        Returns
        -------
        RankingData
            With features numbered from 0.
        """
        matrix = as_matrix(features, source)
        targets = np.asarray(labels, dtype=np.float32)
        names, codes = queries_of(qid)
        if not codes.size == targets.size == matrix.shape[0]:
            raise SurefootError(
                f"{source}: features, labels and qid must have as many rows; got {matrix.shape[0]}, {targets.size} "
                f"and {codes.size}"
            )
        ids = None if documents is None else _series(documents)
        if ids is not None and len(ids) != codes.size:
            raise SurefootError(f"{source}: {len(ids)} document ids for {counted(codes.size, 'row')}")
        order = None if np.all(codes[1:] >= codes[:-1]) else np.argsort(codes, kind="stable")
        if order is not None:
            matrix, targets = matrix[order], targets[order]
            ids = None if ids is None else ids[order]
        bounds = np.zeros(len(names) + 1, np.int64)
        np.cumsum(np.bincount(codes, minlength=len(names)), out=bounds[1:])
        return cls(
            matrix, targets, bounds, names, ids, None if feature_names is None else tuple(feature_names), 0, source
        )

    @classmethod
    def of_labels(cls, labels: npt.ArrayLike, bounds: Ints, source: str = "data") -> RankingData:
        """Data without features, to measure rankings; the queries are numbered from 1."""
        grades, queries = np.asarray(labels, dtype=np.float32), tuple(str(query) for query in range(1, bounds.size))
        return cls(np.zeros((grades.size, 0), np.float32), grades, bounds, queries, source=source)

    @classmethod
    def from_frame(cls, frame: Any, source: str = "frame") -> RankingData:
        """Data of a pandas or polars frame, one row per document: query, label, document id if any, features.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            The first three may have any of their usual names; all other columns are features, and must be numbers.
        source : str
            The name of the data in messages.

        Returns
        -------
        RankingData

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"qid": [7, 7], "docno": ["a", "b"], "rel": [1, 0], "bm25": [2.5, None]})
        >>> data = RankingData.from_frame(frame)
        >>> data.queries, data.documents.to_list(), data.feature_names, data.column("bm25")
        (('7',), ['a', 'b'], ('bm25',), array([2.5, nan], dtype=float32))
        """
        from surefoot.io.frames import table_of

        table = table_of(frame)
        names = [normalise_name(name) for name in table.columns]
        columns = {role: [names.index(name) for name in known if name in names] for role, known in ROLES.items()}
        for role, what in (("topic", "queries"), ("label", "labels")):
            if not columns[role]:
                shown = listed(table.columns)
                raise SurefootError(f"{source}: no column of {what} among {shown}; name it {ROLES[role][0]!r}")
        taken = {name for known in ROLES.values() for name in known}
        features = [index for index, name in enumerate(names) if name not in taken]
        if not features:
            raise SurefootError(f"{source}: no column of features beside {listed(table.columns)}")
        # Of several columns of a role, as a query's id and its text, the one counts whose name is first in ROLES.
        query, label, document = columns["topic"][0], columns["label"][0], next(iter(columns["document"]), None)
        qid = table.labels(query)
        ids = None if document is None else table.labels(document)
        return cls.of(
            table.numbers(features),
            table.numbers([label])[:, 0],
            np.array(qid.names)[qid.codes],
            None if ids is None else np.array(ids.names)[ids.codes],
            [table.columns[index] for index in features],
            source,
        )

    @cached_property
    def sizes(self) -> Ints:
        """The number of documents of each query."""
        return np.diff(self.bounds)

    @cached_property
    def query_of_row(self) -> Ints:
        """The index of each row's query."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def keys(self) -> Ints:
        """The key of each query; see `query_keys`."""
        return query_keys(self.queries)

    def column_index(self, feature: int | str) -> int:
        """The column of a feature, counted from 0, by its number in the file or its name."""
        names = self.feature_names or ()
        last = self.first_feature + self.features.shape[1] - 1
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if str(feature).isdecimal() and self.first_feature <= int(feature) <= last:
            return int(feature) - self.first_feature
        known = f"numbered {self.first_feature} to {last}" + (f" or named {listed(names)}" if names else "")
        raise SurefootError(f"{self.source}: no feature {feature}; they are {known}")

    def column(self, feature: int | str) -> Floats:
        """One feature, by its number in the file or its name."""
        return self.column_at(self.column_index(feature))

    def column_at(self, index: int) -> Floats:
        """One feature, by its column, counted from 0."""
        found = self.features[:, [index]]
        return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float32)[:, 0]

    def rows(self, queries: npt.ArrayLike) -> Ints:
        """The row numbers of the documents of these queries, in the order in which `select` puts them."""
        return rows_of(_indices(queries), self.bounds)

    def select(self, queries: npt.ArrayLike) -> RankingData:
        """The queries of these indices, in this order, or of a mask."""
        chosen = _indices(queries)
        rows = self.rows(chosen)
        return RankingData(
            self.features[rows],
            self.labels[rows],
            np.concatenate([[0], np.cumsum(self.sizes[chosen])]),
            tuple(self.queries[index] for index in chosen),
            None if self.documents is None else self.documents[rows],
            self.feature_names,
            self.first_feature,
            self.source,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of features, labels and queries."""
        digest = blake2b(f"{self.features.shape}{self.first_feature}".encode(), digest_size=20)
        parts = [self.labels, self.bounds]
        if isinstance(self.features, np.ndarray):
            parts.append(np.ascontiguousarray(self.features))
        else:
            parts += [self.features.data, self.features.indices.astype(np.int64), self.features.indptr.astype(np.int64)]
        for part in parts:
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        digest.update("\n".join(self.queries).encode())
        return digest.hexdigest()


def query_keys(ids: Iterable[object]) -> Ints:
    """A hash of each query id, by which queries are spread over workers and drawn alike on any number of them.

    It is the beginning of SHA-256, which databases have too.

    >>> query_keys(["7", 7]).tolist()
    [544977996675729576, 544977996675729576]
    """
    hexadecimal = KEY_BITS // 4
    found = (int(sha256(str(one).encode()).hexdigest()[:hexadecimal], 16) for one in ids)
    return np.fromiter(found, np.int64)


def as_matrix(features: Any, source: str = "data") -> Matrix:
    """A float32 matrix from anything array-like, a frame, or a scipy sparse matrix."""
    if hasattr(features, "tocsr"):
        from scipy import sparse

        return sparse.csr_array(features.tocsr().astype(np.float32, copy=False))
    try:
        matrix = np.asarray(features, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise SurefootError(f"{source}: features must be numbers ({error})") from None
    if matrix.ndim != 2:
        raise SurefootError(f"{source}: features must be a matrix, one row per document; got {matrix.ndim} dimensions")
    return np.ascontiguousarray(matrix)


def _series(documents: Iterable[object]) -> polars.Series:
    optional("polars", "learn")
    import polars

    if isinstance(documents, polars.Series):
        return documents.cast(polars.String)
    return polars.Series([str(document) for document in documents], dtype=polars.String)


def _indices(queries: npt.ArrayLike) -> Ints:
    given = np.asarray(queries)
    return np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)


def queries_of(qid: Iterable[object]) -> tuple[tuple[str, ...], Ints]:
    """The distinct query ids in the order in which they first appear, and the index of each row's."""
    ids = np.asarray(qid if isinstance(qid, np.ndarray) else list(qid))
    if ids.ndim != 1:
        raise SurefootError(f"qid must be one id per row; got an array of shape {ids.shape}")
    if ids.dtype.kind in "fO" and (missing := np.flatnonzero((ids != ids) | (ids == np.array(None)))).size:
        raise SurefootError(f"qid must be one id per row; row {missing[0] + 1} has none")
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return tuple(str(name) for name in distinct[order].tolist()), rank[inverse].astype(np.int64)
