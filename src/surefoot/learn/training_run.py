"""A training request, resolved once: baselines, validation, objective and checkpoint.

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
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage
from surefoot.learn.comm import Comm, Local
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import History, Report, validate_stopping
from surefoot.learn.engines import Engine, engine_of
from surefoot.learn.feature_alignment import same_features
from surefoot.learn.metrics import Metric
from surefoot.learn.models import Model
from surefoot.learn.query_features import with_query_feature
from surefoot.learn.requests import array_key, normalise_request, request_key
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Measures, Validation
from surefoot.scores import FloatArray


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
    """What the engine made of the data, for whoever trains with them again."""
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
        settings = with_max_label(settings or Settings(), data, comm)
        if settings.n_bags > 1:
            raise SurefootError("a TrainingRun is of one model; resolve_run takes several bags")
        with comm.raise_together():
            engine = engine_of(settings.model_engine)
            params = engine.validate_params(engine.params(settings))
            validate_stopping(settings, valid is not None)
            if valid is not None:
                data, valid = align_features(data, valid)
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
                theirs = baselines_of(baseline_for("validation", valid_baseline, baseline), valid, missing)
                if settings.query_feature is not None:
                    valid = with_query_feature(valid, settings.query_feature)
                prepared = Validation.parts(settings, valid, theirs)
            if settings.query_feature is not None:
                data = with_query_feature(data, settings.query_feature)
        validation = None if prepared is None else Validation(*prepared, comm)
        return cls(
            settings, data, objective, validation, engine, params,
            history=History.of(settings, validation), **more,
        )  # fmt: skip

    @cached_property
    def request(self) -> dict[str, Any]:
        """All that the model depends on, as JSON keeps it."""
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

        With ``checkpoint`` a killed training goes on with ``resume`` to the same model; the file is left to whoever
        named it.
        """
        request = self.request if checkpoint else {}
        return self.train_from(Checkpoint.begin(checkpoint, request, checkpoint_every, resume), report)

    def train_from(self, checkpoint: Checkpoint, report: Report | None = None) -> Trained:
        """Train the model from where a checkpoint is."""
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
        """Have the engine boost; an interrupt saves a checkpoint."""
        try:
            text = self.engine.train(self)
        except KeyboardInterrupt:
            self._save()
            raise
        self.history.complete()
        return text

    def resume(self, random: bool) -> str:
        """The model of the checkpoint, whose history and estimates are taken up; no text if there is none.

        A training that is random goes on where the RNG was last reseeded: the model may have more trees.
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
    """What every training depends on, as JSON keeps it; ``more`` is the run, with what is given to its engine."""
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
    """What a model was trained for, and from what."""
    return {
        "surefoot": __version__,
        "python": platform.python_version(),
        "engine": {"name": settings.model_engine, "version": engine.version},
        "settings": settings.identity(),
        "baselines": list(baselines.names),
        "notes": list(baselines.notes),
        "metric": str(Metric.reported(settings)),
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


def with_max_label(settings: Settings, data: RankingData, comm: Comm) -> Settings:
    """The scale of ERR is that of the training data, on all workers."""
    if "err" not in (settings.metric, settings.risk_metric) or settings.max_label is not None:
        return settings
    (highest,) = comm.max(np.array([data.labels.max(initial=0)], np.float64))
    return replace(settings, max_label=int(highest))


def align_features(data: RankingData, valid: RankingData) -> list[RankingData]:
    """Both sets with the features of both: LETOR files where most values are 0 seldom end at the same one."""
    if data.feature_names or valid.feature_names:
        return [data, valid]
    return same_features([data, valid])
