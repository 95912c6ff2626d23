"""Churn: how far a re-ranking moves from the baseline's ranking, and what the move brings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError
from surefoot.scores import FloatArray

BINS = 10


def kendall_distance(first: npt.ArrayLike, second: npt.ArrayLike, bounds: npt.ArrayLike) -> FloatArray:
    """The share of each query's pairs of documents that two rankings order differently: 0 the same, 1 reversed.

    Documents are ranked by score, ties in the order of the rows, as everywhere in learning; so rankings have no ties
    and the distance is (1 - tau) / 2. A query with one document has distance 0. The rows of query q are those from
    ``bounds[q]`` to ``bounds[q + 1]``. Kendall, *A new measure of rank correlation*, Biometrika 1938; as churn in
    SIGIR 2012.

    >>> kendall_distance([3.0, 2.0, 1.0, 5.0], [3.0, 1.0, 2.0, 7.0], [0, 3, 4]).round(3)
    array([0.333, 0.   ])
    """
    from surefoot.research.tradeoff.churn_kernels import discordant_shares  # brings the compiler

    a, b = (np.ascontiguousarray(scores, dtype=np.float64) for scores in (first, second))
    ends = np.asarray(bounds, dtype=np.int64)
    if a.ndim != 1 or a.shape != b.shape or ends[-1] != a.size:
        raise SurefootError(f"{ends[-1]:,} documents need as many scores; got shapes {a.shape} and {b.shape}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise SurefootError("rankings need scores that are numbers; one is NaN")
    shares = np.empty(ends.size - 1)
    discordant_shares(a, b, ends, shares)
    return shares


def bin_of(distances: npt.ArrayLike, bins: int = BINS) -> npt.NDArray[np.int64]:
    """The bin of each distance: [0, 1/n), [1/n, 2/n) … [1 - 1/n, 1].

    >>> bin_of([0.0, 0.1, 0.3, 1.0])
    array([0, 1, 3, 9])
    """
    found = np.asarray(distances, dtype=np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise SurefootError("distances lie between 0 and 1")
    # A hair is added so that 3/10, which floating point puts below 0.3, falls where it belongs.
    return np.minimum(np.floor(found * bins + 1e-9), bins - 1).astype(np.int64)


def churn_counts(distances: npt.ArrayLike, bins: int = BINS) -> npt.NDArray[np.int64]:
    """How many queries lie in each bin of distance to the baseline's ranking. SIGIR 2012.

    >>> churn_counts([0.0, 0.05, 0.12, 0.3])
    array([2, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    """
    return np.bincount(bin_of(distances, bins), minlength=bins)


@dataclass(frozen=True, eq=False)
class ByChurn:
    """By bin of distance: the number of queries, and their mean gain and mean loss (NaN in an empty bin)."""

    queries: npt.NDArray[np.int64]
    reward: FloatArray
    risk: FloatArray


def reward_by_churn(
    distances: npt.ArrayLike, system: npt.ArrayLike, baseline: npt.ArrayLike, bins: int = BINS
) -> ByChurn:
    """What moving documents brings: F_Reward and F_Risk of the queries in each bin of distance. SIGIR 2012.

    >>> found = reward_by_churn([0.0, 0.6, 0.6], [0.4, 0.2, 0.7], [0.4, 0.4, 0.1], bins=2)
    >>> found.queries, found.reward, found.risk
    (array([1, 2]), array([0. , 0.3]), array([0. , 0.1]))
    """
    d = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    place = bin_of(distances, bins)
    if place.shape != d.shape:
        raise SurefootError(f"{place.size} distances need as many scores; got {d.size}")
    queries = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        reward, risk = (
            np.bincount(place, weights=np.maximum(part, 0), minlength=bins) / np.where(queries, queries, np.nan)
            for part in (d, -d)
        )
    return ByChurn(queries, reward, risk)
