"""The plane of risk and gain, where a model is a point and the baseline the origin.

Risk is F_Risk, the mean loss against the baseline; gain is U_Gain, the difference of the means. Both are means over
queries, so choosing between two rankers at random for each query reaches, in expectation, any point of the line between
theirs. After Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive optimization*, SIGIR 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import SurefootError
from surefoot.risk import compare, validate_alpha, validate_alphas


@dataclass(frozen=True, eq=False)
class Points:
    """Points of the plane, such as a curve."""

    risk: FloatArray
    gain: FloatArray

    def __len__(self) -> int:
        return self.risk.size

    def __getitem__(self, which: slice | npt.NDArray[np.intp] | BoolArray) -> Points:
        return Points(self.risk[which], self.gain[which])


ORIGIN = Points(np.zeros(1), np.zeros(1))
"""The baseline itself."""


def points(systems: npt.ArrayLike, baseline: npt.ArrayLike) -> Points:
    """The point (F_Risk, U_Gain) of each system: rows of scores, queries along the last axis. SIGIR 2012.

    >>> found = points([[0.2, 0.5], [0.4, 0.3]], [0.4, 0.1])
    >>> found.risk, found.gain
    (array([0.1, 0. ]), array([0.1, 0.1]))
    """
    compared = compare(systems, baseline)
    risk, reward = np.atleast_1d(compared.frisk), np.atleast_1d(compared.freward)
    return Points(risk, reward - risk)


def concatenate(*parts: Points) -> Points:
    """Points one after the other."""
    return Points(np.concatenate([part.risk for part in parts]), np.concatenate([part.gain for part in parts]))


def break_even(risk: npt.ArrayLike, alpha: float) -> FloatArray:
    """The gain that pays for a risk at alpha: U_Risk = U_Gain - alpha F_Risk = 0, so gain = alpha × risk. SIGIR 2012.

    Models above this line through the origin are better than the baseline if a loss weighs 1 + alpha times a gain.

    >>> break_even([0.0, 0.02], alpha=5)
    array([0. , 0.1])
    """
    return validate_alpha(alpha) * np.asarray(risk, dtype=np.float64)


def proportional_reduction(model: Points, fraction: npt.ArrayLike) -> Points:
    """The points of using a model on a random fraction of the queries and the baseline on the others. SIGIR 2012.

    Risk and gain fall in proportion: these are the points between the model's and the origin. Only models above this
    line trade better than chance.

    >>> half = proportional_reduction(Points(np.array([0.02]), np.array([0.1])), 0.5)
    >>> half.risk, half.gain
    (array([0.01]), array([0.05]))
    """
    fractions = np.atleast_1d(np.asarray(fraction, dtype=np.float64))
    if len(model) != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise SurefootError("a proportional reduction takes one model, and fractions from 0 to 1")
    return Points(fractions * model.risk, fractions * model.gain)


def alpha_limit(gain_only: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """U_Gain / F_Risk of the gain-only model: the largest alpha at which it is no worse than the baseline. SIGIR 2012.

    Beyond it U_Risk of the gain-only model is below 0, so that doing nothing is better. It is infinite for a model
    that loses nowhere, and 0 for one that gains nothing.

    >>> round(alpha_limit([0.2, 0.8], [0.4, 0.1]), 6)
    2.5
    """
    found = points(gain_only, baseline)
    risk, gain = float(found.risk[0]), float(found.gain[0])
    if gain <= 0:
        return 0.0
    return gain / risk if risk > 0 else float("inf")


def near_optimal(curve: Points, alphas: npt.ArrayLike, limit: float) -> Points:
    """The near-optimal hull: the curve up to the alpha nearest to the limit, then straight to the origin.

    ``limit`` is `alpha_limit` of the gain-only model on the training queries. Up to there a larger alpha is the better
    way to less risk; beyond it, choosing at random between the last model and the baseline is. Wang, Bennett and
    Collins-Thompson, SIGIR 2012, take the nearest alpha that they computed, 30 for a limit of 27.9.

    >>> curve = Points(np.array([0.05, 0.02, 0.01]), np.array([0.1, 0.08, 0.01]))
    >>> near_optimal(curve, [0, 1, 5], limit=2.0).gain
    array([0.1 , 0.08, 0.  ])
    """
    sweep = np.atleast_1d(validate_alphas(alphas))
    if sweep.size != len(curve):
        raise SurefootError(f"{len(curve)} points need as many alphas; got {sweep.size}")
    inside = np.flatnonzero(sweep <= nearest_alpha(sweep, limit))
    return concatenate(curve[inside[np.argsort(sweep[inside], kind="stable")]], ORIGIN)


def nearest_alpha(alphas: npt.ArrayLike, limit: float) -> float:
    """The computed alpha that is nearest to a limit, the smaller of two; the largest for an infinite limit.

    >>> nearest_alpha([0, 10, 20, 30], 27.9), nearest_alpha([0, 1, 2], float("inf"))
    (30.0, 2.0)
    """
    sweep = np.sort(np.asarray(alphas, dtype=np.float64))
    return float(sweep[-1] if np.isinf(limit) else sweep[np.argmin(np.abs(sweep - limit))])


def upper_hull(curve: Points) -> Points:
    """The upper hull of the points and the origin, from the origin to the largest gain, by rising risk.

    Choosing at random between two models, or a model and the baseline, reaches all of it and nothing above it.

    >>> hull = upper_hull(Points(np.array([0.02, 0.03, 0.04]), np.array([0.06, 0.05, 0.08])))
    >>> hull.risk, hull.gain
    (array([0.  , 0.02, 0.04]), array([0.  , 0.06, 0.08]))
    """
    everything = concatenate(ORIGIN, curve)
    kept: list[tuple[float, float]] = []
    order = np.lexsort((-everything.gain, everything.risk))
    for point in zip(everything.risk[order].tolist(), everything.gain[order].tolist(), strict=True):
        if kept and point[1] <= kept[-1][1]:
            continue  # more risk, or as much, for no more gain
        while len(kept) > 1 and not _turns_down(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    risk, gain = np.array(kept).T
    return Points(risk, gain)


def _turns_down(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the slope is less after the middle point than before it."""
    run, rise = middle[0] - first[0], middle[1] - first[1]
    return (last[1] - middle[1]) * run < rise * (last[0] - middle[0])


