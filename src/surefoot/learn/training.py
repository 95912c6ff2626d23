"""Training a ranker: settings and data in, a model with its card out. Every way to train goes through here."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

from surefoot._version import __version__
from surefoot.errors import SurefootError, choose
from surefoot.learn.baseline import Missing, baselines_of, names_any_set
from surefoot.learn.boosting import Lambda, RiskObjective
from surefoot.learn.checkpoint import EVERY, Keeper
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Report, Watch
from surefoot.learn.leaning import leans_on, leant
from surefoot.learn.lesson import Lesson
from surefoot.learn.metrics import Empty, Metric
from surefoot.learn.models import Model, engine_of
from surefoot.learn.validation import MEAN, Judge, known_figure
from surefoot.results import plain

ENGINES = ("lightgbm", "xgboost")
THREADS = {"lightgbm": "num_threads", "xgboost": "nthread"}
DEFAULT_SHARE = 0.1


@dataclass(frozen=True)
class Settings:
    """What to train, apart from the data.

    ``options`` are the objective's own, ``params`` the engine's. ``cutoff`` is that of the NDCG that is reported and
    stopped on. ``stop_on`` is a figure of the validation queries: by default the U_Risk that is trained for, at the
    same alpha, or the mean without a baseline. ``lean`` is how much the model leans on its baseline in the end, see
    `surefoot.learn.leaning`.
    """

    objective: str = "lambdamart"
    alpha: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    lambdas: Lambda = field(default_factory=Lambda)
    cutoff: int = 10
    n_estimators: int = 100
    params: Mapping[str, Any] = field(default_factory=dict)
    early_stopping_rounds: int | None = None
    stop_on: str | None = None
    engine: str = "lightgbm"
    threads: int | None = None
    lean: float = 0.0

    def reported(self) -> Metric:
        """The metric that is reported."""
        lambdas = self.lambdas
        cutoff = self.cutoff if lambdas.metric == "ndcg" else None
        return Metric(lambdas.metric, cutoff=cutoff, label_gain=lambdas.label_gain, top=lambdas.top)


def tree_params(engine: str, rate: float, leaves: int, docs_per_leaf: int, seed: int) -> dict[str, Any]:
    """The usual settings of trees in an engine's own words. XGBoost has no least number of documents in a leaf."""
    if engine == "xgboost":
        return {"learning_rate": rate, "max_leaves": leaves, "seed": seed}
    return {"learning_rate": rate, "num_leaves": leaves, "min_child_samples": docs_per_leaf, "seed": seed}


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, and what each iteration brought on the validation queries (or, without any, on the training ones)."""

    model: Model
    history: list[dict[str, float]]
    best_iteration: int


def train(
    settings: Settings,
    data: RankingData,
    baseline: Any = None,
    valid: RankingData | None = None,
    valid_baseline: Any = None,
    *,
    weight: Any = None,
    init_model: Any = None,
    callbacks: Sequence[Callable[[Any], None]] = (),
    categorical: Any = "auto",
    missing: Missing = "error",
    checkpoint: Path | None = None,
    resume: bool = False,
    every: float = EVERY,
    keep: bool = False,
    report: Report | None = None,
) -> Trained:
    """Train a ranker.

    ``baseline`` is that of the training set, ``valid_baseline`` that of the validation set; by default what names one
    on both, such as ``feature:25``. With ``checkpoint`` the training can be killed at any time and goes on with
    ``resume`` to the same model; ``keep`` leaves a last checkpoint there, for a training that is part of another.
    """
    settings = settled(settings, data)
    engine = engine_of(settings.engine)
    if settings.lean:
        leans_on(baseline, data if valid is None else valid)  # says at once what would fail after the training
    objective = RiskObjective(
        settings.objective,
        settings.alpha,
        baselines_of(baseline, data, missing),
        settings.lambdas,
        settings.threads,
        **settings.options,
    )
    objective.bind(data, weight)
    judge = judge_of(settings, data, baseline, valid, valid_baseline, missing)
    watch = watch_of(settings, judge, report)
    keeper = None
    if checkpoint is not None:
        keeper = Keeper(checkpoint, _plan(settings, objective, data, judge, init_model, categorical), every)
        if not resume:
            keeper.remove()
    lesson = Lesson(objective, data, watch, judge, keeper)
    try:
        text = engine.train(lesson, params_of(settings), init_model, callbacks, categorical)
    except KeyboardInterrupt:
        lesson.keep_now()
        raise
    except engine.failure() as error:
        raise SurefootError(f"{settings.engine}: {reason_of(error)}") from None
    if keep:
        lesson.keep_now()
    model = Model(settings.engine, text, card_of(settings, lesson))
    return Trained(finished(model, settings, data, baseline, judge), watch.history, watch.best_iteration)


def finished(model: Model, settings: Settings, data: RankingData, baseline: Any, judge: Judge | None) -> Model:
    """The model that leans as it should, with the figures of the validation queries in its card."""
    if settings.lean:
        # A ranker is surer of the queries that it was trained on than it should be.
        model = leant(model, settings.lean, data if judge is None else judge.data, baseline)
    if judge is None:
        return model
    return replace(model, card={**model.card, "validation": judge(model.predict(judge.data))})


def settled(settings: Settings, data: RankingData) -> Settings:
    """Settings that are complete and allowed; the scale of ERR is that of the training data."""
    choose(settings.engine, ENGINES, "engine")
    for name in ("n_estimators", "early_stopping_rounds", "cutoff", "threads"):
        number = getattr(settings, name)
        if number is not None and number < 1:
            raise SurefootError(f"{name} must be 1 or more; got {number}")
    if not 0 <= settings.lean < math.inf:
        raise SurefootError(f"lean must be 0 or more; got {settings.lean:g}")
    lambdas = settings.lambdas
    if lambdas.metric == "err" and lambdas.top is None:
        lambdas = replace(lambdas, top=int(data.labels.max(initial=0)))
    return replace(settings, lambdas=lambdas)


def params_of(settings: Settings) -> dict[str, Any]:
    """The engine's parameters, the number of threads among them."""
    threads = {} if settings.threads is None else {THREADS[settings.engine]: settings.threads}
    return {**threads, **settings.params}


