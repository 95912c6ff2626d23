"""The bridge between an objective and an engine of boosted trees: scores in, gradients and hessians out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, counted
from surefoot.learn.baseline import Baselines, baselines_of
from surefoot.learn.comm import Comm, Local
from surefoot.learn.data import RankingData
from surefoot.learn.lambdas import LambdaGradients
from surefoot.learn.metrics import Ints, Metric, QueryMetric
from surefoot.learn.objectives import LambdaMART, QueryMetrics, objective_of
from surefoot.learn.pair_weights import PairWeights, Singles, by_factor, for_all_queries
from surefoot.learn.settings import PairOptions
from surefoot.scores import FloatArray

BY_HAND = "bound by hand"
"""Stands for a training set given to `RiskObjective.bind`, whatever form of it the engine shows."""


class RiskObjective:
    """An objective for `lgb.train` or `xgb.train`: ``params["objective"] = RiskObjective("ucro", 2, baseline=...)``.

    Labels, groups and weights are those of the training set.

    Parameters
    ----------
    name : str
        A name of `surefoot.learn.objectives`.
    alpha : float
        The risk sensitivity.
    baseline
        Anything that `surefoot.learn.baselines_of` takes.
    pairs : PairOptions, optional
        How pairs of documents are compared.
    n_jobs : int, optional
        Threads; by default all cores.
    comm : Comm
        How sums over all queries are made; on one machine nothing is to be done.
    **options
        Options of the objective itself, such as ``spread="se"`` of saro.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> X, y = np.arange(8.0).reshape(8, 1) % 5, np.array([0, 1, 0, 2, 1, 0, 0, 1])
    >>> objective = RiskObjective("ucro", alpha=2, baseline=-X[:, 0])
    >>> params = {"objective": objective, "min_data_in_leaf": 1, "min_data_in_bin": 1, "verbose": -1}
    >>> lgb.train(params, lgb.Dataset(X, y, group=[4, 4]), 3).num_trees()
    3
    """

    def __init__(
        self,
        name: str = "ucro",
        alpha: float = 1.0,
        baseline: Any = None,
        *,
        pairs: PairOptions | None = None,
        n_jobs: int | None = None,
        comm: Comm | None = None,
        **options: Any,
    ) -> None:
        self.objective: LambdaMART = objective_of(name, alpha, **options)
        self.pairs = pairs or PairOptions()
        self.baseline, self.n_jobs, self.comm = baseline, n_jobs, comm or Local()
        self.x: FloatArray = np.zeros(0)
        self._bound: Any = None
        self._reported: tuple[QueryMetric, FloatArray] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> RiskObjective:
        """`lgb.train` copies its parameters; what is estimated in training must survive that."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's data set, which can't be pickled."""
        return {**self.__dict__, "_bound": BY_HAND if self._bound == BY_HAND else None}

    def __call__(self, scores: FloatArray, dataset: Any) -> tuple[Singles, Singles]:
        """Gradients and hessians for the engine, which calls this once per iteration."""
        if self._bound != BY_HAND and self._bound is not dataset:
            self.bind(_data_of(dataset), dataset.get_weight())
            self._bound = dataset
        return self.gradients(np.ravel(scores))  # XGBoost makes a column of the scores of no documents

    def bind(self, data: RankingData, weight: npt.ArrayLike | None = None) -> None:
        """Get ready for a training set: rank its baselines, allocate what iterations need."""
        baselines = baselines_of(self.baseline, data)
        if len(baselines.names) < self.objective.fewest_baselines:
            raise SurefootError(f"objective {self.objective.name} needs a baseline")
        metric = Metric.trained(self.pairs).bind(data.labels, data.bounds, self.pairs.empty)
        self.lambdas = LambdaGradients(self.objective.metric(metric, baselines), self.pairs, self.n_jobs)
        self.baselines = baselines.values(metric)
        lowest = self.baselines.min(initial=0.0)
        if lowest < 0 and not self.objective.takes_negative:
            raise SurefootError(
                f"objective {self.objective.name} needs baselines that score 0 or more on every query; got {lowest:g}"
            )
        self.risk = _RiskPart.of(self.pairs, data, baselines, self.n_jobs)
        self.counted = np.flatnonzero(metric.counted)
        self.weight = as_weight(weight, data.bounds)
        self._bound = BY_HAND

    def report_by(self, metric: QueryMetric) -> None:
        """Have `training_measures` use this metric of the bound queries, not the one that is trained for.

        The trained metric normalises the gain of the whole ranking by that of the first documents: it can pass 1.
        """
        self._reported = metric, self.baseline.values(metric)

    def gradients(self, scores: FloatArray) -> tuple[Singles, Singles]:
        """Gradients and hessians at these scores of all documents."""
        self.rank(scores)
        x, b = (self.x, self.baselines) if self.risk is None else (self.risk.lambdas.rank(scores), self.risk.baselines)
        metrics = QueryMetrics(x[self.counted], b[:, self.counted], self._started(scores), self.comm)
        weights = self.objective.lambda_weights(metrics)
        if self.risk is None:
            gradients, hessians = self.lambdas.gradients(for_all_queries(weights, self.counted, self.x.size))
        else:
            risk = for_all_queries(risk_part(weights, self.objective.name), self.counted, self.x.size)
            of_risk = self.risk.lambdas.gradients(risk)
            of_reward = self.lambdas.gradients(by_factor(np.ones(self.x.size)))
            gradients, hessians = (one + other for one, other in zip(of_reward, of_risk, strict=True))
        if self.weight is not None:
            gradients, hessians = gradients * self.weight, hessians * self.weight
        return gradients, hessians

    def training_measures(self) -> dict[str, float]:
        """The mean of the metric before the last tree and, with a baseline, its risk."""
        x, b = self.x, self.baselines
        if self._reported is not None:
            metric, b = self._reported
            x = metric.of_order(self.lambdas.order)
        x, b = x[self.counted], b[:, self.counted]
        d = x - b.mean(axis=0) if b.shape[0] else np.zeros_like(x)
        sums = [x.size, x.sum(), np.maximum(d, 0).sum(), -np.minimum(d, 0).sum(), (d < 0).sum()]
        count, total, gained, lost, losses = self.comm.sum(np.array(sums, dtype=np.float64)).tolist()
        measures = {"mean": total / count}
        if not b.shape[0]:
            return measures
        reward, risk = gained / count, lost / count
        urisk = reward - (1 + self.objective.alpha) * risk
        return {**measures, "urisk": urisk, "frisk": risk, "freward": reward, "losses": int(losses)}

    def rank(self, scores: FloatArray) -> None:
        """Rank the training queries by these scores, for `training_measures`."""
        self.x = self.lambdas.rank(scores)

    def _started(self, scores: FloatArray) -> bool:
        """Whether any two documents' scores differ, on whichever worker they are.

        If all are equal, the mean of the workers' first scores is that number, exactly.
        """
        workers, first = self.comm.sum(np.array([scores.size > 0, scores[0] if scores.size else 0], np.float64))
        (differ,) = self.comm.sum(np.array([np.count_nonzero(scores != first / max(workers, 1))], np.float64))
        return bool(differ)


