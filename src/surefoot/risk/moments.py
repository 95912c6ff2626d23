"""Statistics of a sample of topics, perhaps weighted by how often each was drawn: moments, tail, correlation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import SurefootError
from surefoot.risk.distributions import student_p

T = TypeVar("T")
CHUNK = 1 << 21
"""How many numbers are drawn at once: bounds the memory."""
PIECE = 1 << 17
"""How many numbers are processed at once, so that several such arrays fit into a processor's cache."""


def chunks(topics: int, rows: int) -> Iterator[slice]:
    """Slices of topics such that rows × topics stays within `PIECE` numbers."""
    width = max(1, PIECE // max(rows, 1))
    return (slice(start, start + width) for start in range(0, topics, width))


@dataclass(frozen=True)
class Statistic:
    """A sufficient statistic of each system: fields are arrays, statistics, or dictionaries of either.

    Systems are the first axis of every array. Statistics of weighted topics have the resamples as the last axis.
    Adding two statistics gives that of both sets of topics together.
    """

    def map(self, function: Callable[..., Any], *others: Self) -> Self:
        """Apply a function to every array (and to the same arrays of other statistics)."""
        mapped = {
            field.name: _map(function, *(getattr(one, field.name) for one in (self, *others))) for field in fields(self)
        }
        return replace(self, **mapped)

    def __getitem__(self, systems: Any) -> Self:
        """The statistic of one system or of several."""
        return self.map(lambda array: array[systems])

    def __add__(self, other: Self) -> Self:
        """The statistic of both sets of topics together: field by field, each by its own addition."""
        pairs = {field.name: (getattr(self, field.name), getattr(other, field.name)) for field in fields(self)}
        return replace(self, **{name: _add(*pair) for name, pair in pairs.items()})

    def concatenate(self, *others: Self) -> Self:
        """The statistics of several chunks of resamples as one."""
        return self.map(lambda *arrays: np.concatenate(arrays, axis=-1), *others)


def memoised(method: Callable[[Any, FloatArray], T]) -> Callable[[Any, npt.ArrayLike], T]:
    """A method of a statistic that maps alphas to values, computed once for each sweep: several measures share it."""

    @wraps(method)
    def call(self: Any, alpha: npt.ArrayLike) -> T:
        sweep = np.asarray(alpha, dtype=np.float64)
        known: dict[object, T] = self.__dict__.setdefault("_memo", {})
        key = (method.__name__, sweep.shape, sweep.tobytes())
        if key not in known:
            known[key] = method(self, sweep)
        return known[key]

    return call


def _add(one: Any, other: Any) -> Any:
    return {key: one[key] + other[key] for key in one} if isinstance(one, dict) else one + other


def _map(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    if isinstance(first, Statistic):
        return first.map(function, *others)
    if isinstance(first, dict):
        return {key: _map(function, value, *(other[key] for other in others)) for key, value in first.items()}
    return function(first, *others)


@dataclass(frozen=True)
class Moments(Statistic):
    """Count, mean and sum of squared deviations along the last axis of a sample.

    >>> whole = Moments.of(np.array([1.0, 2.0])) + Moments.of(np.array([6.0]))
    >>> float(whole.mean), float(whole.sd)
    (3.0, 2.6457513110645907)
    """

    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    noise: FloatArray
    """A spread up to this is rounding: differences of scores carry the rounding of the scores."""

    @classmethod
    def of(cls, x: FloatArray, where: BoolArray | None = None, noise: npt.ArrayLike = 0.0) -> Moments:
        """The moments of x, or of those entries selected by ``where``."""
        selected = np.ones(x.shape, dtype=np.bool_) if where is None else where
        n = np.count_nonzero(selected, axis=-1).astype(np.float64)
        mean = (x * selected).sum(axis=-1) / np.maximum(n, 1)
        deviation = x - mean[..., np.newaxis]
        deviation *= selected  # a product and a sum run several times faster than numpy's own masked sum
        return cls(n, mean, np.einsum("...i,...i->...", deviation, deviation), np.asarray(noise, dtype=np.float64))

    def __add__(self, other: Self) -> Self:
        """The moments of both samples together (Chan, Golub and LeVeque 1983), free of cancellation."""
        n = self.n + other.n
        some = np.maximum(n, 1)
        shift = other.mean - self.mean
        mean = np.where(self.n == 0, other.mean, self.mean + shift * other.n / some)
        m2 = self.m2 + other.m2 + shift**2 * (self.n * other.n / some)
        return replace(self, n=n, mean=mean, m2=m2, noise=np.maximum(self.noise, other.noise))

    def scaled(self, factor: FloatArray) -> Self:
        """The moments of the sample times a factor; the axes of several factors lead."""
        column = _leading(factor, self.mean)
        return replace(self, mean=column * self.mean, m2=column**2 * self.m2, noise=column * self.noise)

    @property
    def total(self) -> FloatArray:
        """The sum of the sample."""
        return self.n * self.mean

    @cached_property
    def sd(self) -> FloatArray:
        """The standard deviation (ddof = 1); NaN for fewer than two, 0 where all variation is rounding."""
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = np.sqrt(self.m2 / np.where(self.n > 1, self.n - 1, np.nan))
        return np.where(sd <= np.maximum(1e-13 * np.abs(self.mean), self.noise), 0.0, sd)

    @cached_property
    def se(self) -> FloatArray:
        """The standard error of the mean."""
        return self.sd / np.sqrt(np.maximum(self.n, 1))

    @cached_property
    def t(self) -> FloatArray:
        """The t statistic of the mean; NaN where the sample does not vary or has one value only."""
        se = self.se
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(se > 0, self.mean / se, np.nan)

    @property
    def p(self) -> FloatArray:
        """The two-sided p of t: Student's distribution with n - 1 degrees of freedom."""
        return student_p(self.t, np.maximum(self.n - 1, 1))


@dataclass(frozen=True)
class WeightedMoments(Statistic):
    """Count, sum and sum of squares of a weighted sample, the resamples along the last axis.

    A resample is a row of weights, so that all resamples are one product of matrices.
    """

    n: FloatArray
    total: FloatArray
    squares: FloatArray

    def scaled(self, factor: FloatArray) -> Self:
        """The moments of the sample times a factor; the axes of several factors lead."""
        column = _leading(factor, self.total)
        return replace(self, total=column * self.total, squares=column**2 * self.squares)

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of each resample."""
        return self.total / self.n

    @cached_property
    def variance(self) -> FloatArray:
        """The variance (ddof = 1) of each resample."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.maximum(self.squares - self.total * self.mean, 0.0) / (self.n - 1))

    @cached_property
    def se(self) -> FloatArray:
        """The standard error of the mean."""
        return np.asarray(np.sqrt(self.variance / self.n))

    @cached_property
    def t(self) -> FloatArray:
        """The t statistic of the mean; NaN where the resample does not vary."""
        mean, variance = self.mean, self.variance
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(variance > 1e-26 * mean**2, mean / np.sqrt(variance / self.n), np.nan)

    @property
    def p(self) -> FloatArray:
        """The two-sided p of t: Student's distribution with n - 1 degrees of freedom."""
        return student_p(self.t, np.maximum(self.n - 1, 1))


def _leading(factor: FloatArray, array: FloatArray) -> FloatArray:
    """The factor with an axis of length 1 for each axis of the array, so that its own axes lead the product."""
    return factor.reshape(factor.shape + (1,) * np.ndim(array))


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
        cls, system: FloatArray, baseline: FloatArray, weights: FloatArray | None = None, values: object = None
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


def tail_count(topics: npt.ArrayLike, fraction: float) -> FloatArray:
    """The number of topics in a tail: ceil(fraction × c), rounded first because 0.07 × 100 exceeds 7 in floating point.

    >>> int(tail_count(100, 0.07)), int(tail_count(50, 0.05))
    (7, 3)
    """
    return np.asarray(np.ceil(np.round(fraction * np.asarray(topics, dtype=np.float64), 9)))


def _standardised(rows: FloatArray) -> FloatArray:
    """Each row with mean 0 and variance 1, so that sums of squares lose no digits; 0 if it is the same throughout."""
    centred = np.where(np.ptp(rows, axis=-1, keepdims=True) > 0, rows - rows.mean(axis=-1, keepdims=True), 0.0)
    spread = centred.std(axis=-1, keepdims=True)
    return centred / np.where(spread > 0, spread, 1.0)


def _tail(worst: FloatArray, topics: int) -> tuple[float, float]:
    """The mean of the worst differences, and its standard error."""
    mean, last, square = map(np.asarray, (worst.mean(), worst.max(), (worst**2).mean()))
    return float(mean), float(_tail_error(topics, len(worst), mean, last, square))


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
