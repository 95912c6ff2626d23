"""Linear rankers as an engine: weights of scaled features in place of trees, one step of learning per iteration."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._typing import FloatArray
from surefoot._version import __version__
from surefoot.errors import SurefootError, choose
from surefoot.io.files import parse_json
from surefoot.learn.settings import Settings
from surefoot_lab.learners.line_search import ScaledQueries, Scaling, utility_against, valid_columns, weighted_sum
from surefoot_lab.learners.linear import AFS, AdaRank, CoordinateAscent, LinearRanker

if TYPE_CHECKING:
    from surefoot.learn.run import TrainingRun

LEARNERS: dict[str, type[LinearRanker]] = {"afs": AFS, "coordinate-ascent": CoordinateAscent, "adarank": AdaRank}
LEARNER = "learner"
"""The key of the learner's name among the parameters."""


@dataclass(frozen=True)
class LinearModel:
    """The weights of features, and how these are scaled."""

    weights: FloatArray
    scaling: Scaling

    def predict(self, features: Any) -> FloatArray:
        """The score of each row."""
        used = valid_columns(features, np.flatnonzero(self.weights))
        scaled = ((feature, self.scaling(feature, values)) for feature, values in used)
        return weighted_sum(self.weights, scaled, features.shape[0])

    def to_text(self) -> str:
        """As JSON, in which floats come back as they were."""
        arrays = {"weights": self.weights, "mean": self.scaling.mean, "sd": self.scaling.sd}
        return json.dumps({name: array.tolist() for name, array in arrays.items()}) + "\n"


class Linear:
    """The engine; see `surefoot.learn.engines.Engine`."""

    learners = tuple(LEARNERS)
    model_file = "weights.json"
    error: type[Exception] = ValueError
    version: str = __version__

    def params(self, settings: Settings) -> dict[str, Any]:
        _validate(settings)
        return {LEARNER: settings.learner, "k": settings.cutoff, "n_jobs": settings.n_jobs, **_seed(settings),
                **settings.params}  # fmt: skip

    def validate_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        known = inspect.signature(LEARNERS[params[LEARNER]]).parameters
        for name in params:
            if name != LEARNER:
                choose(name, known, f"a parameter of {params[LEARNER]}")
        return dict(params)

    def bag_params(self, params: Mapping[str, Any], seed_gap: int) -> dict[str, Any]:
        raise NotImplementedError("settings refuse bags of linear rankers")

    def average(self, texts: Sequence[str]) -> str:
        raise NotImplementedError("settings refuse bags of linear rankers")

    def train(self, run: TrainingRun) -> str:
        """Learn step by step. An interrupted training starts again and reaches the same model: steps are few."""
        history, validation, texts = run.history, run.validation, list[str]()
        history.iterations.clear()
        options = {name: value for name, value in run.params.items() if name != LEARNER}
        learner = LEARNERS[run.params[LEARNER]](**options)
        scaling = Scaling.of(run.data.features)
        objective = run.objective.objective
        utility = utility_against(run.objective.baseline, objective.own_measure(), objective.alpha)
        is_usual, best = run.settings.metric == "ndcg" and run.settings.label_gain is None, -np.inf
        metric = None if is_usual else run.settings.reported_metric
        queries = ScaledQueries(run.data, scaling, options["k"], options["n_jobs"], utility, metric)
        for weights in learner.steps(queries):
            worth = queries.worth(weights)
            if validation is None and worth <= best:
                continue  # without validation queries the training queries decide
            best = worth
            model = LinearModel(weights / (np.abs(weights).sum() or 1.0), scaling)
            texts.append(model.to_text())
            run.objective.rank(model.predict(run.data.features))
            if validation is not None:
                run.measure(model.predict(validation.data.features))
            if run.after_iteration(len(texts), lambda count: texts[count - 1]):
                break
        history.finished = True
        return texts[history.best_trees - 1]

    def load(self, text: str) -> LinearModel:
        arrays = {name: np.array(values, dtype=np.float64) for name, values in parse_json(text).items()}
        return LinearModel(arrays["weights"], Scaling(arrays["mean"], arrays["sd"]))

    def predict(self, booster: LinearModel, features: Any) -> FloatArray:
        return booster.predict(features)

    def importances(self, booster: LinearModel, features: int) -> FloatArray:
        """The absolute weights."""
        return np.abs(booster.weights)


ENGINE = Linear()


def _seed(settings: Settings) -> dict[str, int]:
    return {"seed": settings.seed} if settings.learner == "coordinate-ascent" else {}


def _validate(settings: Settings) -> None:
    """Refuse settings that no linear learner supports."""
    if settings.learner == "adarank" and settings.objective != "lambdamart":
        raise SurefootError("learner adarank boosts only the mean; give --objective lambdamart, or learner afs")
