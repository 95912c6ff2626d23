"""NDCG@k of linear rankers, and its search along one weight.

NDCG@k has gains 2^label - 1 and discounts 1 / log2(rank + 1). It is piecewise constant in the weights and has no
gradient, so it is tried at the steps of a grid. Queries without a relevant document are left out: no ranking changes
their NDCG.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, counted
from surefoot.learn.data import RankingData, as_matrix
from surefoot.research.baselines.linear_kernels import line_dcg

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Validation = tuple[Any, npt.ArrayLike, Iterable[object]]
"""Features, labels and query ids."""

SMALLEST_GAIN = 1e-9
"""Means of NDCG that are closer than this are equal."""
SIZES = 2.0 ** np.arange(-7, 2)
STEPS = np.stack([SIZES, -SIZES], axis=1).ravel()
"""The steps of a line search, as multiples of the sum of absolute weights, the smallest first."""
FINER_STEPS = np.array([0.6, 0.7, 0.8, 0.9, 1.15, 1.3, 1.5, 1.75])
"""What the best of them is multiplied by for a second look around it."""
LARGEST_LABEL = 30
"""As in LightGBM."""
UNITS = 2.0**40
"""NDCG is added up in whole numbers of this fraction, so that the order of queries changes no sum."""


@dataclass(frozen=True)
class Scaling:
    """Features brought to one scale: sign(x) · ln(1 + |x|), less its mean, by its standard deviation, over all rows.

    Counts and lengths of web pages span many powers of ten: standardised as they are, a few documents would take up
    the whole range. The logarithm keeps their order and hardly bends features within [0, 1]. Scaling within each
    query is usual in the field, but a document's score would then depend on the others that came with it, and
    predictions would need query ids. A missing value counts as the mean; a constant feature is 0.
    """

    centre: Floats
    spread: Floats

    @classmethod
    def of(cls, matrix: Matrix) -> Scaling:
        """The scaling of a training set."""
        centre, spread = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
        for feature, values in checked_columns(matrix, range(matrix.shape[1])):
            known = _folded(values[~np.isnan(values)])
            if known.size and known.min() < known.max():
                # In single precision, so that the order of rows doesn't show in the last digits of the sums.
                centre[feature], spread[feature] = np.float32(known.mean()), np.float32(known.std())
            elif known.size:
                centre[feature] = known[0]
        return cls(centre, spread)

    def __call__(self, feature: int, values: Singles) -> Singles:
        """The values of a feature, scaled."""
        scaled = (_folded(values) - self.centre[feature]) / self.spread[feature]
        return np.where(np.isnan(scaled), 0.0, scaled).astype(np.float32)


def _folded(values: Singles) -> Floats:
    wide = values.astype(np.float64)
    return np.sign(wide) * np.log1p(np.abs(wide))


def checked_columns(matrix: Matrix, features: Iterable[int]) -> Iterator[tuple[int, Singles]]:
    """Some features and their columns, checked."""
    by_column = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    for feature in features:
        values = by_column[:, [feature]]
        column = np.asarray(values if isinstance(values, np.ndarray) else values.toarray(), np.float32)[:, 0]
        endless = np.flatnonzero(np.isinf(column))
        if endless.size:
            raise SurefootError(
                f"features must be finite, or NaN where they are missing; document {endless[0] + 1} has "
                f"{column[endless[0]]} in column {feature}"
            )
        yield feature, column


class Queries:
    """The queries of a set that have a relevant document, and the NDCG@k of rankings of them.

    Documents are taken in the order of their labels, the least relevant first, which is also how equal scores are
    ranked: no ranker gains from ties, nor from the order of documents in a file.
    """

    def __init__(self, data: RankingData, k: int, workers: int | None) -> None:
        relevant = np.bincount(data.query_of_row, data.labels > 0, minlength=len(data))
        judged = relevant[data.query_of_row] > 0
        if not judged.any():
            raise SurefootError(f"{data.source}: no query has a relevant document (a label above 0)")
        if data.labels.max() > LARGEST_LABEL:
            raise SurefootError(
                f"{data.source}: gains are 2^label - 1, so labels must be grades of {LARGEST_LABEL} or less; "
                f"the largest is {data.labels.max():g}"
            )
        order = np.lexsort((data.labels, data.query_of_row))
        self._rows = order[judged]
        self._bounds = np.concatenate([[0], np.cumsum(data.sizes[relevant > 0])])
        self._discounts = 1 / np.log2(np.arange(2, at_least(1, "k", k) + 2))
        self._pool = ThreadPoolExecutor(threads(workers))
        self._parts = _parts(len(self), threads(workers))
        self._gains = 2.0 ** data.labels[self._rows].astype(np.float64) - 1
        self._gains /= np.repeat(self.by_query(self._gains), np.diff(self._bounds))

    def __len__(self) -> int:
        return self._bounds.size - 1

    def taken(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Of a column of the whole set, the rows of these queries in their order."""
        return column[self._rows]

    def along(self, scores: Floats, column: Singles, steps: Floats) -> Floats:
        """NDCG@k of each query when ranked by scores + step × column, queries × steps."""
        out = np.empty((len(self), steps.size))

        def compute(part: slice) -> None:
            bounds = self._bounds[part.start : part.stop + 1]
            line_dcg(scores, column, steps, self._gains, self._discounts, bounds, out[part])

        list(self._pool.map(compute, self._parts))
        return out

    def by_query(self, scores: Floats) -> Floats:
        """NDCG@k of each query when ranked by scores."""
        return self.along(scores, np.zeros(scores.size, np.float32), np.zeros(1))[:, 0]

    def mean(self, scores: Floats) -> float:
        """Mean NDCG@k of the rankings by scores."""
        return float(mean_of(self.by_query(scores)))


