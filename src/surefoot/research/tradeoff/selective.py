"""Selective re-ranking: the gain-only model for some queries, the baseline for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose
from surefoot.learn.data import RankingData
from surefoot.research.tradeoff.curve import Points

REDUCTIONS = {"max": np.maximum, "min": np.minimum, "mean": np.add}
"""How the values of a query's documents are reduced to one value."""


@dataclass(frozen=True, eq=False)
class Selective:
    """The point of each threshold, and the fraction of queries that are re-ranked there."""

    thresholds: FloatArray
    fraction: FloatArray
    points: Points


def selective_curve(gain_only: npt.ArrayLike, baseline: npt.ArrayLike, feature: npt.ArrayLike) -> Selective:
    """Re-rank a query only if its feature is below a threshold, for every threshold that makes a difference.

    At the first threshold no query is re-ranked, so its point is the origin; at the last, infinity, all are. A high
    value should mean that the baseline can be trusted, as a high BM25 score of the best document does; negate a
    feature where it is the other way round. Wang, Bennett and Collins-Thompson, SIGIR 2012.

    >>> found = selective_curve([0.2, 0.5, 0.4], [0.4, 0.1, 0.4], feature=[9.0, 3.0, 5.0])
    >>> found.thresholds, found.points.risk.round(3), found.points.gain.round(3)
    (array([ 3.,  5.,  9., inf]), array([0.   , 0.   , 0.   , 0.067]), array([0.   , 0.133, 0.133, 0.067]))
    """
    x, b, f = (np.asarray(values, dtype=np.float64) for values in (gain_only, baseline, feature))
    if x.ndim != 1 or not x.size or x.shape != b.shape or x.shape != f.shape:
        raise SurefootError(
            "selective re-ranking needs a model's score, a baseline's and a feature for each query; got shapes "
            f"{x.shape}, {b.shape} and {f.shape}"
        )
    if not np.isfinite(f).all():
        raise SurefootError("the selecting feature must be a finite number for every query")
    order = np.argsort(f, kind="stable")
    d = (x - b)[order]
    values, first = np.unique(f[order], return_index=True)
    below = np.append(first, x.size)
    lost, gained = (np.concatenate([[0.0], np.cumsum(part)])[below] / x.size for part in (np.maximum(-d, 0), d))
    return Selective(np.append(values, np.inf), below / x.size, Points(lost, gained))


def query_feature(data: RankingData, spec: str) -> FloatArray:
    """A feature of each query, reduced over its documents: ``max:110``, ``min:7`` or ``mean:25``, by number or name.

    >>> data = RankingData.of([[1.0], [2.0], [6.0]], [0, 1, 0], qid=["a", "a", "b"])
    >>> query_feature(data, "mean:0")
    array([1.5, 6. ])
    """
    reduction, colon, feature = spec.partition(":")
    if not colon:
        raise SurefootError(f"a selecting feature is given as max:N, min:N or mean:N; got {spec!r}")
    reduce = REDUCTIONS[choose(reduction, REDUCTIONS, "the reduction of the selecting feature")]
    column = data.column(feature).astype(np.float64)
    if not np.isfinite(column).all():
        raise SurefootError(
            f"{data.source}: feature {feature} is missing for some documents, so it can't select queries"
        )
    found = reduce.reduceat(column, data.bounds[:-1])
    return np.asarray(found / data.sizes if reduction == "mean" else found)
