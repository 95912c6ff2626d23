"""Queries of rows: by ids or by group sizes as in LightGBM, the order of rows by query, and features of a query."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose
from surefoot.learn.data import RankingData, queries_of
from surefoot.learn.joining import widened
from surefoot.scores import FloatArray

REDUCTIONS = {"max": np.maximum, "min": np.minimum, "mean": np.add}
"""How the values of a query's documents become one value."""


def queries_of_rows(qid: Any, group: npt.ArrayLike | None, rows: int) -> npt.NDArray[Any]:
    """The query of each row.

    >>> queries_of_rows(None, [2, 1], 3)
    array([0, 0, 1])
    """
    if qid is not None and group is not None:
        raise SurefootError("give qid or group, not both")
    if qid is not None:
        return np.asarray(qid)
    if group is None:
        warnings.warn(
            f"no qid or group: all {rows} rows count as one query (in a search or a pipeline, request qid by "
            "set_fit_request and set_score_request)",
            stacklevel=3,
        )
        return np.zeros(rows, np.int64)
    sizes = np.asarray(group)
    if sizes.ndim != 1 or (sizes < 0).any() or sizes.sum() != rows:
        raise SurefootError(f"group must have the number of rows of each query, {rows} in sum; got {sizes.sum()}")
    return np.repeat(np.arange(sizes.size), sizes)


def evaluation_set(given: Any, group: Any) -> tuple[Any, npt.ArrayLike, npt.NDArray[Any]]:
    """Features, labels and queries of an evaluation set: ``(X, y, qid)``, or ``[(X, y)]`` with its group sizes."""
    if isinstance(given, list):
        if len(given) != 1:
            raise SurefootError(f"there can be one evaluation set; got {len(given)}")
        (given,) = given
    if len(given) == 3:
        features, labels, qid = given
        return features, labels, np.asarray(qid)
    if group is None:
        raise SurefootError("eval_set needs its queries: give (X, y, qid), or [(X, y)] with eval_group")
    features, labels = given
    sizes = group[0] if isinstance(group, Sequence) and len(group) and np.ndim(group[0]) else group
    return features, labels, queries_of_rows(None, sizes, len(np.asarray(labels)))


def order_by_query(queries: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The order that brings the rows of each query together.

    >>> order_by_query(np.array(["a", "b", "a"]))
    array([0, 2, 1])
    """
    return np.argsort(queries_of(queries)[1], kind="stable")


def in_order(given: Any, order: npt.NDArray[np.intp]) -> Any:
    """Reorder per-row input to match the rows."""
    if isinstance(given, Mapping):
        return {name: in_order(one, order) for name, one in given.items()}
    if given is None or isinstance(given, str | os.PathLike):
        return given
    if isinstance(given, list | tuple) and given and not np.isscalar(given[0]):
        return [in_order(one, order) for one in given]
    values = np.asarray(given)
    return values[..., order] if values.ndim and values.shape[-1] == order.size else given


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