def at_least(least: int, what: str, number: int) -> int:
    """The number, checked."""
    if not isinstance(number, int | np.integer) or number < least:
        raise SurefootError(f"{what} must be a whole number of {least} or more; got {number!r}")
    return int(number)


def threads(workers: int | None) -> int:
    """How many threads to start: as many as asked for, or as there are processors."""
    return at_least(1, "workers", (os.cpu_count() or 1) if workers is None else workers)


def _parts(queries: int, workers: int) -> list[slice]:
    """Contiguous queries for each thread."""
    edges = np.linspace(0, queries, min(workers, queries) + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]


def mean_of(measures: Floats) -> Any:
    """The mean over queries, the same for any order of them."""
    return np.rint(measures * UNITS).astype(np.int64).sum(axis=0) / (UNITS * len(measures))


def best_place(measures: Floats) -> int:
    """The place of the largest, the first of equal ones."""
    return int(np.argmax(measures >= measures.max() - SMALLEST_GAIN))


class Scaled:
    """Queries with their scaled features: what a linear ranker learns from or is chosen by."""

    def __init__(self, data: RankingData, scaling: Scaling, k: int, workers: int | None) -> None:
        self.queries = Queries(data, k, workers)
        every = range(data.features.shape[1])
        self.columns = np.stack(
            [scaling(feature, self.queries.taken(values)) for feature, values in checked_columns(data.features, every)]
        )

    def scores(self, weights: Floats) -> Floats:
        """The scores of all documents."""
        used = ((feature, self.columns[feature]) for feature in np.flatnonzero(weights).tolist())
        return weighted_sum(weights, used, self.columns.shape[1])

    def mean(self, weights: Floats) -> float:
        """Mean NDCG@k of a ranker."""
        return self.queries.mean(self.scores(weights))

    def step(self, feature: int, weights: Floats, scores: Floats, value: float) -> tuple[float, float]:
        """The best change of one weight, 0 if none raises the mean NDCG@k from ``value``, and what it reaches.

        A grid of changes in both directions, that to weight 0 among them, and a finer one around its best.
        """
        column = self.columns[feature]
        steps = (np.abs(weights).sum() or 1.0) * STEPS
        if weights[feature]:
            steps = np.append(-weights[feature], steps)
        means = mean_of(self.queries.along(scores, column, steps))
        best = best_place(means)
        if means[best] <= value + SMALLEST_GAIN:
            return 0.0, value
        finer = steps[best] * FINER_STEPS
        finer_means = mean_of(self.queries.along(scores, column, finer))
        finest = best_place(finer_means)
        if finer_means[finest] > means[best] + SMALLEST_GAIN:
            return float(finer[finest]), float(finer_means[finest])
        return float(steps[best]), float(means[best])

    def cycle(self, features: Iterable[int], weights: Floats, value: float) -> float:
        """Search along each of these weights in turn, change them in place, and return the mean NDCG@k reached."""
        scores = self.scores(weights)
        for feature in features:
            step, value = self.step(feature, weights, scores, value)
            if step:
                weights[feature] += step
                scores += step * self.columns[feature]
        return value


def weighted_sum(weights: Floats, columns: Iterable[tuple[int, Singles]], rows: int) -> Floats:
    """The weighted sum of columns, in their order, so that training and prediction round alike."""
    scores = np.zeros(rows)
    for feature, values in columns:
        scores += weights[feature] * values
    return scores


def training_data(
    X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: Validation | None
) -> tuple[RankingData, RankingData | None]:
    """What ``fit`` was given, checked."""
    data = RankingData.of(X, y, qid, source="training data")
    if eval_set is None:
        return data, None
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 3:
        raise SurefootError("eval_set must be (X, y, qid): features, labels and query ids of validation data")
    validation = RankingData.of(*eval_set, source="eval_set")
    _check_width(validation.features, data.features.shape[1], "eval_set")
    return data, validation


def prediction_data(model: Any, X: Any) -> Matrix:
    """What ``predict`` was given, checked."""
    if not hasattr(model, "n_features_in_"):
        raise SurefootError(f"this {type(model).__name__} has not learned yet; call fit first")
    matrix = as_matrix(X)
    _check_width(matrix, model.n_features_in_, "data")
    return matrix


def _check_width(matrix: Matrix, expected: int, source: str) -> None:
    if matrix.shape[1] != expected:
        raise SurefootError(f"{source}: {counted(matrix.shape[1], 'feature')}, but the training data have {expected}")
