"""The second stage: a few small trees that learn, on queries the candidate was not trained on, where to correct it.

U-CRO weighs queries that lose against the baseline. In the training of a ranker it hardly sees any, since the ranker
knows these queries by heart; on queries that are new to it a good part lose. So the trees are trained on the
candidate's scores of such queries, and start from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError
from surefoot.guard.blends import FEATURES, TREES, Scale, features_of
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.guard.trees import Tree

Number = TypeVar("Number", int, float)

ALPHA = 2.0
N_TREES = 20
SEEDS = 4
PARAMS = {
    "num_leaves": 6, "learning_rate": 0.05, "min_data_in_leaf": 100, "feature_fraction": 0.7, "bagging_fraction": 0.8,
    "bagging_freq": 1, "deterministic": True, "force_col_wise": True, "num_threads": 1, "verbosity": -1,
}  # fmt: skip
FEWEST_QUERIES = 100
"""Below it there is too little to learn from, and guards of one parameter do better."""


def fit_second_stage(pair: Pair, labels: npt.ArrayLike, *, seed: int = 0, features: Sequence[str] = FEATURES) -> Guard:
    """Train the second stage by U-CRO, for NDCG, and average several seeds.

    Parameters
    ----------
    pair
        Both rankers' scores of documents of queries that the candidate was not trained on.
    labels
        The relevance of each document, 0 or more.
    seed
        Of the samples of documents and features that each tree sees.
    features
        Of `FEATURES`, those that splits may use.

    Returns
    -------
    Guard
        Of the kind ``trees``.
    """
    import lightgbm as lgb

    from surefoot.learn.boosting import RiskObjective

    scale = Scale.of(pair)
    columns = features_of(pair, scale)
    columns[[index for index, name in enumerate(FEATURES) if name not in features]] = 0.0
    ranking = np.maximum(pair.baseline.falling(), 0.0)  # below all for what the baseline did not return
    objective = RiskObjective("ucro", ALPHA, ranking, n_jobs=1)
    data = lgb.Dataset(
        columns.T, np.asarray(labels, np.float32), group=np.diff(pair.bounds), init_score=columns[0],
        params={"feature_pre_filter": False, "verbosity": -1},
    )  # fmt: skip
    trees: list[Tree] = []
    for draw in range(SEEDS):
        booster = lgb.train({**PARAMS, "seed": seed * SEEDS + draw, "objective": objective}, data, N_TREES)
        trees += trees_of(booster.model_to_string())
    return Guard(TREES, scale=scale, trees=tuple(trees)).at_strength(1 / SEEDS)


def trees_of(text: str) -> Iterator[Tree]:
    """The trees of a LightGBM model's text.

    A tree without a split has one leaf.
    """
    for block in text[text.index("Tree=0\n") : text.index("end of trees")].split("Tree=")[1:]:
        lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if int(lines["num_cat"]):
            raise SurefootError("a tree with a categorical split can't be kept as plain numbers")
        yield Tree(
            feature=_numbers(int, lines.get("split_feature")),
            threshold=_numbers(float, lines.get("threshold")),
            left=_numbers(int, lines.get("left_child")),
            right=_numbers(int, lines.get("right_child")),
            value=_numbers(float, lines["leaf_value"]),
        )


def _numbers(kind: type[Number], text: str | None) -> tuple[Number, ...]:
    return tuple(kind(part) for part in (text or "").split())
