"""Features of a query, reduced from a feature of its documents: for the selection of queries, and for models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, choose
from surefoot.learn.data import RankingData, widened
from surefoot.scores import FloatArray

REDUCTIONS = {"max": np.maximum, "min": np.minimum, "mean": np.add}
"""How the values of a query's documents become one value."""


def query_feature(data: RankingData, spec: str) -> FloatArray:
    """A feature of each query, reduced over its documents: ``max:110``, ``min:7`` or ``mean:25``, by number or name.

    >>> data = RankingData.of([[1.0], [2.0], [6.0]], [0, 1, 0], qid=["a", "a", "b"])
    >>> query_feature(data, "mean:0")
    array([1.5, 6. ])
    """
    reduction, colon, feature = spec.partition(":")
    if not colon:
        raise SurefootError(f"a query feature is given as max:N, min:N or mean:N; got {spec!r}")
    reduce = REDUCTIONS[choose(reduction, REDUCTIONS, "the reduction of a query feature")]
    column = data.column(feature).astype(np.float64)
    if not np.isfinite(column).all():
        raise SurefootError(
            f"{data.source}: feature {feature} is missing for some documents, so it makes no query feature"
        )
    found = reduce.reduceat(column, data.bounds[:-1]) if column.size else column
    return np.asarray(found / data.sizes if reduction == "mean" else found)


def with_query_feature(data: RankingData, spec: str) -> RankingData:
    """The data with one more feature, the last: the feature of the document's query.

    >>> data = RankingData.of([[1.0], [2.0], [6.0]], [0, 1, 0], qid=["a", "a", "b"])
    >>> with_query_feature(data, "max:0").features[:, 1]
    array([2., 2., 6.], dtype=float32)
    """
    column = np.repeat(query_feature(data, spec), data.sizes).astype(np.float32)
    # LightGBM refuses names with a colon.
    names = None if data.feature_names is None else (*data.feature_names, spec.replace(":", "."))
    features: Any
    if isinstance(data.features, np.ndarray):
        features = np.column_stack([data.features, column])
    else:
        from scipy import sparse

        features = sparse.csr_array(sparse.hstack([data.features, sparse.csr_array(column[:, np.newaxis])]))
    return replace(data, features=features, feature_names=names)


def for_model(data: RankingData, spec: str, width: int) -> RankingData:
    """The data with the query feature of a model that has ``width`` features, unless they have it already."""
    columns = data.features.shape[1]
    if columns == width:
        own = np.repeat(query_feature(data, spec), data.sizes).astype(np.float32)
        if np.array_equal(data.column_at(width - 1), own):
            return data
    if data.feature_names is None and columns < width - 1:
        data = widened(data, data.first_feature, width - 1)
    return with_query_feature(data, spec)
