"""The units of an experiment: a learned baseline, or one training of one fold and its scores on the test queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from surefoot._version import __version__
from surefoot.learn.baseline import Baselines, baselines_of
from surefoot.learn.boosting import Lambda
from surefoot.learn.early_stopping import Report
from surefoot.learn.metrics import Metric
from surefoot.learn.training import Settings, train, tree_params
from surefoot.research.experiments.data import Dataset
from surefoot.research.experiments.folds import Ints, Split
from surefoot.research.experiments.plan import Plan, Trees
from surefoot.research.experiments.store import Found, digest, key_of
from surefoot.scores import FloatArray

STOP_ON = {
    "lambdamart": "mean", "saro": "trisk", "saro-eq9": "trisk", "faro": "trisk", "tstar-faro": "trisk",
    "georisk": "georisk", "georisk-full": "georisk", "tail": "tail",
}  # fmt: skip
"""The figure of the validation queries that picks the number of trees; U_Risk for the others."""

HISTORY, KEPT, SCORES = "validation", "trees", "scores"
"""Columns of a result: the metric on validation queries after each tree, the trees kept, a score a document."""


@dataclass(frozen=True)
class Unit:
    """One training: a fold, an objective at an alpha, and the settings of its trees."""

    fold: int
    objective: str
    alpha: float
    trees: Trees


@dataclass(eq=False)
class Ground:
    """What all units share. ``learned`` has the scores that each learned baseline gives the documents.

    ``learned_keys`` says which units those are from.
    """

    plan: Plan
    dataset: Dataset
    split: Split
    baseline: str
    learned: dict[str, FloatArray] = field(default_factory=dict)
    learned_keys: dict[str, str] = field(default_factory=dict)

    @cached_property
    def top(self) -> int | None:
        """The highest grade of ERR's scale: that of all data, so that learners and baselines share one in all folds."""
        return int(self.dataset.data.labels.max(initial=0)) if self.plan.metric == "err" else None

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The reported metrics by name, the main one first."""
        return self.plan.metrics(self.top)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What defines every unit besides its own words."""
        plan, folds = self.plan, [*self.split.folds, self.split.held_out]
        return {
            "data": self.dataset.data.fingerprint,
            "folds": key_of({"folds": [[fold.train, fold.valid, fold.test] for fold in folds]}),
            "metric": plan.metric, "top": self.top, "cutoffs": plan.cutoffs, "truncation": plan.truncation,
            "empty": plan.empty, "seed": plan.seed, "surefoot": __version__, "lightgbm": version("lightgbm"),
        }  # fmt: skip

    def about_learned(self, name: str, trees: Trees) -> dict[str, Any]:
        """The definition of a learned baseline."""
        return {**self.identity, "learned": name, **(asdict(trees) if name in ("LambdaMART", "GBRT") else {})}

    def about(self, unit: Unit) -> dict[str, Any]:
        """The definition of a unit."""
        against: Any = None if unit.objective == "lambdamart" else digest(self.single)
        if self.plan.several(unit.objective):
            against = self.learned_keys
        return {**self.identity, **asdict(unit), "against": against}

    @cached_property
    def single(self) -> FloatArray:
        """What the single baseline gives each document."""
        return np.asarray(baselines_of(self.baseline, self.dataset.data).rows[0])

    def against(self, unit: Unit, queries: Ints) -> Baselines | None:
        """What a unit's objective compares with, on these queries."""
        if unit.objective == "lambdamart":
            return None
        rows = self.learned if self.plan.several(unit.objective) else {self.baseline: self.single}
        here = self.dataset.data.rows(queries)
        own = tuple(scores[here] for scores in rows.values())
        return Baselines(tuple(rows), own, (None,) * len(own))


def train_unit(ground: Ground, unit: Unit, threads: int, report: Report | None = None) -> Found:
    """Train, and measure every metric of the plan on the test queries."""
    plan, data, fold = ground.plan, ground.dataset.data, ground.split.folds[unit.fold]
    trees = unit.trees
    settings = Settings(
        unit.objective,
        unit.alpha,
        lambdas=Lambda(plan.metric, plan.truncation, top=ground.top, empty=plan.empty),
        cutoff=plan.cutoffs[0] if plan.cutoffs else 10,
        n_estimators=trees.trees,
        params=tree_params("lightgbm", trees.rate, trees.leaves, trees.docs_per_leaf, plan.seed),
        stop_on=STOP_ON.get(unit.objective) if trees.stopping else None,
        threads=threads,
    )
    valid = (data.select(fold.valid), ground.against(unit, fold.valid)) if trees.stopping else (None, None)
    trained = train(settings, data.select(fold.train), ground.against(unit, fold.train), *valid, report=report)
    test = data.select(fold.test)
    scores = trained.model.predict(test)
    measured = {name: metric(scores, test.labels, test.bounds) for name, metric in ground.metrics.items()}
    history = np.array([figures["mean"] for figures in trained.history])
    return {**measured, HISTORY: history, KEPT: np.array([trained.best_iteration], np.float64)}


def train_learned(ground: Ground, name: str, trees: Trees, threads: int) -> Found:
    """Train a learned baseline on the held-out queries, and score all documents."""
    plan, data, held = ground.plan, ground.dataset.data, ground.split.held_out
    learner = _learner(name, trees, plan.cutoffs[0] if plan.cutoffs else 10, plan.seed, threads)
    own, judged = data.select(held.train), data.select(held.valid)
    learner.fit(own.features, own.labels, own.query_of_row, (judged.features, judged.labels, judged.query_of_row))
    return {SCORES: learner.predict(data.features)}


def _learner(name: str, trees: Trees, k: int, seed: int, threads: int) -> Any:
    from surefoot.research.baselines.linear import AFS, AdaRank, CoordinateAscent
    from surefoot.research.baselines.trees import LambdaMART, RegressionTrees

    boosted: Mapping[str, Any] = {"LambdaMART": LambdaMART, "GBRT": RegressionTrees}
    if name in boosted:
        return boosted[name](
            trees.leaves, trees.trees, trees.rate, trees.docs_per_leaf, k=k, seed=seed, workers=threads
        )  # fmt: skip
    if name == "CoordinateAscent":
        return CoordinateAscent(k, seed=seed, workers=threads)
    return {"AFS": AFS, "AdaRank": AdaRank}[name](k, workers=threads)
