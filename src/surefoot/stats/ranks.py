"""Ranks and correlation: Wilcoxon's and Friedman's tests, Kendall's tau, correlation with a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.errors import SurefootError, choose, listed
from surefoot.risk.distributions import chi_square_p, normal_cdf
from surefoot.risk.moments import Correlation
from surefoot.stats.inference import ALTERNATIVES, differences

MOST_EXACT = 50
"""Differences up to which Wilcoxon's distribution is computed, as scipy does."""
MOST_EXACT_TAU = 33
"""Items up to which the distribution of tau is computed, as scipy does."""

Values = Mapping[Any, float] | npt.ArrayLike
"""A value for each item, by name or by position."""


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


def wilcoxon_test(system: npt.ArrayLike, baseline: npt.ArrayLike, alternative: str = "two-sided") -> FloatArray:
    """The p of Wilcoxon's signed-rank test: are the differences symmetric about 0?

    Topics without a difference are left out (Wilcoxon's own rule); differences that agree to 12 decimals share their
    rank. The null distribution is exact for up to 50 topics without ties, else normal with the correction for ties. NaN
    where no topic differs.

    Parameters
    ----------
    system, baseline
        Scores on the same topics, one system or several.
    alternative
        ``"two-sided"``, or ``"worse"`` for the system.

    Returns
    -------
    FloatArray
        p for each system.

    Examples
    --------
    >>> float(wilcoxon_test([0.2, 0.5, 0.3, 0.7], [0.4, 0.1, 0.2, 0.4]))
    0.375

    """
    choose(alternative, ALTERNATIVES, "alternative")
    d = differences(system, baseline).round(12)
    p = np.full(d.shape[:-1], np.nan)
    for index in np.ndindex(p.shape):
        some = d[index][d[index] != 0]
        if some.size:
            p[index] = signed_rank_p(some, alternative == "worse")
    return p[()]


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


@dataclass(frozen=True)
class Kendall:
    """Kendall's tau-b and its two-sided p, and the weighted tau, in which exchanges near the top count more."""

    tau: float
    p: float
    weighted: float


def kendall(first: Values, second: Values) -> Kendall:
    """How far two sets of values put the same items into the same order.

    tau-b = (P - Q) / sqrt((P + Q + T)(P + Q + U)): P pairs in the same order, Q in opposite orders, T tied in the first
    values only, U in the second only (Kendall 1945). Pairs tied in both count nowhere, and equal orders have tau 1,
    ties or not. The weighted tau gives a pair the weight 1 / rank + 1 / rank, ranks from 1 by the larger value, the
    mean of ranking by the first and by the second; its ties count as in tau-b (Vigna, *A weighted correlation index
    for rankings with ties*, WWW 2015). All are NaN where the values of all items are the same.

    Parameters
    ----------
    first, second
        Values by name, which are matched by name, or arrays in the same order. Larger is better.

    Returns
    -------
    Kendall
        tau-b with its p, and the weighted tau.

    Examples
    --------
    >>> found = kendall({"a": 0.3, "b": 0.2, "c": 0.1}, {"c": 4, "a": 9, "b": 3})
    >>> round(found.tau, 4), round(found.p, 4), round(found.weighted, 4)
    (0.3333, 1.0, 0.5455)

    """
    x, y = _aligned(first, second)
    if x.ndim != 1 or x.shape != y.shape or x.size < 2 or np.isnan([x, y]).any():
        raise SurefootError(
            f"Kendall's tau needs two values of the same 2 or more items, none NaN; got shapes {x.shape} and {y.shape}"
        )
    if min(np.ptp(x), np.ptp(y)) == 0:
        return Kendall(np.nan, np.nan, np.nan)
    first_ranks, second_ranks = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    by_first, by_second = (_top_weights(*pair) for pair in ((first_ranks, second_ranks), (second_ranks, first_ranks)))
    sums = _pair_sums(first_ranks, second_ranks, np.stack([np.full(x.size, 0.5), by_first, by_second]))
    tau, *weighted = np.clip(sums[0] / np.sqrt(sums[1]) / np.sqrt(sums[2]), -1, 1)
    p = _kendall_p(int(sums[0, 0]), np.bincount(first_ranks), np.bincount(second_ranks))
    return Kendall(float(tau), p, float(np.mean(weighted)))


def _top_weights(ranks: IntArray, others: IntArray) -> FloatArray:
    """1, 1/2, 1/3, ... from the largest value down; ties go by the other values."""
    weights = np.empty(ranks.size)
    weights[np.lexsort((others, ranks))[::-1]] = 1 / np.arange(1, ranks.size + 1)
    return weights


