"""Query by query over alphas: how many are helped and hurt, by how much, and which alpha serves each best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError
from surefoot.scores import FloatArray

STEPS = (0.25, 0.5, 0.75, 1.0)
"""Where bins of relative change end, on both sides of 0."""


def relative_change(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """(s - b) / b of each query; 0 where both are 0, infinite where only the baseline is.

    >>> relative_change([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([-0.5,  0.5,  0. ,  inf])
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if not (s >= 0).all() or not (b >= 0).all():
        raise SurefootError("a change relative to scores below 0 means nothing")
    d = s - b
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(b > 0, d / b, np.where(d > 0, np.inf, 0.0)).round(9)
    return np.asarray(np.where((d != 0) & (change == 0), np.sign(d) * 1e-9, change))  # tiny, but no tie


def change_counts(system: npt.ArrayLike, baseline: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """How many queries are hurt and helped, by relative change, the worst first. SIGIR 2012, figure 1.

    The bins are [-100 %, -75 %), [-75 %, -50 %), [-50 %, -25 %), [-25 %, 0), 0 alone, (0, 25 %], (25 %, 50 %],
    (50 %, 75 %], (75 %, 100 %] and beyond. A gain over 0 lies beyond.

    >>> change_counts([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([0, 0, 1, 0, 1, 0, 1, 0, 0, 1])
    """
    change = relative_change(system, baseline)
    helped = np.bincount(np.searchsorted(STEPS, change[change > 0], side="left"), minlength=len(STEPS) + 1)
    hurt = np.bincount(np.searchsorted(STEPS, -change[change < 0], side="left"), minlength=len(STEPS))
    return np.concatenate([hurt[::-1], [np.count_nonzero(change == 0)], helped])


def change_names() -> list[str]:
    """The bins of `change_counts` in words.

    >>> change_names()[3:6]
    ['−25 to 0', '0', '0 to 25']
    """
    ends = ["0", *(f"{100 * step:g}" for step in STEPS)]
    hurt = [f"−{high} to {'−' if low != '0' else ''}{low}" for low, high in pairwise(ends)]
    helped = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [*hurt[::-1], "0", *helped, f"beyond {ends[-1]}"]


def best_shares(systems: npt.ArrayLike) -> FloatArray:
    """The share of queries on which each system (row) is the best; those that tie share the query evenly.

    >>> best_shares([[0.2, 0.5, 0.3], [0.4, 0.5, 0.1]])
    array([0.5, 0.5])
    """
    x = np.asarray(systems, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise SurefootError(f"shares of the best need a matrix of systems × queries; got shape {x.shape}")
    best = x == x.max(axis=0)
    return np.asarray((best / best.sum(axis=0)).mean(axis=1))
