"""The jobs of an experiment: a learned baseline, or one training of one fold; their results on disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot._version import __version__
from surefoot.errors import InputError, SurefootError
from surefoot.io.atomic import write_bytes
from surefoot.lambdas.metrics import Metric
from surefoot.learn.baseline import Baselines, baselines_of
from surefoot.learn.checkpoint import Request, array_key, request_key, request_text
from surefoot.learn.models import Model
from surefoot.learn.queries import with_query_feature
from surefoot.learn.settings import RECIPES, Settings
from surefoot.learn.training import train
from surefoot.learn.validation import Report
from surefoot_lab.experiments.data import Dataset, Fold, Split
from surefoot_lab.experiments.plan import Plan, TreeSettings

JobResult = Mapping[str, FloatArray]
"""The result of a job: arrays by name."""
Lengths = Mapping[str, int | None]
"""The lengths of these arrays; None where the training determines it."""

REQUEST, DIGEST = "about", "digest"
"""The arrays of a file that hold the request's text, and the digest of all others."""


@dataclass(frozen=True)
class JobStore:
    """The folder of the job results."""

    folder: Path

    def path(self, request: Request) -> Path:
        """The file of a job's result."""
        return self.folder / f"{request_key(request)}.npz"

    def __contains__(self, request: Request) -> bool:
        return self.path(request).exists()

    def save(self, request: Request, result: JobResult) -> None:
        """Write the result of a job."""
        self.folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        kept = {REQUEST: np.array(request_text(request)), **result}
        np.savez_compressed(buffer, allow_pickle=False, **{DIGEST: np.array(_digest_of(kept)), **kept})
        write_bytes(self.path(request), buffer.getvalue())

    def load(self, request: Request, lengths: Lengths) -> JobResult:
        """Read the result of a job, whose arrays have these names and lengths."""
        path = self.path(request)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                found = {name: arrays[name] for name in arrays.files}
            digest, about = str(found.pop(DIGEST)), str(found[REQUEST])
            if digest != _digest_of(found) or about != request_text(request):
                raise ValueError
            found.pop(REQUEST)
            if found.keys() != lengths.keys() or not all(_is_row(found[name], lengths[name]) for name in lengths):
                raise ValueError
        except (ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error):
            raise InputError(path, "is not the result of a job; remove it, and it will be computed again") from None
        return found


def _is_row(array: npt.NDArray[Any], length: int | None) -> bool:
    """Whether an array is a row of this many finite numbers."""
    return array.dtype == np.float64 and array.shape == (length or array.size,) and bool(np.isfinite(array).all())


def _digest_of(arrays: Mapping[str, Any]) -> str:
    """The hash of arrays by name, by which damage and another job's file are found."""
    known = {name: np.asarray(array) for name, array in arrays.items()}
    return request_key({name: [str(array.dtype), array.shape, array_key(array)] for name, array in known.items()})


HISTORY, TREES_KEPT, SCORES = "validation", "trees", "scores"
"""Arrays of a result: the metric on validation queries after each tree, the trees kept, the scores of documents."""
TRAIN_VALUES, VALID_SCORES, TEST_SCORES, CURVE = "train values", "valid scores", "test scores", "curve"
"""More arrays for a trade-off: the metric of training queries, the scores of documents, validation by iteration."""


@dataclass(frozen=True)
class Job:
    """One training: a fold, an objective at an alpha or a recipe, and the hyper-parameters of its trees."""

    fold: int
    objective: str
    alpha: float
    trees: TreeSettings

    @property
    def is_recipe(self) -> bool:
        """Whether it is a recipe, by name, in place of an objective."""
        return self.objective in RECIPES


