"""The second stage: small trees that learn where to correct a candidate, on queries that it was not trained on.

U-CRO weighs queries that lose against the baseline. While a ranker is trained, hardly any do, because the ranker fits
its training queries well; many new queries lose. So the trees are trained on the candidate's scores of new queries,
and start from these scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.guard.guard import FEATURES, SECOND_STAGE, Guard, Scale, features_of
from surefoot.guard.pairs import Pair
from surefoot.guard.trees import Tree
from surefoot.lambdas import PairLoop
from surefoot.lambdas.gradients import LambdaGradients, Singles, by_line
from surefoot.lambdas.metrics import Metric

ALPHA = 2.0
N_TREES = 20
SEEDS = 4
PARAMS = {
    "num_leaves": 6, "learning_rate": 0.05, "min_data_in_leaf": 100, "feature_fraction": 0.7, "bagging_fraction": 0.8,
    "bagging_freq": 1, "deterministic": True, "force_col_wise": True, "num_threads": 1, "verbosity": -1,
}  # fmt: skip
FEWEST_QUERIES = 100
"""With fewer queries, guards of one parameter do better."""


def fit_second_stage(pair: Pair, labels: npt.ArrayLike, *, seed: int = 0, features: Sequence[str] = FEATURES) -> Guard:
    """Train the second stage by U-CRO, for NDCG, and average several seeds.

    Parameters
    ----------
    pair
        Both rankers' scores of documents of queries that the candidate was not trained on.
    labels
        The relevance of each document, 0 or more.
    seed
        Random seed of the documents and features that each tree sees.
    features
        The features of `FEATURES` that splits may use.

    Returns
    -------
    Guard
        Its kind is ``second-stage``.
    """
    try:
        import lightgbm as lgb
    except ModuleNotFoundError:
        raise SurefootError("the second stage needs LightGBM: pip install 'surefoot[learn]'") from None
    scale = Scale.of(pair)
    columns = features_of(pair, scale)
    columns[[index for index, name in enumerate(FEATURES) if name not in features]] = 0.0
    grades = np.asarray(labels, np.float32)
    data = lgb.Dataset(
        columns.T, grades, group=np.diff(pair.bounds), init_score=columns[0],
        params={"feature_pre_filter": False, "verbosity": -1},
    )  # fmt: skip
    objective = _ucro(pair, grades)
    trees: list[Tree] = []
    for draw in range(SEEDS):
        booster = lgb.train({**PARAMS, "seed": seed * SEEDS + draw, "objective": objective}, data, N_TREES)
        trees += trees_of(booster.model_to_string())
    return Guard(SECOND_STAGE, scale=scale, trees=tuple(trees)).at_strength(1 / SEEDS)


def _ucro(pair: Pair, labels: npt.NDArray[np.float32]) -> Any:
    """The objective for LightGBM: from scores to gradients and hessians."""
    loop = PairLoop()
    metric = Metric(ideal=loop.truncation).bind(labels, pair.bounds)
    lambdas = LambdaGradients(metric, loop, n_jobs=1)
    baseline = metric(np.maximum(pair.baseline.falling(), 0.0))  # documents that it did not return rank last

    def objective(scores: FloatArray, _: Any) -> tuple[Singles, Singles]:
        d = lambdas.rank(scores) - baseline
        return lambdas.gradients(by_line(ALPHA, d, -d))

    return objective


def tree_blocks(text: str) -> Iterator[dict[str, str]]:
    """The fields of each tree in a LightGBM model's text."""
    for block in text[text.index("Tree=0\n") : text.index("end of trees")].split("Tree=")[1:]:
        yield dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def trees_of(text: str) -> Iterator[Tree]:
    """The trees of a LightGBM model's text. A tree without a split has one leaf."""
    for fields in tree_blocks(text):
        if int(fields["num_cat"]):
            raise SurefootError("a tree with a categorical split can't be kept as plain numbers")
        feature, left, right = (
            tuple(map(int, fields.get(name, "").split())) for name in ("split_feature", "left_child", "right_child")
        )
        threshold, value = (tuple(map(float, fields.get(name, "").split())) for name in ("threshold", "leaf_value"))
        yield Tree(feature, threshold, left, right, value)
