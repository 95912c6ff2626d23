"""The bridge from an objective to what learns: engines of boosted trees, and batches of queries."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose, counted
from surefoot.lambdas.gradients import LambdaGradients, PairWeights, Singles, by_factor, for_all_queries
from surefoot.lambdas.metrics import Ints, QueryMetric
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.objectives import OBJECTIVES, LambdaMART, QueryMetrics, objective_of
from surefoot.learn.objectives.base import Comm
from surefoot.learn.settings import PairOptions
from surefoot.risk.measures import FREWARD, FRISK, LOSSES, MEAN, URISK, compute_all
from surefoot.risk.moments import Statistic
from surefoot.risk.statistics import Comparison, Mean
from surefoot.scores import FloatArray

BY_HAND = "bound by hand"
"""Stands for a training set that was given to `RiskObjective.bind`, instead of the engine's own data set."""


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
        How sums over all queries are made; only needed on a cluster.
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
        self.baseline, self.n_jobs, self.comm = baseline, n_jobs, comm or Comm()
        self.x: FloatArray = np.zeros(0)
        self._bound: Any = None
        self._reported: tuple[QueryMetric, FloatArray] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> RiskObjective:
        """`lgb.train` copies its parameters; estimates of the training must survive that."""
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
        """Prepare a training set: rank its baselines, allocate the arrays of iterations."""
        baselines = baselines_of(self.baseline, data)
        if len(baselines.names) < self.objective.fewest_baselines:
            raise SurefootError(f"objective {self.objective.name} needs a baseline")
        metric = self.pairs.trained_metric.bind(data.labels, data.bounds, self.pairs.empty)
        self.lambdas = LambdaGradients(self.objective.metric(metric, baselines), self.pairs.loop, self.n_jobs)
        self.baselines = baselines.values(metric)
        lowest = self.baselines.min(initial=0.0)
        if lowest < 0 and not self.objective.takes_negative:
            raise SurefootError(
                f"objective {self.objective.name} needs baselines that score 0 or more on every query; got {lowest:g}"
            )
        self.risk: tuple[LambdaGradients, FloatArray] | None = None  # only if risk and reward have different metrics
        if (risk := self.pairs.of_risk) is not None:
            of_risk = risk.trained_metric.bind(data.labels, data.bounds, risk.empty)
            self.risk = LambdaGradients(of_risk, risk.loop, self.n_jobs), baselines.values(of_risk)
        self.counted = np.flatnonzero(metric.counted)
        self.weight = as_weight(weight, data.bounds)
        self._bound = BY_HAND

    def report_by(self, metric: QueryMetric) -> None:
        """Let `training_measures` use this metric of the bound queries instead of the trained one.

        The trained metric normalises the gain of the whole ranking by the ideal of the first documents, and can pass 1.
        """
        self._reported = metric, self.baseline.values(metric)

    def gradients(self, scores: FloatArray) -> tuple[Singles, Singles]:
        """Gradients and hessians at these scores of all documents."""
        self.rank(scores)
        lambdas, b = (self.lambdas, self.baselines) if self.risk is None else self.risk
        x = self.x if self.risk is None else lambdas.rank(scores)
        metrics = QueryMetrics(x[self.counted], b[:, self.counted], self._started(scores), self.comm)
        weights = self.objective.lambda_weights(metrics)
        if self.risk is not None:
            weights = risk_part(weights, self.objective.name)
        gradients, hessians = lambdas.gradients(for_all_queries(weights, self.counted, self.x.size))
        if self.risk is not None:
            of_reward = self.lambdas.gradients(by_factor(np.ones(self.x.size)))
            gradients, hessians = of_reward[0] + gradients, of_reward[1] + hessians
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
        everyone = np.ones((1, x.size))  # as weights: weighted sums add up over workers
        statistics: dict[Any, Statistic] = {Mean.of: Mean.of(x[None], everyone).map(self.comm.sum)}
        measures = [MEAN]
        if b.shape[0]:
            statistics[Comparison.of] = Comparison.of(x[None], b.mean(axis=0), everyone).map(self.comm.sum)
            measures += [URISK, FRISK, FREWARD, LOSSES]
        found = compute_all(measures, statistics, np.asarray(self.objective.alpha, dtype=np.float64))
        return {one.name: (int if one.is_count else float)(found[one.name].item()) for one in measures}

    def rank(self, scores: FloatArray) -> None:
        """Rank the training queries by these scores, for `training_measures`."""
        self.x = self.lambdas.rank(scores)

    def _started(self, scores: FloatArray) -> bool:
        """Whether any two documents' scores differ, over all workers.

        If all are equal, the mean of the workers' first scores is exactly that number.
        """
        workers, first = self.comm.sum(np.array([scores.size > 0, scores[0] if scores.size else 0], np.float64))
        (differ,) = self.comm.sum(np.array([np.count_nonzero(scores != first / max(workers, 1))], np.float64))
        return bool(differ)


