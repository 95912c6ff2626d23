"""Running an experiment: its jobs in parallel, each result stored as it ends, so that an interrupted run resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from ctypes import byref, c_int
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from surefoot._process import available_cores
from surefoot._typing import FloatArray, PathLike, Progress
from surefoot.errors import SurefootError, counted
from surefoot.io.atomic import sole_writer
from surefoot.learn.checkpoint import request_key
from surefoot.learn.settings import engine_of
from surefoot.learn.validation import Progress as Iteration
from surefoot.results import Result, by_column, signature
from surefoot_lab.experiments.data import Dataset, split
from surefoot_lab.experiments.jobs import (
    CURVE,
    HISTORY,
    SCORES,
    TREES_KEPT,
    Context,
    Job,
    JobResult,
    JobStore,
    run_baseline_job,
    run_job,
)
from surefoot_lab.experiments.plan import Plan, TreeSettings, label
from surefoot_lab.experiments.result import ExperimentResult, assemble
from surefoot_lab.experiments.tradeoffs import tradeoffs_of

JOBS = "jobs"


def experiment(
    plan: Plan,
    dataset: Dataset,
    folder: PathLike,
    workers: int = 2,
    progress: Progress | None = None,
) -> ExperimentResult:
    """Run the jobs of a plan that are not in the folder yet, and assemble the results.

    Jobs run in threads, since LightGBM and our kernels release the GIL: the data are in memory once, and a killed
    process leaves no others behind.

    Parameters
    ----------
    plan
        The experiment: one of `PROTOCOLS`, or a new plan.
    dataset
        The data, from `load_data`.
    folder
        Where the results of jobs are stored; a run that was interrupted resumes from them.
    workers
        How many jobs run in parallel; their number changes no result.
    progress
        Called with the jobs done, their total and a message, after each job.

    Returns
    -------
    ExperimentResult
        The papers' table, with scores by query, tests and intervals.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from surefoot.learn.data import RankingData
    >>> data = RankingData.of([[3.0], [1.0], [2.0], [0.0]] * 9, [2, 0, 1, 0] * 9, np.repeat(np.arange(9), 4))
    >>> plan = Plan(baseline="feature:0", alphas=(5.0,), trees=(2,), folds=3)
    >>> result = experiment(plan, Dataset("toy", data), mkdtemp(), workers=1)
    >>> result["learner"], result["wins"]
    (array(['LambdaMART', 'U-CRO'], dtype='<U10'), array([0., 0.]))

    """
    if workers < 1:
        raise SurefootError(f"workers must be 1 or more; got {workers}")
    engine_of("lightgbm")
    context = _context(plan, dataset)
    grid = plan.grid(dataset.data.labels.size)
    runner = _Runner(context, JobStore(Path(folder) / JOBS), workers, _count_jobs(context, grid), progress)
    Path(folder).mkdir(parents=True, exist_ok=True)
    with sole_writer(folder):
        runner.run_baselines(grid[0])
        chosen = runner.choose_trees(grid)
        jobs = {
            label(*learner): [Job(fold, *learner, trees) for fold, trees in enumerate(chosen)]
            for learner in plan.learners()
        }
        results = runner.run([job for own in jobs.values() for job in own])
    by_learner = {name: [results[job] for job in own] for name, own in jobs.items()}
    measured = {name: _join_folds(context, own) for name, own in by_learner.items()}
    trees_kept = {name: [int(each[TREES_KEPT][0]) for each in own] for name, own in by_learner.items()}
    tradeoffs = tradeoffs_of(context, by_learner) if plan.tradeoff else {}
    validation = _validation_table(context, by_learner)
    return replace(assemble(context, measured, chosen, trees_kept), tradeoffs=tradeoffs, validation=validation)


def _validation_table(context: Context, by_learner: Mapping[str, Sequence[JobResult]]) -> Result:
    """The mean metric on the validation queries of each fold after each tree; after 0 trees that of the baseline."""
    metric, rows = next(iter(context.metrics.values())), []
    for number, fold in enumerate(context.split.folds):
        valid = context.dataset.data.select(fold.valid)
        bound = metric.bind(valid.labels, valid.bounds, context.plan.empty)
        start = bound(context.baseline_scores[context.dataset.data.rows(fold.valid)])[bound.counted].mean()
        for name, results in by_learner.items():
            curve = results[number].get(CURVE, results[number][HISTORY])
            rows += [(number + 1, name, trees, value) for trees, value in enumerate([start, *curve])]
    stated = signature("validation", data=context.dataset.name, measure=str(metric))
    return Result(stated, by_column(rows, ("fold", "learner", "trees", "mean")))


def _context(plan: Plan, dataset: Dataset) -> Context:
    baseline = plan.baseline or dataset.baseline
    if baseline is None:
        raise SurefootError(f"no baseline is known for {dataset.name}; name one, such as feature:25")
    own = dataset.parts if plan.own_folds else None
    folds = split(len(dataset.data), plan.folds, plan.held_out, plan.seed, own)
    context = Context(plan, dataset, folds, baseline)
    _ = context.baseline_scores, context.query_feature  # reports a baseline that does not exist before any training
    return context


def describe(plan: Plan, dataset: Dataset) -> str:
    """The size of the data, the folds, and the hyper-parameters as scaled to the data, for the log."""
    rows = dataset.data.labels.size
    docs = ", ".join(str(plan.docs_of(number, rows)) for number in plan.docs_per_leaf)
    own_folds = plan.own_folds and dataset.parts is not None
    folds = int(dataset.parts.max()) + 1 if own_folds and dataset.parts is not None else plan.folds
    return (
        f"{counted(len(dataset.data), 'query')}, {counted(rows, 'document')}, "
        f"{folds} folds{' of its own' if own_folds else ''}, "
        f"docs per leaf {docs} (plan: {', '.join(map(str, plan.docs_per_leaf))}), at most {max(plan.trees)} trees"
        f"{_changes(plan)}"
    )


def _changes(plan: Plan) -> str:
    """Changes to a protocol."""
    shown = [f"{name} {ours} instead of {theirs}" for name, (theirs, ours) in plan.changed().items()]
    return f"; CHANGED from the protocol: {'; '.join(shown)}" if shown else ""


def _count_jobs(context: Context, grid: list[TreeSettings]) -> int:
    """How many jobs there are; LambdaMART with the chosen trees is one of the grid, unless their number is chosen."""
    plan, folds = context.plan, len(context.split.folds)
    choosing = len(grid) if _has_choice(plan, grid) else 0
    again = not choosing or len(plan.trees) > 1
    return len(plan.learned) + folds * (choosing + len(plan.learners()) - 1 + again)


def _has_choice(plan: Plan, grid: list[TreeSettings]) -> bool:
    """Whether there are hyper-parameters to choose."""
    return len(grid) > 1 or len(plan.trees) > 1


Task = tuple[dict[str, Any], Callable[[], JobResult]]
"""The request of a job, and the function that computes its result."""


@dataclass
class _Runner:
    """Runs jobs in threads, and stores their results."""

    context: Context
    store: JobStore
    workers: int
    total: int
    progress: Progress | None
    done: int = 0
    seen: set[str] = field(default_factory=set)
    stop: Event = field(default_factory=Event)

    @property
    def threads(self) -> int:
        """The threads of one training."""
        return max(1, available_cores() // self.workers)

    def run_baselines(self, trees: TreeSettings) -> None:
        """The learned baselines, before all jobs that compare with them."""
        context, names = self.context, self.context.plan.learned
        requests = {name: context.baseline_request(name, trees) for name in names}
        self._run([
            (request, partial(run_baseline_job, context, name, trees, self.threads))
            for name, request in requests.items()
        ])  # fmt: skip
        context.learned_keys = {name: request_key(request) for name, request in requests.items()}
        lengths = {SCORES: context.dataset.data.labels.size}
        context.learned = {name: self.store.load(request, lengths)[SCORES] for name, request in requests.items()}

    def choose_trees(self, grid: list[TreeSettings]) -> list[TreeSettings]:
        """The hyper-parameters of each fold: the best of plain LambdaMART on its validation queries."""
        plan, folds = self.context.plan, range(len(self.context.split.folds))
        if not _has_choice(plan, grid):
            return [grid[0] for _ in folds]
        jobs = {fold: [Job(fold, "lambdamart", 0.0, trees) for trees in grid] for fold in folds}
        results = self.run([job for own in jobs.values() for job in own])
        return [_best(plan, [(job.trees, results[job][HISTORY]) for job in jobs[fold]]) for fold in folds]

    def run(self, jobs: Iterable[Job]) -> dict[Job, JobResult]:
        """The results of jobs; those that are not stored yet are computed."""
        requests = {job: self.context.request(job) for job in jobs}
        self._run([
            (request, partial(run_job, self.context, job, self.threads, self._check_stop))
            for job, request in requests.items()
        ])  # fmt: skip
        return {job: self.store.load(request, self.context.lengths(job)) for job, request in requests.items()}

    def _check_stop(self, _: Iteration) -> None:
        """Ends this training if another one failed or was interrupted."""
        if self.stop.is_set():
            raise SurefootError("stopped")

    def _run(self, tasks: Iterable[Task]) -> None:
        new = {key: task for task in tasks if (key := request_key(task[0])) not in self.seen}
        self.seen.update(new)
        waiting = [task for task in new.values() if task[0] not in self.store]
        self._count(len(new) - len(waiting))
        with fixed_threads(self.threads), ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(self._compute, task) for task in waiting]
            try:
                for future in as_completed(futures):
                    future.result()
                    self._count(1)
            except BaseException:
                self.stop.set()
                for future in futures:
                    future.cancel()
                raise

    def _count(self, jobs: int) -> None:
        self.done += jobs
        if self.progress is not None and jobs:
            self.progress(self.done, self.total, f"{self.done} of {self.total} jobs")

    def _compute(self, task: Task) -> None:
        request, compute = task
        self.store.save(request, compute())


def _best(plan: Plan, histories: list[tuple[TreeSettings, FloatArray]]) -> TreeSettings:
    """The hyper-parameters with the best metric on validation queries; the first of equal ones."""
    candidates = [(values.max(), trees) for trees, values in histories]
    if len(plan.trees) > 1:
        candidates = [
            (values[number - 1], replace(trees, n_estimators=number, early_stopping=False))
            for trees, values in histories
            for number in plan.trees
        ]
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _join_folds(context: Context, results: list[JobResult]) -> dict[str, FloatArray]:
    """Each metric on the tested queries, in the order of the data."""
    order = np.argsort(np.concatenate([fold.test for fold in context.split.folds]))
    return {name: np.concatenate([own[name] for own in results])[order] for name in context.metrics}


@contextmanager
def fixed_threads(n_jobs: int) -> Iterator[None]:
    """Fix the number of threads, for several trainings at a time in one process.

    LightGBM has one number of threads for the whole process, and sizes buffers by it. If a call changes it while
    another training fills such a buffer, that training writes past the end.
    """
    from lightgbm.basic import _LIB  # type: ignore[attr-defined]

    before = c_int()
    _LIB.LGBM_GetMaxThreads(byref(before))
    _LIB.LGBM_SetMaxThreads(c_int(n_jobs))
    try:
        yield
    finally:
        _LIB.LGBM_SetMaxThreads(before)
