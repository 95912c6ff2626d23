"""`RiskRanker`: a scikit-learn estimator that learns to rank without stumbling."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError
from surefoot.learn.bagging import SAFE, SAFE_BAGS, train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.boosting import Lambda
from surefoot.learn.data import RankingData, queries_of
from surefoot.learn.metrics import Empty, Name
from surefoot.learn.models import INSTALL, NEEDS_QUERIES, Model
from surefoot.learn.training import DEFAULT_SHARE, Settings, tree_params
from surefoot.learn.validation import Judge
from surefoot.scores import FloatArray, Scores

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{INSTALL} (no {error.name})", name=error.name) from None

ACCEPTED = {"dtype": np.float32, "accept_sparse": "csr", "ensure_all_finite": "allow-nan"}


class RiskRanker(BaseEstimator):  # type: ignore[misc]
    """LambdaMART under a risk-sensitive objective, by LightGBM or XGBoost.

    ``objective`` is a name of `surefoot.learn.objectives`, ``alpha`` its risk sensitivity, ``options`` its own
    options. ``metric``, ``truncation`` (None: all pairs), ``sigmoid``, ``norm``, ``label_gain`` and ``empty`` say how
    pairs are walked (see `Lambda`); ``cutoff`` is that of the reported NDCG. ``params`` go to the engine as they are.
    With validation queries, training keeps the iteration that is best by ``stop_on``: mean, urisk (the default with
    a baseline), trisk, georisk, tail, frisk, freward, losses or loss20. ``bags`` trainings are averaged, and ``lean``
    is how much the model leans on its baseline's ranking (see `surefoot.learn.bagging` and `surefoot.learn.leaning`).
    ``n_jobs``: threads; None or -1: all cores.

    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    >>> y = (X[:, 0] + X[:, 1] > 0.5).astype(int)
    >>> ranker = RiskRanker("ucro", alpha=2, n_estimators=20, num_leaves=4)
    >>> figures = ranker.fit(X, y, qid=qid, baseline="feature:0").judge(X, y, qid=qid, baseline="feature:0")
    >>> figures["mean"] > 0.95, figures["urisk"] > 0
    (True, True)
    """

    def __init__(
        self,
        objective: str = "ucro",
        alpha: float = 1.0,
        *,
        options: Mapping[str, Any] | None = None,
        metric: Name = "ndcg",
        cutoff: int = 10,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        norm: bool = True,
        label_gain: Sequence[float] | None = None,
        empty: Empty = "zero",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        early_stopping_rounds: int | None = None,
        stop_on: str | None = None,
        bags: int = 1,
        lean: float = 0.0,
        engine: Literal["lightgbm", "xgboost"] = "lightgbm",
        params: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.objective = objective
        self.alpha = alpha
        self.options = options
        self.metric = metric
        self.cutoff = cutoff
        self.truncation = truncation
        self.sigmoid = sigmoid
        self.norm = norm
        self.label_gain = label_gain
        self.empty = empty
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.stop_on = stop_on
        self.bags = bags
        self.lean = lean
        self.engine = engine
        self.params = params
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def safe(cls, **changes: Any) -> RiskRanker:
        """A recipe to begin with: ``docs/recipe.md`` shows what it did on three collections."""
        params = dict(SAFE.params)
        own = {
            "objective": SAFE.objective,
            "alpha": SAFE.alpha,
            "n_estimators": SAFE.n_estimators,
            "early_stopping_rounds": SAFE.early_stopping_rounds,
            "stop_on": SAFE.stop_on,
            "bags": SAFE_BAGS,
            "lean": SAFE.lean,
            "learning_rate": params.pop("learning_rate"),
            "num_leaves": params.pop("num_leaves"),
            "min_child_samples": params.pop("min_child_samples"),
            "random_state": params.pop("seed"),
            "params": {**params, **changes.pop("params", {})},
        }
        return cls(**{**own, **changes})

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: Iterable[object] | None = None,
        baseline: Any = None,
        eval_set: tuple[Any, npt.ArrayLike, Iterable[object]] | None = None,
        eval_baseline: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        init_model: Any = None,
        callbacks: Sequence[Callable[[Any], None]] = (),
        categorical_feature: Any = "auto",
    ) -> RiskRanker:
        """Learn from documents (rows) with labels and query ids; without ``qid`` all rows are one query.

        ``baseline`` as in `surefoot.learn.baseline.baselines_of`: a feature, a run, a model, scores of the rows or
        values of the queries. ``eval_set`` is a triple of features, labels and query ids to validate on, and
        ``eval_baseline`` its baseline if that can't be named once for both.
        """
        matrix, y = validate_data(self, X, y, **ACCEPTED)
        data, order = self._data(matrix, y, qid)
        valid = None if eval_set is None else self._data(self._matrix(eval_set[0]), *eval_set[1:])
        trained = train_bags(
            self._settings(),
            self.bags,
            data,
            _in_order(baseline, order),
            None if valid is None else valid[0],
            None if valid is None else _in_order(eval_baseline, valid[1]),
            weight=_weight(sample_weight, matrix, len(data), order),
            init_model=init_model.model_.booster if isinstance(init_model, RiskRanker) else init_model,
            callbacks=callbacks,
            categorical=categorical_feature,
        )
        self.model_: Model = trained.model.by_place()
        self.history_ = trained.history
        self.best_iteration_ = trained.best_iteration
        return self

    def predict(self, X: Any, qid: Iterable[object] | None = None) -> FloatArray:
        """The score of each document; a ranker that leans must know their queries."""
        check_is_fitted(self, "model_")
        matrix = self._matrix(X)
        if "lean" not in self.model_.card:
            return self.model_.predict(matrix)
        if qid is None:
            raise SurefootError(f"{NEEDS_QUERIES}; give qid")
        data, order = self._data(matrix, np.zeros(matrix.shape[0]), qid)
        scores = np.empty(order.size)
        scores[order] = self.model_.predict(data)
        return scores

    def judge(
        self, X: Any, y: npt.ArrayLike, qid: Iterable[object] | None = None, baseline: Any = None
    ) -> dict[str, float]:
        """The mean of the reported metric and, with a baseline, the risk figures on these queries."""
        judge = self._judge(X, y, qid, baseline)
        return judge(self.model_.predict(judge.data))

    def scores(
        self, X: Any, y: npt.ArrayLike, qid: Iterable[object] | None = None, baseline: Any = None, name: str = "ranker"
    ) -> Scores:
        """The ranker and its baselines as `Scores`, query by query."""
        judge = self._judge(X, y, qid, baseline)
        return judge.scores(name, self.model_.predict(judge.data))

    def score(self, X: Any, y: npt.ArrayLike, qid: Iterable[object] | None = None) -> float:
        """The mean of the reported metric, for model selection."""
        return self.judge(X, y, qid)["mean"]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card; `surefoot predict` and `load_model` read them.

        LightGBM or XGBoost read the model too, without what a ranker that leans adds to its scores.
        """
        check_is_fitted(self, "model_")
        self.model_.save(folder)

    def _judge(self, X: Any, y: npt.ArrayLike, qid: Any, baseline: Any) -> Judge:
        check_is_fitted(self, "model_")
        data, order = self._data(self._matrix(X), y, qid)
        settings = self._settings()
        lambdas = replace(settings.lambdas, top=self.model_.card["lambda"]["top"])
        share = settings.options.get("share", DEFAULT_SHARE)
        given = baselines_of(_in_order(baseline, order), data)
        metric = replace(settings, lambdas=lambdas).reported()
        return Judge(data, metric, given, self.alpha, share, self.empty)

    def _settings(self) -> Settings:
        gains = None if self.label_gain is None else tuple(self.label_gain)
        trees = tree_params(
            self.engine, self.learning_rate, self.num_leaves, self.min_child_samples, self.random_state or 0
        )
        return Settings(
            self.objective,
            self.alpha,
            dict(self.options or {}),
            Lambda(self.metric, self.truncation, self.sigmoid, self.norm, gains, None, self.empty),
            self.cutoff,
            self.n_estimators,
            {**trees, **(self.params or {})},
            self.early_stopping_rounds,
            self.stop_on,
            self.engine,
            None if self.n_jobs == -1 else self.n_jobs,
            self.lean,
        )

    def _matrix(self, X: Any) -> Any:
        """Features for the fitted model, or for the one that is being fitted."""
        return validate_data(self, X, reset=False, **ACCEPTED)

    def _data(self, X: Any, y: npt.ArrayLike, qid: Any) -> tuple[RankingData, npt.NDArray[np.intp]]:
        """The rows by query, and the order that brought them there."""
        names = getattr(self, "feature_names_in_", None)
        queries = np.zeros(X.shape[0], np.int64) if qid is None else np.asarray(qid)
        data = RankingData.of(X, y, queries, feature_names=None if names is None else [str(name) for name in names])
        return data, np.argsort(queries_of(queries)[1], kind="stable")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _weight(given: Any, X: Any, queries: int, order: npt.NDArray[np.intp]) -> Any:
    """Weights of queries as they are; weights of rows, checked as scikit-learn does, in the order of the rows."""
    if given is None or np.asarray(given).shape == (queries,):
        return given
    return _check_sample_weight(given, X, ensure_non_negative=True)[order]


def _in_order(given: Any, order: npt.NDArray[np.intp]) -> Any:
    """What the user gave a value for each row of, brought into the order of the rows."""
    if isinstance(given, Mapping):
        return {name: _in_order(one, order) for name, one in given.items()}
    if given is None or isinstance(given, str | os.PathLike):
        return given
    if isinstance(given, list | tuple) and given and not np.isscalar(given[0]):
        return [_in_order(one, order) for one in given]
    values = np.asarray(given)
    return values[..., order] if values.ndim and values.shape[-1] == order.size else given
