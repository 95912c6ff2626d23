"""Training, ranking and evaluating on a Spark cluster.

Training is one barrier stage: Spark starts all its tasks at once, and if one is lost it starts all of them again, so a
training that ends has never gone on with fewer workers than it began with.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from typing import Any

from surefoot.cluster.columns import Columns, Part
from surefoot.cluster.evaluation import by_row, evaluated, features_of, predicted, together
from surefoot.cluster.partitioning import Cut, cut
from surefoot.cluster.worker import ELSEWHERE, Plan, finished, start_tracker, take_part
from surefoot.errors import SurefootError
from surefoot.learn.models import Model
from surefoot.learn.training import Settings, Trained
from surefoot.scores import Scores

TABLE, PART, ROW = "__table", "__part", "__row"
"""Columns that travel with the rows: whether they are for training or validation, whose they are, their order."""


def train(
    frame: Any,
    settings: Settings,
    baseline: str | Sequence[str] | None = None,
    valid: Any = None,
    *,
    workers: int,
    query: str = "qid",
    label: str = "label",
    features: Sequence[str] | None = None,
    init_model: Model | None = None,
    callbacks: Sequence[Any] = (),
) -> Trained:
    """Train a ranker on so many tasks of a Spark cluster, as `surefoot.learn.training.train` does on one machine.

    A row of ``frame`` is a document; ``baseline`` and the columns are as in `surefoot.cluster.columns.Columns`. Rows
    may come in any order: each query's go to one task, in the order of the frame, and that they all arrived is
    checked. The frame is read twice; persist it if that is slow. ``callbacks`` are XGBoost's, run in each task::

        trained = train(spark.read.parquet("log"), Settings("ucro", 2, engine="xgboost"), "feature:bm25", workers=16)
        trained.model.save("model")
    """
    columns = Columns.among(frame.columns, query, label, features, baseline)
    cuts = [None if table is None else _cut(table, columns, workers) for table in (frame, valid)]
    plan = Plan(settings, cuts[0], cuts[1], None if init_model is None else init_model.text, callbacks)  # type: ignore[arg-type]
    rows = _placed(frame, columns, plan.cut, 0)
    if plan.valid is not None:
        rows = rows.union(_placed(valid, columns, plan.valid, 1))

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        yield _packed(context.partitionId(), _member(context, plan, columns, batches))

    return finished(_collected(_moved(rows, columns, workers), work, barrier=True), "a Spark table")


def predict(model: Model, frame: Any, name: str = "score") -> Any:
    """The frame with one more column, the score of each document."""
    from pyspark.sql.types import DoubleType, StructField, StructType

    by_row(model)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow  # type: ignore[import-untyped]

        for batch in batches:
            yield batch.append_column(name, pyarrow.array(predicted(model, batch.to_pandas())))

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
    """The model beside its baselines, query by query. Only this matrix leaves the executors."""
    columns = Columns.among(frame.columns, query, label, features_of(model), baseline)
    rows = _placed(frame, columns, _cut(frame, columns, workers), 0)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        try:
            found: Any = evaluated(_parts(columns, batches)[0], model, name)
        except SurefootError as mistake:
            found = mistake
        yield _packed(context.partitionId(), found)

    return together(_collected(_moved(rows, columns, workers), work, barrier=False))


def _cut(frame: Any, columns: Columns, parts: int) -> Cut:
    counts = frame.groupBy(columns.query).count().toArrow()
    queries, sizes = (column.to_numpy() for column in counts.columns)
    if counts.column(0).null_count:
        raise SurefootError(f"column {columns.query!r} of queries has missing values")
    return cut(queries, sizes, parts)


def _placed(frame: Any, columns: Columns, cut: Cut, table: int) -> Any:
    """The columns that are needed, with where each row belongs."""
    from pyspark.sql import functions

    query = functions.col(columns.query)
    borders = functions.array(*(functions.lit(border) for border in cut.borders.tolist()))
    part = (
        functions.size(functions.filter(borders, lambda border: border <= query))
        if cut.borders.size
        else functions.lit(0)
    )
    return frame.select(
        *columns.needed,
        functions.lit(table).alias(TABLE),
        part.cast("int").alias(PART),
        functions.monotonically_increasing_id().alias(ROW),
    )


def _moved(rows: Any, columns: Columns, workers: int) -> Any:
    return rows.repartitionById(workers, PART).sortWithinPartitions(TABLE, columns.query, ROW)


def _parts(columns: Columns, batches: Iterator[Any]) -> tuple[Part, Part]:
    """The rows of a task: those to train on, and those to validate on."""
    import pandas  # type: ignore[import-untyped]

    frames = [batch.to_pandas() for batch in batches]
    rows = pandas.concat(frames) if frames else pandas.DataFrame({name: [] for name in (*columns.needed, TABLE)})
    return columns.part(rows[rows[TABLE] == 0]), columns.part(rows[rows[TABLE] == 1])


def _member(context: Any, plan: Plan, columns: Columns, batches: Iterator[Any]) -> Any:
    """What a task of the barrier stage brings back: its outcome, or the user's mistake.

    A mistake thrown on an executor would arrive as a page of Java, after Spark had tried again in vain.
    """
    try:
        parts, mistake = _parts(columns, batches), None
    except SurefootError as error:
        mistake = error
    if any(json.loads(word) for word in context.allGather(json.dumps(mistake is not None))):
        return mistake or SurefootError(ELSEWHERE)
    member = context.partitionId()
    host = context.getTaskInfos()[0].address.split(":")[0]
    tracker = json.loads(context.allGather(json.dumps(None if member else start_tracker(plan.cut.parts, host)))[0])
    try:
        return take_part(plan, tracker, member, parts[0], parts[1] if plan.valid else None, context.cpus())
    except SurefootError as error:
        return error


def _packed(place: int, found: Any) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict(
        {"place": pyarrow.array([place], pyarrow.int32()), "found": [pickle.dumps(found)]}
    )


def _collected(rows: Any, work: Any, barrier: bool) -> list[Any]:
    """What all tasks bring back, in order.

    Spark doesn't try a barrier stage again if it is the last of its job, so another one gathers what it brings.
    """
    found = rows.mapInArrow(work, "place int, found binary", barrier=barrier).repartition(1)
    try:
        packed = found.collect()
    except Exception as error:  # of Java, Python or the network, in classes that depend on how Spark is reached
        raise SurefootError(f"Spark gave up ({_reason(error)}); nothing was made: try again") from error
    outcomes = [pickle.loads(bytes(row["found"])) for row in sorted(packed, key=lambda row: row["place"])]
    mistakes = sorted((one for one in outcomes if isinstance(one, SurefootError)), key=lambda e: str(e) == ELSEWHERE)
    if mistakes:
        raise mistakes[0]
    return outcomes


def _reason(error: Exception) -> str:
    """The last line of a report by Java and Python that names an error."""
    lines = re.findall(r"^\s*(?:[\w.]+\.)?(\w+(?:Error|Exception): .+)$", str(error), re.MULTILINE)
    return lines[-1].strip() if lines else type(error).__name__
