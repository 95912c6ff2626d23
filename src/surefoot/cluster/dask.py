"""Training, ranking and evaluating on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from surefoot._lazy import optional
from surefoot._typing import PathLike
from surefoot.cluster.dask_futures import wait
from surefoot.cluster.shards import (
    SHARD,
    Columns,
    Shard,
    model_columns,
    numbered,
    predict_rows,
    split_data,
)
from surefoot.cluster.training import Cluster, Found, Member, Work, WorkerRequest, combine, start_tracker, train_worker
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Missing, baseline_for, baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.joining import same_features
from surefoot.learn.models import Model
from surefoot.learn.run import Trained
from surefoot.learn.settings import Settings
from surefoot.scores import Scores

CONNECT_TIMEOUT = 30
"""Seconds that a scheduler has to answer."""

QID, TARGET, BASELINE = "__qid", "__target", "__baseline"
"""Columns that `DaskRiskRanker` adds to the features."""


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


def train(client: Any, frame: Any, *arguments: Any, **options: Any) -> Trained:
    """Train a ranker on all workers of a Dask cluster; the other parameters are those of `Cluster.train`.

    >>> trained = train(client, frame, "feature:bm25", Settings(alpha=2, engine="xgboost"))  # doctest: +SKIP
    >>> trained.model.save("model")  # doctest: +SKIP
    """
    return DaskCluster(client).train(frame, *arguments, **options)


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
    cluster, sets = DaskCluster(client), [data] if valid is None else same_features([data, valid])
    given = [baseline] if valid is None else [baseline, baseline_for("validation", valid_baseline, baseline)]
    request = WorkerRequest(settings or Settings(engine="xgboost"), checkpoint=checkpoint)
    placed = []
    for one, own in zip(sets, given, strict=True):
        parts = split_data(one, baselines_of(own, one, missing), len(cluster.workers))
        # hash=False: under its hash, the same data of an earlier training may be released at any moment.
        placed.append(
            [client.scatter(part, [worker], hash=False) for part, worker in zip(parts, cluster.workers, strict=True)]
        )
    results = cluster.run_placed(partial(train_worker, request), placed, together=True)
    return combine(results, data.source, sets[0].fingerprint)


def predict(model: Model, frame: Any, query: str = "qid") -> Any:
    """The score of each document, computed lazily by the workers.

    Parameters
    ----------
    model : Model
        The model. If it is guarded, each query's rows move to one worker; the scores keep the rows' index, but not
        their order. A baseline that is not a feature is a column of its name.
    frame : dask.dataframe.DataFrame
        One row per document.
    query : str
        The column of query ids, which a guarded model needs.

    Returns
    -------
    dask.dataframe.Series

    Examples
    --------
    >>> predict(model, frame).compute()  # doctest: +SKIP
    """
    needed = frame[model_columns(model, list(frame.columns), query)]
    whole = needed if model.guard is None else needed.shuffle(query)
    return whole.map_partitions(_predict, model, query, meta=("score", np.float64))


def scores(client: Any, model: Model, frame: Any, *arguments: Any, **options: Any) -> Scores:
    """The model beside its baselines, query by query; the other parameters are those of `Cluster.scores`.

    >>> surefoot.evaluate(scores(client, model, frame, "feature:bm25"), "feature:bm25")  # doctest: +SKIP
    """
    return DaskCluster(client).scores(model, frame, *arguments, **options)


@dataclass(frozen=True)
class DaskCluster(Cluster):
    """All workers of a client's cluster."""

    client: Any
    source = "a Dask table"

    def read(self, path: str) -> Any:
        return optional("dask.dataframe").read_parquet(path)

    @property
    def workers(self) -> list[str]:
        """The addresses of the workers."""
        workers = sorted(self.client.nthreads())
        if not workers:
            raise SurefootError("the Dask cluster has no workers; start some, or wait for them")
        return workers

    def run(self, work: Work[Found], tables: Sequence[Any], columns: Columns, together: bool) -> list[Found]:
        return self.run_placed(work, [self.place(table, columns) for table in tables], together)

    def place(self, table: Any, columns: Columns) -> list[Any]:
        """The shards of a table, as futures."""
        from dask.delayed import delayed

        workers = self.workers
        parts = shuffled(table, columns, len(workers)).to_delayed()
        shards = self.client.compute([delayed(columns.shard)(part) for part in parts])
        wait(self.client, shards, workers)
        return list(shards)

    def run_placed(self, work: Work[Found], placed: Sequence[Sequence[Any]], together: bool) -> list[Found]:
        """Run the function on a worker for each shard. Two trainings that share workers would deadlock: they wait."""
        from distributed import MultiLock

        client, shards = self.client, list(zip(*placed, strict=True))
        with MultiLock(self.workers):
            hosts = self._hosts(placed[0])
            # On the scheduler: a tracker that dies with its worker could not stop the others.
            tracker = client.run_on_scheduler(_start_tracker, len(shards)) if together else {}
            futures = [
                client.submit(
                    _work, work, rank, len(shards), tracker, *own, workers=[host], allow_other_workers=False, pure=False
                )
                for rank, (own, host) in enumerate(zip(shards, hosts, strict=True))
            ]
            wait(client, futures, hosts)
            return list(client.gather(futures))

    def _hosts(self, shards: Sequence[Any]) -> list[str]:
        """A worker for each shard: the one that holds it, if that has no other shard."""
        free, holders = self.workers, self.client.who_has(list(shards))
        hosts: list[str | None] = []
        for shard in shards:
            hosts.append(next((one for one in holders.get(shard.key, ()) if one in free), None))
            free = [one for one in free if one != hosts[-1]]
        return [host or free.pop() for host in hosts]


