"""Metrics of score arrays, query by query: rankers are trained for them, and validated by them.

A metric is a `Measure` of `surefoot.effectiveness`: its form, gain, discount and cutoff say what is computed. Ties are
broken by the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.effectiveness.measures import MEASURES, Measure
from surefoot.errors import SurefootError, choose
from surefoot.lambdas import METRICS, Empty, MetricName
from surefoot.native import kernel

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

MOST_GRADES = 31
"""Beyond it 2^label exceeds the precision of a float32 gradient; LightGBM's limit too."""
HIGHEST_OF_ERR = 24
"""Beyond it float32 rounds the probability that the best document satisfies to 1."""

_OWN = {measure.name: measure for measure in MEASURES}
NDCG = replace(_OWN["nDCG"], name="nDCG(dcg='exp-log2')", gain="exponential")
TRAINED: Mapping[str, Measure] = {"ndcg": NDCG, "map": _OWN["AP"], "mrr": _OWN["RR"], "err": _OWN["ERR"]}
"""The measures that rankers are trained for, by their short names."""

rank_queries = kernel("rank_queries")


class Queries(NamedTuple):
    """Queries as the kernels take them: the documents of query q are the rows from ``bounds[q]`` to ``bounds[q + 1]``.

    ``discounts`` has the discount of each rank as a float32 and its remainder.
    """

    bounds: Ints
    gains: FloatArray
    discounts: npt.NDArray[np.float32]
    metric: MetricName


@dataclass(frozen=True)
class Metric:
    """A metric of a ranking, as training uses it or, with a cutoff, as it is reported.

    ``ndcg``: gains 2^label - 1 (or ``label_gain``), discounts 1 / log2(1 + rank). In training the ideal is that of the
    first ``ideal`` ranks while discounts run to the end of the list, as in LightGBM, so a query can pass 1; with a
    ``cutoff`` both stop there, which is the NDCG@k of papers. ``map`` and ``mrr``: label 1 and above is relevant.
    ``err``: ``max_label`` is the highest grade of the scale.

    >>> Metric(cutoff=2)(np.array([0.1, 0.9, 0.5]), np.array([1, 0, 2]), np.array([0, 3]))
    array([0.52129603])
    """

    name: MetricName = "ndcg"
    ideal: int | None = None
    cutoff: int | None = None
    label_gain: tuple[float, ...] | None = None
    max_label: int | None = None

    def __post_init__(self) -> None:
        choose(self.name, METRICS, "metric")
        if self.name != "ndcg" and (self.label_gain is not None or self.cutoff is not None):
            raise SurefootError(f"a cutoff or label_gain belongs to ndcg, not to {self.name}")

    @property
    def measure(self) -> Measure:
        """The measure, without a cutoff."""
        return TRAINED[self.name]

    def __str__(self) -> str:
        """As `surefoot evaluate --measure` names it, where that gives the same numbers; else the short name.

        >>> str(Metric(cutoff=10)), str(Metric("map")), str(Metric(cutoff=10, label_gain=(0, 1, 5)))
        ("nDCG(dcg='exp-log2')@10", 'AP', 'ndcg@10')
        """
        if self.name == "ndcg" and self.cutoff and self.label_gain is None:
            return f"{self.measure}@{self.cutoff}"
        return str(self.measure) if self.name in ("map", "mrr") else self.short_name

    @property
    def short_name(self) -> str:
        """The name in training, with the cutoff."""
        return f"{self.name}@{self.cutoff}" if self.cutoff else self.name

    def bind(self, labels: npt.ArrayLike, bounds: Ints, empty: Empty = "zero") -> QueryMetric:
        """The metric of these queries, with all that does not depend on scores computed once."""
        grades = np.asarray(labels, dtype=np.float32)
        longest = int(np.diff(bounds).max(initial=1))
        return QueryMetric(
            self, bounds, self.gains(grades, bounds), self.discounts(longest), is_empty(grades, bounds), empty
        )

    def __call__(self, scores: npt.ArrayLike, labels: npt.ArrayLike, bounds: Ints) -> FloatArray:
        """The metric of each query when its documents are ranked by score, ties in the order of the rows."""
        return self.bind(labels, bounds)(scores)

    def gains(self, labels: Labels, bounds: Ints) -> FloatArray:
        """The gain of each document: normalised by the ideal DCG for NDCG, a probability for ERR, 0 or 1 otherwise."""
        grades, measure = labels.astype(np.int64), self.measure
        if measure.gain == "binary":
            return (grades >= measure.rel).astype(np.float64)
        if measure.form == "cascade":
            top = self.max_label if self.max_label is not None else int(grades.max(initial=0))
            if top > HIGHEST_OF_ERR:
                raise SurefootError(f"err takes labels up to {HIGHEST_OF_ERR}; got {top}: map them to fewer grades")
            return np.asarray((np.exp2(np.minimum(grades, top)) - 1) / np.exp2(top))
        gain = self._gain_of_label(grades)[grades]
        inverse = 1.0 / np.maximum(self._ideal(gain, bounds), 1e-300)
        inverse[inverse > 1e290] = 0.0
        return np.asarray(gain * np.repeat(inverse, np.diff(bounds)))

    def _gain_of_label(self, grades: Ints) -> FloatArray:
        gains = np.exp2(np.arange(MOST_GRADES)) - 1 if self.label_gain is None else np.array(self.label_gain)
        if grades.max(initial=0) >= gains.size:
            raise SurefootError(
                f"label {grades.max()} has no gain; labels go up to {gains.size - 1}"
                + ("" if self.label_gain is None else ", as label_gain has that many")
            )
        return gains

    def _ideal(self, gain: FloatArray, bounds: Ints) -> FloatArray:
        """The DCG of each query's best ranking, down to the cutoff or the depth of the ideal."""
        query = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        best = gain[np.lexsort((-gain, query))]
        rank = np.arange(gain.size) - np.repeat(bounds[:-1], np.diff(bounds))
        counted = best / self.measure.divisors(rank + 1.0)
        if depth := self.cutoff or self.ideal:
            counted[rank >= depth] = 0
        return np.bincount(query, weights=counted, minlength=bounds.size - 1).astype(np.float64)

    def discounts(self, size: int) -> npt.NDArray[np.float32]:
        """The discount of each rank as a float32 and its remainder."""
        exact = self.measure.discounts(size)
        if self.cutoff is not None:
            exact[self.cutoff :] = 0
        high = exact.astype(np.float32)
        return np.stack([high, (exact - high).astype(np.float32)])


