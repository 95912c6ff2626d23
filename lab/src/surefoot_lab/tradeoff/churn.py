"""Churn: how far a re-ranking moves from the baseline's ranking, and the gains and losses of the moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.errors import SurefootError
from surefoot.risk import compare

BINS = 10
BLOCK = 256
"""Rows that are compared with all others at a time."""


def kendall_distance(first: npt.ArrayLike, second: npt.ArrayLike, bounds: npt.ArrayLike) -> FloatArray:
    """The fraction of each query's pairs of documents that two rankings order differently: 0 the same, 1 reversed.

    Documents are ranked by score, ties in the order of the rows, as everywhere in learning; so rankings have no ties
    and the distance is (1 - tau) / 2. A query with one document has distance 0. The rows of query q are those from
    ``bounds[q]`` to ``bounds[q + 1]``. Kendall, *A new measure of rank correlation*, Biometrika 1938; as churn in
    SIGIR 2012.

    >>> kendall_distance([3.0, 2.0, 1.0, 5.0], [3.0, 1.0, 2.0, 7.0], [0, 3, 4]).round(3)
    array([0.333, 0.   ])
    """
    a, b = (np.ascontiguousarray(scores, dtype=np.float64) for scores in (first, second))
    ends = np.ascontiguousarray(bounds, dtype=np.int64)
    if a.ndim != 1 or a.shape != b.shape or ends[-1] != a.size:
        raise SurefootError(f"{ends[-1]:,} documents need as many scores; got shapes {a.shape} and {b.shape}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise SurefootError("rankings need scores that are numbers; one is NaN")
    return np.array([_discordant(a[begin:end], b[begin:end]) for begin, end in pairwise(ends.tolist())])


def _discordant(first: FloatArray, second: FloatArray) -> float:
    """The fraction of the pairs of rows that two sets of scores order differently; a block of rows at a time."""
    differ = 0
    for begin in range(0, first.size, BLOCK):
        rows = slice(begin, begin + BLOCK)
        is_other = (first[rows, np.newaxis] >= first) != (second[rows, np.newaxis] >= second)
        differ += int(np.count_nonzero(np.triu(is_other, begin + 1)))
    return differ / max(1, first.size * (first.size - 1) // 2)


def disagreement(rankings: Sequence[npt.ArrayLike], bounds: npt.ArrayLike) -> FloatArray:
    """The mean Kendall distance between any two rankings of each query; 0 for a single ranking.

    >>> disagreement([[3.0, 2.0], [2.0, 3.0], [3.0, 1.0]], [0, 2]).round(3)
    array([0.667])
    """
    apart = [kendall_distance(one, other, bounds) for one, other in combinations(rankings, 2)]
    return np.asarray(np.mean(apart, axis=0)) if apart else np.zeros(np.size(bounds) - 1)


def churn_bins(distances: npt.ArrayLike, bins: int = BINS) -> IntArray:
    """The bin of each distance: [0, 1/n), [1/n, 2/n) … [1 - 1/n, 1].

    >>> churn_bins([0.0, 0.1, 0.3, 1.0])
    array([0, 1, 3, 9])
    """
    found = np.asarray(distances, dtype=np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise SurefootError("distances lie between 0 and 1")
    # The small addend puts 3/10, which floating point rounds below 0.3, into the bin that begins at 0.3.
    return np.minimum(np.floor(found * bins + 1e-9), bins - 1).astype(np.int64)


def churn_counts(distances: npt.ArrayLike, bins: int = BINS) -> IntArray:
    """How many queries lie in each bin of distance to the baseline's ranking. SIGIR 2012.

    >>> churn_counts([0.0, 0.05, 0.12, 0.3])
    array([2, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    """
    return np.bincount(churn_bins(distances, bins), minlength=bins)


@dataclass(frozen=True, eq=False)
class ChurnBins:
    """For each bin of distance: the number of queries, their F_Reward and their F_Risk (NaN in an empty bin)."""

    queries: IntArray
    reward: FloatArray
    risk: FloatArray


def reward_by_churn(
    distances: npt.ArrayLike, system: npt.ArrayLike, baseline: npt.ArrayLike, bins: int = BINS
) -> ChurnBins:
    """F_Reward and F_Risk of the queries in each bin of distance. SIGIR 2012.

    >>> found = reward_by_churn([0.0, 0.6, 0.6], [0.4, 0.2, 0.7], [0.4, 0.4, 0.1], bins=2)
    >>> found.queries, found.reward.round(9), found.risk.round(9)
    (array([1, 2]), array([0. , 0.3]), array([0. , 0.1]))
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    bin_of_query = churn_bins(distances, bins)
    if bin_of_query.shape != s.shape:
        raise SurefootError(f"{bin_of_query.size} distances need as many scores; got {s.size}")
    reward, risk = np.full(bins, np.nan), np.full(bins, np.nan)
    for index in np.unique(bin_of_query).tolist():
        compared = compare(s[bin_of_query == index], b[bin_of_query == index])
        reward[index], risk[index] = compared.freward, compared.frisk
    return ChurnBins(np.bincount(bin_of_query, minlength=bins), reward, risk)