def judge_of(
    settings: Settings,
    data: RankingData,
    baseline: Any,
    valid: RankingData | None,
    valid_baseline: Any,
    missing: Missing = "error",
) -> Judge | None:
    """Who judges a model on the validation queries, if there are any."""
    if valid is None:
        return None
    settings = settled(settings, data)
    if valid_baseline is None and not names_any_set(baseline):
        raise SurefootError(
            "the baseline is given for the training queries alone; give that of the validation queries too"
        )
    theirs = baselines_of(baseline if valid_baseline is None else valid_baseline, valid, missing)
    return Judge(valid, settings.reported(), theirs, *figures_of(settings))


def figures_of(settings: Settings) -> tuple[float, float, Empty]:
    """The alpha and the tail of a validation's figures, and what a query without relevant documents counts."""
    return settings.alpha, settings.options.get("share", DEFAULT_SHARE), settings.lambdas.empty


def watch_of(settings: Settings, judge: Judge | None, report: Report | None) -> Watch:
    """Who watches a training, and on which figure it stops."""
    if judge is None:
        if settings.early_stopping_rounds is not None or settings.stop_on is not None:
            raise SurefootError("stopping early, or at the best iteration, needs validation queries; give some")
        return Watch(settings.n_estimators, report=report)
    compared = bool(judge.baselines.names)
    stop_on = known_figure(settings.stop_on or ("urisk" if compared else MEAN), compared)
    return Watch(settings.n_estimators, stop_on, settings.early_stopping_rounds, report, validated=True)


def _plan(
    settings: Settings, objective: RiskObjective, data: RankingData, judge: Judge | None, init_model: Any, more: Any
) -> dict[str, Any]:
    """What must be the same for a training to go on."""
    return {
        **plain(asdict(replace(settings, threads=None))),
        "version": [__version__, _version(settings.engine)],
        "training data": data.fingerprint,
        "baseline": objective.baseline.fingerprint,
        "weight": None if objective.weight is None else blake2b(objective.weight.tobytes()).hexdigest(),
        "validation data": None if judge is None else judge.data.fingerprint,
        "validation baseline": None if judge is None else judge.baselines.fingerprint,
        "init_model": init_model is not None,
        "categorical_feature": str(more),
    }


def card_of(settings: Settings, lesson: Lesson) -> dict[str, Any]:
    """What a model was trained for, and from what."""
    data, watch = lesson.data, lesson.watch
    return {
        "surefoot": __version__,
        "python": platform.python_version(),
        "engine": {"name": settings.engine, "version": _version(settings.engine)},
        "objective": settings.objective,
        "alpha": settings.alpha,
        "options": dict(settings.options),
        "baselines": list(lesson.objective.baseline.names),
        "notes": list(lesson.objective.baseline.notes),
        "lambda": asdict(settings.lambdas),
        "metric": str(settings.reported()),
        "trees": watch.best_trees,
        "stopped_on": watch.stop_on if watch.validated else None,
        "params": dict(settings.params),
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


def _version(engine: str) -> str:
    return str(import_module(engine).__version__)


def reason_of(error: Exception) -> str:
    """What an engine says went wrong, without where in its own source."""
    first = next(line for line in str(error).splitlines() if line.strip())
    return re.sub(r"^\[[\d:]+\] \S+: | at /\S+, line \d+ \.$", "", first).strip()
