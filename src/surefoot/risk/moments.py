"""Count, mean and spread of a sample: of topics as they are, or weighted by how often each was drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.risk.distributions import student_p

T = TypeVar("T")
CHUNK = 1 << 21
"""How many numbers are drawn at once: bounds the memory."""
PIECE = 1 << 17
"""How many numbers are processed at once: what a processor's own cache holds, several arrays of it."""


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
