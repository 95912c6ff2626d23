"""The lambdas of LambdaMART, compiled: the pull of every pair of documents of every query.

A query is walked rank by rank. For the document at a rank, short loops over all ranks below it fill buffers that
stay in the processor's first cache: the signed change of the metric if the two documents swapped places; what the
objective makes of it; the pair's pull on both. None takes an exponential (one a document is enough:
1 / (1 + exp(a - b)) = B / (A + B)) and the numbers are float32, so vector units do most of the work. Differences of
nearby numbers are taken of a float32 and its remainder, which loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot._numba import inlined, kernel, vectorised
from surefoot.learn.metric_kernels import NDCG, change_of, metric_of, prepare
from surefoot.learn.weight_kernels import weigh

Array = Any  # numpy arrays; numba finds the element types itself

WIDEST = 40.0
"""Of an exponent on either side of the middle: float32 holds e^±80, and a pair that far apart has no pull left."""

BUFFERS, SUMS = 10, 3
"""Rows of scratch space: float32 ones, and float64 ones for the metrics with sums over ranks."""


@kernel
def rank_queries(
    scores: Array, bounds: Array, order: Array, gains: Array, discounts: Array, metric: int, first: int, end: int,
    values: Array,
) -> None:  # fmt: skip
    """Bring ``order`` up to date with the scores, descending, ties by row; and the metric of each query."""
    for query in range(first, end):
        begin, stop = bounds[query], bounds[query + 1]
        places = order[begin:stop]
        sort(scores[begin:stop], places)
        values[query] = metric_of(gains[begin:stop], places, discounts, metric)


@inlined
def sort(scores: Array, places: Array) -> None:
    """Sort places by score, descending, then by place; cheap if little has changed since the last time."""
    moves, most = 0, 16 * places.size
    for rank in range(1, places.size):
        place = places[rank]
        score = scores[place]
        at = rank
        while at > 0:
            other = places[at - 1]
            if scores[other] > score or (scores[other] == score and other < place):
                break
            places[at] = other
            at -= 1
        places[at] = place
        moves += rank - at
        if moves > most:  # far from sorted
            places[:] = np.argsort(-scores, kind="mergesort")
            return


@kernel
def add_lambdas(
    scores: Array, bounds: Array, order: Array, gains: Array, discounts: Array, metric: int, form: int, own: Array,
    world: Array, truncation: int, sigmoid: float, norm: bool, first: int, end: int, scratch: Array, sums: Array,
    gradients: Array, hessians: Array,
) -> None:  # fmt: skip
    """Gradients and hessians of the queries from ``first`` to ``end``, whose ``order`` is up to date.

    ``own`` holds the objective's figures of each query, ``world`` those that all share. Normalisation, as LightGBM's
    lambdarank does it, looks at the plain metric: what the objective adds must not be divided away again.
    """
    for query in range(first, end):
        begin, stop = bounds[query], bounds[query + 1]
        n = stop - begin
        if n == 0:
            continue
        # Row by row: a slice of several rows would have no fixed stride, which keeps vector units away.
        g, e, high, low = scratch[0][:n], scratch[1][:n], scratch[2][:n], scratch[3][:n]
        pull, curve = scratch[4][:n], scratch[5][:n]
        change, weight, apart, bend = scratch[6][:n], scratch[7][:n], scratch[8][:n], scratch[9][:n]
        spread = gather(scores[begin:stop], order[begin:stop], gains[begin:stop], sigmoid, scratch)
        if metric != NDCG:
            prepare(g, metric, sums)
        damped = norm and spread > 0
        total = 0.0
        for rank in range(min(n - 1, truncation)):
            below = n - 1 - rank
            change_of(metric, g, discounts, sums, rank, change[:below])
            weigh(form, own[query], world, change[:below], weight[:below])
            distance(high, low, rank, damped, apart[:below])
            mine = e[rank]
            if sigmoid * spread > 2 * WIDEST:
                mine = relative(high, low, sigmoid, rank, e)
            total += lose(mine, e[rank + 1 :], change[:below], apart[:below], bend[:below])
            add_pairs(weight[:below], apart[:below], bend[:below], pull, curve, rank)
        total *= 2 * sigmoid
        scale = sigmoid * (np.log2(1 + total) / total if norm and total > 0 else 1.0)
        for rank in range(n):
            row = begin + order[begin + rank]
            gradients[row] = pull[rank] * np.float32(scale)
            hessians[row] = curve[rank] * np.float32(scale * sigmoid)


@inlined
def gather(scores: Array, places: Array, gains: Array, sigmoid: float, scratch: Array) -> float:
    """Fill the buffers by rank; returns how far apart the scores are."""
    g, e, high, low, pull, curve = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    best, worst = scores[places[0]], scores[places[places.size - 1]]
    middle = 0.5 * (best + worst)
    for rank in range(places.size):
        place = places[rank]
        score = scores[place] - middle
        g[rank] = gains[place]
        high[rank] = score
        low[rank] = score - np.float64(high[rank])
        e[rank] = np.exp(np.float32(min(max(sigmoid * score, -WIDEST), WIDEST)))
        pull[rank] = 0.0
        curve[rank] = 0.0
    return float(best - worst)


@inlined
def distance(high: Array, low: Array, rank: int, damped: bool, apart: Array) -> None:
    """What normalisation divides each pair by: how far the scores are apart, and a little more; else 1."""
    if not damped:
        apart[:] = np.float32(1.0)
        return
    damp, own_high, own_low = np.float32(0.01), high[rank], low[rank]
    highs, lows = high[rank + 1 :], low[rank + 1 :]
    for other in range(apart.size):
        apart[other] = damp + ((own_high - highs[other]) + (own_low - lows[other]))


@inlined
def relative(high: Array, low: Array, sigmoid: float, rank: int, e: Array) -> Any:
    """Exponentials relative to the document at this rank, where one exponential a document can't hold them all."""
    for other in range(rank + 1, e.size):
        apart = (high[rank] - high[other]) + (low[rank] - low[other])
        e[other] = np.exp(-np.float32(min(sigmoid * apart, 2 * WIDEST)))
    return np.float32(1.0)


@vectorised
def lose(mine: float, e: Array, change: Array, apart: Array, bend: Array) -> Any:
    """What each pair pulls with, signed, in place of ``apart``, and how that bends; returns the sum of plain pulls.

    Two loops over few arrays each, this and `add_pairs`: with more the compiler gives up to prove them apart.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    total = zero
    for other in range(change.size):
        theirs = e[other]
        share = one / ((mine + theirs) * apart[other])
        up = change[other] > zero
        wrong = mine if up else theirs
        right = theirs if up else mine
        loss = wrong * share
        total += abs(change[other]) * loss
        bend[other] = loss * right * share * apart[other]
        apart[other] = loss if up else -loss
    return total


@vectorised
def add_pairs(weight: Array, loss: Array, bend: Array, pull: Array, curve: Array, rank: int) -> None:
    """Add the pulls of all pairs of one document with those below it."""
    own_pull, own_curve = np.float32(0.0), np.float32(0.0)
    pulls, curves = pull[rank + 1 :], curve[rank + 1 :]
    for other in range(weight.size):
        force = weight[other] * loss[other]
        curved = weight[other] * bend[other]
        own_pull += force
        own_curve += curved
        pulls[other] -= force
        curves[other] += curved
    pull[rank] += own_pull
    curve[rank] += own_curve
