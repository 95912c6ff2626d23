"""The weight of a change of the metric under an objective, compiled. A few forms serve all objectives.

``own`` holds the objective's parameters for the query, ``shared`` those for all queries; each form says which they
are. A weight is never negative: it is the size of the objective's change where that has the sign of the metric's,
else 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot._numba import inlined, kernel, vectorised

Array = Any  # numpy arrays; numba finds the element types itself

FACTOR, LINE, STEP, CUBIC, GEO, T_STATISTIC = 0, 1, 2, 3, 4, 5
PER_QUERY, GLOBAL = 8, 9
"""How many parameters of a query, and of all queries, a form may use."""


class PairWeights(NamedTuple):
    """How an objective turns changes of the metric into weights: a form, and its parameters as float32.

    ``per_query`` has a row of `PER_QUERY` parameters for each query, ``shared`` the `GLOBAL` ones of all queries.
    """

    form: int
    per_query: Array
    shared: Array


LOG = (np.float32(1 / 2), np.float32(1 / 3), np.float32(1 / 4), np.float32(1 / 5))
EXP = (np.float32(1 / 4), np.float32(1 / 24), np.float32(1 / 192), np.float32(1 / 1920))
"""Series of log(1 + t) / t, signs alternating, and of 2 (exp(u / 2) - 1) / u, after their first term, 1."""

EDGE = np.float32(1e-6)
"""A swap that ends closer to the baseline than this counts as ending at it: often it restores its ranking."""


@inlined
def lambda_weights(form: int, own: Array, shared: Array, change: Array, weight: Array) -> None:
    """Overwrite ``weight`` with the weight of each change."""
    if form == FACTOR:
        by_factor(own, change, weight)
    elif form == LINE:
        by_line(own, change, weight)
    elif form == STEP:
        by_step(own, change, weight)
    elif form == CUBIC:
        by_cubic(own, shared, change, weight)
    elif form == T_STATISTIC:
        by_t(own, shared, change, weight)
    else:
        by_georisk(own, shared, change, weight)


@kernel
def change_weights(weights: PairWeights, changes: Array, out: Array) -> None:
    """Overwrite ``out`` with the weights of given ``changes`` of the metric: a row of each for each query."""
    for query in range(changes.shape[0]):
        lambda_weights(weights.form, weights.per_query[query], weights.shared, changes[query], out[query])


@inlined
def by_factor(own: Array, change: Array, weight: Array) -> None:
    """All changes of the query count ``own[0]`` times."""
    for at in range(change.size):
        weight[at] = own[0] * abs(change[at])


@inlined
def by_line(own: Array, change: Array, weight: Array) -> None:
    """A change counts ``own[3]`` times, below a kink ``own[0]`` times more.

    The query is ``own[1]`` above the kink, or ``own[2]`` below it.
    """
    extra, above, below, base = own[0], own[1], own[2], own[3]
    for at in range(change.size):
        weight[at] = abs(base * change[at] + extra * min(change[at] + above, below))


@inlined
def by_t(own: Array, shared: Array, change: Array, weight: Array) -> None:
    """The change of sqrt(c) U / s, U the mean and s the standard deviation of the values v, times sqrt(c) s.

    A change of the query's value by e, that of `by_line` with base 1, turns the sum of squares around the mean, Q,
    into Q (1 + r) with r = e (``own[3]`` + ``shared[0]`` e), where own[3] = 2 (v - U) / Q and
    shared[0] = (1 - 1/c) / Q; so s / s' - 1 = -r / (sqrt(1 + r) (1 + sqrt(1 + r))). ``shared[1]`` is c U.
    """
    zero, one, tiny = np.float32(0.0), np.float32(1.0), np.float32(1e-12)
    extra, above, below, slope, square, total = own[0], own[1], own[2], own[3], shared[0], shared[1]
    for at in range(change.size):
        step = change[at]
        moved = step + extra * min(step + above, below)
        r = max(moved * (slope + square * moved), tiny - one)
        root = np.sqrt(one + r)
        ratio = -r / (root * (one + root))
        found = moved + (moved + total) * ratio
        weight[at] = max(found if step > zero else -found, zero)


@inlined
def by_step(own: Array, change: Array, weight: Array) -> None:
    """A change that ends below the baseline counts 1 + ``own[0]`` times; the query is ``own[1]`` above it."""
    one, extra, above = np.float32(1.0), own[0], own[1] + EDGE
    for at in range(change.size):
        weight[at] = abs(change[at]) * (one + extra if change[at] + above < 0 else one)


@inlined
def by_cubic(own: Array, shared: Array, change: Array, weight: Array) -> None:
    """The cubic a d³ + b d² + c d with ``shared`` = a, b, c; the query's difference to the baseline is ``own[0]``."""
    d, zero, two, three = own[0], np.float32(0.0), np.float32(2.0), np.float32(3.0)
    a, b, c = shared[0], shared[1], shared[2]
    for at in range(change.size):
        step = change[at]
        slope = a * (three * d * (d + step) + step * step) + b * (two * d + step) + c
        weight[at] = abs(step) * max(slope, zero)


@vectorised
def by_georisk(own: Array, shared: Array, change: Array, weight: Array) -> None:
    """The change of GeoRisk times 2 c GeoRisk / Phi(Z / c), so that it is the metric's own where Z does not move.

    ``own``: x, √e, 1/√e (0 where e = 0), the part of e's change that is linear in x's, z above 0, z below 0, and how
    the other queries' z move. ``shared``: alpha, 1 if S counts in e, N, S, c, and the series of log Phi around Z / c.

    A swap moves Z / c, S and N by about 1 / c of themselves, so short series replace what would be slow: those of
    1 / (N + dM), of log Phi, of log(1 + dM / S) and of the exponential of half their sum. With a handful of queries
    swaps leave their reach; bounds then keep the sign right and the size finite.
    """
    zero, one, most, tiny = np.float32(0), np.float32(1), np.float32(4), np.float32(1e-30)
    x, root, inverse, linear, above, below, others = own[0], own[1], own[2], own[3], own[4], own[5], own[6]
    alpha, whole, total = shared[0], shared[1], shared[3]
    per_grand, per_total, per_query = one / shared[2], one / total, one / shared[4]
    first, second, third, fourth = shared[5], shared[6], shared[7], shared[8]
    e, lost = root * root, x * inverse
    for at in range(change.size):
        step = change[at]
        t = min(step * per_grand, one)
        more = step * (linear + whole * step) * per_grand * (one - t * (one - t * (one - t * (one - t * (one - t)))))
        new = np.sqrt(max(e + more, tiny))
        both = new + root
        share = one / (new * both)
        rise = more * new * share
        dz = (step - lost * rise) * both * share - rise
        h = (dz + alpha * min(dz + above, below) + others * step) * per_query
        t = min(step * per_total, one)
        u = h * max(first + h * (second + h * (third + h * fourth)), zero)
        u += t * (one - t * (LOG[0] - t * (LOG[1] - t * (LOG[2] - t * LOG[3]))))
        u = min(max(u, -most), most)
        u *= one + u * (EXP[0] + u * (EXP[1] + u * (EXP[2] + u * EXP[3])))
        weight[at] = total * max(u if step > zero else -u, zero)
