"""Ranks, and the tests on them."""

from __future__ import annotations

import math

import numpy as np

from surefoot._typing import FloatArray
from surefoot.risk.distributions import normal_cdf

MOST_EXACT = 50
"""Differences up to which Wilcoxon's distribution is computed, as scipy does."""


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks along the last axis, from 1 on; equal values share their mean rank.

    >>> average_ranks(np.array([[0.3, 0.1, 0.1, 0.9]]))
    array([[3. , 1.5, 1.5, 4. ]])
    """
    ranks = np.empty(values.shape)
    for index in np.ndindex(values.shape[:-1]):
        _, where, counts = np.unique(values[index], return_inverse=True, return_counts=True)
        ranks[index] = (np.cumsum(counts) - 0.5 * (counts - 1))[where]
    return ranks


def ties(values: FloatArray) -> float:
    """The sum of t³ - t over all groups of t equal values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts**3 - counts).sum())


def friedman_statistic(matrix: FloatArray) -> float:
    """Friedman's chi-square of treatments × blocks, corrected for ties; NaN if every block is one tie.

    >>> round(friedman_statistic(np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.5, 0.6]])), 3)
    6.0
    """
    treatments, blocks = matrix.shape
    total = average_ranks(matrix.T).sum(axis=0)
    correction = 1 - sum(map(ties, matrix.T)) / (treatments * (treatments**2 - 1) * blocks)
    plain = 12 / (treatments * blocks * (treatments + 1)) * (total @ total) - 3 * blocks * (treatments + 1)
    return float(plain / correction) if correction > 0 else math.nan


def signed_rank_p(differences: FloatArray, worse: bool) -> float:
    """Wilcoxon's signed-rank test of differences, none of them 0: the p of a sum of positive ranks so far from half.

    Exact up to 50 differences without ties; else by the normal distribution, the variance corrected for ties.

    >>> signed_rank_p(np.array([-0.2, 0.4, 0.1, 0.3]), worse=False)
    0.375
    """
    sizes = np.abs(differences)
    n, above = sizes.size, float(average_ranks(sizes)[differences > 0].sum())
    if n <= MOST_EXACT and np.unique(sizes).size == n:
        below = _signed_rank_cdf(n)
        less, more = below[int(above)], below[int(n * (n + 1) // 2 - above)]
        return float(less if worse else min(1.0, 2 * min(less, more)))
    variance = (n * (n + 1) * (2 * n + 1) - 0.5 * ties(sizes)) / 24
    z = (above - n * (n + 1) / 4) / math.sqrt(variance)
    return float(normal_cdf(z) if worse else 2 * normal_cdf(-abs(z)))


def _signed_rank_cdf(n: int) -> FloatArray:
    """The probability that the sum of a random subset of 1..n is at most 0, 1, 2, ..."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return np.asarray(np.cumsum(ways) / 2.0**n)
