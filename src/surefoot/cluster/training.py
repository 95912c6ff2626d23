"""Training on a cluster: every worker runs the training of one machine on its shard, with sums over all workers.

Frameworks differ in how rows reach the workers, and in how a function starts on all of them: a `Cluster` does both.

XGBoost's collective connects the workers, and also adds up the histograms. Every worker must call it equally often,
even without rows, so the number of calls does not depend on the shard.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import numpy as np

from surefoot._lazy import LazyModule
from surefoot._typing import PathLike
from surefoot.cluster.shards import Columns, Shard, concat_scores, evaluate_shard, features_of, shard_of
from surefoot.errors import SurefootError, choose
from surefoot.io.atomic import digest_of
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage
from surefoot.learn.models import Model
from surefoot.learn.objectives import OBJECTIVES, LambdaMART, register
from surefoot.learn.objectives.base import Comm
from surefoot.learn.run import Run, Trained, engine_message
from surefoot.learn.settings import Settings, engine_of
from surefoot.learn.training import resolve_run
from surefoot.scores import FloatArray, Scores

collective: Any = LazyModule("xgboost.collective")

TIMEOUT = 300
"""Seconds that workers wait for each other at the beginning."""

HASH_DIGITS = 12
"""The hexadecimal digits of a request's hash that a float64 keeps exactly."""

ELSEWHERE = "another worker found a mistake"


@dataclass(frozen=True)
class Collective(Comm):
    """The workers of a cluster, connected by XGBoost's collective; see `surefoot.learn.objectives.base.Comm`."""

    def sum(self, values: FloatArray) -> FloatArray:
        return np.asarray(collective.allreduce(np.asarray(values, dtype=np.float64), collective.Op.SUM))

    def max(self, values: FloatArray) -> FloatArray:
        return np.asarray(collective.allreduce(np.asarray(values, dtype=np.float64), collective.Op.MAX))

    def gather(self, columns: FloatArray) -> FloatArray:
        """An allgather by a sum: each worker fills in its own columns, the others are 0."""
        counts = np.zeros(collective.get_world_size())
        counts[collective.get_rank()] = columns.shape[1]
        ends = np.cumsum(self.sum(counts)).astype(np.int64)
        end = ends[collective.get_rank()]
        everyone = np.zeros((columns.shape[0], ends[-1]))
        everyone[:, end - columns.shape[1] : end] = columns
        return self.sum(everyone).reshape(everyone.shape)

    def offset(self, count: int) -> tuple[int, int]:
        counts = self.gather(np.array([[float(count)]]))[0]
        return int(counts[: collective.get_rank()].sum()), int(counts.sum())

    @contextmanager
    def raise_together(self) -> Iterator[None]:
        mistake = None
        try:
            yield
        except SurefootError as error:
            mistake = error
        (mistakes,) = self.sum(np.array([mistake is not None]))
        if mistake is not None:
            raise mistake
        if mistakes:
            raise SurefootError(ELSEWHERE)


def validate_cluster_settings(settings: Settings) -> type[LambdaMART]:
    """The class of the objective, if a cluster can train these settings."""
    if settings.model_engine != "xgboost":
        raise SurefootError("a cluster trains by XGBoost; set engine to xgboost")
    return OBJECTIVES[choose(settings.objective, OBJECTIVES, "objective")]


@dataclass(frozen=True, eq=False)
class WorkerRequest:
    """The request that all workers get: the settings, the class of the objective, the initial model, ..."""

    settings: Settings
    init_model: Model | None = None
    callbacks: Sequence[Any] = ()
    checkpoint: PathLike | None = None
    checkpoint_every: float = EVERY
    comm: Comm = field(default_factory=Collective)
    objective: type[LambdaMART] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", validate_cluster_settings(self.settings))
        if self.checkpoint is not None:  # workers may run in other folders
            object.__setattr__(self, "checkpoint", Path(self.checkpoint).absolute())


@dataclass(frozen=True)
class Member:
    """A worker among all: its rank, their number, its threads, and the arguments that connect it with the others."""

    rank: int
    workers: int
    n_jobs: int
    tracker: Mapping[str, Any] = field(default_factory=dict)


Found = TypeVar("Found")
Work = Callable[[Member, Callable[[], Sequence[Shard]]], Found]
"""A function that runs on each worker; it loads its shard of each table."""


@dataclass(frozen=True, eq=False)
class WorkerResult:
    """The result of a worker; only the first sends the model, the others send its hash."""

    digest: str
    fingerprint: str
    trained: Trained | None = None


