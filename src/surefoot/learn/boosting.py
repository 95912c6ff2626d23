"""The bridge between an objective and an engine of boosted trees: scores in, gradients and hessians out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose, counted
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.lambdas import Lambdas, Singles
from surefoot.learn.metrics import Empty, Ints, Metric, Name, is_empty
from surefoot.learn.objectives import Churn, LambdaMART, Standing, Weighing, objective_of, on_one_machine
from surefoot.scores import FloatArray


@dataclass(frozen=True)
class Lambda:
    """How pairs are walked, apart from the objective: LightGBM's own settings under LightGBM's defaults.

    ``truncation``: pairs need a document above this rank (None: all pairs). ``empty``: what a query without relevant
    documents counts as, for the model and its baselines alike; "drop" leaves it out of all means and spreads.
    """

    metric: Name = "ndcg"
    truncation: int | None = 30
    sigmoid: float = 1.0
    norm: bool = True
    label_gain: tuple[float, ...] | None = None
    top: int | None = None
    empty: Empty = "zero"

    def __post_init__(self) -> None:
        choose(self.empty, ("zero", "one", "drop"), "empty")
        if self.truncation is not None and self.truncation < 1:
            raise SurefootError(f"truncation must be 1 or more, or None for all pairs; got {self.truncation}")
        if not self.sigmoid > 0:
            raise SurefootError(f"sigmoid must be above 0; got {self.sigmoid:g}")

    def training_metric(self) -> Metric:
        """The metric whose changes are used."""
        return Metric(self.metric, ideal=self.truncation, label_gain=self.label_gain, top=self.top)


READY = "ready"
"""Stands for a training set given by hand, whatever form of it the engine shows."""


class RiskObjective:
    """An objective for `lgb.train` or `xgb.train`: ``params["objective"] = RiskObjective("ucro", 2, baseline=...)``.

    ``baseline`` is anything that `surefoot.learn.baseline.baselines_of` takes. Labels, groups and weights are those of
    the training set. ``options`` are the objective's own, such as ``spread="se"`` of saro.

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
        lambdas: Lambda | None = None,
        threads: int | None = None,
        everywhere: Callable[[FloatArray], FloatArray] = on_one_machine,
        **options: Any,
    ) -> None:
        self.objective: LambdaMART = objective_of(name, alpha, **options)
        self.settings = lambdas or Lambda()
        self.baseline, self.threads, self.everywhere = baseline, threads, everywhere
        self.x: FloatArray = np.zeros(0)
        self._bound: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> RiskObjective:
        """`lgb.train` copies its parameters; what is estimated on the way must survive that."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine's data set, which can't be pickled."""
        return {**self.__dict__, "_bound": READY if self._bound == READY else None}

    def __call__(self, scores: FloatArray, dataset: Any) -> tuple[Singles, Singles]:
        """Gradients and hessians for the engine, which calls this once an iteration."""
        if self._bound != READY and self._bound is not dataset:
            self.bind(_data_of(dataset), dataset.get_weight())
            self._bound = dataset
        return self.gradients(np.ravel(scores))  # XGBoost makes a column of the scores of no documents

    def bind(self, data: RankingData, weight: npt.ArrayLike | None = None) -> None:
        """Get ready for a training set: rank its baselines, allocate what iterations need."""
        settings = self.settings
        metric = settings.training_metric()
        baselines = baselines_of(self.baseline, data)
        if len(baselines.names) < self.objective.fewest_baselines:
            raise SurefootError(f"objective {self.objective.name} needs a baseline")
        self.lambdas = Lambdas(
            data.labels, data.bounds, metric, settings.truncation, settings.sigmoid, settings.norm, self.threads
        )
        if isinstance(self.objective, Churn):
            if settings.metric != "ndcg":
                raise SurefootError(f"churn mixes gains of ndcg; it can't be trained for {settings.metric}")
            self.lambdas.gains = self.objective.mix(self.lambdas.gains, baselines.ranking(), data.bounds)
        self.baselines = baselines.values(metric, data)
        self.empty = is_empty(data.labels, data.bounds)
        self.counted = np.flatnonzero(~self.empty) if settings.empty == "drop" else np.arange(len(data))
        if settings.empty == "one":
            self.baselines[:, self.empty] = 1.0
        self.weight = _as_weight(weight, data.bounds)
        self._bound = READY

    def gradients(self, scores: FloatArray) -> tuple[Singles, Singles]:
        """Gradients and hessians of these scores of all documents."""
        self.x = self.lambdas.rank(scores).copy()
        if self.settings.empty == "one":
            self.x[self.empty] = 1.0
        standing = Standing(
            self.x[self.counted], self.baselines[:, self.counted], self._started(scores), self.everywhere
        )
        gradients, hessians = self.lambdas.pull(*self._for_all(self.objective.weigh(standing)))
        if self.weight is not None:
            gradients, hessians = gradients * self.weight, hessians * self.weight
        return gradients, hessians

    def _started(self, scores: FloatArray) -> bool:
        """Whether any two documents' scores differ, on whichever machine they are.

        If all are equal, the mean of the machines' first ones is that number, exactly.
        """
        machines, first = self.everywhere(np.array([scores.size > 0, scores[0] if scores.size else 0], np.float64))
        (differ,) = self.everywhere(np.array([np.count_nonzero(scores != first / max(machines, 1))], np.float64))
        return bool(differ)

    def _for_all(self, weighing: Weighing) -> Weighing:
        """Figures of the queries that count, laid out for all; the others have no pairs."""
        form, own, world = weighing
        if self.counted.size == self.x.size:
            return weighing
        spread = np.zeros((self.x.size, own.shape[1]), np.float32)
        spread[self.counted] = own
        return form, spread, world


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


def _as_weight(weight: npt.ArrayLike | None, bounds: Ints) -> Singles | None:
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
