"""A training, resolved once: baselines, validation, objective and checkpoint.

A single training, each bag of `surefoot.learn.bagging`, and every worker of a cluster run this code.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._version import __version__
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
from surefoot.learn.boosting import LabelRegression, RiskObjective
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage, array_key, normalise_request, request_key
from surefoot.learn.data import RankingData, same_features
from surefoot.learn.engines import Engine, engine_of
from surefoot.learn.models import Model
from surefoot.learn.objectives.base import Comm, Local
from surefoot.learn.query_features import with_query_feature
from surefoot.learn.settings import Settings
from surefoot.learn.validation import History, Measures, Report, Validation, validate_stopping
from surefoot.scores import FloatArray


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model and its history.

    Parameters
    ----------
    model : Model
        The model of the best iteration.
    history : list of dict
        The measures after each iteration, on the validation queries or, without any, on the training queries; with
        several bags, those of the first.
    best_iteration : int
        The iteration that was kept, counted from 1.
    out_of_bag : array, optional
        With several bags, the score of each document, first of the training and then of the validation queries, by
        the bags that did not see its query.

    Examples
    --------
    >>> Trained(Model("lightgbm", "", {}), [{"mean": 0.5, "trees": 1}], 1).best_iteration
    1
    """

    model: Model
    history: list[dict[str, float]]
    best_iteration: int
    out_of_bag: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a training; `train` describes them."""

    data: RankingData
    baseline: Any
    settings: Settings
    valid: RankingData | None = None
    valid_baseline: Any = None
    sample_weight: Any = None
    init_model: Any = None
    callbacks: Sequence[Callable[[Any], None]] = ()
    categorical_feature: Any = "auto"
    missing: Missing = "error"

    @classmethod
    def of(cls, data: RankingData, baseline: Any = None, settings: Settings | None = None, **more: Any) -> Inputs:
        """The inputs, with default settings if there are none."""
        return cls(data, baseline, settings or Settings(), **more)

    def with_max_label(self, comm: Comm) -> Inputs:
        """The same inputs with the scale of ERR in the settings: that of the training data, on all workers."""
        settings = self.settings
        if "err" not in (settings.metric, settings.risk_metric) or settings.max_label is not None:
            return self
        (highest,) = comm.max(np.array([self.data.labels.max(initial=0)], np.float64))
        return replace(self, settings=replace(settings, max_label=int(highest)))

    def aligned(self) -> tuple[RankingData, RankingData | None]:
        """Training and validation data, both with the features of both; data with named features stay as they are."""
        if self.valid is None or self.data.feature_names or self.valid.feature_names:
            return self.data, self.valid
        data, valid = same_features([self.data, self.valid])
        return data, valid

    def valid_baselines(self, valid: RankingData) -> Baselines:
        """The baselines of the validation data."""
        return baselines_of(baseline_for("validation", self.valid_baseline, self.baseline), valid, self.missing)

    def objective(self, data: RankingData, comm: Comm) -> RiskObjective:
        """The objective, bound to the training data."""
        settings = self.settings
        kind = LabelRegression if settings.learner == "regression-trees" else RiskObjective
        objective = kind(
            settings.objective,
            settings.alpha,
            baselines_of(self.baseline, data, self.missing).combine(settings.virtual_baseline),
            pairs=settings,
            n_jobs=settings.n_jobs,
            comm=comm,
            **settings.objective_options,
        )
        objective.bind(data, self.sample_weight)
        if self.valid is None:
            objective.report_by(settings.reported_metric.bind(data.labels, data.bounds, settings.empty))
        return objective


@dataclass(eq=False)
class TrainingRun:
    """A training with everything that it needs; see `TrainingRun.of`."""

    settings: Settings
    data: RankingData
    objective: RiskObjective
    validation: Validation | None
    engine: Engine
    params: Mapping[str, Any]
    init_model: Any = None
    callbacks: Sequence[Any] = ()
    categorical_feature: Any = "auto"
    history: History = field(default_factory=lambda: History(0))
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))
    shared: dict[str, Any] = field(default_factory=dict)
    """The engine's own data sets, for further trainings with the same data."""
    _text: Callable[[int], str] | None = None

    @classmethod
    def of(
        cls,
        data: RankingData,
        baseline: Any = None,
        settings: Settings | None = None,
        *,
        comm: Comm | None = None,
        **more: Any,
    ) -> TrainingRun:
        """Resolve a request.

        Parameters
        ----------
        data, baseline, settings, **more
            The inputs, as in `train`.
        comm : Comm, optional
            On a cluster, how the worker sums over all queries. If validation fails on one worker, all workers abort.

        Returns
        -------
        TrainingRun

        Examples
        --------
        >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
        >>> run = TrainingRun.of(data, "feature:0", Settings(n_estimators=3, min_child_samples=1))
        >>> run.train().best_iteration
        3
        """
        comm = comm or Local()
        inputs = Inputs.of(data, baseline, settings, **more).with_max_label(comm)
        settings = inputs.settings
        if settings.n_bags > 1:
            raise SurefootError("a TrainingRun is of one model; resolve_run takes several bags")
        with comm.raise_together():
            engine = engine_of(settings.model_engine)
            params = engine.validate_params(engine.params(settings))
            validate_stopping(settings, inputs.valid is not None)
            data, valid = inputs.aligned()
            objective = inputs.objective(data, comm)
            parts = None if valid is None else Validation.parts(settings, valid, inputs.valid_baselines(valid))
            if settings.query_feature is not None:
                data = with_query_feature(data, settings.query_feature)
                if parts is not None:
                    parts = (with_query_feature(parts[0], settings.query_feature), *parts[1:])
        validation = None if parts is None else Validation(*parts, comm)
        return cls(
            settings, data, objective, validation, engine, params, inputs.init_model, inputs.callbacks,
            inputs.categorical_feature, History.of(settings, validation),
        )  # fmt: skip

    @cached_property
    def request(self) -> dict[str, Any]:
        """Everything that the model depends on, as JSON keeps it."""
        validation = self.validation
        return {
            **request_of(self.settings, self.engine, self.data, self.objective.baseline, self.objective.weight, self),
            "validation data": None if validation is None else validation.data.fingerprint,
            "validation baseline": None if validation is None else validation.baselines.fingerprint,
        }

    @property
    def key(self) -> str:
        """A hash of the request."""
        return request_key(self.request)

    def train(
        self,
        report: Report | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        checkpoint_every: float = EVERY,
    ) -> Trained:
        """Train the model.

        With ``checkpoint`` a killed training can be resumed to the same model; the caller owns the file.
        """
        request = self.request if checkpoint else {}
        return self.train_from(Checkpoint.begin(checkpoint, request, checkpoint_every, resume), report)

    def train_from(self, checkpoint: Checkpoint, report: Report | None = None) -> Trained:
        """Train the model, from the state of a checkpoint on."""
        self.checkpoint = checkpoint
        self.history = History.of(self.settings, self.validation, report)
        self.objective.objective.state = {}
        text = self.boost()
        card = card_of(self.settings, self.engine, self.data, self.objective.baseline, [self.history])
        model = Model(self.settings.model_engine, text, card)
        if self.validation is not None:
            card["validation"] = self.validation(model.predict(self.validation.data))
        return Trained(model, self.history.complete(), self.history.best_iteration)

    def boost(self) -> str:
        """Run the engine; an interrupt saves a checkpoint."""
        try:
            text = self.engine.train(self)
        except KeyboardInterrupt:
            self._save()
            raise
        self.history.complete()
        return text

    def resume(self, random: bool) -> str:
        """Restore the history and the estimates of the checkpoint, and return its model; empty if there is none.

        A random training goes on from the last iteration at which the RNG was reseeded, so the model may have more
        trees.
        """
        saved = self.checkpoint.current
        self.history.resume(saved.history, random)
        self.objective.objective.state = saved.state
        return saved.model

    def after_iteration(
        self, measures: dict[str, float] | Measures | None, trees: int, text: Callable[[int], str]
    ) -> bool:
        """Record an iteration, and save a checkpoint if it is time; returns whether to stop.

        ``measures`` are those of the validation queries, None without any; ``text`` gives the model's first trees.
        """
        stop = self.history.append(measures or self.objective.training_measures(), trees)
        self._text = text
        if self.checkpoint.due:
            self._save()
        return stop

    def _save(self) -> None:
        if self._text is not None:
            state = self.objective.objective.state
            self.checkpoint.save(Stage(self._text(self.history.trees), self.history.complete(), state))


