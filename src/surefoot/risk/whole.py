"""Statistics that are not additive: they need all topics at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk.moments import Statistic
from surefoot.risk.statistics import LINEAR, Values, tail_count


@dataclass(frozen=True)
class Whole(Statistic):
    """A statistic that can't be added up from parts."""

    name: ClassVar[str]

    def __add__(self, other: Self) -> Self:
        raise SurefootError(f"{self.name} needs all topics at once; it cannot be added up from parts")


@dataclass(frozen=True)
class Tail(Whole):
    """The mean difference over the worst topics, and its standard error.

    The mean of the k worst of c topics is that of w + min(d - w, 0) c / k over all topics, where w is the k-th worst
    difference (Rockafellar and Uryasev 2000); the standard error is that of this mean.
    """

    name = "tail risk"
    value: FloatArray
    se: FloatArray

    @classmethod
    def of(
        cls, system: FloatArray, baseline: FloatArray, weights: FloatArray | None = None, fraction: float = 0.1
    ) -> Tail:
        """The mean over the worst ceil(fraction × c) topics (the last axis), or over those of each resample."""
        d = system - baseline
        rows = d.reshape(-1, d.shape[-1])
        if weights is None:
            count = int(tail_count(d.shape[-1], fraction))
            found = [_tail(np.partition(row, count - 1)[:count], d.shape[-1]) for row in rows]
            value, se = np.reshape(found, (*d.shape[:-1], 2)).T if found else (np.empty(0), np.empty(0))
            return cls(value.T, se.T)
        value, se = zip(*(_weighted_tail(row, weights, fraction) for row in rows), strict=True)
        return cls(np.stack(value), np.stack(se))


@dataclass(frozen=True)
class Correlation(Whole):
    """Pearson's correlation of a system with its baseline over the topics.

    >>> Correlation.of(np.array([[0.1, 0.2, 0.4], [0.3, 0.2, 0.0]]), np.array([0.2, 0.3, 0.5])).value.round(3)
    array([ 1., -1.])
    """

    name = "a correlation"
    value: FloatArray

    @classmethod
    def of(
        cls, system: FloatArray, baseline: FloatArray, weights: FloatArray | None = None, values: Values = LINEAR
    ) -> Correlation:
        """Over the topics (the last axis), or over those of each resample; NaN where either scores all topics alike."""
        system, base = map(_standardised, np.broadcast_arrays(system, baseline))
        drawn = np.ones((1, system.shape[-1])) if weights is None else weights
        n = drawn.sum(axis=1)
        own_mean, base_mean = system @ drawn.T / n, base @ drawn.T / n
        covariance = (system * base) @ drawn.T / n - own_mean * base_mean
        own, other = (system**2) @ drawn.T / n - own_mean**2, (base**2) @ drawn.T / n - base_mean**2
        varies = (own > 1e-14) & (other > 1e-14)
        r = np.divide(covariance, np.sqrt(np.where(varies, own * other, 1.0)))
        found = np.where(varies, np.clip(r, -1.0, 1.0), np.nan)
        return cls(found[..., 0] if weights is None else found)


def _standardised(rows: FloatArray) -> FloatArray:
    """Each row with mean 0 and variance 1, so that sums of squares lose no digits; 0 if it is the same throughout."""
    centred = np.where(np.ptp(rows, axis=-1, keepdims=True) > 0, rows - rows.mean(axis=-1, keepdims=True), 0.0)
    spread = centred.std(axis=-1, keepdims=True)
    return centred / np.where(spread > 0, spread, 1.0)


def _tail(worst: FloatArray, topics: int) -> tuple[float, float]:
    """The mean of the worst differences, and its standard error."""
    mean = worst.mean()
    return float(mean), float(_tail_error(topics, len(worst), mean, worst.max(), (worst**2).mean()))


def _weighted_tail(d: FloatArray, weights: FloatArray, fraction: float) -> tuple[FloatArray, FloatArray]:
    """The same of each resample: topics in order, each as often as there is room for it."""
    topics = weights.sum(axis=1)
    count = tail_count(topics, fraction)
    order, width = np.argsort(d, kind="stable"), int(2 * count.max()) + 32
    while width < d.size and (weights[:, order[:width]].sum(axis=1) < count).any():
        width *= 2  # nearly always the tail is among twice as many topics as it has
    drawn, ordered = weights[:, order[:width]], d[order[:width]]
    taken = np.clip(count[:, np.newaxis] - (np.cumsum(drawn, axis=1) - drawn), 0, drawn)
    last = taken.shape[1] - 1 - np.argmax(taken[:, ::-1] > 0, axis=1)
    mean = taken @ ordered / count
    return mean, _tail_error(topics, count, mean, ordered[last], taken @ ordered**2 / count)


def _tail_error(
    topics: npt.ArrayLike, count: npt.ArrayLike, mean: FloatArray, last: FloatArray, square: FloatArray
) -> FloatArray:
    """The standard error of w + min(d - w, 0) c / k, from the mean and the mean square of the k worst."""
    c, k = np.asarray(topics, dtype=np.float64), np.asarray(count, dtype=np.float64)
    shift = mean - last  # the mean of min(d - w, 0) c / k over all topics
    spread = c / k * np.maximum(square - 2 * last * mean + last**2, 0.0) - shift**2
    return np.sqrt(np.maximum(spread, 0.0) / np.maximum(c - 1, 1))