def start_tracker(workers: int, host: str) -> dict[str, Any]:
    """Start the tracker that connects the workers, and return its address for them."""
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(n_workers=workers, host_ip=host, sortby="task", timeout=TIMEOUT)
    tracker.start()
    found = dict(tracker.worker_args())
    Thread(target=_keep_alive, args=(tracker,), daemon=True).start()
    return found


def _keep_alive(tracker: Any) -> None:
    """Keep the tracker until the training ends. If it fails, the workers report why."""
    from xgboost.core import XGBoostError

    for step in (tracker.wait_for, tracker.free):
        with suppress(XGBoostError):
            step()


def train_worker(request: WorkerRequest, member: Member, load: Callable[[], Sequence[Shard]]) -> WorkerResult:
    """Train together with the other workers, on the shards of the training and validation queries that are loaded."""
    register(request.objective)  # a user's objective is only known to the process that started the training
    settings = replace(request.settings, n_jobs=request.settings.n_jobs or member.n_jobs)
    with _joined(member):
        with Collective().raise_together():
            shards = [_validated(shard, member) for shard in load()]
        shard, valid = shards[0], shards[1] if len(shards) > 1 else None
        totals = Collective().sum(np.array([len(shard.data), shard.data.labels.size]))
        if not totals.any():
            raise SurefootError("the table has no rows to learn from")
        run = resolve_run(
            shard.data,
            shard.given,
            settings,
            valid=None if valid is None else valid.data,
            valid_baseline=None if valid is None else valid.baselines,
            comm=request.comm,
            init_model=None if request.init_model is None else engine_of("xgboost").load(request.init_model.text),
            callbacks=request.callbacks,
        )
        trained = run.train_from(_checkpoint(request, run, member.rank))
    known = dict(zip(("queries", "documents"), totals.astype(int).tolist(), strict=True))
    digest = digest_of(trained.model.text)
    trained = _with_data(replace(trained, out_of_bag=None), known)
    return WorkerResult(digest, shard.data.fingerprint, None if member.rank else trained)


def _checkpoint(request: WorkerRequest, run: Run, rank: int) -> Checkpoint:
    """The checkpoint of all workers; only the first reads and writes the file.

    Each worker's request contains its own rows, so the file keeps a hash of every worker's request.
    """
    if request.checkpoint is None:
        return Checkpoint(None, {})
    keys = request.comm.gather(np.array([[float(int(run.key[:HASH_DIGITS], 16))]]))
    own = {**run.request, "rows of a worker": keys[0].tolist()}
    with request.comm.raise_together():
        found = Checkpoint.begin(None if rank else Path(request.checkpoint), own, request.checkpoint_every, resume=True)
    stages = collective.broadcast(json.dumps([asdict(stage) for stage in (found.current, *found.bags)]), 0)
    found.current, *found.bags = (Stage(**stage) for stage in json.loads(stages))
    return found


@contextmanager
def _joined(member: Member) -> Iterator[None]:
    """Join the collective. Leaving it after an error must not hide that error."""
    from xgboost.core import XGBoostError

    collective.init(**member.tracker, dmlc_task_id=f"{member.rank:06}")
    try:
        yield
    except BaseException:
        with suppress(XGBoostError):
            collective.finalize()
        raise
    collective.finalize()


def _validated(shard: Shard, member: Member) -> Shard:
    """The shard, if all its queries belong to this worker: a query on two workers would count as two."""
    strangers = np.flatnonzero(shard_of(shard.data.keys, member.workers) != member.rank)
    if strangers.size:
        raise SurefootError(
            f"query {shard.data.queries[strangers[0]]} is on worker {member.rank + 1} of {member.workers}, where its "
            "hash does not put it; use the same version of Surefoot everywhere"
        )
    return shard


def _with_data(trained: Trained, changes: Mapping[str, Any], **more: Any) -> Trained:
    """The training with changes to the data part of its card, and more keys."""
    card = trained.model.card
    return replace(trained, model=replace(trained.model, card={**card, "data": {**card["data"], **changes}, **more}))


def combine(results: Sequence[WorkerResult], source: str, fingerprint: str | None = None) -> Trained:
    """The training of all workers, if they have the same model."""
    (trained,) = (result.trained for result in results if result.trained is not None)
    if len({result.digest for result in results}) > 1:
        raise SurefootError("the workers ended with different models; run the same packages on all of them")
    shards = digest_of("\n".join(result.fingerprint for result in results))
    return _with_data(trained, {"source": source, "fingerprint": fingerprint or shards}, workers=len(results))


def failure_reason(errors: Sequence[BaseException | None]) -> str:
    """Root cause in one line; secondary "peer lost" errors are skipped."""
    causes = [error for error in errors if isinstance(error, Exception) and "/collective/" not in str(error)]
    if not causes:
        return "the workers lost touch with each other"
    message = engine_message(causes[0]) if str(causes[0]).strip() else ""
    return f"{type(causes[0]).__name__}: {message}".removesuffix(": ")


