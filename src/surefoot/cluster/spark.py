"""Training, ranking and evaluating on a Spark cluster.

Training is one barrier stage: Spark starts all its tasks at once, and if one is lost it restarts all of them, so a
training never continues with fewer workers.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.cluster.shards import ROW, SHARD, Columns, Shard, model_columns, predict_rows
from surefoot.cluster.training import Cluster, Found, Member, Work, attempt, start_tracker, without_mistakes
from surefoot.errors import SurefootError
from surefoot.learn.models import Model
from surefoot.learn.run import Trained
from surefoot.scores import Scores

TABLE = "__table"
"""A column that is added to the rows: which table they are of."""


def train(frame: Any, *arguments: Any, workers: int, **options: Any) -> Trained:
    """Train a ranker on this number of tasks of a Spark cluster; the other parameters are those of `Cluster.train`.

    >>> frame = spark.read.parquet("log")  # doctest: +SKIP
    >>> trained = train(frame, "feature:bm25", Settings(alpha=2, engine="xgboost"), workers=16)  # doctest: +SKIP
    """
    return SparkCluster(workers).train(frame, *arguments, **options)


def predict(model: Model, frame: Any, name: str = "score", query: str = "qid", *, vector: str | None = None) -> Any:
    """The frame with one more column, the score of each document.

    Parameters
    ----------
    model : Model
        The model. If it is guarded, each query's rows move to one task. A baseline that is not a feature is a column
        of its name.
    frame : pyspark.sql.DataFrame
        One row per document.
    name : str
        The name of the new column.
    query : str
        The column of query ids, which a guarded model needs.
    vector : str, optional
        The column of arrays with all features, if they have no columns of their own.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> predict(model, frame).write.parquet("ranked")  # doctest: +SKIP
    """
    from pyspark.sql.types import DoubleType, StructField, StructType

    model_columns(model, frame.columns, query, vector)
    schema = StructType([*frame.schema.fields, StructField(name, DoubleType())])

    def scored(table: Any) -> Any:
        import pyarrow  # type: ignore[import-untyped]

        return table.append_column(name, pyarrow.array(predict_rows(model, table.to_pandas(), query, vector)))

    if model.guard is not None:
        return frame.groupBy(query).applyInArrow(scored, schema)
    return frame.mapInArrow(lambda batches: map(scored, batches), schema)


def scores(model: Model, frame: Any, *arguments: Any, workers: int, **options: Any) -> Scores:
    """The model beside its baselines, query by query; the other parameters are those of `Cluster.scores`.

    >>> surefoot.evaluate(scores(model, frame, "feature:bm25", workers=16), "feature:bm25")  # doctest: +SKIP
    """
    return SparkCluster(workers).scores(model, frame, *arguments, **options)


@dataclass(frozen=True)
class SparkCluster(Cluster):
    """Some tasks of the session's cluster."""

    workers: int
    source = "a Spark table"

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise SurefootError(f"training needs 1 worker or more; got {self.workers}")

    def read(self, path: str) -> Any:
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate().read.parquet(path)

    def run(self, work: Work[Found], tables: Sequence[Any], columns: Columns, together: bool) -> list[Found]:
        rows, *others = (_with_shard(table, columns, self.workers, number) for number, table in enumerate(tables))
        for one in others:
            rows = rows.union(one)
        placed = rows.repartitionById(self.workers, SHARD).sortWithinPartitions(TABLE, columns.query, ROW)
        workers, n_tables = self.workers, len(tables)

        def task(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import BarrierTaskContext, TaskContext

            context: Any = (BarrierTaskContext if together else TaskContext).get()
            rank = context.partitionId()
            member = Member(rank, workers, context.cpus(), _tracker(context, workers) if together else {})
            yield _pack(rank, attempt(lambda: work(member, lambda: _shards(columns, n_tables, batches))))

        return _collect(placed, task, together)


def _with_shard(table: Any, columns: Columns, n_shards: int, number: int) -> Any:
    """The needed columns, with the table, shard and number of each row; the hash is that of `query_keys`."""
    from pyspark.sql import functions

    text = functions.col(columns.query).cast("string")
    first = functions.conv(functions.substring(functions.sha2(text, 256), 1, 8), 16, 10).cast("long")
    shard = functions.shiftright(first * n_shards, 32).cast("int")
    return table.select(
        *columns.needed,
        functions.lit(number).alias(TABLE),
        functions.coalesce(shard, functions.lit(0)).alias(SHARD),  # a row without its query is an error there
        functions.monotonically_increasing_id().alias(ROW),
    )


def _shards(columns: Columns, n_tables: int, batches: Iterator[Any]) -> list[Shard]:
    """The rows of a task, table by table."""
    import pandas  # type: ignore[import-untyped]

    frames = [batch.to_pandas() for batch in batches]
    names = [*columns.needed, TABLE, ROW]
    rows = pandas.concat(frames) if frames else pandas.DataFrame({name: [] for name in names})
    return [columns.shard(rows[rows[TABLE] == number]) for number in range(n_tables)]


def _tracker(context: Any, workers: int) -> Any:
    """The tracker, which the first task starts."""
    host = context.getTaskInfos()[0].address.split(":")[0]
    return json.loads(context.allGather(json.dumps(None if context.partitionId() else start_tracker(workers, host)))[0])


def _pack(index: int, found: Any) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict(
        {"index": pyarrow.array([index], pyarrow.int32()), "found": [pickle.dumps(found)]}
    )


def _collect(rows: Any, task: Callable[[Iterator[Any]], Iterator[Any]], barrier: bool) -> list[Any]:
    """The results of all tasks, in order.

    Spark doesn't retry a barrier stage that is the last of its job, so another one gathers the results.
    """
    found = rows.mapInArrow(task, "index int, found binary", barrier=barrier).repartition(1)
    try:
        packed = found.collect()
    except Exception as error:  # of Java, Python or the network, in classes that depend on how Spark is reached
        raise SurefootError(f"Spark gave up ({_reason(error)}); there is no result: try again") from error
    results = [pickle.loads(bytes(row["found"])) for row in sorted(packed, key=lambda row: row["index"])]
    return list(without_mistakes(results))


def _reason(error: Exception) -> str:
    """The last line of a Java and Python traceback that names an error."""
    lines = re.findall(r"^\s*(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", str(error), re.MULTILINE)
    return lines[-1].strip() if lines else type(error).__name__