@dataclass(eq=False)
class Context:
    """The inputs that all jobs of an experiment share.

    ``learned`` has the scores that each learned baseline gives the documents, ``learned_keys`` the keys of the jobs
    that computed them.
    """

    plan: Plan
    dataset: Dataset
    split: Split
    baseline: str
    learned: dict[str, FloatArray] = field(default_factory=dict)
    learned_keys: dict[str, str] = field(default_factory=dict)

    @cached_property
    def max_label(self) -> int | None:
        """The highest grade of ERR's scale: that of all data, so that learners and baselines share it in all folds."""
        return int(self.dataset.data.labels.max(initial=0)) if self.plan.metric == "err" else None

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The reported metrics by name, the main one first."""
        return self.plan.metrics(self.max_label)

    @cached_property
    def shared_request(self) -> dict[str, Any]:
        """The part of a request that all jobs share."""
        plan, folds = self.plan, [*self.split.folds, self.split.held_out]
        return {
            "data": self.dataset.data.fingerprint,
            "folds": request_key({"folds": [[fold.train, fold.valid, fold.test] for fold in folds]}),
            "metric": plan.metric, "top": self.max_label, "cutoffs": plan.cutoffs, "truncation": plan.truncation,
            "sigmoid": plan.sigmoid, "norm": plan.norm,
            "query feature": self.query_feature, "tradeoff": plan.tradeoff,
            "empty": plan.empty, "seed": plan.seed, "surefoot": __version__, "lightgbm": version("lightgbm"),
        }  # fmt: skip

    def baseline_request(self, name: str, trees: TreeSettings) -> dict[str, Any]:
        """The request of a learned baseline."""
        boosted = name in ("LambdaMART", "GBRT")
        return {**self.shared_request, "learned": name, **(asdict(trees) if boosted else {})}

    def request(self, job: Job) -> dict[str, Any]:
        """The request of a job."""
        against: Any = None if job.objective == "lambdamart" else array_key(self.baseline_scores)
        if self.plan.uses_learned(job.objective):
            against = self.learned_keys
        options = self.plan.objective_options(job.objective)
        return {**self.shared_request, **asdict(job), "options": options, "against": against}

    def lengths(self, job: Job) -> Lengths:
        """The lengths of the arrays of a job's result."""
        fold, sizes = self.split.folds[job.fold], self.dataset.data.sizes
        found: dict[str, int | None] = {**dict.fromkeys(self.metrics, len(fold.test)), HISTORY: None, TREES_KEPT: 1}
        if not self.has_tradeoff(job):
            return found
        valid, test = (int(sizes[queries].sum()) for queries in (fold.valid, fold.test))
        return {**found, TRAIN_VALUES: len(fold.train), VALID_SCORES: valid, TEST_SCORES: test, CURVE: None}

    def has_tradeoff(self, job: Job) -> bool:
        """Whether the result of a job has the arrays of a trade-off."""
        return self.plan.tradeoff and not job.is_recipe

    @cached_property
    def query_feature(self) -> str | None:
        """The query's largest baseline score, if models get it."""
        if not self.plan.query_max:
            return None
        kind, _, feature = self.baseline.partition(":")
        if kind != "feature":
            raise SurefootError(f"this protocol adds the query's largest baseline score; {self.baseline} is no feature")
        return f"max:{feature}"

    @cached_property
    def baseline_scores(self) -> FloatArray:
        """The score that the single baseline gives each document."""
        return np.asarray(baselines_of(self.baseline, self.dataset.data).scores[0])

    def baselines(self, job: Job, queries: IntArray) -> Baselines | None:
        """The baselines of a job's objective on these queries; None if it has none."""
        if job.objective == "lambdamart":
            return None
        scores = self.learned if self.plan.uses_learned(job.objective) else {self.baseline: self.baseline_scores}
        documents = self.dataset.data.rows(queries)
        rows = tuple(own[documents] for own in scores.values())
        return Baselines(tuple(scores), rows, (None,) * len(rows))


