"""Bootstrap and jackknife intervals from given replicates, and the weights of resamples.

The bootstrap draws as many topics as there are, with replacement, and computes each measure again (Efron and Tibshirani
1993). ``percentile`` takes quantiles of these replicates; ``bca`` corrects them for bias and skewness (Efron 1987), the
skewness found by the jackknife; ``jackknife`` is the estimate plus and minus t times the jackknife's standard error.
The jackknife leaves out each topic in turn, or groups of topics where there are many (`jackknife_groups`).
``studentised`` replaces Student's t by the distribution of t over the resamples (bootstrap-t); it needs a
standard error in each of them, which U_Risk and tail risk have. Other measures get BCa intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import FloatArray, IntArray, Progress
from surefoot.errors import SurefootError, choose
from surefoot.native import kernel
from surefoot.risk.distributions import normal_cdf, normal_quantile, probit
from surefoot.risk.moments import CHUNK
from surefoot.risk.statistics import Comparison, paired, value_moments
from surefoot.risk.values import Family, Linear, validate_alphas, value_functions
from surefoot.stats.inference import ALTERNATIVES, LEVEL, critical_value, jackknife_error, reported, validate_level

count_draws = kernel("count_draws")

METHODS = ("studentised", "bca", "percentile", "jackknife")

Bounds = tuple[FloatArray, FloatArray]
Error = tuple[FloatArray, FloatArray]
"""The standard error of an estimate, and those of its replicates."""

ROUNDING = 1e-12
"""Replicates whose relative difference to the estimate is smaller are taken to equal it."""

MOST_GROUPS = 5000
"""With more topics the jackknife leaves out groups instead of single topics."""


@dataclass(frozen=True)
class BootstrapMethod:
    """The method of intervals and its settings.

    Parameters
    ----------
    method
        ``"studentised"`` (``"bca"`` for measures without a standard error), ``"bca"``, ``"percentile"`` or
        ``"jackknife"``.
    level
        One minus the confidence: 0.05 for 95 % intervals.
    n_resamples, seed
        The number of resamples of the bootstrap, and the random seed.

    Examples
    --------
    >>> BootstrapMethod("percentile", n_resamples=500).signature_fields()
    {'interval': 'percentile', 'level': 0.05, 'n_resamples': 500, 'seed': 0}

    """

    method: str = "studentised"
    level: float = LEVEL
    n_resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        choose(self.method, METHODS, "method")
        if self.n_resamples < 1:
            raise SurefootError(f"n_resamples must be at least 1; got {self.n_resamples}")
        validate_level(self.level)

    def signature_fields(self) -> dict[str, object]:
        """Its part of a signature."""
        drawn = {} if self.method == "jackknife" else {"n_resamples": self.n_resamples, "seed": self.seed}
        return {"interval": self.method, "level": self.level, **drawn}

    def bootstrap(self, topics: int, progress: Progress | None = None) -> Iterator[FloatArray] | None:
        """The weights of the bootstrap's resamples; None if the method needs none."""
        if self.method == "jackknife":
            return None
        weights = bootstrap_weights(topics, self.n_resamples, self.seed)
        return reported(weights, self.n_resamples, progress, "resamples")

    def jackknife(self, topics: int, progress: Progress | None = None) -> Iterator[FloatArray] | None:
        """The weights of the jackknife's samples; None if the method needs none."""
        if self.method == "percentile":
            return None
        return reported(jackknife_weights(topics), len(jackknife_groups(topics)), progress, "jackknife samples")

    def interval(
        self,
        estimate: FloatArray,
        replicates: FloatArray | None,
        left_out: FloatArray | None,
        error: Error | None = None,
    ) -> Bounds:
        """The bounds, NaN where the estimate is undefined; replicates and leave-one-out values are the last axis.

        ``error`` is the standard error of the estimate and that of each replicate, by which they are studentised.
        """
        if replicates is not None and error is not None:
            low, high = studentised_interval(replicates, estimate, error, self.level)
        elif replicates is not None and left_out is not None:
            low, high = bca_interval(replicates, estimate, left_out, self.level)
        elif replicates is not None:
            low, high = percentile_interval(replicates, self.level)
        elif left_out is not None:
            low, high = jackknife_interval(estimate, left_out, self.level)
        defined = np.isfinite(estimate)
        return np.where(defined, low, np.nan), np.where(defined, high, np.nan)


