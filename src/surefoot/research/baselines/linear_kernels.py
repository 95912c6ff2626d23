"""DCG@k of rankings along a line through the space of scores, compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._numba import inlined, kernel

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@kernel
def line_dcg(
    scores: Floats, column: Singles, steps: Floats, gains: Floats, discounts: Floats, bounds: Ints, out: Floats
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
        for place in range(steps.size):
            step = steps[place]
            for row in range(own_line.size):
                own_line[row] = own_scores[row] + step * own_column[row]
            found = _top(own_line, best, rows)
            total = 0.0
            for rank in range(found):
                total += discounts[rank] * gains[first + rows[rank]]
            out[query, place] = total


@inlined
def _top(line: Floats, best: Floats, rows: Ints) -> int:
    """Fill ``rows`` with those of the largest values, the largest first, and say how many there are."""
    found = min(rows.size, line.size)
    for row in range(found):
        _insert(line[row], row, row, best, rows)
    for row in range(found, line.size):
        if line[row] > best[found - 1]:
            _insert(line[row], row, found - 1, best, rows)
    return found


@inlined
def _insert(value: float, row: int, place: int, best: Floats, rows: Ints) -> None:
    """Put a value where it belongs at or before ``place``, moving smaller ones down."""
    while place > 0 and best[place - 1] < value:
        best[place], rows[place] = best[place - 1], rows[place - 1]
        place -= 1
    best[place], rows[place] = value, row
