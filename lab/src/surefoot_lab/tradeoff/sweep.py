"""A model for each alpha and its scores on the test queries, from which all trade-off analyses are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, PathLike
from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.queries import query_feature
from surefoot.learn.settings import Settings
from surefoot.risk import normalise_alphas
from surefoot.scores import Scores
from surefoot_lab.tradeoff import ALPHAS
from surefoot_lab.tradeoff.churn import disagreement, kendall_distance
from surefoot_lab.tradeoff.models import DataSplit, History, Report, TrainedModel, Trainer, at_alpha
from surefoot_lab.tradeoff.plane import Points, Selective, alpha_limit, near_optimal, points, selective_curve

FRACTION = 0.95


def iterations_to(values: npt.ArrayLike, target: float) -> int | None:
    """The first iteration, counted from 1, whose value reaches the target; None if none does.

    Wang, Bennett and Collins-Thompson (SIGIR 2012) compare trainings at different alphas by it.

    >>> iterations_to([0.30, 0.41, 0.43, 0.42], 0.42)
    3
    """
    reached = np.flatnonzero(np.asarray(values, dtype=np.float64) >= target)
    return int(reached[0]) + 1 if reached.size else None


def iterations_to_fraction(values: npt.ArrayLike, fraction: float = FRACTION) -> int | None:
    """The first iteration, counted from 1, that reaches a fraction of the last value; None if that is not above 0.

    Give the *gain* over the baseline: of a metric that starts high, 95 % says nothing.

    >>> iterations_to_fraction([0.01, 0.05, 0.10, 0.102]), iterations_to_fraction([0.1, -0.1])
    (3, None)
    """
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or not curve.size or not np.isfinite(curve).all() or not 0 < fraction <= 1:
        raise SurefootError("convergence needs a curve of numbers, and a fraction of at most 1")
    return iterations_to(curve, fraction * float(curve[-1])) if curve[-1] > 0 else None


def gains(history: Sequence[Mapping[str, float]]) -> FloatArray | None:
    """The gain over the baseline after each iteration of a training, where its history has it."""
    if not history or "freward" not in history[0]:
        return None
    return np.array([measures["freward"] - measures["frisk"] for measures in history])


@dataclass(frozen=True, eq=False)
class QueryScores:
    """Scores of the baseline and the models (rows) on some queries, the feature that selects, how models disagree."""

    scores: Scores
    feature: Scores | None = None
    disagreement: Scores | None = None


@dataclass(frozen=True, eq=False)
class Sweep:
    """Models of rising alpha, the first the gain-only model at 0, and the baseline that they are compared with.

    ``test`` and ``train`` hold the metric of each query: rows are the baseline, then the models. ``churn`` holds the
    Kendall distance of each test query's ranking to the baseline's (one row for each model), ``feature`` the feature
    that selects test queries; both may be None. ``disagreement`` is the mean Kendall distance between the rankings of
    all models for each test query, ``valid`` the same of the validation queries. ``to95`` are the iterations to 95 % of
    the gain, where they are not those of the histories, as the mean over folds.
    """

    objective: str
    alphas: FloatArray
    trees: tuple[int, ...]
    test: Scores
    train: Scores
    histories: tuple[History, ...]
    validated: bool
    churn: Scores | None = None
    feature: Scores | None = None
    notes: tuple[str, ...] = ()
    disagreement: Scores | None = None
    valid: QueryScores | None = None
    to95: tuple[float, ...] | None = None

    @property
    def baseline(self) -> str:
        """The name of the baseline, the first row of the scores."""
        return self.test.systems[0]

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return self.test.systems[1:]

    @property
    def curve(self) -> Points:
        """Risk and gain of each model on the test queries."""
        return points(self.test.values[1:], self.test.values[0])

    @property
    def limit(self) -> float:
        """The alpha beyond which the baseline beats the gain-only model on the training queries."""
        return alpha_limit(self.train.values[1], self.train.values[0])

    @property
    def hull(self) -> Points:
        """The near-optimal hull on the test queries, its limit taken on the training queries."""
        return near_optimal(self.curve, self.alphas, self.limit)

    @property
    def selective(self) -> Selective | None:
        """The gain-only model on test queries whose feature is below a threshold, at every threshold."""
        if self.feature is None:
            return None
        return selective_curve(self.test.values[1], self.test.values[0], self.feature.values[0])

    def converged(self) -> list[float]:
        """For each model, the iterations to 95 % of the gain of the last; NaN where there is none."""
        if self.to95 is not None:
            return list(self.to95)
        return [_converged(gains(history)) for history in self.histories]


def _converged(gain: FloatArray | None) -> float:
    reached = None if gain is None else iterations_to_fraction(gain)
    return np.nan if reached is None else float(reached)


def sweep_alphas(
    settings: Settings,
    split: DataSplit,
    alphas: Sequence[float] = ALPHAS,
    *,
    select: str | None = None,
    folder: PathLike | None = None,
    report: Report | None = None,
) -> Sweep:
    """Train a model for each alpha and rank the test queries with each.

    Alpha 0 is always among them: the gain-only model, LambdaMART for every objective. Several baselines are compared
    with as their per-query mean.

    Parameters
    ----------
    settings
        What to train; its objective must have an alpha.
    split
        Training, test and, if any, validation queries, and their baseline.
    alphas
        The alphas besides 0.
    select
        The query feature of selective re-ranking, such as ``max:110``; all models get it as a feature, too.
    folder
        Where models are kept; finished ones are not trained again, interrupted ones are resumed.
    report
        Called with the name of the model in training and its progress.

    Returns
    -------
    Sweep
        The scores of all models and of the baseline, for `tradeoff_table` and the plots.

    Examples
    --------
    >>> data = RankingData.of([[3.0], [1.0], [2.0], [0.0]] * 5, [2, 0, 1, 0] * 5, np.repeat(np.arange(5), 4))
    >>> split = DataSplit(data, "feature:0", test=data)
    >>> sweep = sweep_alphas(Settings("ucro", n_estimators=2, n_jobs=1), split, [5.0])
    >>> sweep.alphas, sweep.models
    (array([0., 5.]), ('alpha=0', 'alpha=5'))

    """
    if settings.objective == "lambdamart":
        raise SurefootError("lambdamart has no alpha, so there is nothing to trade; choose another objective, as ucro")
    if split.test is None:
        raise SurefootError("risk and gain are measured on test queries; give some")
    test, trainer = split.test, Trainer(split, folder, report)
    split.baselines(test)  # reports a baseline that does not fit before the training, not after it
    if select is not None:
        query_feature(test, select)
    swept = np.unique([0.0, *normalise_alphas(alphas)])
    resolved = replace(split.resolve(settings), query_feature=select)
    models = {f"alpha={alpha:g}": trainer.get(f"alpha-{alpha:g}", at_alpha(resolved, alpha)) for alpha in swept}
    tested = _query_scores(trainer, models, test, select)
    return Sweep(
        settings.objective,
        swept,
        tuple(trained.n_trees for trained in models.values()),
        tested.scores,
        trainer.scores(models, split.train),
        tuple(trained.history for trained in models.values()),
        split.valid is not None,
        _churn(split, models, test, tested.scores.topics),
        tested.feature,
        split.baselines(split.train).notes,
        tested.disagreement,
        None if split.valid is None else _query_scores(trainer, models, split.valid, select),
    )


def _query_scores(
    trainer: Trainer, models: Mapping[str, TrainedModel], data: RankingData, select: str | None
) -> QueryScores:
    scores = trainer.scores(models, data)
    apart = disagreement([trainer.rank(trained, data) for trained in models.values()], data.bounds)
    feature = None if select is None else _per_query([select], query_feature(data, select)[None], data, scores.topics)
    return QueryScores(scores, feature, _per_query(["disagreement"], apart[None], data, scores.topics))


def _churn(
    split: DataSplit, models: Mapping[str, TrainedModel], test: RankingData, topics: Sequence[str]
) -> Scores | None:
    """Distances to the baseline's ranking; None if there are several baselines, or it does not rank documents."""
    rankings = split.baselines(test).scores
    if len(rankings) != 1 or rankings[0] is None:
        return None
    rows = [
        kendall_distance(rankings[0], trained.model.predict(test, baseline=rankings[0]), test.bounds)
        for trained in models.values()
    ]
    return _per_query(list(models), np.stack(rows), test, topics)


def _per_query(names: list[str], values: FloatArray, test: RankingData, topics: Sequence[str]) -> Scores:
    return Scores(values, names, test.queries, "value").select(topics=topics)
