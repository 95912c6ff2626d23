"""A training request, resolved once: baselines, validation, objective and checkpoint.

A single training, each bag, and every worker of a cluster run this code.
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
from surefoot.learn.bagging import average, bag_report, bag_settings
from surefoot.learn.baseline import Missing, baseline_for, baselines_of
from surefoot.learn.boosting import LabelRegression, RiskObjective
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage
from surefoot.learn.comm import Comm, Local
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import History, Report, validate_stopping
from surefoot.learn.engines import Engine, engine_of
from surefoot.learn.feature_alignment import same_features
from surefoot.learn.interpolation import validate_interpolation
from surefoot.learn.metrics import Metric
from surefoot.learn.models import Model
from surefoot.learn.requests import array_key, normalise_request, request_key
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Parts, Validation


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model and how it came about.

    Parameters
    ----------
    model : Model
        The model of the best iteration.
    history : list of dict
        The measures after each iteration, on the validation queries or, without any, on the training queries; with
        several bags, those of the first.
    best_iteration : int
        The iteration that was kept, counted from 1.

    Examples
    --------
    >>> Trained(Model("lightgbm", "", {}), [{"mean": 0.5, "trees": 1}], 1).best_iteration
    1
    """

    model: Model
    history: list[dict[str, float]]
    best_iteration: int


