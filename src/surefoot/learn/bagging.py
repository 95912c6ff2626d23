"""Bags: several trainings that differ by chance, averaged into one model, so that fewer queries lose by accident.

Each bag holds out a part of the queries, in turn, and keeps the iteration that is best on them. So no validation
queries need to be set aside, and every query has out-of-bag scores: those of the bags that did not see it. A guard is
fitted on these scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, counted
from surefoot.guard.certificate import Budget
from surefoot.guard.guard import SECOND_STAGE
from surefoot.guard.pairs import Pair, Scored
from surefoot.guard.second_stage import FEWEST_QUERIES
from surefoot.guard.trial import ALPHA, CHOSEN, LabelledPair, Trial, choose_guard
from surefoot.learn.baseline import BELOW_ALL, Baselines, baselines_of, feature_form, form_scores, guard_scores
from surefoot.learn.boosting import as_weight
from surefoot.learn.checkpoint import Checkpoint, Stage, request_of
from surefoot.learn.data import Ints, RankingData
from surefoot.learn.engines import Engine
from surefoot.learn.joining import concat
from surefoot.learn.models import Model, card_of
from surefoot.learn.objectives.base import Comm
from surefoot.learn.run import Inputs, Run, Trained, TrainingRun
from surefoot.learn.settings import LARGEST_SEED, Settings, engine_of
from surefoot.learn.validation import History, Progress, Report, Validation

PARTS = 4
"""The number of parts of the queries, at most one for each bag; bag i holds out part i mod ``PARTS``."""

MOST_GUARDED = 100_000
"""Queries on which the guard of an XGBoost model is fitted, at most: those with the smallest hashes. Every worker of a
cluster has their labels and both rankers' scores."""

SEED_GAP = 1000
"""Added to the iterations of a training, which increase the seed by one each, to keep the seeds of bags apart."""

OUT_OF_BAG = (
    "The test covers each query's ranking by the bags that did not see it; the model is the average of all bags, "
    "which no test covers."
)
"""The scope of a guarded model's promise."""


