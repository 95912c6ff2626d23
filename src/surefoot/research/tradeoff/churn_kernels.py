"""Pairs that two rankings order differently, counted by merge sort; compiled."""

from __future__ import annotations

import numpy as np

from surefoot._numba import inlined, kernel
from surefoot._typing import FloatArray, IntArray


@kernel
def discordant_fractions(first: FloatArray, second: FloatArray, bounds: IntArray, fractions: FloatArray) -> None:
    """Write to ``fractions``, for each query, the fraction of pairs of documents that two sets of scores order
    differently; ties are ranked in the order of the rows.
    """
    for query in range(bounds.size - 1):
        begin, end = bounds[query], bounds[query + 1]
        size = end - begin
        rank = np.empty(size, np.int64)
        rank[np.argsort(-second[begin:end], kind="mergesort")] = np.arange(size)
        ranks = rank[np.argsort(-first[begin:end], kind="mergesort")]
        fractions[query] = count_inversions(ranks) / max(1, size * (size - 1) // 2)


@inlined
def count_inversions(ranks: IntArray) -> int:
    """How many pairs are in the wrong order; sorts ``ranks`` in place by merging runs of doubling length."""
    size, run, count = ranks.size, 1, 0
    merged = np.empty_like(ranks)
    while run < size:
        for low in range(0, size, 2 * run):
            middle, high = min(low + run, size), min(low + 2 * run, size)
            left, right = low, middle
            for index in range(low, high):
                if right >= high or (left < middle and ranks[left] <= ranks[right]):
                    merged[index] = ranks[left]
                    left += 1
                else:
                    merged[index] = ranks[right]
                    right += 1
                    count += middle - left  # an inversion with each element that remains in the left run
        ranks[:] = merged
        run *= 2
    return count
