"""Pairs that two rankings order differently, counted by merging; compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot._numba import inlined, kernel

Array = Any  # numpy arrays; numba finds the element types itself


@kernel
def discordant_shares(first: Array, second: Array, bounds: Array, shares: Array) -> None:
    """The share of each query's pairs of documents that two sets of scores order differently, ties by row."""
    for query in range(bounds.size - 1):
        begin, end = bounds[query], bounds[query + 1]
        size = end - begin
        rank = np.empty(size, np.int64)
        rank[np.argsort(-second[begin:end], kind="mergesort")] = np.arange(size)
        ranks = rank[np.argsort(-first[begin:end], kind="mergesort")]
        shares[query] = inversions(ranks) / max(1, size * (size - 1) // 2)


@inlined
def inversions(ranks: Array) -> int:
    """How many pairs stand in the wrong order; sorts them by merging runs of twice the length each time."""
    size, run, count = ranks.size, 1, 0
    merged = np.empty_like(ranks)
    while run < size:
        for low in range(0, size, 2 * run):
            middle, high = min(low + run, size), min(low + 2 * run, size)
            left, right = low, middle
            for place in range(low, high):
                if right >= high or (left < middle and ranks[left] <= ranks[right]):
                    merged[place] = ranks[left]
                    left += 1
                else:
                    merged[place] = ranks[right]
                    right += 1
                    count += middle - left  # all that is left on the left stands before it
        ranks[:] = merged
        run *= 2
    return count
