"""Compiled measures of two rankings under many assignments of grades to their documents."""

from __future__ import annotations

from typing import Any, NamedTuple

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
def measure_both(
    plan: MeasurePlan, own: Array, base: Array, grades: Array, rest: Array, judged: Array, ranked: Array, values: Array
) -> None:
    """Fill in the measure of two rankings, 2 × assignments.

    ``own`` and ``base`` are the ranked documents of either, as indices of the columns of ``grades[assignment,
    document]``. ``rest[assignment, grade]`` counts the other judged documents of each grade; their sum is the same for
    all assignments. ``judged`` and ``ranked`` are overwritten; they have room for the grades of all judged documents,
    and of either ranking.
    """
    for row in range(rest.shape[0]):
        filled = 0
        for level in range(rest.shape[1] - 1, -1, -1):
            count = rest[row, level]
            for grade in grades[row]:
                count += grade == level
            judged[filled : filled + count] = level
            filled += count
        for index in range(own.size):
            ranked[index] = grades[row, own[index]]
        values[0, row] = measure(plan.kind, ranked[: own.size], judged, plan.cutoff, plan.rel, plan.persistence)
        for index in range(base.size):
            ranked[index] = grades[row, base[index]]
        values[1, row] = measure(plan.kind, ranked[: base.size], judged, plan.cutoff, plan.rel, plan.persistence)
