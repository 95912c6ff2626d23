"""Bootstrap and jackknife intervals of every measure.

Topics are drawn once for all systems, alphas and measures, so that differences between systems are resampled in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from surefoot._process import default_workers, in_threads
from surefoot._typing import BoolArray, Columns, FloatArray, Progress
from surefoot.analysis.design import Baseline, Design, Population, Statistics, signature_of
from surefoot.errors import SurefootError
from surefoot.results import Column, Result
from surefoot.risk.measures import Risk, compute_all, get_risk, usual
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bootstrap import BootstrapMethod, Bounds
from surefoot.stats.inference import LEVEL

Measure = str | Risk
"""A measure, or its name."""

ERROR = " standard error"
"""Ends the names of standard errors among the measures."""
UNCHANGED = 1e-12
"""The largest difference that counts as none."""
FEWEST = 10
"""The default method gives no interval for fewer changed queries (for tail risk twice as many): it would not hold."""


@dataclass(frozen=True)
class Resampler:
    """The measures of a design on resampled topics.

    `statistics` sums up the weights once for all systems; `of_system` then computes the values of one system at every
    alpha, so that memory stays small and threads can share the work.
    """

    design: Design
    alphas: FloatArray
    measures: tuple[Risk, ...]
    is_difference: bool = False
    """Whether the values are those of the first system minus those of the second."""

    @classmethod
    def of(cls, design: Design, alphas: FloatArray, measures: Sequence[Measure]) -> Self:
        """Resolve the measures; by default the usual ones that have an interval."""
        measures = measures or [one for one in usual(design.baselines is not None) if one.has_interval]
        found = tuple(map(get_risk, measures))
        for measure in found:
            if measure.needs == "baseline" and design.baselines is None:
                raise SurefootError(f"{measure.name} needs a baseline; name one")
        return cls(design, alphas, found)

    @property
    def systems(self) -> int:
        """The number of systems that have values."""
        return 1 if self.is_difference else len(self.design.systems)

    def estimates(self) -> Columns:
        """The measures on the topics as they are, alphas × systems."""
        found = self.design.values(self.measures, self.alphas)
        return {name: own[:, :1] - own[:, 1:] for name, own in found.items()} if self.is_difference else found

    def statistics(self, weights: Iterator[FloatArray]) -> Statistics:
        """The statistics of all resamples, which are the last axis."""
        parts = [self.design.statistics(self.measures, self.alphas, rows) for rows in weights]
        first, *others = parts
        return {
            make: one and one.concatenate(*(part[make] for part in others))  # type: ignore[arg-type]
            for make, one in first.items()
        }

    def too_few(self, measure: Risk) -> BoolArray:
        """Which systems differ from their baselines on too few queries for an interval of a measure."""
        if self.is_difference or measure.needs != "baseline" or self.design.baselines is None:
            return np.zeros(self.systems, np.bool_)
        changed = (np.abs(self.design.rows - self.design.baselines) > UNCHANGED).sum(axis=1)
        is_baseline = [own == base for own, base in zip(self.design.systems, self.design.baseline_names, strict=True)]
        return np.asarray((changed < FEWEST * (1 + measure.name.startswith("tail"))) & ~np.array(is_baseline))

    def with_errors(self) -> Resampler:
        """Add the standard errors of the measures that have one, as further measures; a difference has none."""
        if self.is_difference:
            return self
        errors = [
            replace(one, name=one.name + ERROR, compute=one.error, error=None)
            for one in self.measures if one.error is not None
        ]  # fmt: skip
        return replace(self, measures=(*self.measures, *errors))

    def of_system(self, statistics: Statistics, index: int) -> Columns:
        """The measures of one system, alphas × resamples."""
        if self.is_difference:
            system = replace(self, is_difference=False)
            one, other = system.of_system(statistics, 0), system.of_system(statistics, 1)
            return {name: one[name] - other[name] for name in one}
        own = {make: None if whole is None else whole[index] for make, whole in statistics.items()}
        found = compute_all(self.measures, own, self.alphas)
        return {name: np.broadcast_to(v, (len(self.alphas), *(v.shape[-1:] or (1,)))) for name, v in found.items()}


def interval_columns(
    design: Design,
    alphas: FloatArray,
    measures: Sequence[Measure],
    method: BootstrapMethod,
    progress: Progress | None = None,
) -> Columns:
    """Columns ``MEASURE_low`` and ``MEASURE_high``, alphas × systems."""
    return _bounds(Resampler.of(design, alphas, measures), method, progress)


def intervals(
    scores: ScoresLike,
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measures: Sequence[Measure] = (),
    method: str = "studentised",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """Estimates with their intervals, one row for each system, alpha and measure.

    The intervals are over queries. Scores of a system with repeats are means over its trials; their noise is part of
    the variation between queries, so the intervals include it.

    Parameters
    ----------
    scores, baseline, alpha, systems, population, value
        As in `surefoot.evaluate`.
    measures
        Names of registered measures or ``tail_FRACTION``, or `surefoot.risk.Risk` values; the usual ones
        (`Risk.usual`) by default.
    method
        ``"studentised"`` (``"bca"`` for measures without a standard error; NaN where fewer than ten queries changed,
        twenty for tail risk), ``"bca"``, ``"percentile"`` or ``"jackknife"``.
    level
        One minus the confidence: 0.05 for 95 % intervals.
    n_resamples, seed
        The number of resamples of the bootstrap, and the random seed.

    Returns
    -------
    Result
        Columns ``system, alpha, measure, estimate, low, high``.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> row = intervals(scores, "a", measures=["urisk"], n_resamples=500).rows()[1]
    >>> row["system"], row["low"] < row["estimate"] < row["high"]
    ('b', True)

    """
    scores = Scores.of(scores)
    alphas, design = normalise_alphas(alpha), Design.of(scores, baseline, systems, population, value, by_name=True)
    how = BootstrapMethod(method, level, n_resamples, seed)
    places = [design.systems.index(name) for name in design.shown]
    return _result("intervals", Resampler.of(design, alphas, measures), design.shown, places, how)


def difference_intervals(
    scores: Scores,
    system: str,
    other: str,
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measures: Sequence[Measure] = (),
    method: str = "studentised",
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Result:
    """The difference between two systems in each measure, with intervals; both on the same resampled topics.

    Parameters
    ----------
    scores, baseline, alpha, population, value
        As in `surefoot.evaluate`.
    system, other
        The measures of ``other`` are subtracted from those of ``system``.
    measures, method, level, n_resamples, seed
        As in `surefoot.intervals`.

    Returns
    -------
    Result
        Columns ``system, alpha, measure, estimate, low, high``.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> [row["measure"] for row in difference_intervals(scores, "b", "c", "a", n_resamples=200).rows()]
    ['urisk', 'trisk', 'zrisk', 'georisk']

    """
    alphas, design = normalise_alphas(alpha), Design.of(scores, baseline, [system, other], population, value)
    how = BootstrapMethod(method, level, n_resamples, seed)
    resampler, names = replace(Resampler.of(design, alphas, measures), is_difference=True), (f"{system} - {other}",)
    return _result("difference", resampler, names, [0], how, system=system, other=other)


def _result(
    kind: str,
    resampler: Resampler,
    systems: Sequence[str],
    places: Sequence[int],
    method: BootstrapMethod,
    **fields: object,
) -> Result:
    """One row for each system, alpha and measure."""
    bounds, estimates = _bounds(resampler, method), resampler.estimates()
    design, alphas = resampler.design, resampler.alphas
    names = [measure.name for measure in resampler.measures]

    def column(grids: Columns, ending: str = "") -> FloatArray:
        return np.stack([grids[name + ending] for name in names]).T[places].ravel()

    columns: dict[str, Column] = {
        "system": np.repeat(systems, len(alphas) * len(names)),
        "alpha": np.tile(np.repeat(alphas, len(names)), len(systems)),
        "measure": np.tile(names, len(alphas) * len(systems)),
        "estimate": column(estimates),
        "low": column(bounds, "_low"),
        "high": column(bounds, "_high"),
    }
    signature = signature_of(kind, [design], alphas, **fields, **method.signature_fields())
    return Result(signature, columns, design.scores.all_notes)


def _bounds(resampler: Resampler, method: BootstrapMethod, progress: Progress | None = None) -> Columns:
    """Compute systems one by one in threads, since numpy releases the interpreter lock."""
    topics = len(resampler.design.scores.topics)
    if topics < 2:
        raise SurefootError("intervals need at least two topics")
    names = [measure.name for measure in resampler.measures]
    undefined = {one.name: np.zeros(resampler.systems, np.bool_) for one in resampler.measures}
    if method.method == "studentised":
        undefined = {one.name: resampler.too_few(one) for one in resampler.measures}
        resampler = resampler.with_errors()
    estimates = resampler.estimates()
    left_out, drawn = (
        None if weights is None else resampler.statistics(weights)
        for weights in (method.jackknife(topics, progress), method.bootstrap(topics, progress))
    )

    def of_system(index: int) -> dict[str, Bounds]:
        without, replicates = (
            {} if statistics is None else resampler.of_system(statistics, index) for statistics in (left_out, drawn)
        )
        found = {}
        for name in names:
            own, error = estimates[name][:, index], None
            if (se := name + ERROR) in estimates:
                error = estimates[se][:, index], replicates[se]
            found[name] = method.interval(own, replicates.get(name), without.get(name), error)
        return found

    systems = list(in_threads(of_system, range(resampler.systems), threads=default_workers()))
    return {
        f"{name}_{side}": np.where(undefined[name], np.nan, np.stack([bounds[name][end] for bounds in systems], axis=1))
        for name in names
        for end, side in enumerate(("low", "high"))
    }
