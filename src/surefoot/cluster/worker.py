"""A worker of a cluster runs the training of one machine on its shard, with sums over all workers.

XGBoost's collective connects the workers, and also adds up the histograms. Every worker must call it equally often,
even without rows, so the number of calls does not depend on the shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from surefoot._typing import PathLike
from surefoot.cluster.shards import Partitioning, Shard
from surefoot.errors import SurefootError, choose, counted
from surefoot.io.atomic import digest_of
from surefoot.learn.checkpoint import EVERY, Checkpoint, Stage
from surefoot.learn.engines import engine_of
from surefoot.learn.objectives import OBJECTIVES, LambdaMART, register
from surefoot.learn.objectives.base import Comm
from surefoot.learn.settings import Settings
from surefoot.learn.training import Trained, TrainingRun, engine_message
from surefoot.scores import FloatArray

TIMEOUT = 300
"""Seconds that workers wait for each other at the beginning."""

HASH_DIGITS = 12
"""The hexadecimal digits of a request's hash that a float64 keeps exactly."""

ELSEWHERE = "another worker found a mistake"


@dataclass(frozen=True)
class Collective:
    """The workers of a cluster, connected by XGBoost's collective; see `surefoot.learn.objectives.base.Comm`."""

    def sum(self, values: FloatArray) -> FloatArray:
        from xgboost import collective

        return np.asarray(collective.allreduce(np.asarray(values, dtype=np.float64), collective.Op.SUM))

    def max(self, values: FloatArray) -> FloatArray:
        from xgboost import collective

        return np.asarray(collective.allreduce(np.asarray(values, dtype=np.float64), collective.Op.MAX))

    def gather(self, columns: FloatArray) -> FloatArray:
        """An allgather by a sum: each worker fills in its own columns, the others are 0."""
        from xgboost import collective

        counts = np.zeros(collective.get_world_size())
        counts[collective.get_rank()] = columns.shape[1]
        ends = np.cumsum(self.sum(counts)).astype(np.int64)
        end = ends[collective.get_rank()]
        everyone = np.zeros((columns.shape[0], ends[-1]))
        everyone[:, end - columns.shape[1] : end] = columns
        return self.sum(everyone).reshape(everyone.shape)

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
    if settings.model_engine != "xgboost" or settings.n_bags > 1:
        raise SurefootError("a cluster trains one XGBoost model; set engine to xgboost, and n_bags to 1")
    kind = OBJECTIVES[choose(settings.objective, OBJECTIVES, "objective")]
    if kind.ranks_queries:
        raise SurefootError(
            f"objective {kind.name} sorts all queries, which a cluster does not; train on one machine, or take ucro "
            "or saro"
        )
    return kind


@dataclass(frozen=True, eq=False)
class WorkerRequest:
    """The request that all workers get: the settings, the class of the objective, the borders of the shards, ..."""

    settings: Settings
    partitioning: Partitioning
    valid: Partitioning | None = None
    init_model: str | None = None
    callbacks: Sequence[Any] = ()
    checkpoint: PathLike | None = None
    checkpoint_every: float = EVERY
    comm: Comm = field(default_factory=Collective)
    objective: type[LambdaMART] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", validate_cluster_settings(self.settings))
        if self.checkpoint is not None:  # workers may run in other folders
            object.__setattr__(self, "checkpoint", Path(self.checkpoint).absolute())


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


def train_worker(
    request: WorkerRequest, tracker: Mapping[str, Any], rank: int, shard: Shard, valid: Shard | None, n_jobs: int
) -> WorkerResult:
    """Train together with the other workers."""
    register(request.objective)  # a user's objective is only known to the process that started the training
    settings = replace(request.settings, n_jobs=request.settings.n_jobs or n_jobs)
    with _joined(tracker, rank):
        run = TrainingRun.of(
            shard.data,
            shard.baselines,
            settings,
            valid=None if valid is None else valid.data,
            valid_baseline=None if valid is None else valid.baselines,
            comm=request.comm,
            init_model=None if request.init_model is None else engine_of("xgboost").load(request.init_model),
            callbacks=request.callbacks,
        )
        _validate_totals(request.partitioning, shard)
        if request.valid is not None and valid is not None:
            _validate_totals(request.valid, valid)
        trained = run.train_from(_checkpoint(request, run, rank))
    digest = digest_of(trained.model.text)
    return WorkerResult(digest, shard.data.fingerprint, None if rank else _with_totals(trained, request.partitioning))


def _checkpoint(request: WorkerRequest, run: TrainingRun, rank: int) -> Checkpoint:
    """The checkpoint of all workers; only the first reads and writes the file.

    Each worker's request contains its own rows, so the file keeps a hash of every worker's request.
    """
    from xgboost import collective

    if request.checkpoint is None:
        return Checkpoint(None, {})
    keys = request.comm.gather(np.array([[float(int(run.key[:HASH_DIGITS], 16))]]))
    own = {**run.request, "rows of a worker": keys[0].tolist()}
    with request.comm.raise_together():
        found = Checkpoint.begin(None if rank else Path(request.checkpoint), own, request.checkpoint_every, resume=True)
    found.current = Stage(**json.loads(collective.broadcast(json.dumps(asdict(found.current)), 0)))
    return found


@contextmanager
def _joined(tracker: Mapping[str, Any], rank: int) -> Iterator[None]:
    """Join the collective. Leaving it after an error must not hide that error."""
    from xgboost import collective
    from xgboost.core import XGBoostError

    collective.init(**tracker, dmlc_task_id=f"{rank:06}")
    try:
        yield
    except BaseException:
        with suppress(XGBoostError):
            collective.finalize()
        raise
    collective.finalize()


def _validate_totals(partitioning: Partitioning, shard: Shard) -> None:
    """Check that the workers hold each query once and whole: the sums must equal the table's totals."""
    queries, documents = Collective().sum(np.array([len(shard.data), shard.data.labels.size]))
    if (queries, documents) != (partitioning.queries, partitioning.documents):
        raise SurefootError(
            f"the workers hold {counted(int(queries), 'query')} and {counted(int(documents), 'document')}, but the "
            f"table has {partitioning.queries:,} and {partitioning.documents:,}; it changes while it is read, or "
            "queries were split"
        )


def _with_totals(trained: Trained, partitioning: Partitioning) -> Trained:
    totals = {"queries": partitioning.queries, "documents": partitioning.documents}
    return _with_data(trained, totals)


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
