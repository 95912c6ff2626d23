"""What an objective makes of a change of the metric, compiled. Few forms serve all objectives.

``own`` holds the objective's figures of the query, ``world`` those of all queries; which they are, each form says. A
weight is never negative: it is the size of the objective's change where that has the sign of the metric's, else 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot._numba import inlined, vectorised

Array = Any  # numpy arrays; numba finds the element types itself

FACTOR, LINE, STEP, CUBIC, GEO = 0, 1, 2, 3, 4
OWN, WORLD = 8, 9
"""How many figures of a query, and of all, a form may use."""

LOG = (np.float32(1 / 2), np.float32(1 / 3), np.float32(1 / 4), np.float32(1 / 5))
EXP = (np.float32(1 / 4), np.float32(1 / 24), np.float32(1 / 192), np.float32(1 / 1920))
"""Series of log(1 + t) / t, signs alternating, and of 2 (exp(u / 2) - 1) / u, after their first term, 1."""

EDGE = np.float32(1e-6)
"""A swap that ends nearer to the baseline ends at it: often it makes the very ranking of the baseline."""


@inlined
def weigh(form: int, own: Array, world: Array, change: Array, weight: Array) -> None:
    """Fill in the weight of each change."""
    if form == FACTOR:
        by_factor(own, change, weight)
    elif form == LINE:
        by_line(own, change, weight)
    elif form == STEP:
        by_step(own, change, weight)
    elif form == CUBIC:
        by_cubic(own, world, change, weight)
    else:
        by_georisk(own, world, change, weight)


@inlined
def by_factor(own: Array, change: Array, weight: Array) -> None:
    """All changes of the query count ``own[0]`` times."""
    for at in range(change.size):
        weight[at] = own[0] * abs(change[at])


@inlined
def by_line(own: Array, change: Array, weight: Array) -> None:
    """Below a kink a change counts 1 + ``own[0]`` times. The query is ``own[1]`` above it, or ``own[2]`` below."""
    extra, above, below = own[0], own[1], own[2]
    for at in range(change.size):
        weight[at] = abs(change[at] + extra * min(change[at] + above, below))


@inlined
def by_step(own: Array, change: Array, weight: Array) -> None:
    """A change that ends below the baseline counts 1 + ``own[0]`` times; the query is ``own[1]`` above it."""
    one, extra, above = np.float32(1.0), own[0], own[1] + EDGE
    for at in range(change.size):
        weight[at] = abs(change[at]) * (one + extra if change[at] + above < 0 else one)


@inlined
def by_cubic(own: Array, world: Array, change: Array, weight: Array) -> None:
    """The cubic a d³ + b d² + c d with ``world`` = a, b, c; the query's difference to the baseline is ``own[0]``."""
    d, zero, two, three = own[0], np.float32(0.0), np.float32(2.0), np.float32(3.0)
    a, b, c = world[0], world[1], world[2]
    for at in range(change.size):
        step = change[at]
        slope = a * (three * d * (d + step) + step * step) + b * (two * d + step) + c
        weight[at] = abs(step) * max(slope, zero)


@vectorised
def by_georisk(own: Array, world: Array, change: Array, weight: Array) -> None:
    """The change of GeoRisk times 2 c GeoRisk / Phi(Z / c), so that it is the metric's own where Z does not move.

    ``own``: x, √e, 1/√e (0 where e = 0), the part of e's change that is linear in x's, z above 0, z below 0, and how
    the other queries' z move. ``world``: alpha, 1 if S counts in e, N, S, c, and the series of log Phi around Z / c.

    A swap moves Z / c, S and N by about 1 / c of themselves, so short series replace what would be slow: those of
    1 / (N + dM), of log Phi, of log(1 + dM / S) and of the exponential of half their sum. With a handful of queries
    swaps leave their reach; bounds then keep the sign right and the size finite.
    """
    zero, one, most, tiny = np.float32(0), np.float32(1), np.float32(4), np.float32(1e-30)
    x, root, inverse, linear, above, below, others = own[0], own[1], own[2], own[3], own[4], own[5], own[6]
    alpha, whole, total = world[0], world[1], world[3]
    per_grand, per_total, per_query = one / world[2], one / total, one / world[4]
    first, second, third, fourth = world[5], world[6], world[7], world[8]
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