@dataclass(eq=False)
class TrainingRun:
    """A training with everything that it needs; see `TrainingRun.of`."""

    settings: Settings
    data: RankingData
    baseline: Any
    objective: RiskObjective
    validation: Validation | None
    engine: Engine
    params: Mapping[str, Any]
    init_model: Any = None
    callbacks: Sequence[Any] = ()
    categorical_feature: Any = "auto"
    history: History = field(default_factory=lambda: History(0))
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None, {}))
    _text: Callable[[int], str] | None = None

    @classmethod
    def of(
        cls,
        data: RankingData,
        baseline: Any = None,
        settings: Settings | None = None,
        *,
        valid: RankingData | None = None,
        valid_baseline: Any = None,
        sample_weight: Any = None,
        missing: Missing = "error",
        comm: Comm | None = None,
        **more: Any,
    ) -> TrainingRun:
        """Resolve a request.

        Parameters
        ----------
        data, baseline, settings, valid, valid_baseline, sample_weight, missing
            As in `train`.
        comm : Comm, optional
            On a cluster, how the worker sums over all queries. What one worker finds wrong with its rows ends the
            training of all.
        **more
            ``init_model``, ``callbacks`` and ``categorical_feature``, as in `train`.

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
        settings = _with_max_label(settings or Settings(), data, comm)
        with comm.raise_together():
            engine = engine_of(settings.model_engine)
            params = engine.validate_params(engine.params(bag_settings(settings, 0)))
            validate_stopping(settings, valid is not None)
            if valid is not None:
                data, valid = _same_features(data, valid)
            if settings.baseline_weight:  # tells at once what would fail after the training
                validate_interpolation(baseline, data if valid is None else valid)
            objective = (LabelRegression if settings.learner == "regression-trees" else RiskObjective)(
                settings.objective,
                settings.alpha,
                baselines_of(baseline, data, missing).combine(settings.virtual_baseline),
                pairs=settings,
                n_jobs=settings.n_jobs,
                comm=comm,
                **settings.objective_options,
            )
            objective.bind(data, sample_weight)
            if valid is None:
                objective.report_by(Metric.reported(settings).bind(data.labels, data.bounds, settings.empty))
            prepared = None
            if valid is not None:
                prepared = _prepare_validation(settings, valid, baseline, valid_baseline, missing)
        validation = None if prepared is None else Validation(*prepared, comm)
        return cls(
            settings, data, baseline, objective, validation, engine, params,
            history=History.of(settings, validation), **more,
        )  # fmt: skip

    @cached_property
    def request(self) -> dict[str, Any]:
        """All that the model depends on, as JSON keeps it."""
        objective, validation = self.objective, self.validation
        return normalise_request({
            **self.settings.identity(),
            "version": [__version__, self.engine.version],
            "training data": self.data.fingerprint,
            "baseline": objective.baseline.fingerprint,
            "weight": None if objective.weight is None else array_key(objective.weight),
            "validation data": None if validation is None else validation.data.fingerprint,
            "validation baseline": None if validation is None else validation.baselines.fingerprint,
            "init_model": self.init_model is not None,
            "categorical_feature": str(self.categorical_feature),
        })  # fmt: skip

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
        """Train all bags and put the model together.

        With ``checkpoint`` a killed training goes on with ``resume`` to the same model; the file is left to whoever
        named it.
        """
        saved = Checkpoint(checkpoint, self.request if checkpoint else {}, checkpoint_every)
        if resume:
            saved.load()
        else:
            saved.remove()
        n_bags = self.settings.n_bags
        bags = [self._bag(bag, saved, bag_report(report, bag, n_bags)) for bag in range(n_bags)]
        histories = [history for _, history in bags]
        card = self._card(histories)
        model = Model(self.settings.model_engine, average([text for text, _ in bags]), card)
        return Trained(self._finish(model), histories[0].iterations, histories[0].best_iteration)

    def _bag(self, bag: int, checkpoint: Checkpoint, report: Report | None) -> tuple[str, History]:
        """Boost one bag, or take it from the checkpoint if it is complete."""
        settings = bag_settings(self.settings, bag)
        history = History.of(settings, self.validation, report)
        if bag < len(checkpoint.bags):
            done = checkpoint.bags[bag]
            history.resume(done.history)
            return done.model, history
        params = self.engine.validate_params(self.engine.params(settings))
        run = replace(self, settings=settings, params=params, history=history, checkpoint=checkpoint)
        run.objective.objective.state = {}
        text = run.boost()
        if bag + 1 < settings.n_bags:
            checkpoint.finish_bag(Stage(text, history.iterations))
        return text, history

    def boost(self) -> str:
        """Have the engine boost; an interrupt saves a checkpoint."""
        try:
            return self.engine.train(self)
        except KeyboardInterrupt:
            self._save()
            raise

    def resume(self, random: bool) -> str:
        """The model of the checkpoint, whose history and estimates are taken up; no text if there is none.

        A training that is random goes on where the RNG was last reseeded: the model may have more trees.
        """
        saved = self.checkpoint.current
        self.history.resume(saved.history, random)
        self.objective.objective.state = saved.state
        return saved.model

    def after_iteration(self, measures: Mapping[str, float] | None, trees: int, text: Callable[[int], str]) -> bool:
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
            self.checkpoint.save(Stage(self._text(self.history.trees), self.history.iterations, state))

    def _finish(self, model: Model) -> Model:
        """The model interpolated as it should be, with the measures of the validation queries in its card."""
        settings, validation = self.settings, self.validation
        if settings.baseline_weight:
            # A ranker is surer of the queries that it was trained on than it should be.
            data = self.data if validation is None else validation.data
            model = model.interpolate(settings.baseline_weight, self.baseline, data)
        if validation is None:
            return model
        return replace(model, card={**model.card, "validation": validation(model.predict(validation.data))})

    def _card(self, histories: Sequence[History]) -> dict[str, Any]:
        """What a model was trained for, and from what."""
        data, first = self.data, histories[0]
        return {
            "surefoot": __version__,
            "python": platform.python_version(),
            "engine": {"name": self.settings.model_engine, "version": self.engine.version},
            "settings": self.settings.identity(),
            "baselines": list(self.objective.baseline.names),
            "notes": list(self.objective.baseline.notes),
            "metric": str(Metric.reported(self.settings)),
            "trees": sum(history.best_trees for history in histories),
            "best_iteration": first.best_iteration,
            "stopped_on": first.stop_on,
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


def _with_max_label(settings: Settings, data: RankingData, comm: Comm) -> Settings:
    """The scale of ERR is that of the training data, on all workers."""
    if settings.metric != "err" or settings.max_label is not None:
        return settings
    (highest,) = comm.max(np.array([data.labels.max(initial=0)], np.float64))
    return replace(settings, max_label=int(highest))


def _same_features(data: RankingData, valid: RankingData) -> list[RankingData]:
    """Both sets with the features of both: LETOR files where most values are 0 seldom end at the same one."""
    if data.feature_names or valid.feature_names:
        return [data, valid]
    return same_features([data, valid])


def _prepare_validation(
    settings: Settings, valid: RankingData, baseline: Any, valid_baseline: Any, missing: Missing
) -> Parts:
    """What a `Validation` is made of."""
    theirs = baselines_of(baseline_for("validation", valid_baseline, baseline), valid, missing)
    return Validation.parts(settings, valid, theirs)
