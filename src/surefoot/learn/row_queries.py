"""Which query each row is of: by query ids, or by group sizes as in LightGBM."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError


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
