"""Training, ranking and evaluating on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from surefoot._lazy import LazyModule, optional
from surefoot.cluster.shards import SHARD, Columns, model_columns, numbered, predict_rows
from surefoot.cluster.training import (
    Cluster,
    Found,
    Member,
    Work,
    attempt,
    failure_reason,
    start_tracker,
    without_mistakes,
)
from surefoot.errors import SurefootError
from surefoot.learn.models import Model
from surefoot.learn.run import Trained
from surefoot.scores import Scores

ray: Any = LazyModule("ray")

START_TIMEOUT = 300
"""Seconds that a cluster has to find a processor for each worker."""


def train(dataset: Any, *arguments: Any, workers: int, **options: Any) -> Trained:
    """Train a ranker on this number of workers of a Ray cluster; the other parameters are those of `Cluster.train`.

    >>> dataset = ray.data.read_parquet("log")  # doctest: +SKIP
    >>> trained = train(dataset, "feature:bm25", Settings(alpha=2, engine="xgboost"), workers=16)  # doctest: +SKIP
    """
    return RayCluster(workers).train(dataset, *arguments, **options)


def predict(model: Model, dataset: Any, name: str = "score", query: str = "qid") -> Any:
    """The dataset with one more column, the score of each document.

    Parameters
    ----------
    model : Model
        The model. If it is guarded, each query's rows move to one task. A baseline that is not a feature is a column
        of its name.
    dataset : ray.data.Dataset
        One row per document.
    name : str
        The name of the new column.
    query : str
        The column of query ids, which a guarded model needs.

    Returns
    -------
    ray.data.Dataset

    Examples
    --------
    >>> predict(model, dataset).write_parquet("ranked")  # doctest: +SKIP
    """
    model_columns(model, dataset.columns(), query)

    def scored(frame: Any) -> Any:
        return frame.assign(**{name: predict_rows(model, frame, query)})

    if model.guard is not None:
        return dataset.groupby(query).map_groups(scored, batch_format="pandas")
    return dataset.map_batches(scored, batch_format="pandas")


def scores(model: Model, dataset: Any, *arguments: Any, workers: int, **options: Any) -> Scores:
    """The model beside its baselines, query by query; the other parameters are those of `Cluster.scores`.

    >>> surefoot.evaluate(scores(model, dataset, "feature:bm25", workers=16), "feature:bm25")  # doctest: +SKIP
    """
    return RayCluster(workers).scores(model, dataset, *arguments, **options)


@dataclass(frozen=True)
class RayCluster(Cluster):
    """Some workers of the cluster that Ray is connected to."""

    workers: int
    source = "a Ray dataset"

    def read(self, path: str) -> Any:
        return optional("ray.data").read_parquet(path)

    def run(self, work: Work[Found], tables: Sequence[Any], columns: Columns, together: bool) -> list[Found]:
        placed = zip(*(_pieces(table, columns, self.workers) for table in tables), strict=True)
        group = ray.util.placement_group([{"CPU": 1}] * self.workers, strategy="SPREAD")
        try:
            if not group.wait(START_TIMEOUT):
                raise SurefootError(f"the Ray cluster has no free processor for each of {self.workers} workers")
            tracker = start_tracker(self.workers, ray.util.get_node_ip_address()) if together else {}
            strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
            task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy=strategy)(_work)
            return _gather([
                task.remote(work, Member(rank, self.workers, 1, tracker), columns, pieces)
                for rank, pieces in enumerate(placed)
            ])  # fmt: skip
        finally:
            ray.util.remove_placement_group(group)


def _pieces(table: Any, columns: Columns, n_shards: int) -> list[list[Any]]:
    """References to the rows of each shard: one for each block of the dataset, which one task splits."""
    table.context.execution_options.preserve_order = True
    split = ray.remote(num_cpus=1, num_returns=n_shards)(_split)
    blocks = table.select_columns(columns.needed).to_pandas_refs()
    found = [split.remote(block, number, columns.query, n_shards) for number, block in enumerate(blocks)]
    by_block = [one if n_shards > 1 else [one] for one in found]
    return [[pieces[shard] for pieces in by_block] for shard in range(n_shards)]


def _split(frame: Any, number: int, query: str, n_shards: int) -> Any:
    rows = attempt(partial(numbered, frame, number, query, n_shards))
    is_mistake = isinstance(rows, SurefootError)
    pieces = [rows if is_mistake else rows[rows[SHARD] == shard] for shard in range(n_shards)]
    return pieces if n_shards > 1 else pieces[0]


def _work(work: Callable[..., Any], member: Member, columns: Columns, pieces: Sequence[Sequence[Any]]) -> Any:
    def load() -> list[Any]:
        return [_shard(columns, ray.get(list(own))) for own in pieces]

    return attempt(partial(work, member, load))


def _shard(columns: Columns, pieces: Sequence[Any]) -> Any:
    import pandas  # type: ignore[import-untyped]

    without_mistakes(pieces)
    return columns.shard(pandas.concat(pieces))


def _gather(futures: Sequence[Any]) -> list[Any]:
    """The results of all workers; if one is lost, the others, which would wait for it forever, are stopped."""
    pending = list(futures)
    try:
        while pending:
            done, pending = ray.wait(pending)
            ray.get(done)
    except ray.exceptions.RayError as error:
        for future in futures:
            ray.cancel(future, force=True)
        reason = failure_reason([getattr(error, "cause", None) or error])
        raise SurefootError(f"the cluster failed on a worker ({reason}); there is no model: train again") from error
    return list(without_mistakes(ray.get(list(futures))))
