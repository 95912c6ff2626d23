"""Training, ranking and evaluating on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import getitem
from typing import Any

import numpy as np

from surefoot._lazy import optional
from surefoot._typing import PathLike
from surefoot.cluster.dask_futures import gather, wait
from surefoot.cluster.shards import (
    Columns,
    Partitioning,
    Shard,
    concat_scores,
    evaluate_shard,
    features_of,
    partition_queries,
    predict_rows,
    query_ids,
    validate_by_row,
)
from surefoot.cluster.worker import (
    WorkerRequest,
    WorkerResult,
    combine,
    start_tracker,
    train_worker,
)
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
from surefoot.learn.checkpoint import EVERY
from surefoot.learn.data import RankingData, same_features
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import Trained
from surefoot.scores import Scores

CONNECT_TIMEOUT = 30
"""Seconds that a scheduler has to answer."""


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """A client of a Dask cluster.

    Parameters
    ----------
    address : str
        The address of its scheduler, as tcp://10.0.0.1:8786.

    Returns
    -------
    context manager
        It gives the client, and closes it at the end.

    Examples
    --------
    >>> with connect("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     trained = train(client, frame, "feature:bm25", Settings(engine="xgboost"))
    """
    new_client: Any = optional("distributed").Client
    try:
        client = new_client(address, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise SurefootError(f"no Dask scheduler answers at {address} ({error})") from None
    with client:
        yield client


def train(
    client: Any,
    frame: Any,
    baseline: str | Sequence[str] | None = None,
    settings: Settings | None = None,
    *,
    valid: Any = None,
    query: str = "qid",
    label: str = "label",
    features: Sequence[str] | None = None,
    init_model: Model | None = None,
    callbacks: Sequence[Any] = (),
    checkpoint: PathLike | None = None,
    checkpoint_every: float = EVERY,
) -> Trained:
    """Train a ranker on all workers of a Dask cluster, as `surefoot.learn.train` does on one machine.

    Rows may come in any order. The rows of a query go to one worker, in the order of the frame; missing rows are an
    error. The frame is read twice; persist it if that is slow.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    frame : dask.dataframe.DataFrame
        One row per document.
    baseline : str or list of str, optional
        ``feature:NAME``, ``scores:NAME`` or ``values:NAME``; see `surefoot.cluster.shards.Columns`.
    settings : Settings, optional
        The settings of the training; the engine is XGBoost.
    valid : dask.dataframe.DataFrame, optional
        Queries to choose the best iteration on.
    query, label : str
        The columns of query ids and labels.
    features : list of str, optional
        The columns of features; by default all other columns.
    init_model : Model, optional
        A model to which trees are added.
    callbacks : sequence
        Callbacks of XGBoost, run on each worker.
    checkpoint : path, optional
        A file in a folder that all workers see. The first worker saves the state of the training there, and the same
        training resumes from it to the same model; one with other rows, settings or workers is refused. Remove the
        file when the model is saved.
    checkpoint_every : float
        Seconds between checkpoints.

    Returns
    -------
    Trained

    Examples
    --------
    >>> trained = train(client, frame, "feature:bm25", Settings(alpha=2, engine="xgboost"))  # doctest: +SKIP
    >>> trained.model.save("model")  # doctest: +SKIP
    """
    columns = Columns.among(list(frame.columns), query, label, features, baseline)
    workers = _workers(client)
    request = WorkerRequest(
        settings or Settings(engine="xgboost"),
        _partition(client, frame, columns, len(workers)),
        None if valid is None else _partition(client, valid, columns, len(workers)),
        None if init_model is None else init_model.text,
        callbacks,
        checkpoint,
        checkpoint_every,
    )
    shards = _shards(client, frame, columns, request.partitioning, workers)
    held_out = None if request.valid is None else _shards(client, valid, columns, request.valid, workers)
    return combine(train_shards(client, request, workers, shards, held_out), "a Dask table")


def train_data(
    client: Any,
    data: RankingData,
    baseline: Any = None,
    settings: Settings | None = None,
    *,
    valid: RankingData | None = None,
    valid_baseline: Any = None,
    missing: Missing = "error",
    checkpoint: PathLike | None = None,
) -> Trained:
    """Train on all workers with data of this process.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    data, baseline, settings, valid, valid_baseline, missing
        As in `surefoot.learn.train`; the engine is XGBoost.
    checkpoint : path, optional
        As in `train`.

    Returns
    -------
    Trained

    Examples
    --------
    >>> trained = train_data(client, data, "feature:25", Settings(engine="xgboost"))  # doctest: +SKIP
    """
    workers = _workers(client)
    sets = [data] if valid is None else same_features([data, valid])
    partitionings = [partition_queries(np.arange(len(one)), one.sizes, len(workers)) for one in sets]
    request = WorkerRequest(
        settings or Settings(engine="xgboost"),
        partitionings[0],
        None if valid is None else partitionings[1],
        checkpoint=checkpoint,
    )
    given = [baseline] if valid is None else [baseline, baseline_for("validation", valid_baseline, baseline)]
    shards = []
    for one, own, partitioning in zip(sets, given, partitionings, strict=True):
        parts = split_data(one, baselines_of(own, one, missing), partitioning)
        # hash=False: under its hash, the same data of an earlier training may be released at any moment.
        shards.append([client.scatter(part, [worker], hash=False) for part, worker in zip(parts, workers, strict=True)])
    return combine(train_shards(client, request, workers, *shards), data.source, sets[0].fingerprint)


def predict(model: Model, frame: Any) -> Any:
    """The score of each document, computed lazily on the worker that has its row.

    Parameters
    ----------
    model : Model
        A model without a guard, which scores documents one by one.
    frame : dask.dataframe.DataFrame
        One row per document.

    Returns
    -------
    dask.dataframe.Series

    Examples
    --------
    >>> predict(model, frame).compute()  # doctest: +SKIP
    """
    return frame[features_of(validate_by_row(model))].map_partitions(_predict, model, meta=("score", np.float64))


def scores(
    client: Any,
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
    client : distributed.Client
        The cluster.
    model : Model
        The model to evaluate.
    frame : dask.dataframe.DataFrame
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

    Examples
    --------
    >>> surefoot.evaluate(scores(client, model, frame, "feature:bm25"), "feature:bm25")  # doctest: +SKIP
    """
    columns = Columns.among(list(frame.columns), query, label, features_of(model), baseline)
    workers = _workers(client)
    shards = _shards(client, frame, columns, _partition(client, frame, columns, len(workers)), workers)
    found = client.map(evaluate_shard, shards, model=model, name=name, pure=False)
    return concat_scores(gather(client, found, workers))


def train_shards(
    client: Any,
    request: WorkerRequest,
    workers: Sequence[str],
    shards: Sequence[Any],
    valid: Sequence[Any] | None = None,
) -> list[WorkerResult]:
    """Train, with shard i on worker i. The workers are locked, since two trainings that share some would deadlock."""
    from distributed import MultiLock

    with MultiLock(list(workers)):
        # On the scheduler: a tracker that dies with its worker could not stop the others.
        tracker = client.run_on_scheduler(_start_tracker, len(workers))
        futures = [
            client.submit(
                _train_worker, request, tracker, rank, shards[rank], None if valid is None else valid[rank],
                workers=[worker], allow_other_workers=False, pure=False,
            )
            for rank, worker in enumerate(workers)
        ]  # fmt: skip
        return gather(client, futures, workers)


def _workers(client: Any) -> list[str]:
    workers = sorted(client.nthreads())
    if not workers:
        raise SurefootError("the Dask cluster has no workers; start some, or wait for them")
    return workers


def _partition(client: Any, frame: Any, columns: Columns, n_shards: int) -> Partitioning:
    from dask.delayed import delayed

    sizes = [delayed(_sizes)(partition) for partition in frame[[columns.query]].to_delayed()]
    found = [pair for pair in gather(client, client.compute(sizes), _workers(client)) if pair[0].size]
    if not found:
        raise SurefootError("the table has no rows")
    queries, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    return partition_queries(queries, counts, n_shards)


def _sizes(partition: Any) -> tuple[Any, Any]:
    return np.unique(query_ids(partition.iloc[:, 0]), return_counts=True)


def _shards(
    client: Any, frame: Any, columns: Columns, partitioning: Partitioning, workers: Sequence[str]
) -> list[Any]:  # fmt: skip
    """Bring each query's rows to its worker, in the order of the frame."""
    from dask.delayed import delayed

    partitions = frame[columns.needed].to_delayed()
    pieces = client.compute([delayed(_split)(partition, columns, partitioning) for partition in partitions])
    shards = [
        client.submit(
            _assemble, columns, [client.submit(getitem, piece, shard, pure=False) for piece in pieces],
            workers=[worker], allow_other_workers=False, pure=False,
        )
        for shard, worker in enumerate(workers)
    ]  # fmt: skip
    wait(client, shards, workers)
    return shards


def _split(partition: Any, columns: Columns, partitioning: Partitioning) -> list[Any]:
    shard_of_row = partitioning.shard_of(query_ids(partition[columns.query]))
    return [partition[shard_of_row == shard] for shard in range(partitioning.n_shards)]


def _assemble(columns: Columns, pieces: Sequence[Any]) -> Shard:
    import pandas  # type: ignore[import-untyped]

    return columns.shard(pandas.concat(pieces))


def split_data(data: RankingData, baselines: Baselines, partitioning: Partitioning) -> Iterator[Shard]:
    """The shards of data that one process holds."""
    shard_of_query = partitioning.shard_of(np.arange(len(data)))
    for shard in range(partitioning.n_shards):
        queries = np.flatnonzero(shard_of_query == shard)
        yield Shard(data.select(queries), baselines.select(data, queries))


def _start_tracker(workers: int, dask_scheduler: Any) -> dict[str, Any]:
    from distributed.comm.addressing import get_address_host

    return start_tracker(workers, get_address_host(dask_scheduler.address))


def _train_worker(
    request: WorkerRequest, tracker: Any, rank: int, shard: Shard, valid: Shard | None
) -> WorkerResult:  # fmt: skip
    from distributed import get_worker

    return train_worker(request, tracker, rank, shard, valid, get_worker().state.nthreads)


def _predict(frame: Any, model: Model) -> Any:
    return frame.assign(score=predict_rows(model, frame))["score"]
