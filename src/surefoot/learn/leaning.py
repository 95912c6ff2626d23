"""Leaning on the baseline: a share of its score, divided by the rank that it gives, added to a model's own scores.

Where a ranker learned little that holds for a query, its scores there are close together and partly chance. What the
baseline put first then stays first, the more so the surer the baseline is; where the ranker is sure it hardly matters.
The engine's file knows nothing of it: the card says what to add.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.data import Ints, RankingData
from surefoot.scores import FloatArray

if TYPE_CHECKING:
    from surefoot.learn.models import Model


def leant(model: Model, share: float, data: RankingData, baseline: Any) -> Model:
    """A model that leans on its baseline, with what it adds in its card.

    The document that the baseline ranks first gets, on average over these queries, ``share`` times the standard
    deviation of the model's own scores within a query.
    """
    feature = leans_on(baseline, data)
    place = data.place(feature)
    floor = min(0.0, float(np.nanmin(data.column(feature))))
    lean = {"share": share, "feature": feature, "place": place, "floor": floor, "weight": 1.0}
    firsts = np.maximum.reduceat(added(lean, data), data.bounds[:-1])
    lean["weight"] = float(share * spread(model.predict(data), data.bounds) / firsts.mean())
    return replace(model, card={**model.card, "lean": lean})


def added(lean: Mapping[str, Any], data: RankingData) -> FloatArray:
    """What a model that leans adds to the score of each document: weight × max(b - floor, 0) / rank.

    b is the baseline's score; its rank is 1 more than there are documents of the query with a higher one. A document
    without a score gets nothing.

    >>> data = RankingData.of(np.array([[2.0], [6.0], [3.0], [3.0], [4.0]]), np.zeros(5), [7, 7, 7, 7, 8])
    >>> added({"place": 0, "floor": 0.0, "weight": 0.5}, data)
    array([0.25, 3.  , 0.75, 0.75, 2.  ])
    """
    scores = data.column_at(lean["place"]).astype(np.float64)
    above = np.maximum(np.nan_to_num(scores, nan=-np.inf) - lean["floor"], 0.0)
    order = np.lexsort((-above, data.query_of_row))
    ranked, at, begin = above[order], np.arange(scores.size), data.bounds[data.query_of_row]
    tied = (np.diff(ranked, prepend=np.nan) == 0) & (at > begin)
    firsts = np.maximum.accumulate(np.where(tied, 0, at))  # of those that are tied
    found = np.empty(scores.size)
    found[order] = ranked / (1 + firsts - begin)
    return np.asarray(lean["weight"] * found)


def leans_on(baseline: Any, data: RankingData) -> str:
    """The feature that is the only baseline, if a model can lean on it."""
    only = list(baseline.values()) if isinstance(baseline, Mapping) else baseline
    if isinstance(only, list | tuple) and len(only) == 1:
        only = only[0]
    if not isinstance(only, str) or not only.startswith("feature:"):
        raise SurefootError(
            "a model leans on one baseline that is a feature of the data, as feature:25, since it must know it "
            "wherever it ranks; name one, or set lean to 0"
        )
    feature = only.removeprefix("feature:")
    scores = data.column(feature).astype(np.float64)
    known = ~np.isnan(scores)
    if np.isinf(scores).any():
        raise SurefootError(f"{data.source}: a model can't lean on feature {feature}, which is infinite somewhere")
    if not known.any() or not spread(np.where(known, scores, scores.min(where=known, initial=np.inf)), data.bounds):
        raise SurefootError(
            f"{data.source}: a model can't lean on feature {feature}, which is the same for all documents of a query; "
            "name another baseline, or set lean to 0"
        )
    return feature


def spread(scores: FloatArray, bounds: Ints) -> float:
    """The standard deviation of scores within a query, on average.

    >>> spread(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    0.5
    """
    sizes = np.diff(bounds)
    query = np.repeat(np.arange(sizes.size), sizes)
    centre = np.bincount(query, scores, sizes.size) / sizes
    return float(np.sqrt(np.bincount(query, (scores - centre[query]) ** 2, sizes.size) / sizes).mean())