@dataclass(frozen=True, eq=False)
class _RiskPart:
    """The gradients and baselines of the risk, where it is taken in another metric than the reward."""

    lambdas: LambdaGradients
    baselines: FloatArray

    @classmethod
    def of(cls, pairs: PairOptions, data: RankingData, baselines: Baselines, n_jobs: int | None) -> _RiskPart | None:
        options = pairs.of_risk
        if options is None:
            return None
        metric = Metric.trained(options).bind(data.labels, data.bounds, options.empty)
        return cls(LambdaGradients(metric, options, n_jobs), baselines.values(metric))


def risk_part(weights: PairWeights, name: str) -> PairWeights:
    """The weights without what every change counts: that of a line below its kink.

    The whole is the sum of both parts, pair by pair, since an improvement of one metric worsens no other.
    """
    if weights.form != "line" or (weights.per_query[:, 0] < 0).any():
        raise SurefootError(
            f"objective {name} does not part risk from reward, so that they can't have different metrics; take ucro, "
            "saro, tail or minimax-regret, or leave risk_metric out"
        )
    per_query = weights.per_query.copy()
    per_query[:, 3] = 0
    return weights._replace(per_query=per_query)


class LabelRegression(RiskObjective):
    """Squared error of the scores against the labels less their mean, which no ranking depends on.

    The objective that it is made with, plain LambdaMART, only says what is measured.
    """

    def bind(self, data: RankingData, weight: npt.ArrayLike | None = None) -> None:
        if self.objective.name != LambdaMART.name:
            raise SurefootError(f"regression trees have no objective {self.objective.name}; give lambdamart")
        super().bind(data, weight)
        total, rows = self.comm.sum(np.array([data.labels.sum(dtype=np.float64), data.labels.size]))
        self.targets = data.labels - total / max(rows, 1)

    def gradients(self, scores: FloatArray) -> tuple[Singles, Singles]:
        self.rank(scores)
        weights = np.ones(scores.size, np.float32) if self.weight is None else self.weight
        return (weights * (scores - self.targets)).astype(np.float32), weights


def _data_of(dataset: Any) -> RankingData:
    """Labels and groups of a LightGBM Dataset or an XGBoost DMatrix; the features are not needed."""
    labels = np.asarray(dataset.get_label(), dtype=np.float32)
    if hasattr(dataset, "get_uint_info"):
        bounds = np.asarray(dataset.get_uint_info("group_ptr"), dtype=np.int64)
    else:
        groups = dataset.get_group()
        bounds = np.concatenate([[0], np.cumsum([] if groups is None else groups)]).astype(np.int64)
    if bounds.size < 2 or bounds[-1] != labels.size:
        raise SurefootError("a ranking objective needs the training set's groups: how many documents each query has")
    queries = tuple(str(query) for query in range(bounds.size - 1))
    return RankingData(np.zeros((labels.size, 0), np.float32), labels, bounds, queries)


def as_weight(weight: npt.ArrayLike | None, bounds: Ints) -> Singles | None:
    """A weight for each document; given by query it is the same for all of the query's."""
    if weight is None or np.size(weight) == 0:
        return None
    weights = np.asarray(weight, dtype=np.float32)
    if not np.all((weights >= 0) & np.isfinite(weights)):
        raise SurefootError("weights must be finite numbers of 0 or more")
    if weights.size == bounds.size - 1 != bounds[-1]:
        return np.repeat(weights, np.diff(bounds))
    if weights.size != bounds[-1]:
        raise SurefootError(
            f"weights: one for each of {counted(int(bounds[-1]), 'document')} or of "
            f"{counted(bounds.size - 1, 'query')}; got {weights.size}"
        )
    return weights
