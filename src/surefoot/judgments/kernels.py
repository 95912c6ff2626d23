"""Compiled measures of two rankings under many assignments of grades to their documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import kernel
from surefoot._typing import Array
from surefoot.effectiveness.kernels import measure


class MeasurePlan(NamedTuple):
    """A measure: its kind, cutoff, lowest relevant grade and persistence."""

    kind: Any
    cutoff: int
    rel: float
    persistence: float


@kernel
def measure_both(plan: MeasurePlan, own: Array, base: Array, grades: Array, rest: Array) -> Array:
    """The measure of two rankings, 2 × assignments.

    ``own`` and ``base`` are the ranked documents of either, as indices of the columns of ``grades[assignment,
    document]``. ``rest[assignment, grade]`` counts the other judged documents of each grade; their sum is the same for
    all assignments.
    """
    count, levels = rest.shape
    values = np.zeros((2, count))
    judged = np.empty(grades.shape[1] + rest[0].sum(), np.int64)
    for row in range(count):
        counts = rest[row].copy()
        for grade in grades[row]:
            counts[grade] += 1
        filled = 0
        for level in range(levels - 1, -1, -1):
            judged[filled : filled + counts[level]] = level
            filled += counts[level]
        values[0, row] = measure(plan.kind, grades[row][own], judged, plan.cutoff, plan.rel, plan.persistence)
        values[1, row] = measure(plan.kind, grades[row][base], judged, plan.cutoff, plan.rel, plan.persistence)
    return values
