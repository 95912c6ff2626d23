"""Is the mean of a group above that of the others? Welch's t, and its permutation test."""

from __future__ import annotations

import numpy as np

from surefoot._process import generator
from surefoot._typing import BoolArray, FloatArray

CHUNK = 4_000_000
ROUNDING = 1e-9


def welch_t(values: FloatArray, groups: BoolArray) -> FloatArray:
    """Welch's t of each group against the others; values may be rows of draws.

    Infinite where neither side varies but the means differ, 0 where they are equal too.

    Parameters
    ----------
    values
        A value for each item, or draws × items.
    groups
        Which items belong to each group, groups × items; each group has two items or more, and so have the others.

    Returns
    -------
    FloatArray
        t of each group, or draws × groups.

    Examples
    --------
    >>> welch_t(np.array([3.0, 5.0, 1.0, 1.0, 4.0]), np.array([[True, True, False, False, False]])).round(4)
    array([1.4142])
    """
    inside = groups.T.astype(np.float64)
    size = inside.sum(axis=0)
    rest = groups.shape[1] - size
    total, squares = values @ inside, values**2 @ inside
    other = values.sum(axis=-1, keepdims=True) - total
    other_squares = (values**2).sum(axis=-1, keepdims=True) - squares
    difference = total / size - other / rest
    variance = _variance_of_mean(total, squares, size) + _variance_of_mean(other, other_squares, rest)
    flat, equal = variance <= ROUNDING**2, np.abs(difference) <= ROUNDING
    t = difference / np.sqrt(np.where(flat, 1.0, variance))
    return np.asarray(np.where(flat, np.where(equal, 0.0, np.copysign(np.inf, difference)), t))


def _variance_of_mean(total: FloatArray, squares: FloatArray, size: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(squares / size - (total / size) ** 2, 0.0) / (size - 1))


def group_test(values: FloatArray, groups: BoolArray, n_resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """One-sided p of each group: how often would values dealt out at random give a t as high?

    Exact if the values of a group are exchangeable with those of the others. As t is studentised, it also holds for
    large groups with the same mean and another spread (Chung and Romano, Annals of Statistics 41(2), 2013).

    Parameters
    ----------
    values, groups
        As in `welch_t`, without draws.
    n_resamples, seed
        How many permutations are drawn, and from which seed.

    Returns
    -------
    FloatArray
        p of each group, (1 + count) / (1 + n_resamples).

    Examples
    --------
    >>> values = np.array([0.9, 0.8, 0.7, 0.1, 0.2, 0.0, 0.1, 0.0])
    >>> float(group_test(values, np.array([[True] * 3 + [False] * 5]), 999)[0]) < 0.05
    True
    """
    observed = welch_t(values, groups)
    observed = observed - ROUNDING * np.where(np.isfinite(observed), np.maximum(np.abs(observed), 1.0), 0.0)
    random, count = generator(seed), np.zeros(len(groups))
    at_once = max(1, CHUNK // values.size)
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        drawn = random.permuted(np.broadcast_to(values, (size, values.size)), axis=1)
        count += (welch_t(drawn, groups) >= observed).sum(axis=0)
    return np.asarray((1 + count) / (1 + n_resamples))