@dataclass(frozen=True, eq=False)
class QueryMetric:
    """A metric bound to the labels of some queries; see `Metric.bind`.

    ``is_empty`` marks the queries without relevant documents, ``empty`` says how they count.
    """

    metric: Metric
    bounds: Ints
    gains: FloatArray
    discounts: npt.NDArray[np.float32]
    is_empty: Mask
    empty: Empty = "zero"
    _orders: list[npt.NDArray[np.int32]] = field(default_factory=list, init=False, repr=False)

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """The metric of each query when its documents are ranked by score, ties in the order of the rows."""
        given = np.ascontiguousarray(scores, dtype=np.float64)
        if given.size != self.bounds[-1]:
            raise SurefootError(f"{self.bounds[-1]:,} documents need as many scores; got {given.size:,}")
        if np.isnan(given).any():
            raise SurefootError(f"the score of document {int(np.argmax(np.isnan(given))) + 1:,} is not a number")
        values = np.empty(self.bounds.size - 1)
        # Sorting is fast from the last order if little has changed. It is taken out, so that no two threads share it.
        try:
            order = self._orders.pop()
        except IndexError:
            order = self.first_order()
        rank_queries(self.queries, given, order, False, values, 0, values.size)
        self._orders.append(order)
        return self.fill_empty(values)

    def of_order(self, order: npt.NDArray[np.int32]) -> FloatArray:
        """The metric of each query that is ranked already: by rank, the documents' offsets from the query's first."""
        values = np.empty(self.bounds.size - 1)
        rank_queries(self.queries, self.gains, order, True, values, 0, values.size)
        return self.fill_empty(values)

    @cached_property
    def queries(self) -> Queries:
        """The queries for the kernels."""
        return Queries(self.bounds, self.gains, self.discounts, self.metric.name)

    def first_order(self) -> npt.NDArray[np.int32]:
        """Each query's documents in the order of the rows."""
        return (np.arange(self.bounds[-1]) - np.repeat(self.bounds[:-1], np.diff(self.bounds))).astype(np.int32)

    def fill_empty(self, values: FloatArray) -> FloatArray:
        """Values of queries (last axis), with 1 for empty queries if they count as 1."""
        if self.empty != "one":
            return values
        filled = values.copy()
        filled[..., self.is_empty] = 1.0
        return filled

    @cached_property
    def counted(self) -> Mask:
        """Which queries count."""
        return ~self.is_empty if self.empty == "drop" else np.ones(self.is_empty.size, np.bool_)


def is_empty(labels: npt.ArrayLike, bounds: Ints) -> Mask:
    """Which queries have no relevant document."""
    relevant = np.concatenate([[0], np.cumsum(np.asarray(labels) > 0)])
    return np.asarray(relevant[bounds[1:]] == relevant[bounds[:-1]])
