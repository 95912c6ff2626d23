"""Selective re-ranking: the gain-only model for some queries, the baseline for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk import validate_alpha
from surefoot_lab.tradeoff.curve import Points


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


def choose_threshold(curve: Selective, alpha: float) -> float:
    """The threshold of the largest U_Risk at alpha, the first of equal ones: to be taken on validation queries.

    >>> curve = selective_curve([0.2, 0.5, 0.4], [0.4, 0.1, 0.4], feature=[9.0, 3.0, 5.0])
    >>> choose_threshold(curve, alpha=1.0)
    5.0
    """
    return float(curve.thresholds[np.argmax(curve.points.gain - validate_alpha(alpha) * curve.points.risk)])
