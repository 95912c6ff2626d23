"""The query of each row, by query ids or by group sizes as in LightGBM, and the order of rows by query."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError
from surefoot.learn.data import queries_of


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
