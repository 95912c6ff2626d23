"""Large logs on a Dask cluster: a task a file, and statistics that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from surefoot.analysis.streaming.evaluation import Fold


def fold_on_dask(client: Any) -> Fold:
    """Where `surefoot.analysis.streaming.evaluate_logs` works: on the cluster of a ``distributed.Client``.

    All workers must see the files under the same paths, and have Surefoot installed. Statistics are added in the order
    of the files, so the figures are those of a single machine to the last bit::

        evaluate_logs("/shared/log", "old", [1, 5], fold=fold_on_dask(Client("scheduler:8786")))
    """

    def fold(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
        return reduce(add, client.gather(client.map(statistic, paths, pure=False)))

    return fold