def run_job(context: Context, job: Job, threads: int, report: Report | None = None) -> JobResult:
    """Train a model, and compute every metric of the plan on the test queries."""
    data, fold = context.dataset.data, context.split.folds[job.fold]
    valid, valid_baseline = None, None
    if job.trees.early_stopping or job.is_recipe:
        valid, valid_baseline = data.select(fold.valid), context.baselines(job, fold.valid)
    trained = train(
        data.select(fold.train), context.baselines(job, fold.train), _settings(context, job, threads), valid=valid,
        valid_baseline=valid_baseline, report=report,
    )  # fmt: skip
    test = data.select(fold.test)
    scores = trained.model.predict(test, baseline=context.baselines(job, fold.test))
    measured = {name: metric(scores, test.labels, test.bounds) for name, metric in context.metrics.items()}
    history = np.array([measures["mean"] for measures in trained.history])
    found = {**measured, HISTORY: history, TREES_KEPT: np.array([trained.best_iteration], np.float64)}
    return {**found, **(_for_tradeoff(context, fold, trained.model, scores) if context.has_tradeoff(job) else {})}


def _settings(context: Context, job: Job, threads: int) -> Settings:
    """The settings of a job: its objective and trees, or its recipe with at most as many trees as the plan."""
    plan, trees = context.plan, job.trees
    if job.is_recipe:
        recipe = RECIPES[job.objective]
        settings = replace(recipe, n_estimators=min(recipe.n_estimators, max(plan.trees)))
    else:
        options = plan.objective_options(job.objective)
        own = {name: value for name, value in asdict(trees).items() if name != "early_stopping"}
        settings = Settings(job.objective, job.alpha, objective_options=options, **own)
    return replace(
        settings,
        metric=plan.metric,
        truncation=plan.truncation,
        sigmoid=plan.sigmoid,
        norm=plan.norm,
        query_feature=context.query_feature,
        max_label=context.max_label,
        empty=plan.empty,
        cutoff=plan.main_cutoff,
        seed=plan.seed,
        n_jobs=threads,
    )


def _for_tradeoff(context: Context, fold: Fold, model: Model, tested: FloatArray) -> JobResult:
    """The arrays that a trade-off needs beside the metrics of test queries."""
    data = context.dataset.data
    train_set, valid = data.select(fold.train), data.select(fold.valid)
    metric = next(iter(context.metrics.values()))
    bound = metric.bind(valid.labels, valid.bounds, context.plan.empty)
    curve, scores = [], np.zeros(valid.labels.size)
    features = valid.features
    if context.query_feature is not None:
        features = with_query_feature(valid, context.query_feature).features
    for tree in range(model.booster.num_trees()):
        scores += model.booster.predict(features, start_iteration=tree, num_iteration=1)
        curve.append(bound(scores)[bound.counted].mean())
    return {
        TRAIN_VALUES: metric(model.predict(train_set), train_set.labels, train_set.bounds),
        VALID_SCORES: model.predict(valid),
        TEST_SCORES: tested,
        CURVE: np.array(curve),
    }


def run_baseline_job(context: Context, name: str, trees: TreeSettings, threads: int) -> JobResult:
    """Train a learned baseline on the held-out queries, and score all documents."""
    data, held_out = context.dataset.data, context.split.held_out
    learner = _learner(name, trees, context.plan, threads)
    train_set, valid = data.select(held_out.train), data.select(held_out.valid)
    eval_set = valid.features, valid.labels, valid.query_of_row
    learner.fit(train_set.features, train_set.labels, train_set.query_of_row, eval_set)
    return {SCORES: learner.predict(data.features)}


def _learner(name: str, trees: TreeSettings, plan: Plan, threads: int) -> Any:
    from surefoot_lab.learners.linear import AFS, AdaRank, CoordinateAscent
    from surefoot_lab.learners.trees import LambdaMART, RegressionTrees

    k, seed = plan.main_cutoff, plan.seed
    if name in ("LambdaMART", "GBRT"):
        boosted = LambdaMART if name == "LambdaMART" else RegressionTrees
        return boosted(
            num_leaves=trees.num_leaves, n_estimators=trees.n_estimators, learning_rate=trees.learning_rate,
            min_child_samples=trees.min_child_samples, k=k, seed=seed, n_jobs=threads,
        )  # fmt: skip
    if name == "CoordinateAscent":
        return CoordinateAscent(k, seed=seed, n_jobs=threads)
    if name == "AFS":
        return AFS(k, n_jobs=threads)
    return AdaRank(k, improving=name == "AdaRank-improving", n_jobs=threads)
