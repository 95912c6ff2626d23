"""The gradients of LambdaMART, compiled: sums over all pairs of documents of every query.

A query is walked rank by rank. For the document at a rank, short loops over all ranks below it fill buffers that stay
in the L1 cache: the signed change of the metric if the two documents swapped ranks; the weight that the objective
gives to it; the gradient and hessian of the pair. None takes an exponential (one per document is enough:
1 / (1 + exp(a - b)) = B / (A + B)) and the numbers are float32, so SIMD units do most of the work. Differences of
nearby numbers are taken of a float32 and its remainder, which loses no precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, kernel, vectorised
from surefoot.learn.metric_kernels import NDCG, metric_change, prepare, ranking_metric
from surefoot.learn.weight_kernels import PairWeights, lambda_weights

Array = Any  # numpy arrays; numba finds the element types itself

WIDEST = 40.0
"""Of an exponent on either side of the middle: float32 holds e^±80, and a pair that far apart has no gradient left."""

FLOAT32_BUFFERS, FLOAT64_BUFFERS = 10, 3
"""Rows of scratch space; the float64 ones are for the metrics with sums over ranks."""


class Rankings(NamedTuple):
    """The documents of all queries and how they are ranked.

    The documents of query q are the rows from ``bounds[q]`` to ``bounds[q + 1]``; within these, ``order`` holds
    offsets from the first by rank. `rank_queries` overwrites ``order``.
    """

    scores: Array
    bounds: Array
    order: Array
    gains: Array
    discounts: Array
    metric: int


class PairLoop(NamedTuple):
    """Which pairs are walked and how they are normalised: `PairOptions` as the kernels take them."""

    truncation: int
    sigmoid: float
    norm: bool


class Buffers(NamedTuple):
    """Scratch space of one thread, overwritten for every query, as wide as the longest query."""

    float32: Array
    float64: Array


class Gradients(NamedTuple):
    """The output, overwritten: a gradient and a hessian for each document."""

    gradient: Array
    hessian: Array


class Pairs(NamedTuple):
    """The output of `pair_weights`, overwritten: cells of query × rank × lower rank.

    ``change`` is the signed change of the metric if the documents at the two ranks swapped, ``weight`` what the
    objective makes of its size.
    """

    change: Array
    weight: Array


@kernel
def rank_queries(rankings: Rankings, first: int, end: int, values: Array) -> None:
    """Rank the documents of the queries from ``first`` to ``end`` by score, descending, ties by row.

    Overwrites ``rankings.order`` and, with the metric of each query, ``values``.
    """
    for query in range(first, end):
        begin, stop = rankings.bounds[query], rankings.bounds[query + 1]
        order = rankings.order[begin:stop]
        sort(rankings.scores[begin:stop], order)
        values[query] = ranking_metric(rankings.gains[begin:stop], order, rankings.discounts, rankings.metric)


@inlined
def sort(scores: Array, order: Array) -> None:
    """Sort offsets in place by score, descending, then by offset; cheap if little has changed since the last time."""
    if insertion_sort(scores, order, 1, 16 * order.size):
        return
    gap = order.size  # far from sorted: Shell's sort, gaps by Gonnet and Baeza-Yates
    while gap > 1:
        gap = max(1, 5 * gap // 11)
        insertion_sort(scores, order, gap, order.size * order.size)


@inlined
def insertion_sort(scores: Array, order: Array, gap: int, most: int) -> bool:
    """Sort offsets that are ``gap`` ranks apart; false if it gave up after ``most`` moves."""
    moves = 0
    for rank in range(gap, order.size):
        offset = order[rank]
        score = scores[offset]
        at = rank
        while at >= gap:
            other = order[at - gap]
            if scores[other] > score or (scores[other] == score and other < offset):
                break
            order[at] = other
            at -= gap
            moves += 1
        order[at] = offset
        if moves > most:
            return False
    return True


@kernel
def lambda_gradients(
    rankings: Rankings, weights: PairWeights, loop: PairLoop, first: int, end: int, buffers: Buffers, out: Gradients
) -> None:
    """Overwrite ``out`` for the documents of the queries from ``first`` to ``end``, whose order is up to date.

    Normalisation, as LightGBM's lambdarank does it, uses the plain metric: the objective's weights must not be
    divided away again.
    """
    scratch, sums = buffers.float32, buffers.float64
    discounts, metric, sigmoid, norm = rankings.discounts, rankings.metric, loop.sigmoid, loop.norm
    for query in range(first, end):
        begin, stop = rankings.bounds[query], rankings.bounds[query + 1]
        n = stop - begin
        if n == 0:
            continue
        order = rankings.order[begin:stop]
        # Row by row: a slice of several rows would have no fixed stride, which prevents vectorisation.
        gain, power, high, low = scratch[0][:n], scratch[1][:n], scratch[2][:n], scratch[3][:n]
        gradient, hessian = scratch[4][:n], scratch[5][:n]
        change, weight, loss, curvature = scratch[6][:n], scratch[7][:n], scratch[8][:n], scratch[9][:n]
        spread = by_rank(rankings.scores[begin:stop], order, rankings.gains[begin:stop], sigmoid, scratch)
        if metric != NDCG:
            prepare(gain, metric, sums)
        damped = norm and spread > 0
        total = 0.0
        for rank in range(min(n - 1, loop.truncation)):
            below = n - 1 - rank
            metric_change(metric, gain, discounts, sums, rank, change[:below])
            lambda_weights(weights.form, weights.per_query[query], weights.shared, change[:below], weight[:below])
            damping(high, low, rank, damped, loss[:below])
            own = power[rank]
            if sigmoid * spread > 2 * WIDEST:
                own = relative(high, low, sigmoid, rank, power)
            total += pair_losses(own, power[rank + 1 :], change[:below], loss[:below], curvature[:below])
            add_pairs(weight[:below], loss[:below], curvature[:below], gradient, hessian, rank)
        total *= 2 * sigmoid
        scale = sigmoid * (np.log2(1 + total) / total if norm and total > 0 else 1.0)
        for rank in range(n):
            row = begin + order[rank]
            out.gradient[row] = gradient[rank] * np.float32(scale)
            out.hessian[row] = hessian[rank] * np.float32(scale * sigmoid)


@kernel
def pair_weights(
    rankings: Rankings, weights: PairWeights, truncation: int, first: int, end: int, buffers: Buffers, out: Pairs
) -> None:
    """Overwrite ``out`` for the queries from ``first`` to ``end``, whose order is up to date.

    For losses of which others take the gradient; `lambda_gradients` walks the same pairs and keeps none.
    """
    gain, sums = buffers.float32[0], buffers.float64
    for query in range(first, end):
        begin, stop = rankings.bounds[query], rankings.bounds[query + 1]
        n = stop - begin
        for rank in range(n):
            gain[rank] = rankings.gains[begin + rankings.order[begin + rank]]
        if rankings.metric != NDCG:
            prepare(gain[:n], rankings.metric, sums)
        for rank in range(min(n - 1, truncation)):
            change, weight = out.change[query, rank, rank + 1 : n], out.weight[query, rank, rank + 1 : n]
            metric_change(rankings.metric, gain[:n], rankings.discounts, sums, rank, change)
            lambda_weights(weights.form, weights.per_query[query], weights.shared, change, weight)


@inlined
def by_rank(scores: Array, order: Array, gains: Array, sigmoid: float, scratch: Array) -> float:
    """Overwrite the buffers of a query, by rank; returns the difference between the highest and lowest score."""
    gain, power, high, low, gradient, hessian = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    best, worst = scores[order[0]], scores[order[order.size - 1]]
    middle = 0.5 * (best + worst)
    for rank in range(order.size):
        offset = order[rank]
        score = scores[offset] - middle
        gain[rank] = gains[offset]
        high[rank] = score
        low[rank] = score - np.float64(high[rank])
        power[rank] = np.exp(np.float32(min(max(sigmoid * score, -WIDEST), WIDEST)))
        gradient[rank] = 0.0
        hessian[rank] = 0.0
    return float(best - worst)


@inlined
def damping(high: Array, low: Array, rank: int, damped: bool, divisor: Array) -> None:
    """Overwrite ``divisor`` with what normalisation divides each pair by: 0.01 + the score difference; else 1."""
    if not damped:
        divisor[:] = np.float32(1.0)
        return
    damp, own_high, own_low = np.float32(0.01), high[rank], low[rank]
    highs, lows = high[rank + 1 :], low[rank + 1 :]
    for other in range(divisor.size):
        divisor[other] = damp + ((own_high - highs[other]) + (own_low - lows[other]))


@inlined
def relative(high: Array, low: Array, sigmoid: float, rank: int, power: Array) -> Any:
    """Overwrite ``power`` below a rank with exponentials relative to the document at that rank; returns its own, 1.

    For score differences so large that one exponential per document can't hold them all.
    """
    for other in range(rank + 1, power.size):
        difference = (high[rank] - high[other]) + (low[rank] - low[other])
        power[other] = np.exp(-np.float32(min(sigmoid * difference, 2 * WIDEST)))
    return np.float32(1.0)


@vectorised
def pair_losses(own: float, power: Array, change: Array, loss: Array, curvature: Array) -> Any:
    """The signed loss of each pair and its curvature, apart from the weight; returns the sum of |change| × loss.

    ``loss`` holds the divisors of `damping` and is overwritten, as is ``curvature``. Two loops over few arrays each,
    this and `add_pairs`: with more arrays the compiler can't prove that they don't overlap.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    total = zero
    for other in range(change.size):
        theirs = power[other]
        inverse = one / ((own + theirs) * loss[other])
        up = change[other] > zero
        wrong = own if up else theirs
        right = theirs if up else own
        pair_loss = wrong * inverse
        total += abs(change[other]) * pair_loss
        curvature[other] = pair_loss * right * inverse * loss[other]
        loss[other] = pair_loss if up else -pair_loss
    return total


@vectorised
def add_pairs(weight: Array, loss: Array, curvature: Array, gradient: Array, hessian: Array, rank: int) -> None:
    """Add all pairs of one document with those below it to ``gradient`` and ``hessian``."""
    own_gradient, own_hessian = np.float32(0.0), np.float32(0.0)
    gradients, hessians = gradient[rank + 1 :], hessian[rank + 1 :]
    for other in range(weight.size):
        slope = weight[other] * loss[other]
        curved = weight[other] * curvature[other]
        own_gradient += slope
        own_hessian += curved
        gradients[other] -= slope
        hessians[other] += curved
    gradient[rank] += own_gradient
    hessian[rank] += own_hessian
