"""Measures of a model on held-out queries while it learns: effectiveness beside risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, listed
from surefoot.learn.baseline import Baselines
from surefoot.learn.comm import Comm, Local
from surefoot.learn.data import RankingData
from surefoot.learn.metrics import Metric, QueryMetric
from surefoot.learn.settings import Settings
from surefoot.risk import measures as m
from surefoot.risk.measures import Risk, tail_risk
from surefoot.risk.moments import Statistic
from surefoot.scores import VIRTUAL, Scores

MEAN = m.MEAN.name
TAIL_FRACTION = 0.1


def validation_measures(has_baseline: bool = True, tail_fraction: float = TAIL_FRACTION) -> tuple[Risk, ...]:
    """The measures of a validation: the usual ones, then those that were registered."""
    tail = replace(tail_risk(tail_fraction), name="tail")
    usual = (m.MEAN, m.URISK, m.TRISK, m.GEORISK, tail, m.FRISK, m.FREWARD, m.LOSSES, m.LOSS20)
    return tuple(measure for measure in (*usual, *m.added()) if has_baseline or measure.needs is None)


def higher_is_better(name: str) -> bool:
    """Whether more of a measure is better."""
    return next(bool(measure.higher_is_better) for measure in validation_measures() if measure.name == name)


def measures_of(
    x: FloatArray, baselines: FloatArray, alpha: float, tail_fraction: float = TAIL_FRACTION
) -> dict[str, float]:
    """The mean of a model's metric and, with baselines (rows), its risk.

    Several baselines are compared with as their per-query mean, except by GeoRisk, which takes them as they are.
    """
    wanted = validation_measures(bool(len(baselines)), tail_fraction)
    statistics = {source: _statistic(measure, x, baselines) for source, measure in m.sources(wanted).items()}
    found = m.compute_all(wanted, statistics, np.asarray(alpha, dtype=np.float64))
    return {one.name: int(found[one.name]) if one.is_count else float(found[one.name]) for one in wanted}


def _statistic(measure: Risk, x: FloatArray, baselines: FloatArray) -> Statistic:
    if measure.needs is None:
        return measure.source(x)
    if measure.needs == "baseline":
        return measure.source(x, VIRTUAL["MEAN"](baselines))
    return measure.source(np.vstack([x, baselines]))[0]


@dataclass(frozen=True, eq=False)
class Validation:
    """Computes the measures of rankings of some queries against their baselines.

    On a cluster each worker holds a part of the queries, and all know the metric of every query.
    """

    data: RankingData
    metric: QueryMetric
    baselines: Baselines
    alpha: float = 1.0
    tail_fraction: float = TAIL_FRACTION
    comm: Comm = field(default_factory=Local)
    _baseline_values: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = self.comm.gather(self.baselines.values(self.metric)[:, self.metric.counted])
        (queries,) = self.comm.sum(np.array([self.metric.counted.sum()], np.float64))
        if not queries:
            raise SurefootError(f"{self.data.source}: no query has a relevant document")
        object.__setattr__(self, "_baseline_values", values)

    @classmethod
    def of(
        cls, settings: Settings, data: RankingData, baselines: Baselines, comm: Comm | None = None
    ) -> Validation:  # fmt: skip
        """The validation that settings ask for; ``max_label`` must be known if the metric is ERR."""
        metric = Metric.reported(settings).bind(data.labels, data.bounds, settings.empty)
        fraction = settings.objective_options.get("share", TAIL_FRACTION)
        return cls(data, metric, baselines, settings.alpha, fraction, comm or Local())

    def values(self, scores: FloatArray) -> FloatArray:
        """The metric of each query that counts, ranked by these scores."""
        return np.asarray(self.comm.gather(self.metric(scores)[None, self.metric.counted])[0])

    def __call__(self, scores: FloatArray) -> dict[str, float]:
        """All measures of a ranking by these scores."""
        return measures_of(self.values(scores), self._baseline_values, self.alpha, self.tail_fraction)

    def scores(self, name: str, scores: FloatArray) -> Scores:
        """The model beside its baselines, for `surefoot.evaluate` and all that follows it."""
        counted = [query for query, counts in zip(self.data.queries, self.metric.counted, strict=True) if counts]
        rows = np.vstack([self.values(scores)[None], self._baseline_values])
        return Scores(rows, [name, *self.baselines.names], counted, str(self.metric.metric))


def validate_stop_on(name: str, has_baseline: bool) -> str:
    """A measure by name, if it can be computed."""
    choose(name, [one.name for one in validation_measures() if one.higher_is_better is not None], "stop_on")
    if name != MEAN and not has_baseline:
        raise SurefootError(f"{name} compares with a baseline; give one, or stop on {MEAN}")
    return name


def describe(measures: Mapping[str, float], metric: str) -> str:
    """Measures in one line.

    >>> describe({"mean": 0.51, "urisk": 0.02, "losses": 12}, "ndcg@10")
    'ndcg@10 0.5100, urisk +0.0200, losses 12'
    """
    shown = [f"{metric} {measures[MEAN]:.4f}"]
    if "urisk" in measures:
        shown.append(f"urisk {measures['urisk']:+.4f}")
    if "losses" in measures:
        shown.append(f"losses {int(measures['losses'])}")
    return listed(shown)
