"""Sufficient statistics of scores: small, additive over topics, and enough for every measure and every alpha.

Linear values scale the losses by 1 + alpha and keep the gains. So sums over the gains and over the losses, kept
apart, give each measure at any alpha without another look at the topics. Each statistic can be weighted: ``weights``
are resamples × topics, how often a resample draws each topic. Bootstrap, jackknife (a 0 among ones), chunks of a file
and workers of a cluster are then the same sums.

Values that are not linear need a look at the topics for each alpha; ``values`` maps each alpha to its value function,
and the results are kept as ``branches``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import SurefootError
from surefoot.native import kernel
from surefoot.risk.distributions import normal_cdf
from surefoot.risk.moments import Moments, Statistic, WeightedMoments, chunks, memoised
from surefoot.risk.values import Family, Linear, Value, validate_alphas, value_functions

compare_rows, sum_z, weighted_z = kernel("compare"), kernel("sum_z"), kernel("weighted_z")

Values = Mapping[float, Value]
LINEAR: Values = {}
"""No branches: linear values have closed forms in alpha."""
LARGE_LOSS = 0.2 + 1e-9
"""The share of the baseline's score above which a loss is large; the margin excludes 20 % plus rounding."""
ROUNDING = 1e-13
"""The rounding error of score differences, as a fraction of the largest score."""


@dataclass(frozen=True)
class Mean(Statistic):
    """The number of topics and the sum of the scores.

    >>> both = Mean.of(np.array([[1.0, 2.0]])) + Mean.of(np.array([[6.0]]))
    >>> both.value
    array([3.])
    """

    n: FloatArray
    total: FloatArray

    @classmethod
    def of(cls, system: FloatArray, weights: FloatArray | None = None) -> Mean:
        """Sums along the last axis (topics)."""
        total = system.sum(axis=-1) if weights is None else system @ weights.T
        return cls(_topics(system, total, weights), total)

    @property
    def value(self) -> FloatArray:
        """The mean."""
        return self.total / self.n


@dataclass(frozen=True)
class Comparison(Statistic):
    """A system (or several) against a baseline: moments of gains and of losses, wins, large losses.

    >>> compared = Comparison.of(np.array([0.2, 0.5]), np.array([0.4, 0.1]))
    >>> float(compared.frisk), float(compared.freward), compared.at([0, 1, 5]).mean
    (0.1, 0.2, array([ 0.1,  0. , -0.4]))
    """

    gains: Moments | WeightedMoments
    losses: Moments | WeightedMoments
    wins: FloatArray
    loss20: FloatArray
    branches: dict[float, Moments | WeightedMoments] = field(default_factory=dict)

    @classmethod
    def of(
        cls, system: FloatArray, baseline: FloatArray, weights: FloatArray | None = None, values: Values = LINEAR
    ) -> Comparison:
        """Compare along the last axis (topics)."""
        if weights is not None:
            return cls._weighted(system, baseline, weights, values)
        shape = np.broadcast_shapes(system.shape, baseline.shape)
        found = np.empty((*shape[:-1], 9))
        compare_rows(_rows(system, shape), _rows(baseline, shape), found.reshape(-1, 9))
        n, mean, m2, lost, loss, loss2, wins, loss20, largest = np.moveaxis(found, -1, 0)
        noise = ROUNDING * largest
        branches: dict[float, Moments | WeightedMoments] = {
            alpha: _moments(system, baseline, value, noise) for alpha, value in values.items()
        }
        return cls(Moments(n, mean, m2, noise), Moments(lost, loss, loss2, noise), wins, loss20, branches)

    @classmethod
    def _weighted(cls, system: FloatArray, baseline: FloatArray, weights: FloatArray, values: Values) -> Comparison:
        d = system - baseline
        gains, losses = np.maximum(d, 0.0), np.minimum(d, 0.0)
        drawn = weights.T
        wins, lost, large = _weighted_counts(np.stack([d > 0, d < 0, large_losses(d, baseline)]), weights)
        n = np.broadcast_to(weights.sum(axis=1), lost.shape)
        branches: dict[float, Moments | WeightedMoments] = {}
        if values:
            valued = np.stack([value(d) for value in values.values()], axis=1)
            totals, squares = valued @ drawn, valued**2 @ drawn
            branches = {
                alpha: WeightedMoments(n, totals[:, index], squares[:, index]) for index, alpha in enumerate(values)
            }
        return cls(
            gains=WeightedMoments(n - lost, gains @ drawn, gains**2 @ drawn),
            losses=WeightedMoments(lost, losses @ drawn, losses**2 @ drawn),
            wins=wins,
            loss20=large,
            branches=branches,
        )

    @memoised
    def at(self, sweep: FloatArray) -> Moments | WeightedMoments:
        """The moments of the values x = v(s - b) at each alpha, which is the leading axis."""
        if not self.branches:
            return self.gains + self.losses.scaled(1 + sweep)  # type: ignore[operator]
        first, *others = (self.branches[one] for one in sweep.ravel().tolist())
        return first.map(lambda *arrays: np.stack(arrays).reshape(sweep.shape + arrays[0].shape), *others)  # type: ignore[arg-type]

    @property
    def topics(self) -> FloatArray:
        """The number of topics compared."""
        return self.gains.n + self.losses.n

    @property
    def ties(self) -> FloatArray:
        """The number of topics without a difference."""
        return self.topics - self.wins - self.losses.n

    @property
    def frisk(self) -> FloatArray:
        """F_Risk: the mean of the losses, 0 for the other topics."""
        return np.abs(self.losses.total) / self.topics

    @property
    def freward(self) -> FloatArray:
        """F_Reward: the mean of the gains, 0 for the other topics."""
        return self.gains.total / self.topics