@dataclass(frozen=True, eq=False)
class Guarding:
    """How a model is guarded: the baseline's scores, its form if it is a feature, and the queries to fit on, in order.

    On a cluster each worker has some queries, and all fit the same guard on the queries of all.
    """

    settings: Settings
    data: RankingData
    queries: Ints
    name: str
    baseline_scores: FloatArray
    form: tuple[str, int] | None
    comm: Comm

    @classmethod
    def of(
        cls, settings: Settings, data: RankingData, baseline: Any, baselines: Baselines, queries: Ints, comm: Comm
    ) -> Guarding:
        """Raise the errors at once that would otherwise come after the training."""
        with comm.raise_together():
            form = feature_form(baseline, data)
            scores = guard_scores(baselines.ranking("a guard") if form is None else form_scores(*form, data))
        (spread,) = comm.max(np.array([Scored(scores, data.bounds).spread.max() if scores.size else 0.0]))
        if not spread:
            raise SurefootError(
                f"{data.source}: the baseline {baselines.names[0]} is the same for all documents of a query, so it "
                "can't guard; name another one, or train without a guard"
            )
        return cls(settings, data, queries, baselines.names[0], scores, form, comm)

    def fit(self, model: Model, out_of_bag: FloatArray) -> Model:
        """The model with a guard fitted on these scores, and measures of both on queries that they did not see."""
        settings = self.settings
        validation, judged = self._judged(out_of_bag)
        measure, queries, counts = str(validation.metric.metric), len(validation.data), validation.metric.counted
        budget = None if settings.max_loss is None else Budget(settings.max_loss)
        few = settings.guard == SECOND_STAGE and queries // (1 if budget is None else 2) < FEWEST_QUERIES
        measures: dict[str, Any] = {}
        if settings.guard == SECOND_STAGE and budget is None and not few:
            trial = Trial(judged, np.arange(queries), (SECOND_STAGE,), ALPHA, settings.seed)
            guard, values = trial.strongest()
            guard = replace(guard, card={"measure": measure, "queries": len(trial), **guard.card})
            measures = {"validation": validation.measures_of(values[counts])}
        else:
            kinds = None if settings.guard == "any" or few else [str(settings.guard)]
            choice = choose_guard(judged, measure, kinds=kinds, budget=budget, seed=settings.seed)
            guard = choice.guard
            if budget is None:
                values = dict(choice.trial.nested())[CHOSEN]
                measures = {"validation": validation.measures_of(values[counts])}
            elif guard.safety < 1:  # the certificate has its measures
                promise = guard.card["certificate"]
                promise = {**promise, "words": f"{promise['words']} {OUT_OF_BAG}"}
                guard = replace(guard, card={**guard.card, "certificate": promise})
        form, column = self.form or (None, None)
        named = {"baseline": self.name, "form": form, "column": column}
        reasons = {key: guard.card[key] for key in ("why", "certificate") if key in guard.card}
        unguarded = validation(judged.pair.candidate.scores)
        kept = {"guard": {**named, "kind": str(guard), **reasons}, "unguarded": unguarded}
        return replace(model, card={**model.card, **kept, **measures}, guard=guard)

    def _judged(self, out_of_bag: FloatArray) -> tuple[Validation, LabelledPair]:
        """The queries of all workers: their labels and both rankings."""
        rows, gather = self.data.rows(self.queries), self.comm.gather
        sizes = gather(self.data.sizes[self.queries][None].astype(np.float64))[0].astype(np.int64)
        labels, old, new = gather(np.stack([self.data.labels[rows], self.baseline_scores[rows], out_of_bag[rows]]))
        data = RankingData.of_labels(labels, np.concatenate([[0], np.cumsum(sizes)]), self.data.source)
        baseline = Baselines((self.name,), (np.where(np.isinf(old), BELOW_ALL, old),), (None,))
        validation = Validation.of(self.settings, data, baseline)
        return validation, LabelledPair(Pair.of(old, new, data.bounds), labels, validation.metric)


