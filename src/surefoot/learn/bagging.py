"""Bags: several trainings that differ by chance, averaged into one model. Fewer queries then lose by accident.

Each bag holds out a part of the queries, in turn, and keeps the iteration that is best on them. So no validation
queries need to be set aside, and every query has out-of-bag scores: those of the bags that did not see it. Whatever is
chosen after the training, such as a guard, is chosen on these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._random import generator
from surefoot.errors import SurefootError, counted
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
from surefoot.learn.boosting import as_weight
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage
from surefoot.learn.comm import Local
from surefoot.learn.data import Ints, RankingData, concat
from surefoot.learn.early_stopping import History, Progress, Report
from surefoot.learn.engines import Engine, engine_of
from surefoot.learn.guarding import Guarding
from surefoot.learn.models import Model
from surefoot.learn.requests import request_key
from surefoot.learn.settings import LARGEST_SEED, Settings
from surefoot.learn.training_run import (
    Trained,
    TrainingRun,
    align_features,
    card_of,
    request_of,
    with_max_label,
)
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray

PARTS = 4
"""Into so many parts the queries are split, if there are as many bags; bag i holds out part i mod ``PARTS``."""

SEED_GAP = 1000
"""Between the seeds of two bags, beyond the iterations of a training, which increase them by one each."""


@dataclass(eq=False)
class BaggedRun:
    """A training of several bags, resolved once; see `BaggedRun.of`.

    ``part_of_query`` is the part of each query of ``data``, which are all queries, for training and validation.
    """

    settings: Settings
    data: RankingData
    baselines: Baselines
    part_of_query: Ints
    engine: Engine
    guarding: Guarding | None = None
    weight: Any = None
    init_model: Any = None
    callbacks: Sequence[Any] = ()
    categorical_feature: Any = "auto"

    @classmethod
    def of(
        cls,
        data: RankingData,
        baseline: Any,
        settings: Settings,
        *,
        valid: RankingData | None = None,
        valid_baseline: Any = None,
        sample_weight: Any = None,
        missing: Missing = "error",
        **more: Any,
    ) -> BaggedRun:
        """Resolve a request; the parameters are those of `TrainingRun.of`.

        Validation queries are queries like the others. Their documents weigh 1.

        Examples
        --------
        >>> data = RankingData.of(np.arange(16.0)[:, None] % 5, np.arange(16) % 2, qid=np.arange(16) // 4)
        >>> run = BaggedRun.of(data, "feature:0", Settings(n_bags=2, n_estimators=3, min_child_samples=1))
        >>> run.part_of_query.tolist(), run.train().model.booster.num_trees() > 0
        ([0, 0, 1, 1], True)
        """
        weight = as_weight(sample_weight, data.bounds)
        if valid is not None:
            data, valid = align_features(data, valid)
        baselines = baselines_of(baseline, data, missing)
        if valid is not None:
            baselines = baselines.followed_by(
                baselines_of(baseline_for("validation", valid_baseline, baseline), valid, missing)
            )
            weight = None if weight is None else np.append(weight, np.ones(valid.labels.size, np.float32))
            data = concat([data, valid])
        parts = min(PARTS, settings.n_bags)
        if len(data) < parts:
            raise SurefootError(
                f"{counted(settings.n_bags, 'bag')} hold out {parts} parts of the queries in turn; "
                f"{data.source} has {counted(len(data), 'query')}"
            )
        part_of_query = generator(settings.seed).permutation(np.arange(len(data)) % parts)
        settings = with_max_label(settings, data, Local())
        guarding = None if settings.guard is None else Guarding.of(settings, data, baseline, baselines)
        run = cls(settings, data, baselines, part_of_query, engine_of(settings.model_engine), guarding, weight, **more)
        run.engine.validate_params(run.engine.params(run.bag_settings(0)))
        return run

    @cached_property
    def request(self) -> dict[str, Any]:
        """All that the model depends on, as JSON keeps it."""
        return request_of(self.settings, self.engine, self.data, self.baselines, self.weight, self)

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
        """Train all bags and put the model together; a checkpoint as in `TrainingRun.train`."""
        saved = Checkpoint.begin(checkpoint, self.request if checkpoint else {}, checkpoint_every, resume)
        bags = list(self._bags(saved, report))
        model = Model(
            self.settings.model_engine,
            self.engine.average([bag.model for bag in bags]),
            card_of(self.settings, self.engine, self.data, self.baselines, [bag.history for bag in bags]),
        )
        scores = self.out_of_bag(bags)
        first = bags[0].history
        return Trained(self._finish(model, scores), first.complete(), first.best_iteration, scores)

    def out_of_bag(self, bags: Sequence[Bag]) -> FloatArray:
        """The score of each document: the mean of those that the bags gave it which did not see its query."""
        total, count = np.zeros(self.data.labels.size), np.zeros(self.data.labels.size)
        for bag in bags:
            rows = self.data.rows(self.part_of_query == bag.part)
            total[rows] += bag.held_out
            count[rows] += 1
        return np.asarray(total / count)

    def bag_settings(self, bag: int) -> Settings:
        """The settings of one bag; the seeds of two bags are further apart than a training increases them."""
        settings = self.settings
        gap = (settings.n_estimators + SEED_GAP) * bag
        params = self.engine.bag_params(settings.params, gap)
        seed = (settings.seed + gap) % (LARGEST_SEED + 1)
        return replace(settings, n_bags=1, guard=None, max_loss=None, seed=seed, params=params)

    def _bags(self, checkpoint: Checkpoint, report: Report | None) -> Iterator[Bag]:
        """The bags, part by part, so that those of one part share its data and no other's are in memory.

        An engine's bins are those of the part's own queries, not of all: out-of-bag scores owe nothing to the queries
        that were held out. Those that the checkpoint has are not trained again.
        """
        n_bags, parts, done = self.settings.n_bags, int(self.part_of_query.max()) + 1, 0
        for part in range(parts):
            shared, held_out = self._part(part)
            for number in range(part, n_bags, parts):
                run = self._bag(shared, number, checkpoint, _bag_report(report, done, n_bags))
                if done < len(checkpoint.bags):
                    run.history.resume(checkpoint.bags[done].history)
                else:
                    checkpoint.finish_bag(Stage(run.boost(), run.history.complete()))
                text = checkpoint.bags[done].model
                scores = self.engine.predict(self.engine.load(text), held_out.features)
                yield Bag(text, run.history, part, np.asarray(scores, dtype=np.float64))
                done += 1

    def _bag(self, shared: TrainingRun, number: int, checkpoint: Checkpoint, report: Report | None) -> TrainingRun:
        """The training of one bag, with the data of its part."""
        settings = self.bag_settings(number)
        params = self.engine.validate_params(self.engine.params(settings))
        history = History.of(settings, shared.validation, report)
        shared.objective.objective.state = {}
        return replace(shared, settings=settings, params=params, history=history, checkpoint=checkpoint)

    def _part(self, part: int) -> tuple[TrainingRun, RankingData]:
        """The training on the queries that are not of this part, validated on those that are, and these."""
        held_out = np.flatnonzero(self.part_of_query == part)
        seen = np.flatnonzero(self.part_of_query != part)
        valid = self.data.select(held_out)
        run = TrainingRun.of(
            self.data.select(seen),
            self.baselines.select(self.data, seen),
            self.bag_settings(part),
            valid=valid,
            valid_baseline=self.baselines.select(self.data, held_out),
            sample_weight=None if self.weight is None else self.weight[self.data.rows(seen)],
            init_model=self.init_model,
            callbacks=self.callbacks,
            categorical_feature=self.categorical_feature,
        )
        return run, valid

    def _finish(self, model: Model, out_of_bag: FloatArray) -> Model:
        """The model guarded if it should be, with measures of queries that it did not see in its card."""
        if self.guarding is not None:
            return self.guarding.fit(model, out_of_bag)
        validation = Validation.of(self.settings, self.data, self.baselines)
        return replace(model, card={**model.card, "validation": validation(out_of_bag)})


@dataclass(frozen=True, eq=False)
class Bag:
    """A trained bag: its model, its history, the part that it did not see and its scores of that part's documents."""

    model: str
    history: History
    part: int
    held_out: FloatArray


def resolve_run(data: RankingData, baseline: Any = None, settings: Settings | None = None, **more: Any) -> Run:
    """A training of one model or of several bags, as the settings say; the parameters are those of `TrainingRun.of`."""
    if settings is not None and settings.n_bags > 1:
        return BaggedRun.of(data, baseline, settings, **more)
    return TrainingRun.of(data, baseline, settings, **more)


Run = TrainingRun | BaggedRun


def _bag_report(report: Report | None, done: int, n_bags: int) -> Report | None:
    """Reports the progress of all bags together."""
    return None if report is None else partial(_report, report, done, n_bags)


def _report(report: Report, done: int, n_bags: int, at: Progress) -> None:
    seconds = at.seconds_left / max(1, at.n_iterations - at.iteration)
    left = at.seconds_left + seconds * at.n_iterations * (n_bags - done - 1)
    iteration, total = done * at.n_iterations + at.iteration, n_bags * at.n_iterations
    report(replace(at, iteration=iteration, n_iterations=total, seconds_left=left))
