"""Intervals for every measure: bootstrap (percentile and BCa) and jackknife, topics resampled once for all.

The bootstrap draws as many topics as there are, with replacement, and computes everything anew: the same draws for all
systems, alphas and measures (Efron and Tibshirani 1993). ``percentile`` takes the quantiles of what comes out; ``bca``
moves them for bias and skewness (Efron 1987), the skewness coming from the jackknife; ``jackknife`` is the estimate
plus and minus t times the jackknife's standard error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from surefoot.analysis.design import Baseline, Population, Setting, signature_of
from surefoot.analysis.figures import Columns
from surefoot.errors import SurefootError, choose
from surefoot.results import Column, Result
from surefoot.risk import sweep_of
from surefoot.risk.values import Family
from surefoot.scores import FloatArray, Scores
from surefoot.stats.inference import LEVEL, critical_value
from surefoot.stats.resampling import Resampler, bootstrap_weights, jackknife_weights

METHODS = ("percentile", "bca", "jackknife")
MOST_WORKERS = 8

Bounds = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class How:
    """How an interval is made: the method, its level, and the bootstrap's number of resamples and seed."""

    method: str = "bca"
    level: float = LEVEL
    n_resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        choose(self.method, METHODS, "method")
        if self.n_resamples < 1:
            raise SurefootError(f"n_resamples must be at least 1; got {self.n_resamples}")
        if not 0 < self.level < 1:
            raise SurefootError(f"the level must lie between 0 and 1; got {self.level:g}")

    def stated(self) -> dict[str, object]:
        """What a signature says of it."""
        drawn = {} if self.method == "jackknife" else {"n_resamples": self.n_resamples, "seed": self.seed}
        return {"interval": self.method, "level": self.level, **drawn}


def percentile_interval(replicates: FloatArray, level: float = LEVEL) -> Bounds:
    """The quantiles level / 2 and 1 - level / 2 of the replicates, which are the last axis.

    Resamples in which the figure is undefined (NaN) are left out, here as in `bca_interval`.

    >>> low, high = percentile_interval(np.arange(1001.0))
    >>> float(low), float(high)
    (25.0, 975.0)
    """
    ordered = np.sort(replicates, axis=-1)
    return _quantile(ordered, level / 2), _quantile(ordered, 1 - level / 2)


def bca_interval(replicates: FloatArray, estimate: FloatArray, left_out: FloatArray, level: float = LEVEL) -> Bounds:
    """The bias-corrected and accelerated quantiles: p = Phi(z0 + (z0 + z) / (1 - a (z0 + z))).

    z0 is the normal quantile of the share of replicates below the estimate (equal ones count half), a the skewness of
    the leave-one-out figures over 6. Efron, *Better bootstrap confidence intervals*, JASA 1987.

    >>> values = np.random.default_rng(0).exponential(size=40)
    >>> means = np.stack([values[rows].mean() for rows in np.random.default_rng(1).integers(0, 40, (2000, 40))])
    >>> left_out = (values.sum() - values) / 39
    >>> low, high = bca_interval(means, values.mean(), left_out)
    >>> bool(low > percentile_interval(means)[0] and high > percentile_interval(means)[1])
    True
    """
    ordered = np.sort(replicates, axis=-1)
    n = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=-1), 1)
    column = np.asarray(estimate)[..., np.newaxis]
    below = (np.count_nonzero(ordered < column, axis=-1) + 0.5 * np.count_nonzero(ordered == column, axis=-1)) / n
    z0 = ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n))
    known = np.isfinite(left_out)
    centre = np.sum(left_out, axis=-1, where=known, keepdims=True) / np.maximum(known.sum(axis=-1, keepdims=True), 1)
    deviation = np.where(known, centre - left_out, 0.0)
    spread = np.square(deviation).sum(axis=-1) ** 1.5
    acceleration = (deviation**3).sum(axis=-1) / np.where(spread > 0, 6 * spread, 1.0)
    z = ndtri(level / 2)
    low, high = (_quantile(ordered, ndtr(z0 + (z0 + side) / (1 - acceleration * (z0 + side)))) for side in (z, -z))
    return low, high


def jackknife_interval(estimate: FloatArray, left_out: FloatArray, level: float = LEVEL) -> Bounds:
    """The estimate plus and minus t(level / 2, c - 1) times the jackknife's standard error.

    >>> values = np.array([0.1, 0.4, 0.3])
    >>> low, high = jackknife_interval(values.mean(), (values.sum() - values) / 2)
    >>> round(float(low), 3), round(float(high), 3)
    (-0.113, 0.646)
    """
    topics = left_out.shape[-1]
    spread = np.square(left_out - left_out.mean(axis=-1, keepdims=True)).sum(axis=-1)
    reach = critical_value(topics, level) * np.sqrt((topics - 1) / topics * spread)
    return estimate - reach, estimate + reach


def interval_columns(setting: Setting, alphas: FloatArray, measures: Sequence[str], how: How) -> Columns:
    """Columns ``MEASURE_low`` and ``MEASURE_high``, alphas × systems, for the systems of a setting."""
    return _bounds(Resampler(setting, alphas, measures), how)


