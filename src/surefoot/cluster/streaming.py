"""Evaluation of Parquet files on Dask and Spark: one task for each file, and statistics that add up."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

from surefoot.analysis.streaming.evaluation import Fold
from surefoot.errors import SurefootError


def fold_on_dask(client: Any) -> Fold:
    """Make `surefoot.analysis.streaming.evaluate_parquet` run on the cluster of a ``distributed.Client``.

    All workers must see the files under the same paths, and have Surefoot installed. Statistics are added in the order
    of the files, so the values are those of a single machine to the last bit::

        evaluate_parquet("/shared/scores", "old", [1, 5], fold=fold_on_dask(Client("scheduler:8786")))
    """

    def fold(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
        return reduce(add, client.gather(client.map(statistic, paths, pure=False)))

    return fold


def fold_on_spark(session: Any) -> Fold:
    """Make `surefoot.analysis.streaming.evaluate_parquet` run on the cluster of a ``SparkSession``.

    All executors must see the files under the same paths, and have Surefoot and pyarrow installed. Statistics are added
    in the order of the files, so the values are those of a single machine to the last bit::

        evaluate_parquet("/shared/scores", "old", [1, 5], fold=fold_on_spark(session))
    """

    def fold(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
        def work(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for index, path in zip(*batch.to_pydict().values(), strict=True):
                    yield batch.from_pydict({"index": [index], "found": [pickle.dumps(_attempt(statistic, path))]})

        files = session.createDataFrame(list(enumerate(paths)), "index long, path string")
        parted = files.repartitionByRange(len(paths), "index")
        rows = parted.mapInArrow(work, "index long, found binary").collect()
        return reduce(add, map(_unpickle, sorted(rows)))

    return fold


def _attempt(statistic: Callable[[str], Any], path: str) -> Any:
    """The statistic, or the user's error as a value; raised on a worker it would arrive in a Java traceback."""
    try:
        return statistic(path)
    except SurefootError as error:
        return error


def _unpickle(row: Any) -> Any:
    found = pickle.loads(row["found"])
    if isinstance(found, SurefootError):
        raise found
    return found