def request_of(
    settings: Settings, engine: Engine, data: RankingData, baselines: Baselines, weight: Any, more: Any
) -> dict[str, Any]:
    """Everything that any training depends on, as JSON keeps it; ``more`` is the run, with the engine's own inputs."""
    return normalise_request({
        **settings.identity(),
        "version": [__version__, engine.version],
        "training data": data.fingerprint,
        "baseline": baselines.fingerprint,
        "weight": None if weight is None else array_key(weight),
        "init_model": more.init_model is not None,
        "categorical_feature": str(more.categorical_feature),
    })  # fmt: skip


def card_of(
    settings: Settings, engine: Engine, data: RankingData, baselines: Baselines, histories: Sequence[History]
) -> dict[str, Any]:
    """The card of a model: its settings, baselines, history and data."""
    return {
        "surefoot": __version__,
        "python": platform.python_version(),
        "engine": {"name": settings.model_engine, "version": engine.version},
        "settings": settings.identity(),
        "baselines": list(baselines.names),
        "notes": list(baselines.notes),
        "metric": str(settings.reported_metric),
        "trees": sum(history.best_trees for history in histories),
        "best_iteration": histories[0].best_iteration,
        "stopped_on": histories[0].stop_on,
        "data": {
            "source": data.source,
            "fingerprint": data.fingerprint,
            "queries": len(data),
            "documents": int(data.labels.size),
            "features": int(data.features.shape[1]),
            "first_feature": data.first_feature,
            "feature_names": data.feature_names,
        },
    }