def intervals(
    scores: Scores,
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measures: Sequence[str] = ("urisk", "trisk", "zrisk", "georisk"),
    method: str = "bca",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """Estimates with their intervals, a row for each system, alpha and measure.

    Measures are ``mean, urisk, trisk, frisk, freward, zrisk, georisk, gmean`` and ``tail_SHARE`` such as ``tail_0.1``.
    Columns: ``system, alpha, measure, estimate, low, high``.

    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> row = intervals(scores, "a", measures=["urisk"], n_resamples=500).rows()[1]
    >>> row["system"], row["low"] < row["estimate"] < row["high"]
    ('b', True)
    """
    alphas = sweep_of(alpha)
    setting = Setting.of(scores, baseline, systems, population, value)
    how = How(method, level, n_resamples, seed)
    estimates = Resampler(setting, alphas, measures).estimates()
    bounds = interval_columns(setting, alphas, measures, how)
    stated = signature_of("intervals", [setting], alphas, **how.stated())
    return Result(stated, _rows(setting.systems, alphas, measures, estimates, bounds), scores.notes)


def difference_intervals(
    scores: Scores,
    system: str,
    other: str,
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measures: Sequence[str] = ("urisk", "trisk", "zrisk", "georisk"),
    method: str = "bca",
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """How much more a system has of each measure than another, with intervals; both on the same resampled topics.

    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> [row["measure"] for row in difference_intervals(scores, "b", "c", "a", n_resamples=200).rows()]
    ['urisk', 'trisk', 'zrisk', 'georisk']
    """
    alphas = sweep_of(alpha)
    setting = Setting.of(scores, baseline, [system, other], population, value)
    how = How(method, level, n_resamples, seed)
    resampler = _Difference(setting, alphas, measures)
    bounds = _bounds(resampler, how)
    stated = signature_of("difference", [setting], alphas, system=system, other=other, **how.stated())
    names = (f"{system} - {other}",)
    return Result(stated, _rows(names, alphas, measures, resampler.estimates(), bounds), scores.notes)


class _Difference(Resampler):
    """The first system's figures less the second's."""

    @property
    def systems(self) -> int:
        return 1

    def estimates(self) -> Columns:
        return {name: figures[:, :1] - figures[:, 1:] for name, figures in super().estimates().items()}

    def of_system(self, sums: Columns, place: int) -> Columns:
        one, other = super().of_system(sums, 0), super().of_system(sums, 1)
        return {name: one[name] - other[name] for name in one}


def _bounds(resampler: Resampler, how: How) -> Columns:
    """Systems are taken one at a time, in threads: numpy leaves the interpreter free while it computes."""
    topics = resampler.topics
    if topics < 2:
        raise SurefootError("intervals need at least two topics")
    estimates = resampler.estimates()
    left_out = {} if how.method == "percentile" else resampler.sums(jackknife_weights(topics))
    drawn = {} if how.method == "jackknife" else resampler.sums(bootstrap_weights(topics, how.n_resamples, how.seed))

    def of_system(place: int) -> dict[str, Bounds]:
        without = resampler.of_system(left_out, place) if left_out else {}
        replicates = resampler.of_system(drawn, place) if drawn else {}
        own = {name: column[:, place] for name, column in estimates.items()}
        return {name: _interval(how, own[name], replicates.get(name), without.get(name)) for name in own}

    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WORKERS)) as pool:
        systems = list(pool.map(of_system, range(resampler.systems)))
    return {
        f"{name}_{side}": np.stack([bounds[name][end] for bounds in systems], axis=1)
        for name in resampler.measures
        for end, side in enumerate(("low", "high"))
    }


def _interval(how: How, estimate: FloatArray, replicates: FloatArray | None, left_out: FloatArray | None) -> Bounds:
    if replicates is not None and left_out is not None:
        low, high = bca_interval(replicates, estimate, left_out, how.level)
    elif replicates is not None:
        low, high = percentile_interval(replicates, how.level)
    elif left_out is not None:
        low, high = jackknife_interval(estimate, left_out, how.level)
    defined = np.isfinite(estimate)
    return np.where(defined, low, np.nan), np.where(defined, high, np.nan)


def _quantile(ordered: FloatArray, share: FloatArray | float) -> FloatArray:
    """For each cell its own quantile of the sorted last axis, between neighbours in proportion; NaN is not seen."""
    last = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=-1) - 1, 0)
    place = np.clip(share, 0, 1) * last
    lower = np.floor(np.nan_to_num(place)).astype(np.intp)
    upper = np.minimum(lower + 1, last)
    low, high = (np.take_along_axis(ordered, end[..., np.newaxis], axis=-1)[..., 0] for end in (lower, upper))
    return np.asarray(low + (place - lower) * (high - low))


def _rows(
    systems: Sequence[str], alphas: FloatArray, measures: Sequence[str], estimates: Columns, bounds: Columns
) -> dict[str, Column]:
    """A row for each system, alpha and measure of grids alphas × systems."""
    count = len(alphas) * len(measures)

    def column(grids: Columns, ending: str = "") -> FloatArray:
        return np.stack([grids[name + ending] for name in measures]).T.ravel()

    return {
        "system": np.repeat(systems, count),
        "alpha": np.tile(np.repeat(alphas, len(measures)), len(systems)),
        "measure": np.tile(measures, len(alphas) * len(systems)),
        "estimate": column(estimates),
        "low": column(bounds, "_low"),
        "high": column(bounds, "_high"),
    }
