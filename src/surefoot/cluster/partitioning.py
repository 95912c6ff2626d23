"""Cutting queries into parts, one a worker: whole queries, in order, about as many documents in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the parts begin: ``borders[i]`` is the first query of part i + 1. The totals are there to check against."""

    parts: int
    borders: npt.NDArray[Any]
    queries: int
    documents: int

    def place(self, queries: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """The part of each query."""
        return np.asarray(np.searchsorted(self.borders, queries, side="right"))


def cut(queries: Sequence[Any] | npt.NDArray[Any], sizes: npt.ArrayLike, parts: int) -> Cut:
    """Cut queries, which may come in any order and more than once, with so many documents each.

    A query goes where its middle document falls. There may be fewer queries than parts; then some parts are empty.

    >>> cut(["b", "a", "c", "a"], [3, 2, 1, 2], 2)
    Cut(parts=2, borders=array(['b'], dtype='<U1'), queries=3, documents=8)
    """
    if parts < 1:
        raise SurefootError(f"training needs 1 worker or more; got {parts}")
    names, codes = np.unique(np.asarray(queries), return_inverse=True)
    documents = np.bincount(codes, weights=np.asarray(sizes), minlength=names.size)
    ends = np.cumsum(documents)
    if not names.size:
        raise SurefootError("the table has no rows to learn from")
    place = ((ends - documents / 2) * parts / ends[-1]).astype(np.int64)
    first = np.searchsorted(place, np.arange(1, parts))
    return Cut(parts, names[first[first < names.size]], names.size, int(ends[-1]))
