"""Sufficient statistics of score differences: small, mergeable, and enough for every alpha at once.

Linear values stretch the losses and leave the gains alone. So the count, mean and squared deviations of the gains
and of the losses, each on their own, give U_Risk, its standard error and T_Risk for any alpha without looking at
the topics again; and what two chunks of topics know adds up to what the whole knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from surefoot.risk.values import Value
from surefoot.scores import FloatArray

CHUNK = 1 << 21
"""How many numbers are worked on at once: bounds the memory, and stays near the caches."""


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations along the last axis of a sample.

    >>> whole = Moments.of(np.array([1.0, 2.0]), np.array([True, True])) + Moments.of(np.array([6.0]), np.array([True]))
    >>> float(whole.mean), float(whole.sd)
    (3.0, 2.6457513110645907)
    """

    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    noise: FloatArray
    """A spread up to here is rounding: differences of scores carry the rounding of the scores, not their own."""

    @classmethod
    def of(cls, x: FloatArray, where: npt.NDArray[np.bool_], noise: npt.ArrayLike = 0.0) -> Moments:
        """The moments of the entries of x picked by ``where``."""
        n = np.count_nonzero(where, axis=-1).astype(np.float64)
        mean = (x * where).sum(axis=-1) / np.maximum(n, 1)
        deviation = x - mean[..., np.newaxis]
        deviation *= where  # a product and a sum run several times faster than numpy's own masked sum
        return cls(n, mean, np.einsum("...i,...i->...", deviation, deviation), np.asarray(noise, dtype=np.float64))

    def __add__(self, other: Moments) -> Moments:
        """The moments of both samples together (Chan, Golub and LeVeque 1983): no term can cancel another."""
        n = self.n + other.n
        some = np.maximum(n, 1)
        gap = other.mean - self.mean
        mean = np.where(self.n == 0, other.mean, self.mean + gap * other.n / some)
        m2 = self.m2 + other.m2 + gap**2 * (self.n * other.n / some)
        return Moments(n, mean, m2, np.maximum(self.noise, other.noise))

    def scaled(self, factor: FloatArray) -> Moments:
        """The moments of the sample times a factor (or each of several: those come as the leading axes)."""
        column = factor.reshape(factor.shape + (1,) * np.ndim(self.mean))
        return Moments(self.n, column * self.mean, column**2 * self.m2, column * self.noise)

    @property
    def sd(self) -> FloatArray:
        """The standard deviation (ddof = 1); NaN for fewer than two, 0 where all that varies is rounding."""
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = np.sqrt(self.m2 / np.where(self.n > 1, self.n - 1, np.nan))
        return np.where(sd <= np.maximum(1e-13 * np.abs(self.mean), self.noise), 0.0, sd)

    @property
    def se(self) -> FloatArray:
        """The standard error of the mean."""
        return self.sd / np.sqrt(np.maximum(self.n, 1))


@dataclass(frozen=True)
class Comparison:
    """All that the single-baseline measures need to know of a system (or several) against a baseline."""

    gains: Moments
    losses: Moments
    wins: FloatArray
    loss20: FloatArray

    @classmethod
    def of(cls, system: FloatArray, baseline: FloatArray) -> Comparison:
        """Compare along the last axis (topics), by chunks."""
        return reduce(add, (cls._of_chunk(*pair) for pair in _pairs(system, baseline)))

    @classmethod
    def _of_chunk(cls, system: FloatArray, baseline: FloatArray) -> Comparison:
        d = system - baseline
        loss = d < 0
        # (s - b) / b < -0.2, with a hair of room so that a loss of exactly 20 % does not count through rounding.
        large = (d < -(0.2 + 1e-9) * baseline) & (baseline > 0)
        noise = rounding(system, baseline)
        return cls(
            gains=Moments.of(d, ~loss, noise),
            losses=Moments.of(d, loss, noise),
            wins=np.count_nonzero(d > 0, axis=-1).astype(np.float64),
            loss20=np.count_nonzero(large, axis=-1).astype(np.float64),
        )

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            self.gains + other.gains,
            self.losses + other.losses,
            self.wins + other.wins,
            self.loss20 + other.loss20,
        )

    def at(self, alpha: npt.ArrayLike) -> Moments:
        """The moments of the linear values x = v(d) at each alpha, which comes as the leading axes."""
        return self.gains + self.losses.scaled(1 + np.asarray(alpha, dtype=np.float64))

    @property
    def topics(self) -> FloatArray:
        """How many topics were compared."""
        return self.gains.n + self.losses.n


def chunks(topics: int, rows: int) -> Iterator[slice]:
    """Slices of topics so that rows × topics stays within `CHUNK` numbers."""
    width = max(1, CHUNK // max(rows, 1))
    return (slice(start, start + width) for start in range(0, topics, width))


def _pairs(system: FloatArray, baseline: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    topics = system.shape[-1]
    for part in chunks(topics, system.size // max(topics, 1)):
        yield system[..., part], baseline[..., part]


def moments_of_values(system: FloatArray, baseline: FloatArray, value: Value) -> Moments:
    """The moments of x = v(d) for one value function, by chunks of topics."""
    parts = ((value(s - b), rounding(s, b)) for s, b in _pairs(system, baseline))
    return reduce(add, (Moments.of(x, np.ones(x.shape, dtype=np.bool_), noise) for x, noise in parts))


def rounding(system: FloatArray, baseline: FloatArray) -> FloatArray:
    """What rounding may put into the differences, with room to spare: 1e-13 of the largest score."""
    return np.asarray(1e-13 * np.maximum(np.abs(system).max(axis=-1), np.abs(baseline).max(axis=-1)))
