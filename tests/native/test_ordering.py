"""Orders of documents by their scores, against stable sorts and pairs counted one by one."""

from itertools import pairwise

import numpy as np
import pytest

from surefoot.native import kernel
from tests.native.levels import RUNNABLE


def queries(seed: int) -> tuple[np.ndarray, ...]:
    """Bounds of a few queries, one of them empty, and three columns of few values, so that many are tied."""
    rng = np.random.default_rng(seed)
    sizes = np.append(rng.integers(1, 30, rng.integers(1, 6)), 0)
    return np.append(0, np.cumsum(sizes)), *rng.integers(-2, 3, (3, sizes.sum())).astype(float)


def along_line(seed: int, k: int, level: str | None = None, room: int = 30) -> np.ndarray:
    bounds, scores, column, gains = queries(seed)
    steps, discounts = np.array([0.0, 1.0, -0.5]), 1 / np.log2(np.arange(2, k + 2))
    scratch = np.empty(room), np.empty(k), np.empty(k, np.int64)
    out = np.empty((bounds.size - 1, steps.size))
    kernel("line_dcg", level)(scores, column.astype(np.float32), steps, gains, discounts, bounds, *scratch, out)
    return out


@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_best_of_a_line_are_those_of_a_stable_sort(k, level):
    for seed in range(30):
        bounds, scores, column, gains = queries(seed)
        found = along_line(seed, k, level)
        for query, (first, last) in enumerate(pairwise(bounds)):
            for place, step in enumerate([0.0, 1.0, -0.5]):
                order = np.argsort(-(scores + step * column)[first:last], kind="stable")[:k]
                expected = sum(gains[first:last][order] / np.log2(np.arange(order.size) + 2))
                assert found[query, place] == pytest.approx(expected, abs=1e-14)


def test_no_ranks_have_no_gain():
    assert not along_line(0, 0).any()


def test_queries_without_room_or_out_of_bounds_are_refused():
    with pytest.raises(IndexError):
        along_line(0, 5, room=1)
    for bounds in ([0, 5], [-1, 4], [3, 2], [4, -(1 << 63)]):
        line = np.zeros(4), np.zeros(4, np.float32), np.zeros(1), np.zeros(4), np.ones(1)
        with pytest.raises(IndexError):
            kernel("line_dcg")(
                *line, np.array(bounds), np.empty(9), np.empty(1), np.empty(1, np.int64), np.empty((1, 1))
            )
