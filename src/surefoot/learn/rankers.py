"""`RiskRanker`: a scikit-learn estimator of risk-sensitive rankers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model, load_model
from surefoot.learn.queries import evaluation_set, in_order, order_by_query, queries_of_rows
from surefoot.learn.settings import FIELDS, SAFE, Settings, engine_of
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray, Scores

ACCEPTED = {"dtype": np.float32, "accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
DEFAULT = Settings()
SKLEARN_NAMES = {"seed": "random_state"}
"""Settings that have another name in scikit-learn."""
MAPPINGS = ("params", "objective_options")
"""Settings that are None by default here, since scikit-learn compares defaults by identity."""


class RiskRanker(BaseEstimator):  # type: ignore[misc]
    """LambdaMART under a risk-sensitive objective, by LightGBM or XGBoost.

    Parameters
    ----------
    objective : str
        A name of `surefoot.learn.objectives`.
    alpha : float
        The risk sensitivity: a loss weighs 1 + alpha.
    **settings
        The fields of `Settings` with the same defaults; ``random_state`` is its ``seed``. ``objective_options`` and
        ``params`` may be None.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    >>> y = (X[:, 0] + X[:, 1] > 0.5).astype(int)
    >>> ranker = RiskRanker("ucro", alpha=2, n_estimators=20, num_leaves=4)
    >>> measures = ranker.fit(X, y, qid=qid, baseline="feature:0").evaluate(X, y, qid=qid, baseline="feature:0")
    >>> measures["mean"] > 0.95, measures["urisk"] > 0
    (True, True)
    """

    def __init__(self, objective: str = DEFAULT.objective, alpha: float = DEFAULT.alpha, **settings: Any) -> None:
        given = inspect.signature(RiskRanker.__init__).bind(self, objective, alpha, **settings)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name != "self":
                setattr(self, name, value)

    @classmethod
    def from_settings(cls, settings: Settings, **changes: Any) -> RiskRanker:
        """A ranker with these settings.

        Parameters
        ----------
        settings : Settings
            Such as `surefoot.learn.SAFE`.
        **changes
            Parameters that differ; ``params`` are added to those of the settings.

        Returns
        -------
        RiskRanker

        Examples
        --------
        >>> RiskRanker.from_settings(Settings("saro"), n_estimators=20)
        RiskRanker(n_estimators=20, objective='saro')
        """
        own = {SKLEARN_NAMES.get(name, name): getattr(settings, name) for name in FIELDS}
        changes["params"] = {**settings.params, **(changes.get("params") or {})}
        for name in MAPPINGS:
            own[name] = dict(changes.pop(name, own[name])) or None
        return cls(**{**own, **changes})

    @classmethod
    def safe(cls, **changes: Any) -> RiskRanker:
        """The recipe `surefoot.learn.SAFE`; ``docs/studies/recipe.md`` has results on three collections.

        Parameters
        ----------
        **changes
            Parameters that differ; ``params`` are added to those of the recipe.

        Returns
        -------
        RiskRanker

        Examples
        --------
        >>> RiskRanker.safe(n_bags=4).guard
        'second-stage'
        """
        return cls.from_settings(SAFE, **changes)

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: Iterable[object] | None = None,
        baseline: Any = None,
        eval_set: Any = None,
        eval_baseline: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        init_model: Any = None,
        callbacks: Sequence[Callable[[Any], None]] = (),
        categorical_feature: Any = "auto",
        group: npt.ArrayLike | None = None,
        eval_group: Any = None,
    ) -> RiskRanker:
        """Learn from documents (rows) with labels.

        Parameters
        ----------
        X : array, frame or sparse matrix
            The features.
        y : array
            The labels: grades of 0 or more.
        qid : array, optional
            The query of each row; without it and ``group`` all rows are one query, with a warning.
        baseline
            Anything that `surefoot.learn.baselines_of` takes: a feature, a run, a model, scores of the rows or values
            of the queries. ``"feature:0"`` is the first column of X; that of a frame also has its name.
        eval_set : tuple or list, optional
            Features, labels and query ids to validate on; or as in LightGBM ``[(X, y)]``, with ``eval_group``.
        eval_baseline
            The baseline of ``eval_set``, if ``baseline`` does not name one on both.
        sample_weight : array, optional
            A weight for each row or each query.
        init_model : RiskRanker, booster or path, optional
            A model to which trees are added.
        callbacks : sequence
            Callbacks of the engine.
        categorical_feature, group, eval_group
            As in LightGBM: a group is the number of rows of each query, one after another; ``eval_group`` may be a
            list of one.

        Returns
        -------
        RiskRanker
            The ranker itself, with ``model_``, ``history_`` and ``best_iteration_``.
        """
        matrix, y = validate_data(self, X, y, **ACCEPTED)
        data, order = self._data(matrix, y, queries_of_rows(qid, group, matrix.shape[0]))
        valid, valid_order = None, order
        if eval_set is not None:
            features, labels, queries = evaluation_set(eval_set, eval_group)
            valid, valid_order = self._data(self._matrix(features), labels, queries)
        trained = train(
            data,
            in_order(baseline, order),
            self.settings(),
            valid=valid,
            valid_baseline=in_order(eval_baseline, valid_order),
            sample_weight=_weight(sample_weight, matrix, len(data), order),
            init_model=init_model.model_.booster if isinstance(init_model, RiskRanker) else init_model,
            callbacks=callbacks,
            categorical_feature=categorical_feature,
        )
        self.model_: Model = trained.model.by_index()
        self.history_ = trained.history
        self.best_iteration_ = trained.best_iteration
        return self

    def predict(self, X: Any, qid: Iterable[object] | None = None, baseline: Any = None) -> FloatArray:
        """The score of each document.

        Parameters
        ----------
        X : array, frame or sparse matrix
            The features.
        qid : array, optional
            The query of each row; a ranker with a guard or a query feature needs it.
        baseline
            The baseline of these rows, if the ranker is guarded by one that is not a feature.

        Returns
        -------
        array
            A score for each row.
        """
        check_is_fitted(self, "model_")
        return self.model_.predict(self._matrix(X), qid, baseline)

    def evaluate(
        self, X: Any, y: npt.ArrayLike, qid: Iterable[object] | None = None, baseline: Any = None
    ) -> dict[str, float]:
        """The mean of the reported metric and, with a baseline, the risk on these queries.

        Parameters
        ----------
        X, y, qid, baseline
            As in `fit`.

        Returns
        -------
        dict
            mean and, with a baseline, urisk, trisk, georisk, tail, frisk, freward, losses and loss20.
        """
        validation = self._validation(X, y, qid, baseline)
        return validation(self._predict(validation))

    def scores(
        self, X: Any, y: npt.ArrayLike, qid: Iterable[object] | None = None, baseline: Any = None, name: str = "ranker"
    ) -> Scores:
        """The ranker and its baselines, query by query.

        Parameters
        ----------
        X, y, qid, baseline
            As in `fit`.
        name : str
            The ranker's name among the systems.

        Returns
        -------
        Scores
            For `surefoot.evaluate` and other analyses.
        """
        validation = self._validation(X, y, qid, baseline)
        return validation.scores(name, self._predict(validation))

    def score(
        self,
        X: Any,
        y: npt.ArrayLike,
        qid: Iterable[object] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """The mean of the reported metric, for model selection; `surefoot.learn.risk_scorer` selects by risk.

        Parameters
        ----------
        X, y, qid
            As in `fit`.
        sample_weight : array, optional
            A weight for each row; a query weighs the mean of its rows' weights.

        Returns
        -------
        float
        """
        validation = self._validation(X, y, qid, None)
        values = validation.values(self._predict(validation))
        if sample_weight is None:
            return float(values.mean())
        data, order = validation.data, order_by_query(queries_of_rows(qid, None, validation.data.labels.size))
        rows = _row_weights(sample_weight, np.empty((order.size, 1)))[order]
        weights = np.add.reduceat(rows, data.bounds[:-1]) / data.sizes
        return float(np.average(values, weights=weights[validation.metric.counted]))

    @property
    def booster_(self) -> Any:
        """The engine's own model: a LightGBM or an XGBoost Booster."""
        check_is_fitted(self, "model_")
        return self.model_.booster

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The total gain of the splits on each feature."""
        check_is_fitted(self, "model_")
        return engine_of(self.model_.engine).importances(self.booster_, self.n_features_in_)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> RiskRanker:
        """The ranker of a folder that `save` or `surefoot train` wrote.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        RiskRanker
            Fitted, with the settings of the model's card.
        """
        model = load_model(folder)
        ranker = cls.from_settings(model.settings)
        ranker.model_ = model.by_index()
        ranker.n_features_in_ = model.card["data"]["features"]
        if names := model.card["data"]["feature_names"]:
            ranker.feature_names_in_ = np.array(names, dtype=object)
        ranker.best_iteration_ = model.card["best_iteration"]
        return ranker

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card; `surefoot predict` and `load_model` read them.

        Parameters
        ----------
        folder : path
            Where to write. LightGBM or XGBoost can read the model file of a ranker without a guard.
        """
        check_is_fitted(self, "model_")
        self.model_.save(folder)

    def settings(self) -> Settings:
        """The parameters as `Settings`.

        Returns
        -------
        Settings
        """
        given = {name: getattr(self, SKLEARN_NAMES.get(name, name)) for name in FIELDS}
        for name in MAPPINGS:
            given[name] = dict(given[name] or {})
        return Settings(**{**given, "seed": given["seed"] or 0})

    def _predict(self, validation: Validation) -> FloatArray:
        return self.model_.predict(validation.data, baseline=validation.baselines)

    def _validation(self, X: Any, y: npt.ArrayLike, qid: Any, baseline: Any) -> Validation:
        check_is_fitted(self, "model_")
        data, order = self._data(self._matrix(X), y, qid)
        settings = replace(self.settings(), max_label=self.model_.card["settings"]["max_label"])
        return Validation.of(settings, data, baselines_of(in_order(baseline, order), data))

    def _matrix(self, X: Any) -> Any:
        """The validated features, for the fitted model or for the one that is being fitted."""
        return validate_data(self, X, reset=False, **ACCEPTED)

    def _data(self, X: Any, y: npt.ArrayLike, qid: Any) -> tuple[RankingData, npt.NDArray[np.intp]]:
        """The rows by query, and the order that brought them there."""
        names = getattr(self, "feature_names_in_", None)
        queries = queries_of_rows(qid, None, X.shape[0])
        data = RankingData.of(X, y, queries, feature_names=None if names is None else [str(name) for name in names])
        return data, order_by_query(queries)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _signature(function: Callable[..., None]) -> inspect.Signature:
    """The parameters of a ranker, one for each field of `Settings`, as scikit-learn needs them."""
    first = list(inspect.signature(function).parameters.values())[:-1]
    others = [name for name in FIELDS if name not in {parameter.name for parameter in first}]
    keyword, defaults = inspect.Parameter.KEYWORD_ONLY, {name: getattr(DEFAULT, name) or None for name in MAPPINGS}
    more = [
        inspect.Parameter(SKLEARN_NAMES.get(name, name), keyword, default=defaults.get(name, getattr(DEFAULT, name)))
        for name in others
    ]
    return inspect.Signature([*first, *more])


RiskRanker.__init__.__signature__ = _signature(RiskRanker.__init__)  # type: ignore[attr-defined]


def _weight(given: Any, X: Any, queries: int, order: npt.NDArray[np.intp]) -> Any:
    """Weights of queries unchanged; weights of rows validated by scikit-learn, in the order of the rows."""
    if given is None or np.asarray(given).shape == (queries,):
        return given
    return _row_weights(given, X)[order]


def _row_weights(given: Any, X: Any) -> npt.NDArray[Any]:
    """Weights of rows as scikit-learn validates them; its versions before 1.9 accept weights that are all 0."""
    weights: npt.NDArray[Any] = _check_sample_weight(given, X, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("Sample weights are all 0; give at least one above 0.")
    return weights