@dataclass(eq=False)
class BaggedRun(Run):
    """A training of several bags, resolved once; see `Run.of`.

    ``part_of_query`` is the part of each query of ``data``, which are all queries, for training and validation.
    """

    settings: Settings
    data: RankingData
    baselines: Baselines
    part_of_query: Ints
    engine: Engine
    inputs: Inputs
    guarding: Guarding | None = None
    weight: Any = None
    comm: Comm = field(default_factory=Comm)

    @classmethod
    def resolve(cls, inputs: Inputs, comm: Comm) -> BaggedRun:
        """Resolve a request. Validation queries are queries like the others, and their documents weigh 1.

        Examples
        --------
        >>> data = RankingData.of(np.arange(16.0)[:, None] % 5, np.arange(16) % 2, qid=np.arange(16) // 4)
        >>> run = BaggedRun.of(data, "feature:0", Settings(n_bags=2, n_estimators=3, min_child_samples=1))
        >>> run.part_of_query.tolist(), run.train().model.booster.num_trees() > 0
        ([0, 0, 1, 1], True)
        """
        with comm.raise_together():
            weight = as_weight(inputs.sample_weight, inputs.data.bounds)
            data, valid = inputs.aligned()
            baselines = baselines_of(inputs.baseline, data, inputs.missing)
            if valid is not None:
                baselines = baselines.followed_by(inputs.valid_baselines(valid))
                weight = None if weight is None else np.append(weight, np.ones(valid.labels.size, np.float32))
                data = concat([data, valid])
        settings = replace(inputs, data=data).with_max_label(comm).settings
        engine, (before, total) = engine_of(settings.model_engine), comm.offset(len(data))
        parts = min(PARTS, settings.n_bags)
        if total < parts:
            raise SurefootError(
                f"{counted(settings.n_bags, 'bag')} hold out {parts} parts of the queries in turn; "
                f"{data.source} has {counted(total, 'query')}"
            )
        order = np.argsort(data.keys, kind="stable") if engine.draws_by_key else np.arange(len(data))
        part_of_query = np.empty(len(data), np.int64)
        part_of_query[order] = generator(settings.seed).permutation(np.arange(total) % parts)[before:][: len(data)]
        guarding = None
        if settings.guard is not None:
            known = order[: max(0, MOST_GUARDED - before)] if engine.draws_by_key else order
            guarding = Guarding.of(settings, data, inputs.baseline, baselines, known, comm)
        run = cls(settings, data, baselines, part_of_query, engine, inputs, guarding, weight, comm)
        run.engine.validate_params(run.engine.params(run.bag_settings(0)))
        return run

    @cached_property
    def request(self) -> dict[str, Any]:
        """Everything that the model depends on, as JSON keeps it."""
        return request_of(self, self.baselines, self.weight)

    def train_from(self, checkpoint: Checkpoint, report: Report | None = None) -> Trained:
        """Train all bags and average them."""
        bags = list(self._bags(checkpoint, report))
        model = Model(
            self.settings.model_engine,
            self.engine.average([bag.model for bag in bags]),
            card_of(self, self.baselines, [bag.history for bag in bags]),
        )
        scores = self.out_of_bag(bags)
        first = bags[0].history
        return Trained(self._finish(model, scores), first.complete(), first.best_iteration, scores)

    def out_of_bag(self, bags: Sequence[Bag]) -> FloatArray:
        """The score of each document: the mean over the bags that did not see its query."""
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
        """The bags, part by part, so that the bags of a part share its data and only these are in memory.

        An engine makes its bins from the training queries of the part only, so out-of-bag scores do not depend on the
        queries that were held out. Bags of the checkpoint are not trained again.
        """
        n_bags, done = self.settings.n_bags, 0
        parts = min(PARTS, n_bags)
        for part in range(parts):
            shared, held_out = self._part(part)
            for number in range(part, n_bags, parts):
                all_bags = None if report is None else partial(_report, report, done, n_bags)
                run = self._bag(shared, number, checkpoint, all_bags)
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
        """The training on the queries outside this part, validated on those of the part; and the part's data."""
        held_out = np.flatnonzero(self.part_of_query == part)
        seen = np.flatnonzero(self.part_of_query != part)
        valid = self.data.select(held_out)
        inputs = replace(
            self.inputs,
            data=self.data.select(seen),
            baseline=self.baselines.select(self.data, seen),
            settings=self.bag_settings(part),
            valid=valid,
            valid_baseline=self.baselines.select(self.data, held_out),
            sample_weight=None if self.weight is None else self.weight[self.data.rows(seen)],
        )
        run = TrainingRun.resolve(inputs, self.comm)
        return run, valid

    def _finish(self, model: Model, out_of_bag: FloatArray) -> Model:
        """The model, guarded if the settings say so, with measures on unseen queries in its card."""
        if self.guarding is not None:
            return self.guarding.fit(model, out_of_bag)
        validation = Validation.of(self.settings, self.data, self.baselines, self.comm)
        return replace(model, card={**model.card, "validation": validation(out_of_bag)})


@dataclass(frozen=True, eq=False)
class Bag:
    """A trained bag: its model, its history, the part that it did not see, and its scores for that part's documents."""

    model: str
    history: History
    part: int
    held_out: FloatArray


def _report(report: Report, done: int, n_bags: int, at: Progress) -> None:
    """Report the progress of all bags together."""
    seconds = at.seconds_left / max(1, at.n_iterations - at.iteration)
    left = at.seconds_left + seconds * at.n_iterations * (n_bags - done - 1)
    iteration, total = done * at.n_iterations + at.iteration, n_bags * at.n_iterations
    report(replace(at, iteration=iteration, n_iterations=total, seconds_left=left))