def _pair_sums(x: IntArray, y: IntArray, weights: FloatArray) -> FloatArray:
    """For each row of weights, the weight of pairs in the same less opposite orders, untied in x, and untied in y.

    A pair weighs as much as both of its items.
    """
    sums = np.zeros((3, len(weights)))
    for item in range(1, x.size):
        dx, dy = np.sign(x[:item] - x[item]), np.sign(y[:item] - y[item])
        sums += np.stack([dx * dy, dx * dx, dy * dy]) @ (weights[:, :item] + weights[:, item : item + 1]).T
    return sums


def _kendall_p(agreement: int, *counts: IntArray) -> float:
    """The two-sided p of pairs in the same less opposite orders, for the sizes of the groups of ties in both values.

    Exact up to 33 items without ties, else by the normal distribution, the variance corrected for ties (Kendall 1970).
    """
    n = int(counts[0].sum())
    m, exchanges = n * (n - 1.0), (n * (n - 1) // 2 - abs(agreement)) // 2
    if max(map(len, counts)) == min(map(len, counts)) == n and (n <= MOST_EXACT_TAU or exchanges <= 1):
        return _few_exchanges(n, exchanges) if agreement else 1.0
    pairs, triples, spread = np.transpose(
        [[np.sum(t * (t - 1.0)), np.sum(t * (t - 1.0) * (t - 2)), np.sum(t * (t - 1.0) * (2 * t + 5))] for t in counts]
    )
    variance = (m * (2 * n + 5) - spread.sum()) / 18 + pairs.prod() / (2 * m) + triples.prod() / (9 * m * max(n - 2, 1))
    return float(2 * normal_cdf(-abs(agreement) / np.sqrt(variance)))


def _few_exchanges(n: int, exchanges: int) -> float:
    """The probability that at most ``exchanges`` pairs of a random order of n items are exchanged, or are in order."""
    share = np.zeros(exchanges + 1)
    share[0] = 1.0
    for items in range(2, n + 1):  # a new item is exchanged with 0 to items - 1 others
        total = np.cumsum(share)
        total[items:] -= total[: max(exchanges + 1 - items, 0)].copy()
        share = total / items
    return float(min(2 * share.sum(), 1.0))


def _aligned(first: Values, second: Values) -> tuple[FloatArray, FloatArray]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            raise SurefootError(
                f"both sets of values need the same items; one lacks {listed(first.keys() ^ second.keys())}"
            )
        return np.array(list(first.values()), float), np.array([second[name] for name in first], float)
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        raise SurefootError("give both values by name, or both as arrays")
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)


def correlation(system: npt.ArrayLike, baseline: npt.ArrayLike, method: str = "pearson") -> FloatArray:
    """The correlation of each system with a baseline over topics, which are the last axis.

    ``"pearson"``: r = sum (s - mean s)(b - mean b) / sqrt(sum (s - mean s)² sum (b - mean b)²); ``"spearman"``: the
    same of the ranks, tied scores sharing their mean rank. NaN where a system or the baseline scores all topics alike.

    A baseline close to a system makes it look safe, as it fails where the baseline fails: Dinçer, Ounis and Macdonald,
    *Tackling biased baselines in the risk-sensitive evaluation of retrieval systems*, ECIR 2014.

    >>> correlation([[0.1, 0.2, 0.4], [0.3, 0.2, 0.0]], [0.2, 0.3, 0.5]).round(3)
    array([ 1., -1.])
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if s.ndim == 0 or s.shape[-1] < 2 or b.shape[-1:] != s.shape[-1:]:
        raise SurefootError(f"a correlation needs the same 2 or more topics; got shapes {s.shape} and {b.shape}")
    if choose(method, ("pearson", "spearman"), "method") == "spearman":
        s, b = average_ranks(s), average_ranks(b)
    return np.asarray(Correlation.of(s, b).value)


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


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: chi-square statistic, degrees of freedom, p, and Kendall's W (0 no agreement, 1 full)."""

    statistic: float
    df: int
    p: float
    w: float


def friedman(matrix: npt.ArrayLike) -> Friedman:
    """Do treatments (rows) differ consistently over blocks (columns)? Friedman 1937.

    >>> result = friedman([[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.5, 0.6]])
    >>> result.df, round(result.statistic, 3), round(result.p, 3), round(result.w, 3)
    (2, 6.0, 0.05, 1.0)
    """
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 3 or x.shape[1] < 2:
        raise SurefootError(f"Friedman's test needs at least 3 treatments and 2 blocks; got {x.shape}")
    treatments, blocks = x.shape
    statistic, df = friedman_statistic(x), treatments - 1
    return Friedman(statistic, df, chi_square_p(statistic, df), statistic / (blocks * df))
