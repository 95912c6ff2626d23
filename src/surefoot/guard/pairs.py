"""Two rankings of the same documents, of one query or many, with the scales and ranks that guards use.

The modules that serve a guard need numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.errors import SurefootError, counted

Value = TypeVar("Value")

LONG = 100
"""Average number of documents of a query from which queries are sorted one by one."""

SMALLEST = 1e-100
"""The smallest unit of scores."""

TOP = 10
"""The depth of the overlap of two rankings."""


class Lazy(Generic[Value]):
    """`functools.cached_property` without the lock of Python 3.11, which is a tenth of the time of `Guard.rank`.

    >>> class Circle:
    ...     radius = 2
    ...
    ...     @Lazy
    ...     def diameter(self):
    ...         return 2 * self.radius
    >>> Circle().diameter
    4
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Value:
        if instance is None:
            return self  # type: ignore[return-value]
        value = instance.__dict__[self.compute.__name__] = self.compute(instance)
        return value


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores that one ranker gives to the documents of queries; those of query q are rows bounds[q] to bounds[q+1].

    A score of minus infinity means that the ranker did not return the document: it ranks below all that were returned.
    """

    scores: FloatArray
    bounds: IntArray

    @Lazy
    def query(self) -> IntArray:
        """The query of each row."""
        return np.repeat(np.arange(self.bounds.size - 1), self.sizes)

    @Lazy
    def begins(self) -> IntArray:
        """The first row of each query."""
        return self.bounds[:-1]

    @Lazy
    def sizes(self) -> IntArray:
        """The number of documents of each query."""
        return self.bounds[1:] - self.bounds[:-1]  # several times faster than np.diff for one query

    def to_rows(self, values: FloatArray) -> FloatArray:
        """Repeat a value of each query for its documents; the value of a single query is left to broadcasting."""
        return values if values.size == 1 else values[self.query]

    @Lazy
    def is_missing(self) -> BoolArray | None:
        """Which documents the ranker did not return; None if it returned all."""
        if self.scores.min() > -np.inf:
            return None
        return np.asarray(self.scores == -np.inf)

    @Lazy
    def filled(self) -> FloatArray:
        """The scores, with the query's lowest for documents that were not returned."""
        if self.is_missing is None:
            return self.scores
        lowest = np.minimum.reduceat(np.where(self.is_missing, np.inf, self.scores), self.bounds[:-1])
        lowest[np.isinf(lowest)] = 0.0  # nothing was returned
        return np.where(self.is_missing, self.to_rows(lowest), self.scores)

    @Lazy
    def highest(self) -> FloatArray:
        """The highest score of each query."""
        return np.maximum.reduceat(self.filled, self.begins)

    @Lazy
    def centred(self) -> FloatArray:
        """The scores less their mean in the query."""
        return self.filled - self.to_rows(np.add.reduceat(self.filled, self.begins) / self.sizes)

    @Lazy
    def spread(self) -> FloatArray:
        """The standard deviation of each query's scores."""
        return np.sqrt(np.add.reduceat(self.centred * self.centred, self.begins) / self.sizes)

    @Lazy
    def z(self) -> FloatArray:
        """The scores in standard deviations from their mean in the query; 0 where all are equal."""
        return self.centred / self.to_rows(_or_one(self.spread))

    @Lazy
    def min_max(self) -> FloatArray:
        """The scores mapped to 0..1 in each query; 0 where all are equal."""
        lowest = np.minimum.reduceat(self.filled, self.begins)
        return (self.filled - self.to_rows(lowest)) / self.to_rows(_or_one(self.highest - lowest))

    @Lazy
    def order(self) -> IntArray:
        """The rows by query and falling score; ties in the order of the rows."""
        return sorted_in_queries(-self.scores, self.bounds)

    def falling(self) -> FloatArray:
        """Falling whole numbers that rank each query's documents as the scores do; minus infinity stays."""
        return falling_in_queries(self.scores, self.order, self.bounds)

    @Lazy
    def rank(self) -> FloatArray:
        """1 more than the number of the query's documents with a higher score."""
        ranked = self.scores[self.order]
        positions = np.arange(1.0, ranked.size + 1)
        tied = ranked[1:] == ranked[:-1]
        if self.bounds.size > 2:
            positions -= self.bounds[self.query]
            tied[self.bounds[1:-1] - 1] = False
        if tied.any():
            first = np.arange(ranked.size)
            first[1:][tied] = 0
            positions = positions[np.maximum.accumulate(first)]
        ranks = np.empty(ranked.size)
        ranks[self.order] = positions
        return ranks


