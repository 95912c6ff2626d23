"""Metrics of a ranking and how a swap changes them, compiled.

Gains are what a document contributes to its metric: for NDCG (2^label - 1) / ideal DCG; for AP and RR whether it is
relevant; for ERR the chance that it satisfies, (2^label - 1) / 2^highest label. A change is signed: positive if the
ranking would be better with the documents at rank ``rank`` and at each rank below it swapped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined

Array = Any  # numpy arrays; numba finds the element types itself

NDCG, AP, RR, ERR = 0, 1, 2, 3


class Stretch(NamedTuple):
    """The pairs of one document: ``size`` others from ``begin`` on, and among all pairs those from ``at`` on.

    The numbers are unsigned: signed ones may count from the end, for all the compiler knows, and hinder it.
    """

    begin: Any
    size: Any
    at: Any


@inlined
def ranking_metric(gains: Array, order: Array, discounts: Array, metric: int) -> float:
    """The metric of one ranking; ``order`` holds the documents' offsets by rank."""
    total, seen, left = 0.0, 0.0, 1.0
    for rank in range(order.size):
        gain = gains[order[rank]]
        if metric == NDCG:
            total += gain * (discounts[0, rank] + np.float64(discounts[1, rank]))
        elif metric == AP:
            seen += gain
            total += gain * seen / (rank + 1)
        elif metric == RR:
            if gain > 0:
                return 1.0 / (rank + 1)
        else:
            total += left * gain / (rank + 1)
            left *= 1 - gain
    return total / max(seen, 1.0)


@inlined
def prepare(gains: Array, metric: int, sums: Array) -> None:
    """Overwrite ``sums`` with sums over ranks, by which each change takes a few operations.

    AP: what a document contributes by its rank alone, and the relevant ones so far. RR: the ranks of the first two
    relevant documents. ERR: the chance to get as far as each rank, and the metric down to it.
    """
    one, two = sums[0], sums[1]
    seen, harmonic, left, total = 0.0, 0.0, 1.0, 0.0
    first = second = gains.size
    for rank in range(gains.size):
        gain = np.float64(gains[rank])
        if metric == AP:
            seen += gain
            one[rank] = harmonic - seen / (rank + 1)
            harmonic += gain / (rank + 1)
            two[rank] = seen
        elif metric == RR:
            if gain > 0:
                first, second = (rank, second) if first == gains.size else (first, min(second, rank))
        else:
            one[rank], two[rank] = left, total
            total += left * gain / (rank + 1)
            left *= 1 - gain
    if metric == AP:
        sums[2, 0] = max(seen, 1.0)
    elif metric == RR:
        sums[2, 0], sums[2, 1] = first, second


@inlined
def metric_change(metric: int, gains: Array, discounts: Array, sums: Array, rank: int, change: Array) -> None:
    """Overwrite ``change`` with the change of the metric for a swap with each rank below ``rank``."""
    if metric == NDCG:
        stretch = Stretch(np.uint64(rank + 1), np.uint64(change.size), np.uint64(0))
        change_ndcg(gains, discounts[0], discounts[1], rank, stretch, change)
    elif metric == AP:
        change_ap(gains, sums, rank, change)
    elif metric == RR:
        change_rr(gains, sums, rank, change)
    else:
        change_err(gains, sums, rank, change)


@inlined
def change_ndcg(gains: Array, discounts: Array, rests: Array, rank: int, stretch: Stretch, change: Array) -> None:
    """Difference of gains times difference of discounts, which are each a float32 and its remainder."""
    gain, discount, rest = gains[rank], discounts[rank], rests[rank]
    for at in range(stretch.size):
        other = stretch.begin + at
        change[stretch.at + at] = (gains[other] - gain) * ((discount - discounts[other]) + (rest - rests[other]))


@inlined
def change_ap(gains: Array, sums: Array, rank: int, change: Array) -> None:
    """A relevant document goes up, past others that each gain a rank; or it goes down."""
    seen = sums[1, rank]
    own = gains[rank]
    harmonic = sums[0, rank] + seen / (rank + 1) + own / (rank + 1.0)  # of ranks up to this one
    constant = (seen + 1 - own) / (rank + 1) - harmonic
    sign = 1.0 - 2.0 * own
    others, falls = gains[rank + 1 :], sums[0][rank + 1 :]
    for other in range(change.size):
        differs = abs(others[other] - own)
        change[other] = differs * sign * (falls[other] + constant) / sums[2, 0]


@inlined
def change_rr(gains: Array, sums: Array, rank: int, change: Array) -> None:
    """Only a swap that moves the first relevant document, or one before it, matters."""
    first, second = sums[2, 0], sums[2, 1]
    now = 1.0 / (first + 1)
    others = gains[rank + 1 :]
    for other in range(change.size):
        if rank < first:
            change[other] = others[other] * (1.0 / (rank + 1) - now)
        elif rank == first:
            change[other] = (1 - others[other]) * (1.0 / (min(second, rank + 1 + other) + 1) - now)
        else:
            change[other] = 0.0


@inlined
def change_err(gains: Array, sums: Array, rank: int, change: Array) -> None:
    """What the two ranks contribute changes, and the chance to get to those between them."""
    reach, total = sums[0, rank], sums[1, rank]
    own = np.float64(gains[rank])
    passed = total + reach * own / (rank + 1)
    others, reaches, totals = gains[rank + 1 :], sums[0][rank + 1 :], sums[1][rank + 1 :]
    for other in range(change.size):
        their = np.float64(others[other])
        ratio = (own - their) / (1 - own)  # how many more users get past this rank, as a fraction of before
        here = reach * (their - own) / (rank + 1)
        between = (totals[other] - passed) * ratio
        there = reaches[other] * ((1 + ratio) * own - their) / (rank + 2 + other)
        change[other] = here + between + there
