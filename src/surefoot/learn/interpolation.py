"""Interpolation with the baseline: a term of the baseline's score and rank, added to a model's own scores.

Where a ranker learned little that holds for a query, its scores there are close together and partly chance. What the
baseline ranks first then stays first, the more so the larger the baseline's score; where the ranker is sure the term
hardly matters. The engine's model file does not contain the term: the card does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.data import Ints, RankingData
from surefoot.scores import FloatArray


@dataclass(frozen=True)
class BaselineTerm:
    """weight × max(b - floor, 0) / rank, with b the baseline's score of a document.

    Its rank is 1 more than the number of documents of the query with a higher score. A document without a score gets
    nothing. ``column`` is the column of ``feature``, counted from 0.

    >>> data = RankingData.of(np.array([[2.0], [6.0], [3.0], [3.0], [4.0]]), np.zeros(5), [7, 7, 7, 7, 8])
    >>> BaselineTerm("0", column=0, floor=0.0, weight=0.5)(data)
    array([0.25, 3.  , 0.75, 0.75, 2.  ])
    """

    feature: str
    column: int
    floor: float
    weight: float

    @classmethod
    def fit(cls, scores: FloatArray, baseline_weight: float, baseline: Any, data: RankingData) -> BaselineTerm:
        """The term for a model with these scores.

        The document that the baseline ranks first gets, on average over these queries, ``baseline_weight`` times the
        standard deviation of the model's own scores within a query.
        """
        feature = validate_interpolation(baseline, data)
        floor = min(0.0, float(np.nanmin(data.column(feature))))
        unit = cls(feature, data.column_index(feature), floor, 1.0)
        firsts = np.maximum.reduceat(unit(data), data.bounds[:-1])
        weight = float(baseline_weight * within_query_std(scores, data.bounds) / firsts.mean())
        return cls(feature, unit.column, floor, weight)

    def __call__(self, data: RankingData) -> FloatArray:
        """The term of each document."""
        scores = data.column_at(self.column).astype(np.float64)
        above = np.maximum(np.nan_to_num(scores, nan=-np.inf) - self.floor, 0.0)
        order = np.lexsort((-above, data.query_of_row))
        ranked, at, begin = above[order], np.arange(scores.size), data.bounds[data.query_of_row]
        tied = (np.diff(ranked, prepend=np.nan) == 0) & (at > begin)
        first_of_tied = np.maximum.accumulate(np.where(tied, 0, at))
        term = np.empty(scores.size)
        term[order] = ranked / (1 + first_of_tied - begin)
        return np.asarray(self.weight * term)


def validate_interpolation(baseline: Any, data: RankingData) -> str:
    """The feature that is the only baseline, if a model can be interpolated with it."""
    only = list(baseline.values()) if isinstance(baseline, Mapping) else baseline
    if isinstance(only, list | tuple) and len(only) == 1:
        only = only[0]
    if not isinstance(only, str) or not only.startswith("feature:"):
        raise SurefootError(
            "a model is interpolated with one baseline that is a feature of the data, as feature:25, since it must be "
            "known wherever the model ranks; name one, or set baseline_weight to 0"
        )
    feature = only.removeprefix("feature:")
    scores = data.column(feature).astype(np.float64)
    known = ~np.isnan(scores)
    if np.isinf(scores).any():
        raise SurefootError(
            f"{data.source}: a model can't be interpolated with feature {feature}, which is infinite somewhere"
        )
    filled = np.where(known, scores, scores.min(where=known, initial=np.inf))
    if not known.any() or not within_query_std(filled, data.bounds):
        raise SurefootError(
            f"{data.source}: a model can't be interpolated with feature {feature}, which is the same for all documents "
            "of a query; name another baseline, or set baseline_weight to 0"
        )
    return feature


def within_query_std(scores: FloatArray, bounds: Ints) -> float:
    """The standard deviation of scores within a query, on average.

    >>> within_query_std(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    0.5
    """
    sizes = np.diff(bounds)
    query = np.repeat(np.arange(sizes.size), sizes)
    centre = np.bincount(query, scores, sizes.size) / sizes
    return float(np.sqrt(np.bincount(query, (scores - centre[query]) ** 2, sizes.size) / sizes).mean())