def shuffled(table: Any, columns: Columns, n_shards: int) -> Any:
    """The table in as many partitions as there are shards, by Dask's own shuffle."""
    labels = _labels(n_shards)
    rows = table[columns.needed].map_partitions(_numbered, columns.query, labels)
    return rows.shuffle(SHARD, npartitions=n_shards, force=True)


def _labels(n_shards: int) -> Any:
    """A number for each shard that the hash of Dask's shuffle sends to the partition of the shard."""
    import pandas  # type: ignore[import-untyped]

    partitioning_index: Any = optional("dask.dataframe.shuffle").partitioning_index
    candidates, labels = np.arange(64.0 * n_shards), np.full(n_shards, -1.0)  # Dask takes numbers as float64
    while (labels < 0).any():
        labels[partitioning_index(pandas.DataFrame({SHARD: candidates}), n_shards)] = candidates
        candidates += candidates.size
    return labels


def _numbered(partition: Any, query: str, labels: Any, partition_info: Any = None) -> Any:
    """The rows with their numbers, and the labels of their shards."""
    rows = numbered(partition, (partition_info or {"number": 0})["number"], query, labels.size)
    return rows.assign(**{SHARD: labels[rows[SHARD]]})


def _start_tracker(workers: int, dask_scheduler: Any) -> dict[str, Any]:
    from distributed.comm.addressing import get_address_host

    return start_tracker(workers, get_address_host(dask_scheduler.address))


def _work(work: Callable[..., Any], rank: int, workers: int, tracker: Any, *shards: Shard) -> Any:
    from distributed import get_worker

    return work(Member(rank, workers, get_worker().state.nthreads, tracker), lambda: shards)


def _predict(frame: Any, model: Model, query: str) -> Any:
    return frame.assign(score=predict_rows(model, frame, query))["score"]


class DaskRiskRanker:
    """A ranker in the manner of ``xgboost.dask.DaskXGBRanker``: features, labels and query ids are apart.

    Parameters
    ----------
    settings : Settings, optional
        The settings of the training; the engine is XGBoost.
    client : distributed.Client, optional
        The cluster; by default that of the current client.

    Examples
    --------
    >>> ranker = DaskRiskRanker(Settings(alpha=2, engine="xgboost"), client=client)  # doctest: +SKIP
    >>> ranker.fit(X, y, qid=qid, baseline="feature:bm25").predict(X).compute()  # doctest: +SKIP
    """

    def __init__(self, settings: Settings | None = None, *, client: Any = None) -> None:
        self.settings, self.client = settings, client

    def fit(self, X: Any, y: Any, *, qid: Any, baseline: Any = None, eval_set: Any = None, **options: Any) -> Any:
        """Learn from documents (rows) with labels.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            The features.
        y, qid : dask.dataframe.Series
            The label and the query of each row, in the partitions of X.
        baseline : str or dask.dataframe.Series, optional
            ``feature:NAME``, or the baseline's score of each row.
        eval_set : tuple, optional
            The features, labels and query ids of validation queries; with scores as baseline also those.
        **options
            Other parameters of `surefoot.cluster.training.Cluster.train`, such as ``checkpoint``.

        Returns
        -------
        DaskRiskRanker
            Itself; ``trained_`` and ``model_`` have the result.
        """
        named = baseline is None or isinstance(baseline, str)
        columns = (QID, TARGET) if named else (QID, TARGET, BASELINE)
        tables = [_joined(X, (qid, y) if named else (qid, y, baseline), columns)]
        if eval_set is not None:
            held_out, labels, *rest = eval_set
            tables.append(_joined(held_out, (rest[0], labels, *rest[1:]), columns))
        self.trained_ = DaskCluster(self.client or optional("distributed").get_client()).train(
            tables[0],
            baseline if named else f"scores:{BASELINE}",
            self.settings,
            valid=tables[1] if eval_set is not None else None,
            query=QID,
            label=TARGET,
            **options,
        )
        self.model_ = self.trained_.model
        return self

    def predict(self, X: Any, *, qid: Any = None) -> Any:
        """The score of each row; a guarded model needs the query of each row."""
        return predict(self.model_, X if qid is None else _joined(X, (qid,), (QID,)), QID)


def _joined(X: Any, values: Sequence[Any], names: Sequence[str]) -> Any:
    return X.assign(**dict(zip(names, values, strict=True)))
