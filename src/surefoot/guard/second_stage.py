"""The second stage: small trees that correct a candidate, over features of the two rankings.

U-CRO gives more weight to queries that lose against the baseline. Hardly any training query loses, because the ranker
fits them well; many new queries do. So the trees are trained on the candidate's scores of new queries, and start from
these scores. Trees are kept as plain numbers and evaluated by numpy; only training needs LightGBM.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.guard.pairs import Pair, Scale, baseline_term

ALPHA = 2.0
N_TREES = 20
SEEDS = 4
PARAMS = {
    "num_leaves": 6, "learning_rate": 0.05, "min_data_in_leaf": 100, "feature_fraction": 0.7, "bagging_fraction": 0.8,
    "bagging_freq": 1, "deterministic": True, "force_col_wise": True, "num_threads": 1, "verbosity": -1,
}  # fmt: skip
FEWEST_QUERIES = 100
"""With fewer queries, guards with one parameter are better."""

FEATURES = (
    "score", "gap", "z", "candidate_rank", "baseline_rank", "rank_difference", "baseline_min_max", "lean", "spread",
    "overlap", "documents",
)  # fmt: skip
"""The second stage's features of a document; see `features_of`."""

DECIMALS = 6
"""Features are rounded to these decimals, so that trees split alike on machines with another logarithm."""

MOST_SPLITS = 8
"""The outcomes of a tree's splits are the bits of one byte."""

NEVER = (0, np.inf)
"""A split that no document passes to the right; it fills up trees with fewer splits."""

AT_ONCE = 1 << 9
"""Documents whose splits fit into the processor's cache."""


