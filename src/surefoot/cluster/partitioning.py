"""Partitioning queries into shards, one per worker: whole queries, in order, about as many documents in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError


@dataclass(frozen=True, eq=False)
class Partitioning:
    """Where the shards begin: ``borders[i]`` is the first query of shard i + 1. The totals serve as a check."""

    n_shards: int
    borders: npt.NDArray[Any]
    queries: int
    documents: int

    def shard_of(self, queries: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The shard of each query."""
        return np.asarray(np.searchsorted(self.borders, queries, side="right"))


def partition_queries(
    queries: Sequence[Any] | npt.NDArray[Any], sizes: npt.ArrayLike, n_shards: int
) -> Partitioning:  # fmt: skip
    """Partition queries, which may come in any order and more than once, with so many documents each.

    A query goes where its middle document falls. There may be fewer queries than shards; then some shards are empty.

    >>> partition_queries(["b", "a", "c", "a"], [3, 2, 1, 2], 2)
    Partitioning(n_shards=2, borders=array(['b'], dtype='<U1'), queries=3, documents=8)
    """
    if n_shards < 1:
        raise SurefootError(f"training needs 1 worker or more; got {n_shards}")
    names, codes = np.unique(np.asarray(queries), return_inverse=True)
    documents = np.bincount(codes, weights=np.asarray(sizes), minlength=names.size)
    ends = np.cumsum(documents)
    if not names.size:
        raise SurefootError("the table has no rows to learn from")
    shard = ((ends - documents / 2) * n_shards / ends[-1]).astype(np.int64)
    first = np.searchsorted(shard, np.arange(1, n_shards))
    return Partitioning(n_shards, names[first[first < names.size]], names.size, int(ends[-1]))