def bootstrap_weights(topics: int, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """Bootstrap resamples as rows of weights (how often each topic is drawn), in chunks of bounded size.

    >>> sum(len(rows) for rows in bootstrap_weights(50, 1000, seed=0))
    1000
    """
    if n_resamples < 1:
        raise SurefootError(f"n_resamples must be at least 1; got {n_resamples}")
    random = generator(seed)
    at_once = max(1, CHUNK // topics)
    for start in range(0, n_resamples, at_once):
        weights = np.zeros((min(at_once, n_resamples - start), topics))
        count_draws(random.integers(0, topics, weights.shape, dtype=np.int32), weights)
        yield weights


def jackknife_groups(topics: int) -> IntArray:
    """The topics that the jackknife leaves out together, groups × topics: single topics, up to `MOST_GROUPS` of them.

    The time to leave out single topics grows with the square of their number. So beyond that limit random groups of one
    size d are left out, at least 2,500 of them (the delete-d jackknife). Spread and skewness are the
    same but for noise: about 1 to 2 % of the standard error, and 0.0002 in the acceleration of BCa, which moves a bound
    by a thousandth of the standard error. Fewer than d topics may be left over, which stay in all samples.

    >>> jackknife_groups(3).tolist(), jackknife_groups(100_000).shape
    ([[0], [1], [2]], (5000, 20))
    """
    size = -(-topics // MOST_GROUPS)
    members = np.arange(topics) if size == 1 else generator(0).permutation(topics)
    return members[: topics // size * size].reshape(-1, size)


def jackknife_weights(topics: int) -> Iterator[FloatArray]:
    """Rows that leave out each group of topics in turn, in chunks of bounded size."""
    groups, at_once = jackknife_groups(topics), max(1, CHUNK // topics)
    for start in range(0, len(groups), at_once):
        left_out = groups[start : start + at_once]
        rows = np.ones((len(left_out), topics))
        np.put_along_axis(rows, left_out, 0.0, axis=1)
        yield rows


def percentile_interval(replicates: FloatArray, level: float = LEVEL) -> Bounds:
    """The quantiles level / 2 and 1 - level / 2 of the replicates, which are the last axis.

    Resamples in which the measure is undefined (NaN) are left out, here as in `bca_interval`.

    >>> low, high = percentile_interval(np.arange(1001.0))
    >>> float(low), float(high)
    (25.0, 975.0)
    """
    low, high = _quantiles(replicates, level / 2, 1 - level / 2)
    return low, high


def studentised_interval(replicates: FloatArray, estimate: FloatArray, error: Error, level: float = LEVEL) -> Bounds:
    """The estimate less quantiles of t = (replicate - estimate) / its standard error, times its own standard error.

    A sample that does not vary has its estimate as both bounds.

    >>> values = np.random.default_rng(0).exponential(size=40)
    >>> drawn = values[np.random.default_rng(1).integers(0, 40, (2000, 40))]
    >>> error = values.std(ddof=1) / 40**0.5, drawn.std(axis=1, ddof=1) / 40**0.5
    >>> low, high = studentised_interval(drawn.mean(axis=1), values.mean(), error)
    >>> bool(high - values.mean() > values.mean() - low)
    True
    """
    se = error[0]
    t = studentise(replicates, estimate, error)
    low, high = (estimate - quantile * se for quantile in _quantiles(t, 1 - level / 2, level / 2))
    return np.where(se > 0, low, estimate), np.where(se > 0, high, estimate)


def studentise(replicates: FloatArray, estimate: FloatArray, error: Error) -> FloatArray:
    """The t of each replicate; NaN where the resample does not vary."""
    least = ROUNDING * np.asarray(error[0])[..., np.newaxis]
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (replicates - np.asarray(estimate)[..., np.newaxis]) / error[1]
    return np.where(error[1] > least, t, np.nan)


def bootstrap_test(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 0.0,
    value: Family = Linear,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> FloatArray:
    """The p of T_Risk under E[v(d)] = 0, by the studentised bootstrap.

    T_Risk is compared with its distribution over resamples whose values are recentred. Student's distribution would
    assume values without skew, but at a large alpha they are skewed.

    Parameters
    ----------
    system, baseline
        Scores on the same topics, one system or several.
    alpha, value
        The additional weight of losses, one or several, and the family of value functions.
    alternative
        ``"two-sided"``, or ``"worse"`` for the system.
    n_resamples, seed
        The number of resamples of the bootstrap, and the random seed.
    progress
        Called with the number of resamples done, their total, and a message.

    Returns
    -------
    FloatArray
        p for each alpha (if several) and system; NaN where the values do not vary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> baseline, worse = rng.random(50), rng.random(50) - 0.2
    >>> bool(bootstrap_test(worse, baseline, alpha=1) < 0.01)
    True

    """
    choose(alternative, ALTERNATIVES, "alternative")
    sweep, (rows, base) = validate_alphas(alpha), paired(system, baseline)
    baselines = np.broadcast_to(base, rows.shape)
    moments = value_moments(rows, baselines, sweep, value)
    not_above, not_below = np.ones(moments.t.shape), np.ones(moments.t.shape)  # the sample itself is one of them
    count = np.ones(moments.t.shape)
    drawn_topics = bootstrap_weights(rows.shape[-1], n_resamples, seed)
    for weights in reported(drawn_topics, n_resamples, progress, "resamples"):
        for index in np.ndindex(rows.shape[:-1]):
            own = (..., *index)
            compared = Comparison.of(rows[index][np.newaxis], baselines[index], weights, value_functions(value, sweep))
            drawn = compared.at(sweep).map(lambda array: array[..., 0, :])
            t = studentise(drawn.mean, moments.mean[own], (moments.se[own], drawn.se))
            observed = np.asarray(moments.t[own])[..., np.newaxis]
            not_above[own] += np.count_nonzero(t <= observed, axis=-1)
            not_below[own] += np.count_nonzero(t >= observed, axis=-1)
            count[own] += np.count_nonzero(~np.isnan(t), axis=-1)
    extreme = not_above if alternative == "worse" else 2 * np.minimum(not_above, not_below)
    return np.where(np.isnan(moments.t), np.nan, np.minimum(extreme / count, 1.0))[()]


def bca_interval(replicates: FloatArray, estimate: FloatArray, left_out: FloatArray, level: float = LEVEL) -> Bounds:
    """The bias-corrected and accelerated quantiles: p = Phi(z0 + (z0 + z) / (1 - a (z0 + z))).

    z0 is the normal quantile of the fraction of replicates below the estimate (those that equal it but for rounding
    count half), a the skewness of the leave-one-out values over 6. Efron, *Better bootstrap confidence intervals*,
    JASA 1987.

    >>> values = np.random.default_rng(0).exponential(size=40)
    >>> means = np.stack([values[rows].mean() for rows in np.random.default_rng(1).integers(0, 40, (2000, 40))])
    >>> left_out = (values.sum() - values) / 39
    >>> low, high = bca_interval(means, values.mean(), left_out)
    >>> bool(low > percentile_interval(means)[0] and high > percentile_interval(means)[1])
    True
    """
    n = np.maximum(np.count_nonzero(~np.isnan(replicates), axis=-1), 1)
    column = np.asarray(estimate)[..., np.newaxis]
    slack = ROUNDING * np.maximum(np.abs(replicates), np.abs(column))  # sums differ in the last digits from CPU to CPU
    not_above = np.count_nonzero(replicates <= column + slack, axis=-1)
    below = (np.count_nonzero(replicates < column - slack, axis=-1) + not_above) / (2 * n)
    z0 = probit(np.clip(below, 0.5 / n, 1 - 0.5 / n))
    known = np.isfinite(left_out)
    centre = np.sum(left_out, axis=-1, where=known, keepdims=True) / np.maximum(known.sum(axis=-1, keepdims=True), 1)
    deviation = np.where(known, centre - left_out, 0.0)
    spread = np.square(deviation).sum(axis=-1) ** 1.5
    acceleration = (deviation**3).sum(axis=-1) / np.where(spread > 0, 6 * spread, 1.0)
    z = normal_quantile(level / 2)
    fractions = (normal_cdf(z0 + (z0 + side) / (1 - acceleration * (z0 + side))) for side in (z, -z))
    low, high = _quantiles(replicates, *fractions)
    return low, high


def jackknife_interval(estimate: FloatArray, left_out: FloatArray, level: float = LEVEL) -> Bounds:
    """The estimate plus and minus t(level / 2, c - 1) times the jackknife's standard error, c samples in the last axis.

    >>> values = np.array([0.1, 0.4, 0.3])
    >>> low, high = jackknife_interval(values.mean(), (values.sum() - values) / 2)
    >>> round(float(low), 3), round(float(high), 3)
    (-0.113, 0.646)
    """
    reach = critical_value(left_out.shape[-1], level) * jackknife_error(left_out)
    return estimate - reach, estimate + reach


def _quantiles(replicates: FloatArray, *fractions: FloatArray | float) -> FloatArray:
    """For each cell its own quantiles of the last axis, which lead, interpolated linearly; NaN is ignored.

    Only the replicates next to a quantile are put in their places, which takes half the time of a sort.
    """
    last = np.maximum(np.count_nonzero(~np.isnan(replicates), axis=-1) - 1, 0)
    position = np.stack([np.clip(fraction, 0, 1) * last for fraction in fractions])
    lower = np.floor(np.nan_to_num(position)).astype(np.intp)
    ends = np.stack([lower, np.minimum(lower + 1, last)])
    places = ends.reshape(2 * len(fractions), -1).T
    rows = replicates.reshape(-1, replicates.shape[-1])
    found = [np.partition(row, own)[own] for row, own in zip(rows, places, strict=True)]  # NaN goes to the end
    low, high = np.reshape(np.transpose(found), ends.shape)
    return np.asarray(low + (position - lower) * (high - low))