def risk_part(weights: PairWeights, name: str) -> PairWeights:
    """The weights of the risk only: of a line, the extra weight below its kink.

    Reward and risk add up pair by pair, since a swap that improves one metric worsens no other.
    """
    if weights.form != "line" or (weights.per_query[:, 0] < 0).any():
        raise SurefootError(
            f"objective {name} does not separate risk from reward, so they can't have different metrics; take ucro, "
            "saro, tail or minimax-regret, or leave risk_metric out"
        )
    per_query = weights.per_query.copy()
    per_query[:, 3] = 0
    return weights._replace(per_query=per_query)


class LabelRegression(RiskObjective):
    """Squared error of the scores against the centred labels.

    Its objective must be plain LambdaMART, which only chooses the measures.
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


class BatchObjective:
    """The weights of an objective for a batch of queries, for models that never see all queries at once.

    Objectives that compare queries with each other (saro, faro, trisk, georisk, tail, ...) need sums over all queries.
    Here these are sums over the batch and the last ``memory`` queries before it, with the metrics that they had then.
    With a ``memory`` as large as the training set, each query is there about once, some steps old.

    Parameters
    ----------
    name : str
        A name of `surefoot.learn.objectives`.
    alpha : float
        The risk sensitivity.
    memory : int
        The number of queries before the batch that are remembered; 0: only the batch counts.
    **options
        Options of the objective itself. The spread of saro and faro is by default estimated for each batch
        (``each=True``); the first batch has few queries and an untrained model.

    Examples
    --------
    >>> objective = BatchObjective("ucro", alpha=2)
    >>> weights = objective.weigh(np.array([0.5, 0.4]), np.array([[0.3, 0.5]]))
    >>> weights.per_query[:, :3]
    array([[2. , 0.2, 0. ],
           [2. , 0. , 0.1]], dtype=float32)
    """

    def __init__(self, name: str = "ucro", alpha: float = 1.0, *, memory: int = 1024, **options: Any) -> None:
        if memory < 0:
            raise SurefootError(f"memory must be 0 or more queries; got {memory}")
        known = {field.name for field in fields(OBJECTIVES[choose(name, OBJECTIVES, "objective")])}
        each = {"each": True} if "each" in known else {}
        self.objective: LambdaMART = objective_of(name, alpha, **{**each, **options})
        self.memory = memory
        self.remembered: FloatArray = np.zeros((0, 0))
        """Metrics of the model and its baselines (rows) on the last queries."""

    def weigh(self, x: FloatArray, baselines: FloatArray, remember: bool = True) -> PairWeights:
        """The weights of these queries.

        Parameters
        ----------
        x : array
            The model's metric on each query.
        baselines : array
            The metric of each baseline (rows).
        remember : bool
            Whether to remember the queries, as in training.

        Returns
        -------
        PairWeights
            With a row for each query of the batch.
        """
        if baselines.shape[0] < self.objective.fewest_baselines:
            raise SurefootError(f"objective {self.objective.name} needs a baseline")
        seen = self._with_memory(np.vstack([x, baselines]))
        weights = self.objective.lambda_weights(QueryMetrics(seen[0], seen[1:]))
        if remember:
            self.remembered = seen[:, max(0, seen.shape[1] - self.memory) :]
        return weights._replace(per_query=weights.per_query[seen.shape[1] - x.size :])

    def _with_memory(self, batch: FloatArray) -> FloatArray:
        if not self.remembered.size:
            return batch
        if self.remembered.shape[0] != batch.shape[0]:
            before, now = (counted(rows - 1, "baseline") for rows in (self.remembered.shape[0], batch.shape[0]))
            raise SurefootError(f"every batch has the same baselines; this one has {now}, those before it {before}")
        return np.hstack([self.remembered, batch])


def _data_of(dataset: Any) -> RankingData:
    """Labels and groups of a LightGBM Dataset or an XGBoost DMatrix; the features are not needed."""
    labels = np.asarray(dataset.get_label())
    if hasattr(dataset, "get_uint_info"):
        bounds = np.asarray(dataset.get_uint_info("group_ptr"), dtype=np.int64)
    else:
        groups = dataset.get_group()
        bounds = np.concatenate([[0], np.cumsum([] if groups is None else groups)]).astype(np.int64)
    if bounds.size < 2 or bounds[-1] != labels.size:
        raise SurefootError("a ranking objective needs the training set's groups: how many documents each query has")
    return RankingData.of_labels(labels, bounds)


def as_weight(weight: npt.ArrayLike | None, bounds: Ints) -> Singles | None:
    """A weight for each document; a weight of a query is repeated for its documents."""
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
