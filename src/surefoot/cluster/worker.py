"""What each worker of a cluster does in a training: the same as one machine, with sums over all workers.

The workers are joined by XGBoost's own collective, which also adds up the histograms. Every worker must call it
equally often, whatever its rows, even if it has none; so nothing here depends on what a worker holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

import numpy as np

from surefoot.cluster.columns import Part
from surefoot.cluster.partitioning import Cut
from surefoot.errors import SurefootError, counted
from surefoot.io.atomic import digest_of
from surefoot.learn import training
from surefoot.learn.boosting import Lambda, RiskObjective
from surefoot.learn.engines import xgboost as xgboost_engine
from surefoot.learn.lesson import Lesson
from surefoot.learn.models import Model
from surefoot.learn.objectives import Tail
from surefoot.learn.training import Settings, Trained
from surefoot.learn.validation import Judge
from surefoot.scores import FloatArray

PATIENCE = 300
"""Seconds that workers wait for each other at the beginning."""

ELSEWHERE = "another worker found a mistake"


def over_all(sums: FloatArray) -> FloatArray:
    """Sums over all workers."""
    from xgboost import collective

    return np.asarray(collective.allreduce(np.asarray(sums, dtype=np.float64), collective.Op.SUM))


@dataclass(frozen=True, eq=False)
class Plan:
    """What all workers are told. ``everywhere`` is what makes the objective's figures those of all workers."""

    settings: Settings
    cut: Cut
    valid: Cut | None = None
    init_model: str | None = None
    callbacks: Sequence[Any] = ()
    everywhere: Callable[[FloatArray], FloatArray] = over_all

    def __post_init__(self) -> None:
        if self.settings.engine != "xgboost":
            raise SurefootError(f"clusters train by XGBoost: choose the engine xgboost, not {self.settings.engine}")
        if self.settings.lean:
            raise SurefootError("a model trained on a cluster does not lean on its baseline; set lean to 0")
        if self.settings.objective == Tail.name:
            raise SurefootError(
                "objective tail has to rank all queries, which sums over workers can't; train it on one machine, or "
                "take ucro or saro"
            )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a worker brings back; the model itself comes from the first one only, the others vouch for it."""

    digest: str
    fingerprint: str
    trained: Trained | None = None


def start_tracker(workers: int, host: str) -> dict[str, Any]:
    """Start what brings the workers together, and return how they find it."""
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(n_workers=workers, host_ip=host, sortby="task", timeout=PATIENCE)
    tracker.start()
    found = dict(tracker.worker_args())
    Thread(target=_keep, args=(tracker,), daemon=True).start()
    return found


def _keep(tracker: Any) -> None:
    """Keep the tracker until the training ends. If it ends badly, the workers tell why."""
    from xgboost.core import XGBoostError

    for step in (tracker.wait_for, tracker.free):
        with suppress(XGBoostError):
            step()


def take_part(
    plan: Plan, tracker: Mapping[str, Any], member: int, part: Part, valid: Part | None, threads: int
) -> Outcome:
    """Train with all others that take part."""
    with _joined(tracker, member):
        settings = replace(plan.settings, threads=plan.settings.threads or threads, lambdas=_lambdas(plan, part))
        objective = _prepared(plan, settings, part, valid)
        _check(plan.cut, part)
        judge = None
        if plan.valid is not None and valid is not None:
            _check(plan.valid, valid)
            judge = SharedJudge(valid.data, settings.reported(), valid.baselines, *training.figures_of(settings))
        lesson = SharedLesson(objective, part.data, training.watch_of(settings, judge, None), judge)
        before = None if plan.init_model is None else xgboost_engine.loaded(plan.init_model)
        text = xgboost_engine.train(lesson, training.params_of(settings), before, plan.callbacks)
        text = text if part.data.labels.size else _named(text, part.data.feature_names)
        card = training.card_of(settings, lesson)
        if judge is not None:
            card["validation"] = judge(Model(settings.engine, text, card).predict(judge.data))
    digest = digest_of(text)
    if member:
        return Outcome(digest, part.data.fingerprint)
    card["data"] |= {"queries": plan.cut.queries, "documents": plan.cut.documents}
    trained = Trained(Model(settings.engine, text, card), lesson.watch.history, lesson.watch.best_iteration)
    return Outcome(digest, part.data.fingerprint, trained)


@contextmanager
def _joined(tracker: Mapping[str, Any], member: int) -> Iterator[None]:
    """In the collective with the others. Leaving it after an error must not hide that error by another."""
    from xgboost import collective
    from xgboost.core import XGBoostError

    collective.init(**tracker, dmlc_task_id=f"{member:06}")
    try:
        yield
    except BaseException:
        with suppress(XGBoostError):
            collective.finalize()
        raise
    collective.finalize()


def _lambdas(plan: Plan, part: Part) -> Lambda:
    """The scale of ERR is that of all workers' labels."""
    from xgboost import collective

    lambdas = plan.settings.lambdas
    highest = collective.allreduce(np.array([part.data.labels.max(initial=0)], np.float64), collective.Op.MAX)
    return replace(lambdas, top=int(highest[0])) if lambdas.metric == "err" and lambdas.top is None else lambdas


