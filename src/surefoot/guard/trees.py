"""Small regression trees as plain numbers: read from JSON, evaluated by numpy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

MOST_SPLITS = 8
"""The outcomes of a tree's splits are the bits of one byte."""

NEVER = (0, np.inf)
"""A split that no document passes to the right; it fills up trees with fewer splits."""

AT_ONCE = 1 << 9
"""Documents whose splits fit into the processor's cache."""


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

    @classmethod
    def from_json(cls, found: Any, features: int) -> Tree:
        """A tree from its JSON, over this number of features."""
        if not isinstance(found, Mapping) or set(found) != set(cls.__dataclass_fields__):
            raise SurefootError(f"a tree has the fields {', '.join(cls.__dataclass_fields__)}")
        for name, values in found.items():
            kinds = (int, float) if name in ("threshold", "value") else (int,)
            if not isinstance(values, list) or any(type(value) not in kinds for value in values):
                raise SurefootError(f"a tree's {name} must be a list of numbers")
        if any(not 0 <= feature < features for feature in found["feature"]):
            raise SurefootError(f"a tree's features are numbered 0 to {features - 1}")
        return cls(**{name: tuple(values) for name, values in found.items()})


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
