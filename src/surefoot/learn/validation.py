"""Validation while a ranker learns: effectiveness beside risk, their history, and when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, listed
from surefoot.lambdas.metrics import QueryMetric
from surefoot.learn.baseline import Baselines
from surefoot.learn.data import RankingData
from surefoot.learn.objectives import objective_of
from surefoot.learn.objectives.base import Comm
from surefoot.learn.settings import Settings
from surefoot.risk import measures as m
from surefoot.risk.measures import Risk
from surefoot.risk.moments import Statistic
from surefoot.scores import Scores

MEAN = m.MEAN.name
TAIL = replace(m.tail_risk(0.1), name="tail")
RESEED_EVERY = 50
"""Iterations between two reseedings of an engine's RNG, so that a resumed training gives the same model."""

COMPLETE_EVERY = 50
"""Iterations after which all their measures are computed, which frees the values of the metric."""

MOST_VALUES = 1 << 18
"""With more queries, measures are computed after each iteration, so that the values of one are in memory."""


def validation_measures(own: Risk, has_baseline: bool = True) -> dict[str, Risk]:
    """The measures of a validation by name: those that training reports, the tail, the objective's own."""
    first, last = ([measure for measure in m.monitored() if measure.usual is usual] for usual in (True, False))
    known = {measure.name: measure for measure in (*first, TAIL, *last, own)}
    return {name: measure for name, measure in known.items() if has_baseline or measure.needs is None}


@dataclass(frozen=True, eq=False)
class Validation:
    """Computes the measures of rankings of some queries against their baselines.

    The comparison is with the mean of several baselines on each query; GeoRisk takes each baseline as a system.
    ``own`` is the measure of the objective. ``of_risk`` is the validation in the metric of the risk, if it is another:
    its F_Risk and losses are added, and U_Gain - alpha × that F_Risk, which is the default measure then. On a cluster
    each worker holds a part of the queries, and all get the metric of every query.
    """

    data: RankingData
    metric: QueryMetric
    baselines: Baselines
    alpha: float = 1.0
    own: Risk = m.URISK
    of_risk: Validation | None = None
    comm: Comm = field(default_factory=Comm)
    _baseline_values: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = self.comm.gather(self.baselines.values(self.metric)[:, self.metric.counted])
        (queries,) = self.comm.sum(np.array([self.metric.counted.sum()], np.float64))
        if not queries:
            raise SurefootError(f"{self.data.source}: no query has a relevant document")
        object.__setattr__(self, "_baseline_values", values)

    @classmethod
    def of(cls, settings: Settings, data: RankingData, baselines: Baselines, comm: Comm | None = None) -> Validation:
        """The validation of these settings; ``max_label`` must be set if the metric is ERR."""
        comm = comm or Comm()
        with comm.raise_together():
            metric = settings.reported_metric.bind(data.labels, data.bounds, settings.empty)
            own = objective_of(settings.objective, settings.alpha, **settings.objective_options).own_measure()
        of_risk = None if settings.of_risk is None else cls.of(settings.of_risk, data, baselines, comm)
        return cls(data, metric, baselines.combine(settings.virtual_baseline), settings.alpha, own, of_risk, comm)

    @cached_property
    def measures(self) -> dict[str, Risk]:
        """The measures that are computed, by name."""
        return validation_measures(self.own, bool(self.baselines.names))

    def values(self, scores: FloatArray) -> FloatArray:
        """The metric of each query that counts, ranked by these scores."""
        return np.asarray(self.comm.gather(self.metric(scores)[None, self.metric.counted])[0])

    def __call__(self, scores: FloatArray) -> dict[str, float]:
        """All measures of a ranking by these scores."""
        return dict(self.lazily(scores))

    def lazily(self, scores: FloatArray) -> Measures:
        """The same measures, computed when they are read."""
        values, known = self.values(scores), dict[str, float]()
        if self.of_risk is not None and self.baselines.names:
            known, risk = self.measures_of(values), self.of_risk(scores)
            mixed = known["freward"] - known["frisk"] - self.alpha * risk["frisk"]
            known |= dict(zip(self.risk_names, (mixed, risk["frisk"], risk["losses"]), strict=True))
        return Measures(self, values, known)

    def measures_of(self, values: FloatArray, names: Iterable[str] | None = None) -> dict[str, float]:
        """Measures, by default all, of a ranking that has these values of the metric, on the queries that count."""
        (found,) = self.measures_of_each(values[np.newaxis], names)
        return found

    def measures_of_each(self, rows: FloatArray, names: Iterable[str] | None = None) -> list[dict[str, float]]:
        """The same of several rankings, a row of values each; they take little longer than one."""
        wanted = self.measures if names is None else {name: self.measures[name] for name in names}
        statistics = {source: self._statistic(one, rows) for source, one in m.sources(wanted.values()).items()}
        found = m.compute_all(wanted.values(), statistics, np.asarray(self.alpha, dtype=np.float64))
        kinds = {name: np.int64 if one.is_count else np.float64 for name, one in wanted.items()}
        columns = [np.broadcast_to(found[name], len(rows)).astype(kind).tolist() for name, kind in kinds.items()]
        return [dict(zip(wanted, row, strict=True)) for row in zip(*columns, strict=True)]

    def _statistic(self, measure: Risk, rows: FloatArray) -> Statistic:
        if measure.needs is None:
            return measure.source(rows)
        if measure.needs == "baseline":
            return measure.source(rows, self._mean_baseline)
        first, *others = (measure.source(np.vstack([row, self._baseline_values]))[:1] for row in rows)
        return first.map(lambda *arrays: np.concatenate(arrays), *others)

    @cached_property
    def _mean_baseline(self) -> FloatArray:
        return np.asarray(self._baseline_values.mean(axis=0))

    @property
    def risk_names(self) -> tuple[str, ...]:
        """U_Risk with both metrics; F_Risk and losses in that of the risk."""
        if self.of_risk is None or not self.baselines.names:
            return ()
        return tuple(f"{name}_{self.of_risk.metric.metric.name}" for name in ("urisk", "frisk", "losses"))

    def higher_is_better(self, name: str) -> bool:
        """Whether more of a measure is better."""
        return name == self.risk_names[0] if name in self.risk_names else bool(self.measures[name].higher_is_better)

    def stop_on(self, name: str | None) -> str:
        """The measure that decides which iteration is best; by default the objective's own if it can be computed."""
        if name is None and self.risk_names:
            return self.risk_names[0]
        if name is None:
            return self.own.name if self.own.name in self.measures else MEAN
        if name in self.risk_names:
            return name
        known = validation_measures(self.own).values()
        choose(name, [measure.name for measure in known if measure.higher_is_better is not None], "stop_on")
        if name not in self.measures:
            raise SurefootError(f"{name} compares with a baseline; give one, or stop on {MEAN}")
        return name

    def scores(self, name: str, scores: FloatArray) -> Scores:
        """The model beside its baselines, for `surefoot.evaluate` and other analyses."""
        counted = [query for query, counts in zip(self.data.queries, self.metric.counted, strict=True) if counts]
        rows = np.vstack([self.values(scores)[None], self._baseline_values])
        return Scores(rows, [name, *self.baselines.names], counted, str(self.metric.metric))


