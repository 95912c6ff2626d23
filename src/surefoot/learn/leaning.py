"""Leaning on the baseline: a share of its score, added to a model as one more tree.

Where a ranker learned little that holds for a query, its scores there are close together and partly chance. A share of
the baseline's score then decides, and where the ranker is sure it hardly matters. The tree only looks at the feature
that is the baseline, so the model stays one plain LightGBM file that serves wherever such files do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.merging import joined
from surefoot.learn.models import Model
from surefoot.ranking_data import Ints, RankingData
from surefoot.scores import FloatArray

STEPS = 1023
"""Leaves of the tree: it follows the baseline in so many steps at most."""

BINS = 8191


def leant(model: Model, share: float, data: RankingData, baseline: Any, threads: int | None = None) -> Model:
    """A model that leans on its baseline.

    Within queries the baseline's part has, on average over training queries, ``share`` times the standard deviation of
    the model's own scores.
    """
    feature, scores = leans_on(baseline, data)
    weight = share * spread(model.predict(data), data.bounds) / spread(scores, data.bounds)
    text = joined([model.text, _tree(data, feature, weight * scores, threads)])
    lean = {"share": share, "feature": feature, "weight": weight}
    return Model("lightgbm", text, {**model.card, "lean": lean, "trees": model.card["trees"] + 1})


def leans_on(baseline: Any, data: RankingData) -> tuple[str, FloatArray]:
    """The feature that is the only baseline, and the score of each document, where one that is missing ranks last."""
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
    scores[~known] = scores.min(where=known, initial=np.inf)
    if not known.any() or not spread(scores, data.bounds):
        raise SurefootError(
            f"{data.source}: a model can't lean on feature {feature}, which is the same for all documents of a query; "
            "name another baseline, or set lean to 0"
        )
    return feature, scores


def spread(scores: FloatArray, bounds: Ints) -> float:
    """The standard deviation of scores within a query, on average.

    >>> spread(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    0.5
    """
    sizes = np.diff(bounds)
    query = np.repeat(np.arange(sizes.size), sizes)
    centre = np.bincount(query, scores, sizes.size) / sizes
    return float(np.sqrt(np.bincount(query, (scores - centre[query]) ** 2, sizes.size) / sizes).mean())


def _tree(data: RankingData, feature: str, values: FloatArray, threads: int | None) -> str:
    """A model of one tree that gives these values, in steps of a feature that they follow."""
    import lightgbm as lgb
    from scipy import sparse

    # One more row tells where a missing score goes, also if none is missing here.
    column = np.append(data.column(feature), np.float32(np.nan))
    cells = np.arange(column.size), np.full(column.size, data.place(feature))
    alone = sparse.csr_matrix((column, cells), shape=(column.size, data.features.shape[1]))
    params = {
        "objective": "regression", "num_leaves": STEPS, "max_bin": BINS, "learning_rate": 1.0, "min_data_in_leaf": 1,
        "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0.0, "boost_from_average": False, "num_threads": threads or 0,
        "feature_pre_filter": False, "deterministic": True, "force_col_wise": True, "verbosity": -1,
    }  # fmt: skip
    return str(lgb.train(params, lgb.Dataset(alone, np.append(values, values.min())), 1).model_to_string())