@dataclass(frozen=True, eq=False)
class Pair:
    """A baseline's and a candidate's scores of the same documents.

    >>> pair = Pair.of([3.0, 2.0, 1.0], [1.0, 5.0, 3.0])
    >>> pair.candidate.rank, pair.overlap
    (array([3., 1., 2.]), array([1.]))
    """

    baseline: Scored
    candidate: Scored
    bounds: IntArray

    @classmethod
    def of(cls, baseline: npt.ArrayLike, candidate: npt.ArrayLike, bounds: npt.ArrayLike | None = None) -> Pair:
        """A pair of score arrays; without ``bounds`` they are of one query."""
        b, c = (_validate(scores, name) for scores, name in ((baseline, "baseline"), (candidate, "candidate")))
        if b.size != c.size:
            raise SurefootError(
                f"the baseline scores {counted(b.size, 'document')}, the candidate {c.size:,}; give both a score for "
                "each document, minus infinity or None for one that a ranker did not return"
            )
        limits = np.array([0, b.size]) if bounds is None else _validate_bounds(bounds, b.size)
        return cls(Scored(b, limits), Scored(c, limits), limits)

    def __len__(self) -> int:
        return self.bounds.size - 1

    def select(self, queries: npt.ArrayLike) -> Pair:
        """The pair of these queries, in this order."""
        rows = self.rows(queries)
        bounds = np.concatenate([[0], np.cumsum(np.diff(self.bounds)[np.asarray(queries)])])
        return Pair(Scored(self.baseline.scores[rows], bounds), Scored(self.candidate.scores[rows], bounds), bounds)

    def rows(self, queries: npt.ArrayLike) -> IntArray:
        """The rows of these queries."""
        return rows_of(queries, self.bounds)

    @Lazy
    def overlap(self) -> FloatArray:
        """The share of the first ten documents that both rankings have, for each query."""
        both = (np.maximum(self.baseline.rank, self.candidate.rank) <= TOP).astype(np.float64)
        return np.add.reduceat(both, self.baseline.begins) / np.minimum(self.baseline.sizes, TOP)


@dataclass(frozen=True)
class Scale:
    """The units of scores.

    ``spread`` is the standard deviation of the candidate's scores within a query, ``top`` the baseline's highest score
    above ``floor``, both on average. ``floor`` is the baseline's lowest score, or 0 if that is above 0.

    >>> Scale.of(Pair.of([3.0, 2.0, 0.0], [1.0, 5.0, 3.0]))
    Scale(spread=1.632993161855452, floor=0.0, top=3.0)
    """

    spread: float = 1.0
    floor: float = 0.0
    top: float = 1.0

    def __post_init__(self) -> None:
        if not all(np.isfinite(value) for value in asdict(self).values()) or min(self.spread, self.top) < SMALLEST:
            raise SurefootError(f"the scale of a guard needs finite numbers, spread and top of at least {SMALLEST:g}")

    @classmethod
    def of(cls, pair: Pair) -> Scale:
        """The scale of these queries."""
        floor = min(0.0, float(pair.baseline.filled.min()))
        spread, top = float(pair.candidate.spread.mean()), float((pair.baseline.highest - floor).mean())
        return cls(spread if spread >= SMALLEST else 1.0, floor, top if top >= SMALLEST else 1.0)


def baseline_term(pair: Pair, scale: Scale) -> FloatArray:
    """max(b - floor, 0) / rank, in units of its average for the first document."""
    above = np.maximum(pair.baseline.filled - scale.floor, 0.0) / scale.top
    if pair.baseline.is_missing is not None:
        above = np.where(pair.baseline.is_missing, 0.0, above)
    return above / pair.baseline.rank


def rows_of(queries: npt.ArrayLike, bounds: IntArray) -> IntArray:
    """The rows of these queries, one query after the other."""
    chosen = np.asarray(queries)
    sizes = np.diff(bounds)[chosen]
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(sizes.sum()) + np.repeat(bounds[:-1][chosen] - before, sizes))


def sorted_in_queries(keys: FloatArray, bounds: IntArray) -> IntArray:
    """The rows of each query by rising key, stable; long queries are sorted one by one, which is faster."""
    if bounds.size == 2:
        return keys.argsort(kind="stable")
    if keys.size < LONG * bounds.size:
        return np.lexsort((keys, np.repeat(np.arange(bounds.size - 1), np.diff(bounds))))
    return np.concatenate([begin + _stable_order(keys[begin:end]) for begin, end in pairwise(bounds.tolist())])


def _stable_order(keys: FloatArray) -> IntArray:
    """The stable order of keys. Without ties numpy's default sort gives the same, several times faster."""
    order = keys.argsort()
    ranked = keys[order]
    return keys.argsort(kind="stable") if (ranked[1:] == ranked[:-1]).any() else order


def falling_in_queries(scores: FloatArray, order: IntArray, bounds: IntArray) -> FloatArray:
    """Falling whole numbers that rank each query's documents in this order; scores of minus infinity stay."""
    numbers = np.empty(order.size)
    numbers[order] = np.repeat(bounds[1:], np.diff(bounds)) - np.arange(order.size)
    numbers[scores == -np.inf] = -np.inf
    return numbers


def _or_one(values: FloatArray) -> FloatArray:
    return values + (values <= 0)  # spreads and ranges are never below 0


def _validate(scores: npt.ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError(f"the {name}'s scores must be numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise SurefootError(f"the {name}'s scores must be a list of one number per document; got {array.shape}")
    if not array.max() < np.inf:  # the maximum of anything with NaN is NaN
        array = np.where([score is None for score in np.asarray(scores, object)], -np.inf, array)
        if array.max() < np.inf:
            return array
        bad = ~(array < np.inf)
        raise SurefootError(
            f"the {name}'s score of document {int(np.argmax(bad)) + 1} is {array[np.argmax(bad)]}; give a finite "
            "number, or minus infinity if the ranker did not return it"
        )
    return array


def _validate_bounds(bounds: npt.ArrayLike, rows: int) -> IntArray:
    limits = np.asarray(bounds, dtype=np.int64)
    if limits.ndim != 1 or limits.size < 2 or limits[0] != 0 or limits[-1] != rows or (np.diff(limits) < 1).any():
        raise SurefootError(f"offsets must rise from 0 to {rows:,}, the number of documents, with one or more a query")
    return limits
