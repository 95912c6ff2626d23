"""The common ways to weigh changes of the metric, for objectives: arrays of each query in, `PairWeights` out."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot.native import kernel
from surefoot.scores import FloatArray

Singles = npt.NDArray[np.float32]

PER_QUERY, GLOBAL = 8, 9
"""How many parameters of a query, and of all queries, a form may use."""

SMALL_CHANGE = 1e-3
"""A change of the metric so small that its weight tells the slope, and so large that float32 does too."""

change_weights = kernel("change_weights")


class PairWeights(NamedTuple):
    """How an objective turns changes of the metric into weights: a form, and its parameters as float32.

    ``per_query`` has a row of `PER_QUERY` parameters for each query, ``shared`` the `GLOBAL` ones of all queries; the
    forms in ``native/swaps.c`` say which they are.
    """

    form: Literal["factor", "line", "step", "cubic", "t", "georisk"]
    per_query: Singles
    shared: Singles


def by_factor(factor: FloatArray) -> PairWeights:
    """Every swap of a query counts ``factor`` times.

    Parameters
    ----------
    factor : array
        A number of 0 or more for each query.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> by_factor(np.array([1.0, 2.0])).per_query[:, 0]
    array([1., 2.], dtype=float32)
    """
    return PairWeights("factor", columns_of(factor), row_of())


def by_line(extra: npt.ArrayLike, above: FloatArray, below: FloatArray, base: npt.ArrayLike = 1.0) -> PairWeights:
    """A change counts ``base`` times, the part of it that lies below a kink ``base`` + ``extra`` times.

    Parameters
    ----------
    extra : float or array
        Of each query, or of all.
    above, below : array
        How far each query is above the kink, and how far below it; what is negative counts as 0.
    base : float or array
        Of each query, or of all.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> d = np.array([0.2, -0.1])  # differences to the baseline
    >>> by_line(1.0, d, -d).per_query[:, :4]
    array([[1. , 0.2, 0. , 1. ],
           [1. , 0. , 0.1, 1. ]], dtype=float32)
    """
    extras, bases = (np.broadcast_to(one, above.shape) for one in (extra, base))
    return PairWeights("line", columns_of(extras, np.maximum(above, 0), np.clip(below, 0, 1e30), bases), row_of())


def by_t(extra: float, d: FloatArray, slope: FloatArray, shared: tuple[float, float]) -> PairWeights:
    """The change of a t statistic; see ``by_t`` in ``native/swaps.c``."""
    line = by_line(extra, d, -d).per_query[:, :3]
    return PairWeights("t", columns_of(*line.T, slope), row_of(*shared))


def by_step(extra: npt.ArrayLike, d: FloatArray) -> PairWeights:
    """A swap that ends below the baseline counts 1 + ``extra`` times, whole.

    Parameters
    ----------
    extra : float or array
        Of each query, or of all.
    d : array
        The difference of each query to the baseline.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> by_step(2.0, np.array([0.5])).per_query[0, :2]
    array([2. , 0.5], dtype=float32)
    """
    return PairWeights("step", columns_of(np.broadcast_to(extra, d.shape), d), row_of())


def slopes(weights: PairWeights) -> FloatArray:
    """How fast the objective changes with each query's metric; where it has a kink, the mean of both sides.

    Parameters
    ----------
    weights : PairWeights
        What an objective's ``lambda_weights`` returns.

    Returns
    -------
    array
        A number of 0 or more for each query.

    Examples
    --------
    >>> d = np.array([0.2, -0.1])  # differences to the baseline
    >>> slopes(by_line(2.0, d, -d)).round(3)
    array([1., 3.])
    """
    changes = np.tile(np.array([SMALL_CHANGE, -SMALL_CHANGE], np.float32), (weights.per_query.shape[0], 1))
    found = np.zeros_like(changes)
    change_weights(weights, changes, found)
    return np.asarray(found.mean(axis=1, dtype=np.float64) / SMALL_CHANGE)


def for_all_queries(weights: PairWeights, counted: npt.NDArray[np.int64], size: int) -> PairWeights:
    """Weights of the queries of some indices, laid out for all ``size`` queries; the others' pairs weigh nothing."""
    if counted.size == size:
        return weights
    per_query = np.zeros((size, weights.per_query.shape[1]), np.float32)
    per_query[counted] = weights.per_query
    return weights._replace(per_query=per_query)


def columns_of(*columns: npt.ArrayLike) -> Singles:
    """Parameters of each query."""
    first = np.asarray(columns[0])
    rows = np.zeros((first.size, PER_QUERY), np.float32)
    for index, column in enumerate(columns):
        rows[:, index] = column
    return rows


def row_of(*values: float) -> Singles:
    """Parameters of all queries."""
    return np.array([*values, *[0.0] * (GLOBAL - len(values))], dtype=np.float32)
