"""The gradients of LambdaMART, compiled: sums over all pairs of documents of every query.

A query is walked in stretches of ranks whose pairs fill buffers that stay in the L1 cache: the signed changes of the
metric if the two documents of a pair swapped ranks; the weights that the objective gives to them; and, rank by rank,
the gradients and hessians of the pairs. A document is paired with all those below it or, for NDCG and a document
without gain, with those that have gain. No loop over pairs takes an exponential (one per document is enough:
1 / (1 + exp(a - b)) = B / (A + B)) and the numbers are float32, so SIMD units do most of the work. Differences of
nearby numbers are taken of a float32 and its remainder, which loses no precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, kernel, vectorised
from surefoot.learn.metric_kernels import NDCG, Stretch, change_ndcg, metric_change, prepare, ranking_metric
from surefoot.learn.weight_kernels import PairWeights, lambda_weights

Array = Any  # numpy arrays; numba finds the element types itself

WIDEST = 40.0
"""Of an exponent on either side of the middle: float32 holds e^±80, and a pair that far apart has no gradient left."""

COLUMNS, RANK_COLUMNS, PAIR_COLUMNS, SUMS = 8, 2, 4, 3
"""Rows of the scratch space: numbers and ranks of `Documents`, `PairColumns`, the sums over ranks of a metric."""

PAIRS = 512
"""Ranks are put together until they have so many pairs, so that SIMD units are full on short lists too."""

LANES = 8
"""Weights are computed of a multiple of so many changes, zeros after the last."""


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
    """Scratch space of one thread, overwritten for every query."""

    documents: Array
    ranks: Array
    pairs: Array
    sums: Array


class Documents(NamedTuple):
    """The documents of a query by rank; those with gain once more, by rank too, at the end of each column.

    Scores and discounts are each a float32 and its remainder. ``below`` says where the documents begin that the one at
    a rank is paired with, ``relevant`` at which ranks those with gain are.
    """

    gain: Array
    power: Array
    score: Array
    score_rest: Array
    discount: Array
    discount_rest: Array
    gradient: Array
    hessian: Array
    below: Array
    relevant: Array


class PairColumns(NamedTuple):
    """The pairs of a stretch of ranks, ``loss`` and ``curvature`` of one rank alone."""

    change: Array
    weight: Array
    loss: Array
    curvature: Array


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
        sort(rankings.scores[begin:stop], rankings.order[begin:stop])
    measure_queries(rankings, first, end, values)


@kernel
def measure_queries(rankings: Rankings, first: int, end: int, values: Array) -> None:
    """Overwrite ``values`` with the metric of each query, whose order is up to date."""
    for query in range(first, end):
        begin, stop = rankings.bounds[query], rankings.bounds[query + 1]
        gains, order = rankings.gains[begin:stop], rankings.order[begin:stop]
        values[query] = ranking_metric(gains, order, rankings.discounts, rankings.metric)


@inlined
def sort(scores: Array, order: Array) -> None:
    """Sort offsets in place by score, descending, then by offset; cheap if little has changed since the last time."""
    if insertion_sort(scores, order, 1, 32 * order.size):
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
    documents, pairs, sigmoid = documents_in(buffers, rankings.discounts), pairs_in(buffers), loop.sigmoid
    for query in range(first, end):
        begin, stop = rankings.bounds[query], rankings.bounds[query + 1]
        n = stop - begin
        if n == 0:
            continue
        order = rankings.order[begin:stop]
        spread = by_rank(rankings.scores[begin:stop], order, rankings.gains[begin:stop], sigmoid, documents)
        relevant = gather_relevant(n, rankings.metric, documents)
        if rankings.metric != NDCG:
            prepare(documents.gain[:n], rankings.metric, buffers.sums)
        total, rank, last = 0.0, 0, min(n - 1, loop.truncation) if relevant > 0 else 0
        while rank < last:
            start = rank
            rank, size = gather_changes(rankings, documents, buffers.sums, n, start, last, pairs.change)
            change, weight = pairs.change[:size], pairs.weight[:size]
            lambda_weights(weights.form, weights.per_query[query], weights.shared, change, weight)
            total += add_ranks(documents, pairs, n, start, rank, loop, spread)
        total *= 2 * sigmoid
        scale = sigmoid * (np.log2(1 + total) / total if loop.norm and total > 0 else 1.0)
        add_relevant(relevant, documents)
        for rank in range(n):
            row = begin + order[rank]
            out.gradient[row] = documents.gradient[rank] * np.float32(scale)
            out.hessian[row] = documents.hessian[rank] * np.float32(scale * sigmoid)


@kernel
def pair_weights(
    rankings: Rankings, weights: PairWeights, truncation: int, first: int, end: int, buffers: Buffers, out: Pairs
) -> None:
    """Overwrite ``out`` for the queries from ``first`` to ``end``, whose order is up to date.

    For losses of which others take the gradient; `lambda_gradients` walks the same pairs and keeps none.
    """
    gain, sums = buffers.documents[0], buffers.sums
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
def documents_in(buffers: Buffers, discounts: Array) -> Documents:
    """The columns of documents, with the discounts of all ranks."""
    rows, ranks = buffers.documents, buffers.ranks
    for rank in range(discounts.shape[1]):
        rows[4, rank], rows[5, rank] = discounts[0, rank], discounts[1, rank]
    # Row by row: a slice of several rows would have no fixed stride, which prevents vectorisation.
    return Documents(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], ranks[0], ranks[1])


@inlined
def pairs_in(buffers: Buffers) -> PairColumns:
    """The columns of pairs."""
    rows = buffers.pairs
    return PairColumns(rows[0], rows[1], rows[2], rows[3])


@inlined
def by_rank(scores: Array, order: Array, gains: Array, sigmoid: float, documents: Documents) -> float:
    """Overwrite the columns of all documents; returns the difference between the highest and lowest score."""
    best, worst = scores[order[0]], scores[order[order.size - 1]]
    middle = 0.5 * (best + worst)
    for rank in range(order.size):
        offset = order[rank]
        score = scores[offset] - middle
        documents.gain[rank] = gains[offset]
        documents.score[rank] = score
        documents.score_rest[rank] = score - np.float64(documents.score[rank])
        documents.power[rank] = np.exp(np.float32(min(max(sigmoid * score, -WIDEST), WIDEST)))
        documents.gradient[rank] = 0.0
        documents.hessian[rank] = 0.0
    return float(best - worst)


@inlined
def gather_relevant(n: int, metric: int, documents: Documents) -> int:
    """Overwrite the columns of the documents with gain, and ``below``; returns how many have gain."""
    width = documents.gain.size
    front = width
    for rank in range(n - 1, -1, -1):
        documents.below[rank] = front if metric == NDCG and documents.gain[rank] == 0 else rank + 1
        documents.relevant[front - 1] = rank  # overwritten by the next unless it has gain
        front -= documents.gain[rank] > 0
    for at in range(front, width):
        rank = documents.relevant[at]
        documents.gain[at] = documents.gain[rank]
        documents.power[at] = documents.power[rank]
        documents.score[at] = documents.score[rank]
        documents.score_rest[at] = documents.score_rest[rank]
        documents.discount[at] = documents.discount[rank]
        documents.discount_rest[at] = documents.discount_rest[rank]
        documents.gradient[at] = 0.0
        documents.hessian[at] = 0.0
    return int(width - front)


@inlined
def add_relevant(count: int, documents: Documents) -> None:
    """Add the gradients and hessians of the documents with gain to those of all documents."""
    for at in range(documents.gain.size - count, documents.gain.size):
        rank = documents.relevant[at]
        documents.gradient[rank] += documents.gradient[at]
        documents.hessian[rank] += documents.hessian[at]


@inlined
def stretch_below(documents: Documents, n: int, rank: int, at: Any) -> Stretch:
    """The pairs of the document at a rank, the first of which is number ``at``."""
    begin, width = documents.below[rank], documents.gain.size
    size = (n if begin <= n else width) - begin
    return Stretch(np.uint64(begin), np.uint64(size), np.uint64(at))


@inlined
def gather_changes(
    rankings: Rankings, documents: Documents, sums: Array, n: int, rank: int, last: int, change: Array
) -> tuple[int, Any]:
    """Overwrite ``change`` for the next ranks, zeros after their pairs; returns the rank after them and the size."""
    size = np.int64(0)
    while rank < last and size < PAIRS:
        stretch = stretch_below(documents, n, rank, size)
        end = size + np.int64(stretch.size)
        if rankings.metric == NDCG:
            change_ndcg(documents.gain, documents.discount, documents.discount_rest, rank, stretch, change)
        else:
            metric_change(rankings.metric, documents.gain[:n], rankings.discounts, sums, rank, change[size:end])
        rank, size = rank + 1, end
    while size % LANES:
        change[size] = 0
        size += 1
    return rank, size


@inlined
def add_ranks(
    documents: Documents, pairs: PairColumns, n: int, rank: int, last: int, loop: PairLoop, spread: float
) -> float:
    """Add the pairs of these ranks to gradients and hessians; returns the sum of their |change| × loss."""
    total, size = 0.0, np.int64(0)
    while rank < last:
        stretch = stretch_below(documents, n, rank, size)
        damping(documents, rank, stretch, loop.norm and spread > 0, pairs.loss)
        own = documents.power[rank]
        if loop.sigmoid * spread > 2 * WIDEST:
            own = relative(documents, rank, stretch, loop.sigmoid)
        total += pair_losses(own, documents.power, stretch, pairs)
        gradient, hessian = add_pairs(pairs, stretch, documents.gradient, documents.hessian)
        documents.gradient[rank] += gradient
        documents.hessian[rank] += hessian
        rank, size = rank + 1, size + np.int64(stretch.size)
    return total


@inlined
def damping(documents: Documents, rank: int, stretch: Stretch, damped: bool, divisor: Array) -> None:
    """Overwrite ``divisor`` with what normalisation divides each pair by: 0.01 + the score difference; else 1."""
    if not damped:
        divisor[: np.int64(stretch.size)] = np.float32(1.0)
        return
    score, rest, damp = documents.score, documents.score_rest, np.float32(0.01)
    own_score, own_rest = score[rank], rest[rank]
    for at in range(stretch.size):
        other = stretch.begin + at
        divisor[at] = damp + ((own_score - score[other]) + (own_rest - rest[other]))


@inlined
def relative(documents: Documents, rank: int, stretch: Stretch, sigmoid: float) -> Any:
    """Overwrite ``power`` with exponentials relative to the document above them; returns its own, 1.

    For score differences so large that one exponential per document can't hold them all.
    """
    score, rest = documents.score, documents.score_rest
    for at in range(stretch.size):
        other = stretch.begin + at
        difference = (score[rank] - score[other]) + (rest[rank] - rest[other])
        documents.power[other] = np.exp(-np.float32(min(sigmoid * difference, 2 * WIDEST)))
    return np.float32(1.0)


@vectorised
def pair_losses(own: float, power: Array, stretch: Stretch, pairs: PairColumns) -> Any:
    """The signed loss of each pair and its curvature, apart from the weight; returns the sum of |change| × loss.

    ``loss`` holds the divisors of `damping` and is overwritten, as is ``curvature``. Two loops over few arrays each,
    this and `add_pairs`: with more arrays the compiler can't prove that they don't overlap.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    total = zero
    for at in range(stretch.size):
        theirs, change, divisor = power[stretch.begin + at], pairs.change[stretch.at + at], pairs.loss[at]
        inverse = one / ((own + theirs) * divisor)
        up = change > zero
        wrong = own if up else theirs
        right = theirs if up else own
        loss = wrong * inverse
        total += abs(change) * loss
        pairs.curvature[at] = loss * right * inverse * divisor
        pairs.loss[at] = loss if up else -loss
    return total


@vectorised
def add_pairs(pairs: PairColumns, stretch: Stretch, gradient: Array, hessian: Array) -> Any:
    """Add the pairs of one document to ``gradient`` and ``hessian`` of those below it; returns its own."""
    own_gradient, own_hessian = np.float32(0.0), np.float32(0.0)
    for at in range(stretch.size):
        weight = pairs.weight[stretch.at + at]
        slope = weight * pairs.loss[at]
        curved = weight * pairs.curvature[at]
        own_gradient += slope
        own_hessian += curved
        gradient[stretch.begin + at] -= slope
        hessian[stretch.begin + at] += curved
    return own_gradient, own_hessian