@dataclass(frozen=True)
class Expectation(Statistic):
    """Systems against the scores expected from the totals of systems and topics: sums of z by sign.

    z = (x - e) / sqrt(e) with e_ij = S_i T_j / N: S_i is the total of system i, T_j that of topic j, N the sum of all.

    >>> Expectation.of(np.array([[0.05, 0.55], [0.40, 0.20]])).zrisk([1.0]).round(3)
    array([[-0.452, -0.203]])
    """

    n: FloatArray
    total: FloatArray
    gains: FloatArray
    losses: FloatArray
    branches: dict[float, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        matrix: FloatArray,
        weights: FloatArray | None = None,
        shares: FloatArray | None = None,
        totals: FloatArray | None = None,
        values: Values = LINEAR,
    ) -> Expectation:
        """Sum over the topics of a matrix of systems × topics (further axes may lead).

        ``shares`` are the margins S_i / N where the matrix holds only some of the topics (and a first pass over all
        topics found them), ``totals`` the margins T_j where it holds only some of the systems.
        """
        if totals is None:
            totals = matrix.sum(axis=-2, keepdims=True)
        if weights is not None:
            return cls._weighted(matrix, weights, totals.reshape(-1), values)
        total = matrix.sum(axis=-1)
        if shares is None:
            shares = _fractions(total)
        gains, losses = np.empty(total.shape), np.empty(total.shape)
        totals = np.broadcast_to(totals, (*matrix.shape[:-2], 1, matrix.shape[-1]))
        inverse_roots = 1 / _divisor(np.abs(totals))
        for one in np.ndindex(matrix.shape[:-2]):
            margins = shares[one], totals[one].reshape(-1), inverse_roots[one].reshape(-1)
            sum_z(*_contiguous(matrix[one], *margins), gains[one], losses[one])
        branches = {alpha: np.zeros(total.shape) for alpha in values}
        for part in chunks(matrix.shape[-1], total.size) if values else ():
            expected = shares[..., np.newaxis] * totals[..., part]
            difference, root = matrix[..., part] - expected, _divisor(expected)
            for alpha, value in values.items():
                branches[alpha] += (value(difference) / root).sum(axis=-1)
        return cls(_topics(matrix, total), total, gains, losses, branches)

    @classmethod
    def _weighted(cls, matrix: FloatArray, weights: FloatArray, totals: FloatArray, values: Values) -> Expectation:
        """A topic's total does not depend on the weights; a system's total and the grand total do."""
        grand, total = weights @ totals, matrix @ weights.T
        share = total / np.where(grand > 0, grand, 1.0)
        n = _topics(matrix, total, weights)
        if values:
            branches = {
                alpha: _weighted_values(matrix, weights, totals, share, value) for alpha, value in values.items()
            }
            undefined = np.full(total.shape, np.nan)
            return cls(n, total, undefined, undefined, branches)
        root, gains, losses = np.sqrt(totals), np.zeros(share.shape), np.zeros(share.shape)
        scaled = matrix / np.where(root > 0, root, 1.0)
        weighted_z(*_contiguous(weights, scaled, root, np.sqrt(share)), gains, losses)
        return cls(n, total, gains, losses)

    @memoised
    def zrisk(self, sweep: FloatArray) -> FloatArray:
        """Z_Risk at each alpha, which is the leading axis."""
        if not self.branches:
            return np.asarray(self.gains + np.multiply.outer(1 + sweep, self.losses))
        found = np.stack([self.branches[one] for one in sweep.ravel().tolist()])
        return found.reshape(sweep.shape + found.shape[1:])

    def georisk(self, zrisk: FloatArray) -> FloatArray:
        """GeoRisk = sqrt(S / c × Phi(Z_Risk / c)), Phi the normal distribution function."""
        return np.asarray(np.sqrt(self.total / self.n * normal_cdf(zrisk / self.n)))


