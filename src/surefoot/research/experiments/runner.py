"""Running an experiment: its units side by side, each kept as it ends, so that a killed run goes on where it was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.early_stopping import Progress as Iteration
from surefoot.learn.engines.lightgbm import side_by_side
from surefoot.learn.models import engine_of
from surefoot.research.experiments.data import Dataset
from surefoot.research.experiments.folds import split
from surefoot.research.experiments.jobs import (
    HISTORY,
    KEPT,
    SCORES,
    Ground,
    Unit,
    train_learned,
    train_unit,
)
from surefoot.research.experiments.outcome import Outcome, outcome_of
from surefoot.research.experiments.plan import Plan, Trees, label
from surefoot.research.experiments.store import Found, Store, key_of
from surefoot.scores import FloatArray

UNITS = "units"


@dataclass(frozen=True)
class Progress:
    """Where an experiment stands; ``seconds_left`` is None while nothing has been trained that could tell."""

    done: int
    total: int
    seconds_left: float | None


@dataclass
class _Tally:
    """Counts units, and tells someone."""

    total: int
    tell: Callable[[Progress], None] | None
    done: int = 0
    trained: int = 0
    started: float = field(default_factory=time.monotonic)

    def count(self, trained: bool) -> None:
        self.done += 1
        self.trained += trained
        if self.tell is not None:
            left = None
            if self.trained:
                left = (time.monotonic() - self.started) / self.trained * (self.total - self.done)
            self.tell(Progress(self.done, self.total, left))


def experiment(
    plan: Plan,
    dataset: Dataset,
    folder: str | os.PathLike[str],
    workers: int = 2,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run what is not done yet of a plan, and put the results together.

    Units are trained by threads, since LightGBM and our kernels leave the interpreter free: the data are in memory
    once, and a killed process leaves none behind. The number of workers changes no figure.
    """
    if workers < 1:
        raise SurefootError(f"workers must be 1 or more; got {workers}")
    engine_of("lightgbm")
    ground = _ground(plan, dataset)
    grid = plan.grid(dataset.data.labels.size)
    run = _Run(ground, Store(Path(folder) / UNITS), workers, _Tally(_count(ground, grid), progress))
    run.learned(grid[0])
    chosen = run.choose(grid)
    learners = plan.learners()
    units = [Unit(fold, *learner, trees) for learner in learners for fold, trees in enumerate(chosen)]
    found = run.units(units)
    by_learner = {
        label(*learner): [found[Unit(fold, *learner, trees)] for fold, trees in enumerate(chosen)]
        for learner in learners
    }
    measured = {name: _together(ground, own) for name, own in by_learner.items()}
    kept = {name: [int(each[KEPT][0]) for each in own] for name, own in by_learner.items()}
    return outcome_of(ground, measured, chosen, kept)


def _ground(plan: Plan, dataset: Dataset) -> Ground:
    baseline = plan.baseline or dataset.baseline
    if baseline is None:
        raise SurefootError(f"no baseline is known for {dataset.name}; name one, such as feature:25")
    if plan.query_max:
        dataset = dataset.with_query_max(baseline)
    own = dataset.parts if plan.own_folds else None
    ground = Ground(plan, dataset, split(len(dataset.data), plan.folds, plan.held_out, plan.seed, own), baseline)
    _ = ground.single  # a baseline that does not exist is told before any training
    return ground


def _count(ground: Ground, grid: list[Trees]) -> int:
    """How many units there are: LambdaMART's with the chosen trees is one of the grid's, unless trees are chosen."""
    plan, folds = ground.plan, len(ground.split.folds)
    choosing = len(grid) if is_choice(plan, grid) else 0
    again = not choosing or len(plan.trees) > 1
    return len(plan.learned) + folds * (choosing + len(plan.learners()) - 1 + again)


def is_choice(plan: Plan, grid: list[Trees]) -> bool:
    """Whether there are settings to choose from."""
    return len(grid) > 1 or len(plan.trees) > 1


@dataclass
class _Run:
    ground: Ground
    store: Store
    workers: int
    tally: _Tally
    counted: set[str] = field(default_factory=set)
    stop: Event = field(default_factory=Event)

    @property
    def threads(self) -> int:
        """Those of one training."""
        return max(1, (os.cpu_count() or 1) // self.workers)

    def learned(self, trees: Trees) -> None:
        """The learned baselines, before all that compares with them."""
        ground, names = self.ground, self.ground.plan.learned
        tasks: dict[str, Task] = {}
        for name in names:
            about = ground.about_learned(name, trees)
            ground.learned_keys[name] = key_of(about)
            tasks[key_of(about)] = about, partial(train_learned, ground, name, trees, self.threads)
        self._run(tasks)
        ground.learned = {name: self.store.load(key)[SCORES] for name, key in ground.learned_keys.items()}

    def choose(self, grid: list[Trees]) -> list[Trees]:
        """The settings of each fold: the best of plain LambdaMART on its validation queries."""
        plan, folds = self.ground.plan, range(len(self.ground.split.folds))
        if not is_choice(plan, grid):
            return [grid[0] for _ in folds]
        units = {fold: [Unit(fold, "lambdamart", 0.0, trees) for trees in grid] for fold in folds}
        found = self.units([unit for own in units.values() for unit in own])
        return [_best(plan, [(unit.trees, found[unit][HISTORY]) for unit in units[fold]]) for fold in folds]

    def units(self, units: Iterable[Unit]) -> dict[Unit, Found]:
        """What units measured; those that are not on disk are trained."""
        ground, keys = self.ground, {}
        tasks: dict[str, Task] = {}
        for unit in units:
            about = ground.about(unit)
            keys[unit] = key_of(about)
            tasks[keys[unit]] = about, partial(train_unit, ground, unit, self.threads, self._watch)
        self._run(tasks)
        return {unit: self.store.load(key) for unit, key in keys.items()}

    def _watch(self, _: Iteration) -> None:
        if self.stop.is_set():
            raise SurefootError("stopped")

    def _run(self, tasks: dict[str, Task]) -> None:
        new = [key for key in tasks if key not in self.counted]
        self.counted.update(new)
        waiting = [key for key in new if key not in self.store]
        for _ in range(len(new) - len(waiting)):
            self.tally.count(trained=False)
        with side_by_side(self.threads), ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(self._one, key, *tasks[key]) for key in waiting]
            try:
                for future in as_completed(futures):
                    future.result()
                    self.tally.count(trained=True)
            except BaseException:
                self.stop.set()
                for future in futures:
                    future.cancel()
                raise

    def _one(self, key: str, about: dict[str, Any], work: Callable[[], Found]) -> None:
        self.store.save(key, about, work())


Task = tuple[dict[str, Any], Callable[[], Found]]


def _best(plan: Plan, found: list[tuple[Trees, FloatArray]]) -> Trees:
    """The settings with the best metric on validation queries; the first of equal ones."""
    candidates = [(values.max(), trees) for trees, values in found]
    if len(plan.trees) > 1:
        candidates = [
            (values[number - 1], replace(trees, trees=number, stopping=False))
            for trees, values in found
            for number in plan.trees
        ]
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _together(ground: Ground, found: list[Found]) -> dict[str, FloatArray]:
    """Each metric on the tested queries, in the order of the data."""
    order = np.argsort(np.concatenate([fold.test for fold in ground.split.folds]))
    return {name: np.concatenate([own[name] for own in found])[order] for name in ground.metrics}
