"""Evaluation of Parquet files on a Dask cluster: one task for each file, and statistics that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from surefoot.analysis.streaming.evaluation import Fold


def fold_on_dask(client: Any) -> Fold:
    """Where `surefoot.analysis.streaming.evaluate_parquet` works: on the cluster of a ``distributed.Client``.

    All workers must see the files under the same paths, and have Surefoot installed. Statistics are added in the order
    of the files, so the values are those of a single machine to the last bit::

        evaluate_parquet("/shared/scores", "old", [1, 5], fold=fold_on_dask(Client("scheduler:8786")))
    """

    def fold(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
        return reduce(add, client.gather(client.map(statistic, paths, pure=False)))

    return fold