def _prepared(plan: Plan, settings: Settings, part: Part, valid: Part | None) -> RiskObjective:
    """The objective, ready for a worker's rows. If one worker finds a mistake, none goes on to wait for it."""
    mistake = None
    try:
        training.settled(settings, part.data)
        xgboost_engine.checked(settings.params)
        objective = RiskObjective(
            settings.objective, settings.alpha, part.baselines, settings.lambdas, settings.threads, plan.everywhere,
            **settings.options,
        )  # fmt: skip
        objective.bind(part.data)
        if valid is not None:
            settings.reported().gains(valid.data.labels, valid.data.bounds)
    except SurefootError as error:
        mistake = error
    (mistakes,) = over_all(np.array([mistake is not None]))
    if mistake is not None:
        raise mistake
    if mistakes:
        raise SurefootError(ELSEWHERE)
    return objective


def _check(cut: Cut, part: Part) -> None:
    """Whether the workers hold each query once and whole: their queries, added up, are as many as there are."""
    queries, documents = over_all(np.array([len(part.data), part.data.labels.size]))
    if (queries, documents) != (cut.queries, cut.documents):
        raise SurefootError(
            f"the workers hold {counted(int(queries), 'query')} and {counted(int(documents), 'document')}, but the "
            f"table has {cut.queries:,} and {cut.documents:,}; it changes while it is read, or queries were cut"
        )


def _named(text: str, names: Sequence[str] | None) -> str:
    """A model with its features' names, which XGBoost leaves out on a worker that saw no rows."""
    booster = xgboost_engine.loaded(text)
    booster.feature_names = None if names is None else list(names)
    return xgboost_engine.text_of(booster, booster.num_boosted_rounds())


def finished(outcomes: Sequence[Outcome], source: str) -> Trained:
    """The model of a training, if all workers have the same."""
    (trained,) = (outcome.trained for outcome in outcomes if outcome.trained is not None)
    if len({outcome.digest for outcome in outcomes}) > 1:
        raise SurefootError("the workers ended with different models; run the same packages on all of them")
    card = dict(trained.model.card)
    fingerprint = digest_of("\n".join(outcome.fingerprint for outcome in outcomes))
    card["data"] = {**card["data"], "source": source, "fingerprint": fingerprint}
    card["workers"] = len(outcomes)
    return replace(trained, model=replace(trained.model, card=card))


def reason_of(errors: Sequence[BaseException | None]) -> str:
    """What went wrong, in one line: not what the others noticed, that one had left the collective."""
    causes = [error for error in errors if isinstance(error, Exception) and "/collective/" not in str(error)]
    if not causes:
        return "the workers lost touch with each other"
    said = training.reason_of(causes[0]) if str(causes[0]).strip() else ""
    return f"{type(causes[0]).__name__}: {said}".removesuffix(": ")


class SharedJudge(Judge):
    """A judge of the validation queries of all workers: all of them know the metric of each query."""

    def _settled(self, values: FloatArray) -> FloatArray:
        here = super()._settled(values) if self._kept().any() else values[:, :0]
        everyone = gathered(here)
        if not everyone.shape[1]:
            raise SurefootError(f"{self.data.source}: no query has a relevant document")
        return everyone


class SharedLesson(Lesson):
    """A lesson that tells the figures of the training queries of all workers."""

    def training_figures(self) -> dict[str, float]:
        objective = self.objective
        x = objective.x[objective.counted]
        b = objective.baselines[:, objective.counted]
        d = x - b.mean(axis=0) if b.shape[0] else np.zeros_like(x)
        valued = d + objective.objective.alpha * np.minimum(d, 0)
        count, total, value, losses = over_all(np.array([x.size, x.sum(), valued.sum(), (d < 0).sum()]))
        figures = {"mean": float(total / count)}
        return figures | ({"urisk": float(value / count), "losses": int(losses)} if b.shape[0] else {})


def gathered(values: FloatArray) -> FloatArray:
    """The columns of all workers side by side: each fills in its own, and the rest of the sum is 0."""
    from xgboost import collective

    counts = np.zeros(collective.get_world_size())
    counts[collective.get_rank()] = values.shape[1]
    ends = np.cumsum(over_all(counts)).astype(np.int64)
    everyone = np.zeros((values.shape[0], ends[-1]))
    everyone[:, ends[collective.get_rank()] - values.shape[1] : ends[collective.get_rank()]] = values
    return over_all(everyone).reshape(everyone.shape)
