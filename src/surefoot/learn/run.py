"""A training that is ready to begin: its inputs, with everything that follows from them.

A training is resolved once, to a `TrainingRun` or, for several bags, to a `BaggedRun` of `surefoot.learn.bagging`:
baselines, validation, objective. A single training, each bag, and every worker of a cluster run this code.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
from surefoot.learn.boosting import LabelRegression, RiskObjective
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage, request_key, request_of
from surefoot.learn.data import RankingData
from surefoot.learn.engines import Engine
from surefoot.learn.joining import same_features
from surefoot.learn.models import Model, card_of
from surefoot.learn.objectives.base import Comm
from surefoot.learn.queries import with_query_feature
from surefoot.learn.settings import Settings, engine_of
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
    callbacks: Sequence[Any] = ()
    categorical_feature: Any = "auto"
    missing: Missing = "error"

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


class Run(ABC):
    """A training that is ready to begin: of one model, or of several bags."""

    settings: Settings
    data: RankingData
    engine: Engine
    inputs: Inputs

    @classmethod
    def of(
        cls,
        data: RankingData,
        baseline: Any = None,
        settings: Settings | None = None,
        *,
        comm: Comm | None = None,
        **more: Any,
    ) -> Self:
        """Resolve a request.

        Parameters
        ----------
        data, baseline, settings, **more
            The inputs, as in `train`.
        comm : Comm, optional
            On a cluster, how the worker sums over all queries. If validation fails on one worker, all workers abort.

        Returns
        -------
        TrainingRun or BaggedRun

        Examples
        --------
        >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
        >>> run = TrainingRun.of(data, "feature:0", Settings(n_estimators=3, min_child_samples=1))
        >>> run.train().best_iteration
        3
        """
        return cls.resolve(Inputs(data, baseline, settings or Settings(), **more), comm or Comm())

    @classmethod
    @abstractmethod
    def resolve(cls, inputs: Inputs, comm: Comm) -> Self:
        """The training of these inputs, with everything that it needs."""

    @property
    @abstractmethod
    def request(self) -> dict[str, Any]:
        """Everything that the model depends on, as JSON keeps it."""

    @abstractmethod
    def train_from(self, checkpoint: Checkpoint, report: Report | None = None) -> Trained:
        """Train the model, from the state of a checkpoint on."""

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
        """Train the model; an error of the engine is raised as one line.

        With ``checkpoint`` a killed training can be resumed to the same model; the caller owns the file.
        """
        request = self.request if checkpoint else {}
        try:
            return self.train_from(Checkpoint.begin(checkpoint, request, checkpoint_every, resume), report)
        except self.engine.error as error:
            raise SurefootError(f"{self.settings.model_engine}: {engine_message(error)}") from None


@dataclass(eq=False)
class TrainingRun(Run):
    """A training with everything that it needs; see `TrainingRun.of`."""

    settings: Settings
    data: RankingData
    objective: RiskObjective
    validation: Validation | None
    engine: Engine
    params: Mapping[str, Any]
    inputs: Inputs
    history: History = field(default_factory=lambda: History(0))
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))
    shared: dict[str, Any] = field(default_factory=dict)
    """The engine's own data sets, for further trainings with the same data."""
    _text: Callable[[int], str] | None = field(default=None, init=False)
    _measures: Measures | None = field(default=None, init=False)

    @classmethod
    def resolve(cls, inputs: Inputs, comm: Comm) -> TrainingRun:
        inputs = inputs.with_max_label(comm)
        settings = inputs.settings
        if settings.n_bags > 1:
            raise SurefootError("a TrainingRun is of one model; resolve_run takes several bags")
        with comm.raise_together():
            engine = engine_of(settings.model_engine)
            params = engine.validate_params(engine.params(settings))
            validate_stopping(settings, inputs.valid is not None)
            data, valid = inputs.aligned()
            objective = inputs.objective(data, comm)
            baselines = None if valid is None else inputs.valid_baselines(valid)
            if settings.query_feature is not None:
                data = with_query_feature(data, settings.query_feature)
                valid = None if valid is None else with_query_feature(valid, settings.query_feature)
        validation = None
        if valid is not None and baselines is not None:
            validation = Validation.of(settings, valid, baselines, comm)
        history = History.of(settings, validation)
        return cls(settings, data, objective, validation, engine, params, inputs, history)

    @cached_property
    def request(self) -> dict[str, Any]:
        """Everything that the model depends on, as JSON keeps it."""
        validation = self.validation
        return {
            **request_of(self, self.objective.baseline, self.objective.weight),
            "validation data": None if validation is None else validation.data.fingerprint,
            "validation baseline": None if validation is None else validation.baselines.fingerprint,
        }

    def train_from(self, checkpoint: Checkpoint, report: Report | None = None) -> Trained:
        """Train the model, from the state of a checkpoint on."""
        self.checkpoint = checkpoint
        self.history = History.of(self.settings, self.validation, report)
        self.objective.objective.state = {}
        text = self.boost()
        card = card_of(self, self.objective.baseline, [self.history])
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

    def measure(self, scores: FloatArray) -> list[tuple[str, float, bool]]:
        """Measure a ranking of the validation queries.

        Callbacks of the user, if there are any, see the measures, each with whether more is better.
        """
        if self.validation is None:
            return []
        self._measures = found = self.validation.lazily(scores)
        shown = found.items() if self.inputs.callbacks else ()
        return [(name, value, self.validation.higher_is_better(name)) for name, value in shown]

    def after_iteration(self, trees: int, text: Callable[[int], str]) -> bool:
        """Record an iteration, and save a checkpoint if it is time; returns whether to stop.

        It has the measures of the last ranking of the validation queries or, without any, of the training queries.
        ``text`` gives the model's first trees.
        """
        stop = self.history.append(self._measures or self.objective.training_measures(), trees)
        self._text = text
        if self.checkpoint.due:
            self._save()
        return stop

    def _save(self) -> None:
        if self._text is not None:
            state = self.objective.objective.state
            self.checkpoint.save(Stage(self._text(self.history.trees), self.history.complete(), state))


def engine_message(error: Exception) -> str:
    """The first line of an engine's error, without the position in its source."""
    first = next(line for line in str(error).splitlines() if line.strip())
    return re.sub(r"^\[[\d:]+\] \S+: | at /\S+, line \d+ \.$", "", first).strip()
