"""DCG@k of rankings along a line through the space of scores, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._numba import inlined, kernel
from surefoot._typing import FloatArray, IntArray

Singles = npt.NDArray[np.float32]


@kernel
def line_dcg(
    scores: FloatArray,
    column: Singles,
    steps: FloatArray,
    gains: FloatArray,
    discounts: FloatArray,
    bounds: IntArray,
    out: FloatArray,
) -> None:
    """Write to ``out`` (queries × steps) the sums of discounted gains of the rankings by scores + step × column.

    The rows of query ``q`` are those from ``bounds[q]`` to ``bounds[q + 1]``. As many ranks count as there are
    discounts. Of equal scores the earlier row comes first.
    """
    best, rows = np.empty(discounts.size), np.empty(discounts.size, np.int64)
    line = np.empty(np.diff(bounds).max())
    for query in range(bounds.size - 1):
        first, last = bounds[query], bounds[query + 1]
        own_scores, own_column, own_line = scores[first:last], column[first:last], line[: last - first]
        for index in range(steps.size):
            step = steps[index]
            for row in range(own_line.size):
                own_line[row] = own_scores[row] + step * own_column[row]
            found = _top(own_line, best, rows)
            total = 0.0
            for rank in range(found):
                total += discounts[rank] * gains[first + rows[rank]]
            out[query, index] = total


@inlined
def _top(line: FloatArray, best: FloatArray, rows: IntArray) -> int:
    """Write the rows of the largest values to ``rows``, the largest first; returns how many there are."""
    found = min(rows.size, line.size)
    for row in range(found):
        _insert(line[row], row, row, best, rows)
    for row in range(found, line.size):
        if line[row] > best[found - 1]:
            _insert(line[row], row, found - 1, best, rows)
    return found


@inlined
def _insert(value: float, row: int, rank: int, best: FloatArray, rows: IntArray) -> None:
    """Insert a value at or above ``rank``, moving smaller ones down."""
    while rank > 0 and best[rank - 1] < value:
        best[rank], rows[rank] = best[rank - 1], rows[rank - 1]
        rank -= 1
    best[rank], rows[rank] = value, row
