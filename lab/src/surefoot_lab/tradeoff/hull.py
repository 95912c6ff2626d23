"""What can be reached in the plane of risk and gain, and how far apart two curves are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk import validate_alphas
from surefoot_lab.tradeoff.curve import ORIGIN, Points, concatenate


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
