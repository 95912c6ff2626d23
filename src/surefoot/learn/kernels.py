"""The gradients of LambdaMART, compiled: sums over all pairs of documents of every query.

A query is walked rank by rank. For the document at a rank, short loops over those below it (for NDCG and a document
without gain over those with gain alone) fill buffers that stay in the L1 cache: the signed change of the metric if the
two documents swapped ranks; the weight that the objective gives to it; the gradient and hessian of the pair. None takes
an exponential (one per document is enough: 1 / (1 + exp(a - b)) = B / (A + B)) and the numbers are float32, so SIMD
units do most of the work. Differences of nearby numbers are taken of a float32 and its remainder, which loses no
precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, kernel, vectorised
from surefoot.learn.metric_kernels import NDCG, change_ndcg, metric_change, prepare, ranking_metric
from surefoot.learn.weight_kernels import PairWeights, lambda_weights

Array = Any  # numpy arrays; numba finds the element types itself

WIDEST = 40.0
"""Of an exponent on either side of the middle: float32 holds e^±80, and a pair that far apart has no gradient left."""

COLUMNS = 8
"""Rows of a block of documents, by rank: gain, power, score and its remainder, discount and its, gradient, hessian."""

FLOAT32_BUFFERS, FLOAT64_BUFFERS = 2 * COLUMNS + 4, 3
"""Rows of scratch space: blocks of all documents and of those with gain, and four for the pairs of one document.

The float64 ones are for the metrics with sums over ranks.
"""


LANES = 8
"""Weights are computed of a multiple of so many changes, zeros after the last: short lists fill SIMD units too."""


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
    """Scratch space of one thread, overwritten for every query; as wide as the longest query, and `LANES`."""

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
        gradient, hessian = scratch[6][:n], scratch[7][:n]
        spread = by_rank(rankings.scores[begin:stop], order, rankings.gains[begin:stop], discounts, sigmoid, scratch)
        relevant = gather_relevant(n, scratch)
        if metric != NDCG:
            prepare(gain, metric, sums)
        damped = norm and spread > 0
        total, above = 0.0, 0
        for rank in range(min(n - 1, loop.truncation) if relevant > 0 else 0):
            above += gain[rank] > 0
            few = metric == NDCG and gain[rank] == 0
            block, at, end_at = (COLUMNS, above, relevant) if few else (0, rank + 1, n)
            if at == end_at:
                continue
            change, weight = scratch[16][: end_at - at], scratch[17][: end_at - at]
            loss, curvature = scratch[18][: end_at - at], scratch[19][: end_at - at]
            powers, highs, lows = scratch[block + 1][at:], scratch[block + 2][at:], scratch[block + 3][at:]
            if metric == NDCG:
                gains, outer, inner = scratch[block][at:], scratch[block + 4][at:], scratch[block + 5][at:]
                change_ndcg(gain[rank], discounts[0, rank], discounts[1, rank], gains, outer, inner, change)
            else:
                metric_change(metric, gain, discounts, sums, rank, change)
            padded = pad(scratch[16], end_at - at)
            lambda_weights(
                weights.form, weights.per_query[query], weights.shared, scratch[16][:padded], scratch[17][:padded]
            )
            damping(high[rank], low[rank], highs, lows, damped, loss)
            own = power[rank]
            if sigmoid * spread > 2 * WIDEST:
                own = relative(high[rank], low[rank], highs, lows, sigmoid, powers[: end_at - at])
            total += pair_losses(own, powers, change, loss, curvature)
            own_sums = add_pairs(weight, loss, curvature, scratch[block + 6][at:], scratch[block + 7][at:])
            gradient[rank] += own_sums[0]
            hessian[rank] += own_sums[1]
        total *= 2 * sigmoid
        scale = sigmoid * (np.log2(1 + total) / total if norm and total > 0 else 1.0)
        add_relevant(n, scratch)
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
def by_rank(scores: Array, order: Array, gains: Array, discounts: Array, sigmoid: float, scratch: Array) -> float:
    """Overwrite the block of all documents; returns the difference between the highest and lowest score."""
    gain, power, high, low, gradient, hessian = scratch[0], scratch[1], scratch[2], scratch[3], scratch[6], scratch[7]
    best, worst = scores[order[0]], scores[order[order.size - 1]]
    middle = 0.5 * (best + worst)
    for rank in range(order.size):
        offset = order[rank]
        score = scores[offset] - middle
        gain[rank] = gains[offset]
        scratch[4, rank], scratch[5, rank] = discounts[0, rank], discounts[1, rank]
        high[rank] = score
        low[rank] = score - np.float64(high[rank])
        power[rank] = np.exp(np.float32(min(max(sigmoid * score, -WIDEST), WIDEST)))
        gradient[rank] = 0.0
        hessian[rank] = 0.0
    return float(best - worst)


@inlined
def gather_relevant(n: int, scratch: Array) -> int:
    """Overwrite the block of the documents with gain, by rank; returns how many there are."""
    found = 0
    for rank in range(n):
        if scratch[0, rank] > 0:
            for column in range(COLUMNS):
                scratch[COLUMNS + column, found] = scratch[column, rank]
            found += 1
    return found


@inlined
def add_relevant(n: int, scratch: Array) -> None:
    """Add the gradients and hessians of the documents with gain to those of all documents."""
    found = 0
    for rank in range(n):
        if scratch[0, rank] > 0:
            scratch[6, rank] += scratch[COLUMNS + 6, found]
            scratch[7, rank] += scratch[COLUMNS + 7, found]
            found += 1


@inlined
def pad(values: Array, size: int) -> int:
    """Overwrite what follows the first values with zeros, to the next multiple of `LANES`, which is returned."""
    while size % LANES:
        values[size] = 0
        size += 1
    return size


@inlined
def damping(own_high: Any, own_low: Any, high: Array, low: Array, damped: bool, divisor: Array) -> None:
    """Overwrite ``divisor`` with what normalisation divides each pair by: 0.01 + the score difference; else 1."""
    if not damped:
        divisor[:] = np.float32(1.0)
        return
    damp = np.float32(0.01)
    for other in range(divisor.size):
        divisor[other] = damp + ((own_high - high[other]) + (own_low - low[other]))


@inlined
def relative(own_high: Any, own_low: Any, high: Array, low: Array, sigmoid: float, power: Array) -> Any:
    """Overwrite ``power`` with exponentials relative to the document above them; returns its own, 1.

    For score differences so large that one exponential per document can't hold them all.
    """
    for other in range(power.size):
        difference = (own_high - high[other]) + (own_low - low[other])
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
def add_pairs(weight: Array, loss: Array, curvature: Array, gradient: Array, hessian: Array) -> Any:
    """Add the pairs of one document to ``gradient`` and ``hessian`` of those below it; returns its own."""
    own_gradient, own_hessian = np.float32(0.0), np.float32(0.0)
    for other in range(weight.size):
        slope = weight[other] * loss[other]
        curved = weight[other] * curvature[other]
        own_gradient += slope
        own_hessian += curved
        gradient[other] -= slope
        hessian[other] += curved
    return own_gradient, own_hessian
