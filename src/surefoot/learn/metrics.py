"""The metrics that rankers are trained for and judged by, query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose
from surefoot.learn import metric_kernels
from surefoot.learn.kernels import rank_queries
from surefoot.scores import FloatArray

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.float32]
Name = Literal["ndcg", "map", "mrr", "err"]
Empty = Literal["zero", "one", "drop"]

CODES = {"ndcg": metric_kernels.NDCG, "map": metric_kernels.AP, "mrr": metric_kernels.RR, "err": metric_kernels.ERR}
MOST_GRADES = 31
"""Beyond it 2^label passes what a float32 gradient can tell apart; LightGBM's limit too."""
HIGHEST_OF_ERR = 24
"""Beyond it a float32 can't tell the chance that the best document satisfies from 1."""


@dataclass(frozen=True)
class Metric:
    """A metric of a ranking, as training uses it or, with a cutoff, as it is reported.

    ``ndcg``: gains 2^label - 1 (or ``label_gain``), discounts 1 / log2(1 + rank). In training the ideal is that of the
    first ``ideal`` ranks while discounts run to the end of the list, as in LightGBM, so a query can pass 1; with a
    ``cutoff`` both stop there, which is the NDCG@k of papers. ``map`` and ``mrr``: label 1 and above is relevant.
    ``err``: ``top`` is the highest grade of the scale.

    >>> Metric(cutoff=2)(np.array([0.1, 0.9, 0.5]), np.array([1, 0, 2]), np.array([0, 3]))
    array([0.52129603])
    """

    name: Name = "ndcg"
    ideal: int | None = None
    cutoff: int | None = None
    label_gain: tuple[float, ...] | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        choose(self.name, CODES, "metric")
        if self.name != "ndcg" and (self.label_gain is not None or self.cutoff is not None):
            raise SurefootError(f"a cutoff or label_gain belongs to ndcg, not to {self.name}")

    def __str__(self) -> str:
        return f"{self.name}@{self.cutoff}" if self.cutoff else self.name

    def __call__(self, scores: npt.ArrayLike, labels: npt.ArrayLike, bounds: Ints) -> FloatArray:
        """The metric of each query when its documents are ranked by score, ties in the order of the rows."""
        given = np.ascontiguousarray(scores, dtype=np.float64)
        if given.size != bounds[-1]:
            raise SurefootError(f"{bounds[-1]:,} documents need as many scores; got {given.size:,}")
        if np.isnan(given).any():
            raise SurefootError(f"the score of document {int(np.argmax(np.isnan(given))) + 1:,} is not a number")
        values = np.empty(bounds.size - 1)
        sizes = np.diff(bounds)
        order = (np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)).astype(np.int32)
        gains = self.gains(np.asarray(labels, dtype=np.float32), bounds)
        discounts = self.discounts(int(sizes.max(initial=0)))
        rank_queries(given, bounds, order, gains, discounts, self.code, 0, values.size, values)
        return values

    @property
    def code(self) -> int:
        """What the kernels call it."""
        return CODES[self.name]

    def gains(self, labels: Labels, bounds: Ints) -> FloatArray:
        """What each document contributes: see `surefoot.learn.metric_kernels`."""
        grades = labels.astype(np.int64)
        if self.name == "ndcg":
            gain = self._gain_of_label(grades)[grades]
            inverse = 1.0 / np.maximum(_ideal(gain, bounds, self.cutoff or self.ideal), 1e-300)
            inverse[inverse > 1e290] = 0.0
            return np.asarray(gain * np.repeat(inverse, np.diff(bounds)))
        if self.name == "err":
            top = self.top if self.top is not None else int(grades.max(initial=0))
            if top > HIGHEST_OF_ERR:
                raise SurefootError(f"err takes labels up to {HIGHEST_OF_ERR}; got {top}: map them to fewer grades")
            return np.asarray((np.exp2(np.minimum(grades, top)) - 1) / np.exp2(top))
        return (grades >= 1).astype(np.float64)

    def _gain_of_label(self, grades: Ints) -> FloatArray:
        gains = np.exp2(np.arange(MOST_GRADES)) - 1 if self.label_gain is None else np.array(self.label_gain)
        if grades.max(initial=0) >= gains.size:
            raise SurefootError(
                f"label {grades.max()} has no gain; labels go up to {gains.size - 1}"
                + ("" if self.label_gain is None else ", as label_gain has that many")
            )
        return gains

    def discounts(self, size: int) -> npt.NDArray[np.float32]:
        """The discount of each rank as a float32 and its remainder."""
        exact = 1 / np.log2(2 + np.arange(size))
        if self.cutoff is not None:
            exact[self.cutoff :] = 0
        high = exact.astype(np.float32)
        return np.stack([high, (exact - high).astype(np.float32)])


def _ideal(gain: FloatArray, bounds: Ints, depth: int | None) -> FloatArray:
    """The DCG of each query's best ranking, down to a depth."""
    query = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
    best = gain[np.lexsort((-gain, query))]
    rank = np.arange(gain.size) - np.repeat(bounds[:-1], np.diff(bounds))
    counted = best / np.log2(2 + rank)
    if depth is not None:
        counted[rank >= depth] = 0
    return np.bincount(query, weights=counted, minlength=bounds.size - 1).astype(np.float64)


def is_empty(labels: npt.ArrayLike, bounds: Ints) -> npt.NDArray[np.bool_]:
    """Which queries have no relevant document."""
    relevant = np.concatenate([[0], np.cumsum(np.asarray(labels) > 0)])
    return np.asarray(relevant[bounds[1:]] == relevant[bounds[:-1]])