class Measures(Mapping[str, float]):
    """The measures of a ranking, computed when they are read; iteration computes all at once.

    A training reads few of them, and computing all after each tree would take several times as long.
    """

    def __init__(self, validation: Validation, values: FloatArray, known: dict[str, float]) -> None:
        self._validation, self._values, self._known = validation, values, known
        self._names = dict.fromkeys((*validation.measures, *known))

    @staticmethod
    def complete(lazy: Sequence[Measures]) -> None:
        """Compute the missing measures of several rankings of the same queries, together."""
        names = {name: None for one in lazy for name in one._names if name not in one._known}
        if not names:
            return
        found = lazy[0]._validation.measures_of_each(np.stack([one._values for one in lazy]), names)
        for one, measures in zip(lazy, found, strict=True):
            one._known |= measures

    @property
    def is_large(self) -> bool:
        """Whether the values of `COMPLETE_EVERY` such rankings should not be kept."""
        return self._values.size > MOST_VALUES

    def __or__(self, more: dict[str, float]) -> Measures:
        return Measures(self._validation, self._values, self._known | more)

    def __getitem__(self, name: str) -> float:
        if name not in self._known and name in self._names:
            self._known |= self._validation.measures_of(self._values, [name])
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        self.complete([self])
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Progress:
    """The progress of a training; ``measures`` are those of the validation queries, or else of the training queries."""

    iteration: int
    n_iterations: int
    measures: Mapping[str, float]
    seconds_left: float


Report = Callable[[Progress], None]
Iteration = dict[str, float] | Measures


