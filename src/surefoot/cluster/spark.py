"""Training, ranking and evaluating on a Spark cluster.

Training is one barrier stage: Spark starts all its tasks at once, and if one is lost it restarts all of them, so a
training never continues with fewer workers.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from typing import Any

from surefoot._typing import PathLike
from surefoot.cluster.shards import (
    Columns,
    Partitioning,
    Shard,
    concat_scores,
    evaluate_shard,
    features_of,
    partition_queries,
    predict_rows,
    validate_by_row,
)
from surefoot.cluster.worker import ELSEWHERE, WorkerRequest, combine, start_tracker, train_worker
from surefoot.errors import SurefootError
from surefoot.learn.checkpoint import EVERY
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import Trained
from surefoot.scores import Scores

TABLE, SHARD, ROW = "__table", "__shard", "__row"
"""Columns added to the rows: whether they are for training or validation, their shard, their order."""


def train(
    frame: Any,
    baseline: str | Sequence[str] | None = None,
    settings: Settings | None = None,
    *,
    workers: int,
    valid: Any = None,
    query: str = "qid",
    label: str = "label",
    features: Sequence[str] | None = None,
    init_model: Model | None = None,
    callbacks: Sequence[Any] = (),
    checkpoint: PathLike | None = None,
    checkpoint_every: float = EVERY,
) -> Trained:
    """Train a ranker on some tasks of a Spark cluster, as `surefoot.learn.train` does on one machine.

    Rows may come in any order. The rows of a query go to one task, in the order of the frame; missing rows are an
    error. The frame is read twice; persist it if that is slow.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per document.
    baseline : str or list of str, optional
        ``feature:NAME``, ``scores:NAME`` or ``values:NAME``; see `surefoot.cluster.shards.Columns`.
    settings : Settings, optional
        The settings of the training; the engine is XGBoost.
    workers : int
        The number of tasks.
    valid : pyspark.sql.DataFrame, optional
        Queries to choose the best iteration on.
    query, label : str
        The columns of query ids and labels.
    features : list of str, optional
        The columns of features; by default all other columns.
    init_model : Model, optional
        A model to which trees are added.
    callbacks : sequence
        Callbacks of XGBoost, run in each task.
    checkpoint : path, optional
        A file in a folder that all executors see. The first task saves the state of the training there, and the same
        training resumes from it to the same model; one with other rows, settings or workers is refused. Remove the
        file when the model is saved.
    checkpoint_every : float
        Seconds between checkpoints.

    Returns
    -------
    Trained

    Examples
    --------
    >>> frame = spark.read.parquet("log")  # doctest: +SKIP
    >>> trained = train(frame, "feature:bm25", Settings(alpha=2, engine="xgboost"), workers=16)  # doctest: +SKIP
    >>> trained.model.save("model")  # doctest: +SKIP
    """
    columns = Columns.among(frame.columns, query, label, features, baseline)
    request = WorkerRequest(
        settings or Settings(engine="xgboost"),
        _partition(frame, columns, workers),
        None if valid is None else _partition(valid, columns, workers),
        None if init_model is None else init_model.text,
        callbacks,
        checkpoint,
        checkpoint_every,
    )
    rows = _with_shard(frame, columns, request.partitioning, 0)
    if request.valid is not None:
        rows = rows.union(_with_shard(valid, columns, request.valid, 1))

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        yield _pack(context.partitionId(), _train_task(context, request, columns, batches))

    return combine(_collect(_repartition(rows, columns, workers), work, barrier=True), "a Spark table")


def predict(model: Model, frame: Any, name: str = "score") -> Any:
    """The frame with one more column, the score of each document.

    Parameters
    ----------
    model : Model
        A model without a guard, which scores documents one by one.
    frame : pyspark.sql.DataFrame
        One row per document.
    name : str
        The name of the new column.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> predict(model, frame).write.parquet("ranked")  # doctest: +SKIP
    """
    from pyspark.sql.types import DoubleType, StructField, StructType

    validate_by_row(model)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow  # type: ignore[import-untyped]

        for batch in batches:
            yield batch.append_column(name, pyarrow.array(predict_rows(model, batch.to_pandas())))

    return frame.mapInArrow(work, StructType([*frame.schema.fields, StructField(name, DoubleType())]))


def scores(
    model: Model,
    frame: Any,
    baseline: str | Sequence[str] | None = None,
    name: str = "ranker",
    *,
    workers: int,
    query: str = "qid",
    label: str = "label",
) -> Scores:
    """The model beside its baselines, query by query. Only this matrix leaves the executors.

    Parameters
    ----------
    model : Model
        The model to evaluate.
    frame : pyspark.sql.DataFrame
        One row per document.
    baseline : str or list of str, optional
        As in `train`.
    name : str
        The model's name among the systems.
    workers : int
        The number of tasks.
    query, label : str
        The columns of query ids and labels.

    Returns
    -------
    Scores

    Examples
    --------
    >>> surefoot.evaluate(scores(model, frame, "feature:bm25", workers=16), "feature:bm25")  # doctest: +SKIP
    """
    columns = Columns.among(frame.columns, query, label, features_of(model), baseline)
    rows = _with_shard(frame, columns, _partition(frame, columns, workers), 0)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        try:
            found: Any = evaluate_shard(_shards(columns, batches)[0], model, name)
        except SurefootError as mistake:
            found = mistake
        yield _pack(context.partitionId(), found)

    return concat_scores(_collect(_repartition(rows, columns, workers), work, barrier=False))


def _partition(frame: Any, columns: Columns, n_shards: int) -> Partitioning:
    counts = frame.groupBy(columns.query).count().toArrow()
    queries, sizes = (column.to_numpy() for column in counts.columns)
    if counts.column(0).null_count:
        raise SurefootError(f"column {columns.query!r} of queries has missing values")
    return partition_queries(queries, sizes, n_shards)


def _with_shard(frame: Any, columns: Columns, partitioning: Partitioning, table: int) -> Any:
    """The needed columns, with the table and shard of each row."""
    from pyspark.sql import functions

    query = functions.col(columns.query)
    borders = functions.array(*(functions.lit(border) for border in partitioning.borders.tolist()))
    shard = (
        functions.size(functions.filter(borders, lambda border: border <= query))
        if partitioning.borders.size
        else functions.lit(0)
    )
    return frame.select(
        *columns.needed,
        functions.lit(table).alias(TABLE),
        shard.cast("int").alias(SHARD),
        functions.monotonically_increasing_id().alias(ROW),
    )


def _repartition(rows: Any, columns: Columns, workers: int) -> Any:
    return rows.repartitionById(workers, SHARD).sortWithinPartitions(TABLE, columns.query, ROW)


def _shards(columns: Columns, batches: Iterator[Any]) -> tuple[Shard, Shard]:
    """The training and validation rows of a task."""
    import pandas  # type: ignore[import-untyped]

    frames = [batch.to_pandas() for batch in batches]
    rows = pandas.concat(frames) if frames else pandas.DataFrame({name: [] for name in (*columns.needed, TABLE)})
    return columns.shard(rows[rows[TABLE] == 0]), columns.shard(rows[rows[TABLE] == 1])


def _train_task(context: Any, request: WorkerRequest, columns: Columns, batches: Iterator[Any]) -> Any:
    """The result of a task of the barrier stage, or the user's mistake.

    An exception raised on an executor would arrive as a page of Java, after Spark had tried again in vain.
    """
    try:
        (shard, valid), mistake = _shards(columns, batches), None
    except SurefootError as error:
        mistake = error
    if any(json.loads(text) for text in context.allGather(json.dumps(mistake is not None))):
        return mistake or SurefootError(ELSEWHERE)
    rank, n_shards = context.partitionId(), request.partitioning.n_shards
    host = context.getTaskInfos()[0].address.split(":")[0]
    tracker = json.loads(context.allGather(json.dumps(None if rank else start_tracker(n_shards, host)))[0])
    try:
        return train_worker(request, tracker, rank, shard, valid if request.valid else None, context.cpus())
    except SurefootError as error:
        return error


def _pack(index: int, found: Any) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict(
        {"index": pyarrow.array([index], pyarrow.int32()), "found": [pickle.dumps(found)]}
    )


def _collect(rows: Any, work: Any, barrier: bool) -> list[Any]:
    """The results of all tasks, in order.

    Spark doesn't retry a barrier stage that is the last of its job, so another one gathers the results.
    """
    found = rows.mapInArrow(work, "index int, found binary", barrier=barrier).repartition(1)
    try:
        packed = found.collect()
    except Exception as error:  # of Java, Python or the network, in classes that depend on how Spark is reached
        raise SurefootError(f"Spark gave up ({_reason(error)}); there is no result: try again") from error
    results = [pickle.loads(bytes(row["found"])) for row in sorted(packed, key=lambda row: row["index"])]
    mistakes = sorted((one for one in results if isinstance(one, SurefootError)), key=lambda e: str(e) == ELSEWHERE)
    if mistakes:
        raise mistakes[0]
    return results


def _reason(error: Exception) -> str:
    """The last line of a Java and Python traceback that names an error."""
    lines = re.findall(r"^\s*(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", str(error), re.MULTILINE)
    return lines[-1].strip() if lines else type(error).__name__
