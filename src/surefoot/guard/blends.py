"""The ways to blend a candidate's ranking with its baseline's: pure functions of the two score arrays.

``weight`` is what the baseline counts. Each function returns a score for each document, to be ranked by; what they
have in common is in `Scale`, which is estimated from the scores of many queries, without a label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.guard.pairs import Pair
from surefoot.guard.trees import Forest

FUSION_CONSTANT = 60.0
"""k of reciprocal ranks, 1 / (k + rank): Cormack, Clarke and Büttcher, SIGIR 2009."""

FEATURES = (
    "score", "gap", "z", "candidate_rank", "baseline_rank", "rank_difference", "baseline_min_max", "lean", "spread",
    "overlap", "documents",
)  # fmt: skip
"""What the second stage sees of a document; see `features_of`."""

DECIMALS = 6
"""To which features are rounded, so that trees split alike whatever the last bits of a logarithm are elsewhere."""


@dataclass(frozen=True)
class Scale:
    """What a score is measured by.

    ``spread`` is the standard deviation of the candidate's scores within a query, ``top`` the baseline's highest score
    above ``floor``, both on average; ``floor`` is the baseline's lowest score, or 0 if that is above 0.

    >>> Scale.of(Pair.of([3.0, 2.0, 0.0], [1.0, 5.0, 3.0]))
    Scale(spread=1.632993161855452, floor=0.0, top=3.0)
    """

    spread: float = 1.0
    floor: float = 0.0
    top: float = 1.0

    def __post_init__(self) -> None:
        if not all(np.isfinite(value) for value in asdict(self).values()) or self.spread <= 0 or self.top <= 0:
            raise SurefootError("the scale of a guard needs finite numbers, spread and top above 0")

    @classmethod
    def of(cls, pair: Pair) -> Scale:
        """The scale of these queries."""
        floor = min(0.0, float(pair.baseline.filled.min()))
        spread, top = float(pair.candidate.spread.mean()), float((pair.baseline.highest - floor).mean())
        return cls(spread if spread > 0 else 1.0, floor, top if top > 0 else 1.0)


def leave_alone(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The candidate's own scores."""
    return pair.candidate.scores


def lean(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The candidate's score plus a term of the baseline's score over its rank.

    What the baseline ranks first then tends to stay there, the more so the larger its score and the closer together
    the candidate's scores are: where the candidate is sure the term hardly matters.
    """
    return pair.candidate.filled / scale.spread + weight * lean_term(pair, scale)


def lean_term(pair: Pair, scale: Scale) -> FloatArray:
    """max(b - floor, 0) / rank, in units of its average for the first document."""
    above = np.maximum(pair.baseline.filled - scale.floor, 0.0) / scale.top
    if pair.baseline.is_missing is not None:
        above = np.where(pair.baseline.is_missing, 0.0, above)
    return above / pair.baseline.rank


def z_scores(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """Interpolation of z scores: each ranker's scores in standard deviations from their mean in the query."""
    return (1 - weight) * pair.candidate.z + weight * pair.baseline.z


def min_max(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """Interpolation of scores mapped to 0..1 in each query."""
    return (1 - weight) * pair.candidate.min_max + weight * pair.baseline.min_max


def reciprocal_ranks(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """Interpolation of 1 / (60 + rank): no scores needed."""
    return (1 - weight) / (FUSION_CONSTANT + pair.candidate.rank) + weight / (FUSION_CONSTANT + pair.baseline.rank)


def cap(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The candidate's ranks, but no further from the baseline's than 1 / weight: no scores needed."""
    most = 1.0 / weight if weight > 0 else np.inf
    return -np.clip(pair.candidate.rank, pair.baseline.rank - most, pair.baseline.rank + most)


def fallback(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The baseline's ranking for whole queries in which the candidate's spread is below ``weight`` times the usual."""
    unsure = pair.candidate.to_rows(pair.candidate.spread) < weight * scale.spread
    return np.where(unsure, pair.baseline.z, pair.candidate.z)


def features_of(pair: Pair, scale: Scale) -> FloatArray:
    """The eleven features of the second stage (rows) of each document.

    Of the candidate: the score over the usual spread, the gap to the query's first, z in the query, log of the rank.
    Of the baseline: log of the rank, by how much the candidate's is larger, the score mapped to 0..1, the term of
    `lean`. Of the query: its spread over the usual, the overlap of the first ten, log of the number of documents.
    """
    candidate, baseline = pair.candidate, pair.baseline
    features = np.empty((len(FEATURES), candidate.scores.size))
    np.divide(candidate.filled, scale.spread, out=features[0])
    np.subtract(candidate.to_rows(candidate.highest / scale.spread), features[0], out=features[1])
    features[2] = candidate.z
    features[3], features[4] = candidate.rank, baseline.rank
    np.log(features[3:5], out=features[3:5])
    np.subtract(features[3], features[4], out=features[5])
    features[6] = baseline.min_max
    features[7] = lean_term(pair, scale)
    features[8] = candidate.to_rows(candidate.spread / scale.spread)
    features[9] = candidate.to_rows(pair.overlap)
    features[10] = candidate.to_rows(np.log(candidate.sizes))
    return features.round(DECIMALS)


def second_stage(pair: Pair, forest: Forest, scale: Scale) -> FloatArray:
    """The candidate's score over the usual spread, corrected by trees over `features_of`."""
    return np.asarray(pair.candidate.filled / scale.spread + forest(features_of(pair, scale)))


BLENDS: dict[str, Callable[[Pair, float, Scale], FloatArray]] = {
    "none": leave_alone,
    "lean": lean,
    "z": z_scores,
    "minmax": min_max,
    "ranks": reciprocal_ranks,
    "cap": cap,
    "fallback": fallback,
}
"""The guards that a weight determines, by the names under which files keep them."""

TREES = "trees"
"""The guard that is learned: the second stage."""
