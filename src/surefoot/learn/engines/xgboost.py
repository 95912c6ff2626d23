"""Boosting by XGBoost: the same objectives and kernels, a plain XGBoost model out.

XGBoost hands scores to the objective in float32, so that documents may tie that LightGBM tells apart, and it chooses
splits in its own way: the two engines' models are alike in quality, not tree for tree.

XGBoost's own rank:ndcg is not this at alpha = 0. It doubles the hessian, so its steps are half as long; by default it
takes pairs with one of the top documents (``lambdarank_pair_method=topk``) as many as its own setting says, and it
normalises lambdas in its own way. NDCG comes out close.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import STRETCH
from surefoot.learn.lesson import Lesson
from surefoot.learn.validation import Judge

STEADY = {
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_depth": 0,
    "base_score": 0.0,
    "disable_default_eval_metric": True,
    "seed_per_iteration": True,
    "verbosity": 1,
}
"""Trees that grow by leaves; random numbers that depend on the stretch of iterations, so that one can go on there."""

OURS = {
    "objective": "objective",
    "eval_metric": "metric",
    "lambdarank_num_pair_per_sample": "truncation",
    "lambdarank_pair_method": "truncation",
    "lambdarank_normalization": "norm",
    "num_boost_round": "n_estimators",
    "n_estimators": "n_estimators",
    "early_stopping_rounds": "early_stopping_rounds",
}
"""Parameters of XGBoost that have a name here, so that they can't be said twice."""

DRAWS = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
"""Parameters under which XGBoost draws random numbers, unless they are 1."""


def train(
    lesson: Lesson,
    params: Mapping[str, Any],
    init_model: Any = None,
    callbacks: Sequence[Callable[[Any], None]] = (),
    categorical: Any = "auto",
) -> str:
    """Train, and return the model as JSON, all trees up to the best iteration."""
    if not (isinstance(categorical, str) and categorical == "auto"):
        raise SurefootError("categorical features are given to XGBoost by params={'feature_types': [...]}")
    settings = checked(params)
    types = settings.pop("feature_types", None)
    booster = _as_booster(init_model)
    before = 0 if booster is None else booster.num_boosted_rounds()
    kept = lesson.resumed(is_random(settings))
    if lesson.watch.history:
        booster = loaded(str(kept))[: before + lesson.watch.trees]
    if not lesson.watch.finished:
        booster = _boost(booster, lesson, before, callbacks, settings, types)
    return text_of(booster, before + lesson.watch.best_trees)


def _boost(
    booster: Any, lesson: Lesson, before: int, callbacks: Sequence[Any], settings: dict[str, Any], types: Any
) -> Any:
    """As `xgboost.train`, but counting on from the iterations that are done; a stretch begins with a new booster."""
    import xgboost

    watch, judge = lesson.watch, lesson.judge
    training = matrix_of(lesson.data, types)
    evals = [] if judge is None else [(matrix_of(judge.data, types), "valid")]
    metric = None if judge is None else _Metric(judge)
    after = _after(lesson, before, metric)
    container = xgboost.callback.CallbackContainer([*callbacks, after], metric, output_margin=True)
    done, random = len(watch.history), is_random(settings)
    for iteration in range(done, watch.rounds):
        if iteration == done or (random and iteration % STRETCH == 0):
            booster = xgboost.Booster(settings, [training, *(matrix for matrix, _ in evals)], model_file=booster)
        if iteration == done:
            container.before_training(booster)
        if container.before_iteration(booster, iteration, training, evals):
            break
        booster.update(training, iteration, fobj=lesson.objective)
        if container.after_iteration(booster, iteration, training, evals):
            break
    return container.after_training(booster)


def failure() -> type[Exception]:
    """What XGBoost raises."""
    from xgboost.core import XGBoostError

    return XGBoostError


def checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for XGBoost, without those that would be said twice."""
    said = [key for key in params if key in OURS]
    if said:
        raise SurefootError(f"XGBoost's {said[0]} is {OURS[said[0]]} here; give it by that name")
    for name, value in (("booster", "gbtree"), ("tree_method", "hist")):
        if params.get(name, value) != value:
            raise SurefootError(f"only {name}={value} can be cut, as checkpoints and early stopping do; leave it out")
    return {**STEADY, **params}


def is_random(params: Mapping[str, Any]) -> bool:
    """Whether XGBoost draws random numbers while it trains."""
    return any(params.get(name, 1) != 1 for name in DRAWS)


def matrix_of(data: RankingData, types: Any = None) -> Any:
    """A DMatrix with labels, and queries as groups."""
    matrix = _matrix(data.features, list(data.feature_names) if data.feature_names else None, types)
    matrix.set_info(label=data.labels, group=data.sizes)
    return matrix


def _matrix(features: Any, names: Any, types: Any) -> Any:
    """A DMatrix of all values: XGBoost would take what a sparse matrix leaves out as missing, but here it is 0."""
    import xgboost

    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return xgboost.DMatrix(dense, feature_names=names, feature_types=types, enable_categorical=types is not None)


def text_of(booster: Any, rounds: int) -> str:
    """The first trees of a model, as JSON."""
    return str(booster[:rounds].save_raw("json").decode("utf-8"))


def predict(booster: Any, features: Any) -> Any:
    """The score of each row."""
    return np.ravel(booster.predict(_matrix(features, booster.feature_names, booster.feature_types)))


def loaded(text: str) -> Any:
    """A model from its JSON."""
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(text, "utf-8"))
    return booster


def _as_booster(model: Any) -> Any:
    import xgboost

    if model is None or isinstance(model, xgboost.Booster):
        return model
    return xgboost.Booster(model_file=str(model))


class _Metric:
    """The judge as XGBoost calls it. What it ``found`` last is kept here, as XGBoost rounds it to six decimals."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.found: dict[str, float] = {}

    def __call__(self, scores: Any, matrix: Any) -> list[tuple[str, float]]:
        self.found = self.judge(np.ravel(np.asarray(scores, dtype=np.float64)))
        return list(self.found.items())


def _after(lesson: Lesson, before: int, metric: _Metric | None) -> Any:
    """After each iteration: note what it brought, keep a checkpoint, stop if nothing gets better."""
    import xgboost

    class After(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
            figures = lesson.training_figures() if metric is None else metric.found
            stop = lesson.watch.after(figures, model.num_boosted_rounds() - before)
            lesson.keep(lambda trees: text_of(model, before + trees))
            return stop

    return After()
