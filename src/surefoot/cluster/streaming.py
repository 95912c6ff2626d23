"""Evaluation of Parquet files on Dask, Spark and Ray: one task for each file, and statistics that add up."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

from surefoot._lazy import optional
from surefoot.analysis.streaming.evaluation import Fold
from surefoot.cluster.training import attempt, without_mistakes


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
                    found = pickle.dumps(attempt(partial(statistic, path)))
                    yield batch.from_pydict({"index": [index], "found": [found]})

        files = session.createDataFrame(list(enumerate(paths)), "index long, path string")
        parted = files.repartitionByRange(len(paths), "index")
        rows = parted.mapInArrow(work, "index long, found binary").collect()
        return reduce(add, without_mistakes([pickle.loads(row["found"]) for row in sorted(rows)]))

    return fold


def fold_on_ray() -> Fold:
    """Make `surefoot.analysis.streaming.evaluate_parquet` run on the cluster that Ray is connected to.

    All workers must see the files under the same paths, and have Surefoot installed::

        evaluate_parquet("/shared/scores", "old", [1, 5], fold=fold_on_ray())
    """

    def fold(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
        ray: Any = optional("ray")
        task = ray.remote(lambda path: attempt(partial(statistic, path)))
        return reduce(add, without_mistakes(ray.get([task.remote(path) for path in paths])))

    return fold