def paired(system: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The scores as arrays; both must be finite, and on the same topics."""
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if s.ndim == 0 or s.shape[-1] == 0 or b.shape[-1:] != s.shape[-1:]:
        raise SurefootError(f"system and baseline need scores on the same topics; got shapes {s.shape} and {b.shape}")
    for name, scores in (("system", s), ("baseline", b)):
        if scores.size and not (scores.min() > -np.inf and scores.max() < np.inf):
            raise SurefootError(f"the scores of the {name} must be finite; got {scores[~np.isfinite(scores)][0]}")
    return s, b


def compare(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> Comparison:
    """The sufficient statistics of systems against a baseline; for values that are not linear, at these alphas."""
    return Comparison.of(*paired(system, baseline), values=value_functions(value, alpha))


def value_moments(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> Moments | WeightedMoments:
    """Count, mean and squared deviations of x = v(s - b), for each alpha."""
    return compare(system, baseline, alpha, value).at(validate_alphas(alpha))


def shares_of(matrix: FloatArray) -> FloatArray:
    """S_i / N: the fraction of all scores that is the system's; 0 where all scores are 0."""
    return _fractions(matrix.sum(axis=-1))


def _fractions(total: FloatArray) -> FloatArray:
    grand = total.sum(axis=-1, keepdims=True)
    return np.asarray(total / np.where(grand > 0, grand, 1.0))


def zscores_of(matrix: FloatArray, expected: FloatArray) -> FloatArray:
    """Z = (x - e) / sqrt(e); 0 where the expected score is 0."""
    return (matrix - expected) / _divisor(expected)


def rounding(system: FloatArray, baseline: FloatArray) -> FloatArray:
    """An upper bound of the rounding in the differences of scores."""
    return np.asarray(ROUNDING * np.maximum(_largest(system), _largest(baseline)))


def _largest(rows: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(rows.max(axis=-1), -rows.min(axis=-1)))


def _divisor(expected: FloatArray) -> FloatArray:
    """sqrt(e), or infinity where e is 0, so that z is 0 there."""
    root = np.sqrt(expected)
    return np.where(root > 0, root, np.inf)


def _topics(system: FloatArray, total: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The number of topics (drawn), in the shape of the totals."""
    n = float(system.shape[-1]) if weights is None else weights.sum(axis=1)
    return np.broadcast_to(n, total.shape)


def large_losses(d: FloatArray, baseline: FloatArray) -> BoolArray:
    """Which differences are losses of more than 20 % of the baseline's score."""
    return (d < -LARGE_LOSS * baseline) & (baseline > 0)


def _rows(array: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The rows that are compared, contiguous: as many as there are in the shape, or one for all."""
    if array.ndim > 1 and array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array, np.float64).reshape(-1, shape[-1])


def _contiguous(*arrays: FloatArray) -> Iterator[FloatArray]:
    """The arrays as the native library takes them: float64, contiguous and aligned, which those of Dask may not be."""
    return (np.require(array, np.float64, ["C", "A"]) for array in arrays)


def _moments(system: FloatArray, baseline: FloatArray, value: Value, noise: FloatArray) -> Moments:
    """The moments of values that are not linear, by chunks of topics."""
    topics = system.shape[-1]
    parts = chunks(topics, system.size // max(topics, 1))
    return reduce(add, (Moments.of(value(system[..., part] - baseline[..., part]), noise=noise) for part in parts))


def _weighted_counts(masks: BoolArray, weights: FloatArray) -> FloatArray:
    """How many of the drawn topics each mask selects; single precision is exact for counts, and twice as fast."""
    *shape, topics = masks.shape
    rows = masks.reshape(math.prod(shape), topics).astype(np.float32)  # one product, not one for each mask
    return (rows @ weights.astype(np.float32).T).astype(np.float64).reshape(*shape, len(weights))


def _weighted_values(
    matrix: FloatArray, weights: FloatArray, totals: FloatArray, share: FloatArray, value: Value
) -> FloatArray:
    """The weighted sums of v(x - e) / sqrt(e), systems × resamples."""
    z = np.empty(share.shape)
    for resample, drawn in enumerate(weights):
        expected = share[:, resample, np.newaxis] * totals
        z[:, resample] = (value(matrix - expected) / _divisor(expected)) @ drawn
    return z