def attempt(work: Callable[[], Any]) -> Any:
    """The result of a worker, or the user's mistake as a value: raised, it would arrive in a page of traceback."""
    try:
        return work()
    except SurefootError as error:
        return error


def without_mistakes(results: Sequence[Any]) -> Sequence[Any]:
    """The results of `attempt` on all workers; a mistake is raised, that of the worker that found it."""
    mistakes = [one for one in results if isinstance(one, SurefootError)]
    if mistakes:
        raise min(mistakes, key=is_secondary)
    return results


def is_secondary(error: Exception) -> bool:
    """Whether a worker only stopped because another did."""
    return str(error) == ELSEWHERE


class Cluster(ABC):
    """Workers, and the tables of their framework."""

    source: str
    """The name of the table on a model's card."""

    @abstractmethod
    def read(self, path: str) -> Any:
        """The table of a folder of Parquet files, at a path or address that all workers see."""

    @abstractmethod
    def run(self, work: Work[Found], tables: Sequence[Any], columns: Columns, together: bool) -> list[Found]:
        """Bring each query's rows to its worker and run the function there; the results in the order of the workers.

        ``together``: the workers run at the same time, connected by XGBoost's collective.
        """

    def train(
        self,
        frame: Any,
        baseline: str | Sequence[str] | None = None,
        settings: Settings | None = None,
        *,
        valid: Any = None,
        query: str = "qid",
        label: str = "label",
        features: Sequence[str] | None = None,
        **options: Any,
    ) -> Trained:
        """Train a ranker on the workers of a cluster, as `surefoot.learn.train` does on one machine.

        Rows may come in any order. The rows of a query go to one worker, in the order of the table.

        Parameters
        ----------
        frame : table of the framework, or path
            One row per document: a table, or the path or address (s3://...) of a folder of Parquet files.
        baseline : str or list of str, optional
            ``feature:NAME``, ``scores:NAME`` or ``values:NAME``; see `surefoot.cluster.shards.Columns`.
        settings : Settings, optional
            The settings of the training; the engine is XGBoost.
        valid : table or path, optional
            Queries to choose the best iteration on.
        query, label : str
            The columns of query ids and labels.
        features : list of str, optional
            The columns of features; by default all other columns.
        **options
            ``init_model``, a `Model` to which trees are added; ``callbacks`` of XGBoost, run on each worker;
            ``checkpoint``, a file in a folder that all workers see, and ``checkpoint_every``, seconds between two
            checkpoints. The first worker saves the state of the training there. The same training resumes from it to
            the same model; other rows, settings or workers are refused. Remove the file when the model is saved.

        Returns
        -------
        Trained
        """
        tables = [self._table(one) for one in (frame, valid) if one is not None]
        columns = Columns.among(_names(tables[0]), query, label, features, baseline)
        return self.train_columns(tables, columns, settings, **options)

    def train_columns(
        self, tables: Sequence[Any], columns: Columns, settings: Settings | None, **options: Any
    ) -> Trained:
        """Train on these columns of the training queries, and of the validation queries if there is a second table."""
        request = WorkerRequest(settings or Settings(engine="xgboost"), **options)
        return combine(self.run(partial(train_worker, request), tables, columns, together=True), self.source)

    def scores(
        self,
        model: Model,
        frame: Any,
        baseline: str | Sequence[str] | None = None,
        name: str = "ranker",
        *,
        query: str = "qid",
        label: str = "label",
    ) -> Scores:
        """The model beside its baselines, query by query. Only this matrix leaves the workers.

        Parameters
        ----------
        model : Model
            The model to evaluate.
        frame : table of the framework, or path
            One row per document.
        baseline : str or list of str, optional
            As in `train`.
        name : str
            The model's name among the systems.
        query, label : str
            The columns of query ids and labels.

        Returns
        -------
        Scores
        """
        table = self._table(frame)
        columns = Columns.among(_names(table), query, label, features_of(model), baseline)
        return concat_scores(self.run(partial(_evaluate, model, name), [table], columns, together=False))

    def _table(self, frame: Any) -> Any:
        return self.read(os.fspath(frame)) if isinstance(frame, str | os.PathLike) else frame


def _names(table: Any) -> list[str]:
    return list(table.columns() if callable(table.columns) else table.columns)


def _evaluate(model: Model, name: str, member: Member, load: Callable[[], Sequence[Shard]]) -> Scores | None:
    (shard,) = load()
    return evaluate_shard(shard, model, name)