@dataclass(frozen=True)
class Area:
    """The area between two curves over the range of risk that both cover; positive where the first lies higher."""

    area: float
    low: float
    high: float

    @property
    def height(self) -> float:
        """By how much gain the first lies higher, on average over the range."""
        return self.area / (self.high - self.low) if self.high > self.low else 0.0


def area_between(first: Points, second: Points) -> Area:
    """The area between two curves in the plane, over the risks from the larger least to the smaller largest.

    Curves are linear between their points by rising risk; of points with the same risk the highest counts. Add the
    origin to a curve that the baseline belongs to.

    >>> line = Points(np.array([0.0, 0.04]), np.array([0.0, 0.08]))
    >>> area = area_between(Points(np.array([0.0, 0.02]), np.array([0.0, 0.06])), line)
    >>> round(area.area, 9), area.low, area.high, round(area.height, 9)
    (0.0002, 0.0, 0.02, 0.01)
    """
    curves = [_function(curve) for curve in (first, second)]
    low, high = max(risk[0] for risk, _ in curves), min(risk[-1] for risk, _ in curves)
    if high < low:
        raise SurefootError("the curves have no range of risk in common, so there is no area between them")
    knots = np.unique(np.concatenate([[low, high], *(risk[(risk > low) & (risk < high)] for risk, _ in curves)]))
    one, other = (np.interp(knots, risk, gain) for risk, gain in curves)
    return Area(float(np.trapezoid(one - other, knots)), float(low), float(high))


def _function(curve: Points) -> tuple[FloatArray, FloatArray]:
    """Gain as a function of risk: the distinct risks, rising, and the largest gain at each."""
    if not len(curve):
        raise SurefootError("a curve needs at least one point")
    order = np.lexsort((-curve.gain, curve.risk))
    risk, first = np.unique(curve.risk[order], return_index=True)
    return risk, curve.gain[order][first]


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