def features_of(pair: Pair, scale: Scale) -> FloatArray:
    """The eleven features of the second stage (rows) of each document.

    Four describe the candidate: the score over the usual spread, the gap to the query's first, z in the query, log of
    the rank. Four describe the baseline: log of the rank, the difference of the candidate's log rank to it, the score
    mapped to 0..1, `baseline_term`. Three describe the query: its spread over the usual, the overlap of the first ten,
    log of the number of documents.
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
    features[7] = baseline_term(pair, scale)
    features[8] = candidate.to_rows(candidate.spread / scale.spread)
    features[9] = candidate.to_rows(pair.overlap)
    features[10] = candidate.to_rows(np.log(candidate.sizes))
    return features.round(DECIMALS)


@dataclass(frozen=True)
class Tree:
    """A tree: at node i go to ``left[i]`` if the feature is at most the threshold, else to ``right[i]``.

    Node 0 is the root; a child below 0 is leaf -child - 1.
    """

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        splits = len(self.feature)
        children = [*self.left, *self.right]
        if not (splits == len(self.threshold) == len(self.left) == len(self.right) == len(self.value) - 1):
            raise SurefootError("a tree needs a feature, a threshold and two children a split, and one leaf more")
        if splits > MOST_SPLITS:
            raise SurefootError(f"a tree has at most {MOST_SPLITS} splits; got {splits}")
        # Each leaf and each node but the root has one parent, which comes before it: so every walk ends.
        if splits and sorted(children) != [*range(-splits - 1, 0), *range(1, splits)]:
            raise SurefootError("each node of a tree but the root must be the child of one other")
        if any(0 <= child <= node for sides in (self.left, self.right) for node, child in enumerate(sides)):
            raise SurefootError("a node of a tree must come after its parent")
        if any(not 0 <= feature < len(FEATURES) for feature in self.feature):
            raise SurefootError(f"a tree's features are numbered 0 to {len(FEATURES) - 1}")
        if not np.isfinite([*self.threshold, *self.value]).all():
            raise SurefootError("thresholds and leaves of a tree must be finite numbers")

    def leaf(self, outcomes: int) -> float:
        """The value of the leaf that is reached if bit i of ``outcomes`` is 1 where split i goes to the right."""
        node = 0 if self.feature else -1
        while node >= 0:
            node = (self.right if outcomes >> node & 1 else self.left)[node]
        return self.value[-node - 1]

    def scaled(self, factor: float) -> Tree:
        """The tree with its leaves multiplied by a factor."""
        return replace(self, value=tuple(value * factor for value in self.value))


@dataclass(frozen=True)
class Forest:
    """The sum of trees, evaluated without a branch: all splits at once, then a table of leaves by their outcomes.

    >>> stump = Tree((0,), (0.5,), (-1,), (-2,), (1.0, 3.0))
    >>> Forest((stump, stump))(np.array([[0.2, 0.9]]))
    array([2., 6.])
    """

    trees: tuple[Tree, ...]

    @cached_property
    def _arrays(self) -> tuple[Any, Any, Any, FloatArray, Any]:
        """The distinct splits (features, thresholds), those of each tree, leaves by tree and outcomes, their offsets.

        Trees of one training share most of their splits, so each distinct split is evaluated once.
        """
        splits = max((len(tree.feature) for tree in self.trees), default=0)
        numbers: dict[tuple[int, float], int] = {}
        of_tree = np.zeros((splits, len(self.trees)), np.intp)
        table = np.empty((len(self.trees), 1 << splits))
        for column, tree in enumerate(self.trees):
            own = zip(tree.feature, tree.threshold, strict=True)
            for row, split in enumerate(itertools.islice(itertools.chain(own, itertools.repeat(NEVER)), splits)):
                of_tree[row, column] = numbers.setdefault(split, len(numbers))
            table[column] = [tree.leaf(outcomes) for outcomes in range(table.shape[1])]
        features = np.array([feature for feature, _ in numbers], np.intp)
        thresholds = np.array([[threshold] for _, threshold in numbers]).reshape(-1, 1)
        begin = (np.arange(len(self.trees)) << splits)[:, np.newaxis]
        return features, thresholds, of_tree, table.ravel(), begin

    def __call__(self, features: FloatArray) -> FloatArray:
        """The sum of the trees for each column of features (features × documents)."""
        documents = features.shape[1]
        if documents <= AT_ONCE:
            return self._sum(features)
        parts = (features[:, begin : begin + AT_ONCE] for begin in range(0, documents, AT_ONCE))
        return np.concatenate([self._sum(part) for part in parts])

    def _sum(self, features: FloatArray) -> FloatArray:
        of_split, thresholds, of_tree, table, begin = self._arrays
        outcomes = np.zeros((len(self.trees), features.shape[1]), np.uint8)
        is_right = (features.take(of_split, axis=0) > thresholds).view(np.uint8)
        for right in is_right.take(of_tree, axis=0)[::-1]:
            outcomes += outcomes
            outcomes += right
        return np.asarray(table.take(begin + outcomes, mode="clip").sum(axis=0))


def train_trees(
    pair: Pair, labels: npt.ArrayLike, seed: int = 0, features: Sequence[str] = FEATURES
) -> tuple[Scale, tuple[Tree, ...]]:
    """Train by U-CRO, for NDCG, and average several seeds; the parameters are those of `fit_second_stage`."""
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
    return scale, tuple(tree.scaled(1 / SEEDS) for tree in trees)


def _ucro(pair: Pair, labels: npt.NDArray[np.float32]) -> Any:
    """The objective for LightGBM: from scores to gradients and hessians."""
    from surefoot.lambdas import PairLoop
    from surefoot.lambdas.gradients import LambdaGradients, by_line
    from surefoot.lambdas.metrics import Metric

    loop = PairLoop()
    metric = Metric(ideal=loop.truncation).bind(labels, pair.bounds)
    lambdas = LambdaGradients(metric, loop, n_jobs=1)
    baseline = metric(np.maximum(pair.baseline.falling(), 0.0))  # documents that it did not return rank last

    def objective(scores: FloatArray, _: Any) -> tuple[Any, Any]:
        d = lambdas.rank(scores) - baseline
        return lambdas.gradients(by_line(ALPHA, d, -d))

    return objective


def tree_blocks(text: str) -> Iterator[dict[str, str]]:
    """The fields of each tree in a LightGBM model's text."""
    for block in text[text.index("Tree=0\n") : text.index("end of trees")].split("Tree=")[1:]:
        yield dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def tree_arrays(fields: Mapping[str, str]) -> dict[str, tuple[Any, ...]]:
    """The fields of `Tree`, read from a LightGBM tree. A tree without a split has one leaf."""
    names = {"split_feature": int, "threshold": float, "left_child": int, "right_child": int, "leaf_value": float}
    arrays = (tuple(map(kind, fields.get(name, "").split())) for name, kind in names.items())
    return dict(zip(Tree.__dataclass_fields__, arrays, strict=True))


def trees_of(text: str) -> Iterator[Tree]:
    """The trees of a LightGBM model's text."""
    for fields in tree_blocks(text):
        if int(fields["num_cat"]):
            raise SurefootError("a tree with a categorical split can't be kept as plain numbers")
        yield Tree(**tree_arrays(fields))