@dataclass
class History:
    """The measures after each iteration, and early stopping on one of them.

    Training stops after ``patience`` iterations without a better one; the best iteration is the model. Without
    validation (``stop_on`` is None) the last iteration is the best.
    """

    n_iterations: int
    stop_on: str | None = None
    patience: int | None = None
    report: Report | None = None
    iterations: list[Iteration] = field(default_factory=list)
    finished: bool = False
    higher_is_better: bool = True
    _started: float = field(default_factory=time.monotonic)
    _resumed: int = 0

    @classmethod
    def of(cls, settings: Settings, validation: Validation | None, report: Report | None = None) -> History:
        """An empty history, with the early stopping of the settings."""
        if validation is None:
            validate_stopping(settings, has_valid=False)
            return cls(settings.n_estimators, report=report)
        stop_on = validation.stop_on(settings.stop_on)
        higher = validation.higher_is_better(stop_on)
        return cls(settings.n_estimators, stop_on, settings.early_stopping_rounds, report, higher_is_better=higher)

    def resume(self, iterations: list[dict[str, float]], random: bool = False) -> None:
        """Go on after these iterations; in a random training, after the last at which the RNG was reseeded."""
        needed = {"trees"} if self.stop_on is None else {"trees", self.stop_on}
        if any(not needed <= measures.keys() for measures in iterations):
            raise SurefootError(f"the checkpoint has iterations without {listed(sorted(needed))}; train again")
        self.iterations[:] = iterations
        self.finished = len(iterations) >= self.n_iterations or self._gave_up()
        if random and not self.finished:
            del self.iterations[len(iterations) - len(iterations) % RESEED_EVERY :]
        self._resumed = len(self.iterations)

    def append(self, measures: dict[str, float] | Measures, trees: int | None = None) -> bool:
        """Record an iteration and the number of trees so far, if known; returns whether to stop."""
        last: Iteration = measures | ({} if trees is None else {"trees": trees})
        self.iterations.append(last)
        if len(self.iterations) % COMPLETE_EVERY == 0 or (isinstance(last, Measures) and last.is_large):
            self.complete()
        if self.report is not None:
            self.report(Progress(len(self.iterations), self.n_iterations, last, self._seconds_left()))
        self.finished = len(self.iterations) >= self.n_iterations or self._gave_up()
        return self.finished

    def complete(self) -> list[dict[str, float]]:
        """All iterations, with all their measures."""
        Measures.complete([one for one in self.iterations if isinstance(one, Measures)])
        whole = [dict(one) for one in self.iterations]
        self.iterations[:] = whole
        return whole

    def _gave_up(self) -> bool:
        return self.patience is not None and len(self.iterations) - self.best_iteration >= self.patience

    @property
    def best_iteration(self) -> int:
        """The iteration with the best model, counted from 1; the first of equal ones."""
        if self.stop_on is None or not self.iterations:
            return len(self.iterations)
        sign = 1 if self.higher_is_better else -1
        values = [sign * measures[self.stop_on] for measures in self.iterations]
        values = [-math.inf if math.isnan(value) else value for value in values]
        return values.index(max(values)) + 1

    @property
    def trees(self) -> int:
        """The number of trees so far; LightGBM adds none in an iteration that finds no split."""
        return int(self.iterations[-1]["trees"]) if self.iterations else 0

    @property
    def best_trees(self) -> int:
        """The number of trees of the best model."""
        return int(self.iterations[self.best_iteration - 1]["trees"]) if self.iterations else 0

    def _seconds_left(self) -> float:
        done = len(self.iterations) - self._resumed
        return (time.monotonic() - self._started) / done * (self.n_iterations - len(self.iterations))


def validate_stopping(settings: Settings, has_valid: bool) -> None:
    """Early stopping, or keeping the best iteration, needs validation queries."""
    if not has_valid and (settings.early_stopping_rounds is not None or settings.stop_on is not None):
        raise SurefootError("early stopping, or keeping the best iteration, needs validation queries; give --valid")


def describe(measures: Mapping[str, float], metric: str) -> str:
    """Measures in one line.

    >>> describe({"mean": 0.51, "urisk": 0.02, "losses": 12}, "AP")
    'AP 0.5100, urisk +0.0200, losses 12'
    """
    shown = [f"{metric} {measures[MEAN]:.4f}"]
    if "urisk" in measures:
        shown.append(f"urisk {measures['urisk']:+.4f}")
    if "losses" in measures:
        shown.append(f"losses {int(measures['losses'])}")
    return listed(shown)
