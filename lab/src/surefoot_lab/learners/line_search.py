"""The utility of linear rankers, a function of NDCG@k or another metric by query, and line search along one weight.

NDCG@k has gains 2^label - 1 and discounts 1 / log2(rank + 1). Every metric is piecewise constant in the weights and has
no gradient, so the steps of a grid are tried. Queries without a relevant document are left out: no ranking changes
their metric. The utility is the mean, or a risk measure against baselines (SIGIR 2014, discussion: U_Risk, T_Risk or
GeoRisk beside NDCG).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.lambdas.metrics import Metric
from surefoot.learn.baseline import Baselines
from surefoot.learn.data import RankingData
from surefoot.native import kernel
from surefoot.risk.measures import Risk
from surefoot.scores import VIRTUAL
from surefoot_lab.learners.inputs import thread_count, validate_count

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix

line_dcg = kernel("line_dcg")

TOLERANCE = 1e-9
"""Means of NDCG that are closer than this are equal."""
SIZES = 2.0 ** np.arange(-7, 2)
STEPS = np.stack([SIZES, -SIZES], axis=1).ravel()
"""The steps of a line search, as multiples of the sum of absolute weights, the smallest first."""
FINER_STEPS = np.array([0.6, 0.7, 0.8, 0.9, 1.15, 1.3, 1.5, 1.75])
"""Factors of the best step for a second, finer grid around it."""
LARGEST_LABEL = 30
"""As in LightGBM."""
UNITS = 2.0**40
"""NDCG is summed in integer multiples of 1 / UNITS, so that the order of queries changes no sum."""

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scaling:
    """Standardised features: sign(x) · ln(1 + |x|), minus its mean, divided by its standard deviation, over all rows.

    Counts and lengths of web pages span many powers of ten: standardised without the logarithm, a few documents would
    take up the whole range. The logarithm keeps their order and is nearly linear within [0, 1]. Scaling within each
    query is usual in the field, but a document's score would then depend on the other documents of its query, and
    predictions would need query ids. A missing value counts as the mean; a constant feature is 0.
    """

    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, matrix: Matrix) -> Scaling:
        """The scaling of a training set."""
        mean, sd = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
        for feature, values in valid_columns(matrix, range(matrix.shape[1])):
            known = _signed_log(values[~np.isnan(values)])
            if known.size and known.min() < known.max():
                # Single precision, so that the order of rows does not change the last digits of the sums.
                mean[feature], sd[feature] = np.float32(known.mean()), np.float32(known.std())
            elif known.size:
                mean[feature] = known[0]
        return cls(mean, sd)

    def __call__(self, feature: int, values: Singles) -> Singles:
        """The values of a feature, scaled."""
        scaled = (_signed_log(values) - self.mean[feature]) / self.sd[feature]
        return np.where(np.isnan(scaled), 0.0, scaled).astype(np.float32)


def _signed_log(values: Singles) -> FloatArray:
    wide = values.astype(np.float64)
    return np.sign(wide) * np.log1p(np.abs(wide))


def valid_columns(matrix: Matrix, features: Iterable[int]) -> Iterator[tuple[int, Singles]]:
    """Some features and their columns, which must be finite or NaN."""
    by_column = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    for feature in features:
        values = by_column[:, [feature]]
        column = np.asarray(values if isinstance(values, np.ndarray) else values.toarray(), np.float32)[:, 0]
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            raise SurefootError(
                f"features must be finite, or NaN where they are missing; document {infinite[0] + 1} has "
                f"{column[infinite[0]]} in column {feature}"
            )
        yield feature, column


class QueryNDCG:
    """NDCG@k, or another metric, of the queries that have a relevant document.

    Documents are sorted by label, the least relevant first, and tied scores are ranked in this order: no ranker gains
    from ties, nor from the order of documents in a file.
    """

    def __init__(self, data: RankingData, k: int, n_jobs: int | None, metric: Metric | None = None) -> None:
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
        self._rows, self._queries = order[judged], np.flatnonzero(relevant > 0)
        self._bounds = np.concatenate([[0], np.cumsum(data.sizes[relevant > 0])])
        self._other = None if metric is None else metric.bind(data.labels[self._rows], self._bounds)
        self._discounts = 1 / np.log2(np.arange(2, validate_count("k", k) + 2))
        self._pool = ThreadPoolExecutor(thread_count(n_jobs))
        self._parts = _slices(len(self), thread_count(n_jobs))
        self._gains = 2.0 ** data.labels[self._rows].astype(np.float64) - 1
        self._gains /= np.repeat(self(self._gains), np.diff(self._bounds))

    def __len__(self) -> int:
        return self._bounds.size - 1

    def select(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A column of the whole set, restricted to the rows of these queries, in their order."""
        return column[self._rows]

    def select_queries(self, values: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """These queries of a column with a value for each query of the whole set."""
        return np.asarray(values)[self._queries]

    def along_line(self, scores: FloatArray, column: Singles, steps: FloatArray) -> FloatArray:
        """The metric of each query when ranked by scores + step × column, queries × steps."""
        if self._other is not None:
            return np.stack([self._other(scores + step * column) for step in steps.tolist()], axis=1)
        out, ranks = np.empty((len(self), steps.size)), self._discounts.size
        scores = np.ascontiguousarray(scores, np.float64)

        def compute(part: slice) -> None:
            bounds = self._bounds[part.start : part.stop + 1]
            scratch = np.empty(np.diff(bounds).max()), np.empty(ranks), np.empty(ranks, np.int64)
            line_dcg(scores, column, steps, self._gains, self._discounts, bounds, *scratch, out[part])

        list(self._pool.map(compute, self._parts))
        return out

    def __call__(self, scores: FloatArray) -> FloatArray:
        """NDCG@k of each query when ranked by scores."""
        return self.along_line(scores, np.zeros(scores.size, np.float32), np.zeros(1))[:, 0]

    def mean(self, scores: FloatArray) -> float:
        """Mean NDCG@k of the rankings by scores."""
        return float(exact_mean(self(scores)))


def _slices(queries: int, n_threads: int) -> list[slice]:
    """Contiguous queries for each thread."""
    edges = np.linspace(0, queries, min(n_threads, queries) + 1).astype(int).tolist()
    return [slice(begin, end) for begin, end in pairwise(edges)]


def exact_mean(ndcg: FloatArray) -> Any:
    """The mean over queries, which does not depend on their order."""
    return np.rint(ndcg * UNITS).astype(np.int64).sum(axis=0) / (UNITS * len(ndcg))


def best_index(ndcg: FloatArray) -> int:
    """The index of the largest value, the first of equal ones."""
    return int(np.argmax(ndcg >= ndcg.max() - TOLERANCE))


Utility = Callable[[FloatArray], Any]
"""The worth of rankers from the NDCG@k of each query (rows), one number for each column."""


class ScaledQueries:
    """Queries with their scaled features: the training or the validation set of a linear ranker."""

    def __init__(
        self,
        data: RankingData,
        scaling: Scaling,
        k: int,
        n_jobs: int | None,
        utility_of: Callable[[QueryNDCG], Utility] = lambda _: exact_mean,
        metric: Metric | None = None,
    ) -> None:
        self.ndcg = QueryNDCG(data, k, n_jobs, metric)
        self.utility = utility_of(self.ndcg)
        every = range(data.features.shape[1])
        self.columns = np.stack(
            [scaling(feature, self.ndcg.select(values)) for feature, values in valid_columns(data.features, every)]
        )

    def scores(self, weights: FloatArray) -> FloatArray:
        """The scores of all documents."""
        used = ((feature, self.columns[feature]) for feature in np.flatnonzero(weights).tolist())
        return weighted_sum(weights, used, self.columns.shape[1])

    def worth(self, weights: FloatArray) -> float:
        """The utility of a ranker: mean NDCG@k, or the measure that it is trained for."""
        return float(self.utility(self.ndcg(self.scores(weights))))

    def step(self, feature: int, weights: FloatArray, scores: FloatArray, value: float) -> tuple[float, float]:
        """The best change of one weight, 0 if none raises the utility above ``value``, and the utility it reaches.

        The changes are a grid in both directions, the change to weight 0 included, and a finer grid around its best.
        """
        column = self.columns[feature]
        steps = (np.abs(weights).sum() or 1.0) * STEPS
        if weights[feature]:
            steps = np.append(-weights[feature], steps)
        worths = self.utility(self.ndcg.along_line(scores, column, steps))
        best = best_index(worths)
        if worths[best] <= value + TOLERANCE:
            return 0.0, value
        finer = steps[best] * FINER_STEPS
        finer_worths = self.utility(self.ndcg.along_line(scores, column, finer))
        finest = best_index(finer_worths)
        if finer_worths[finest] > worths[best] + TOLERANCE:
            return float(finer[finest]), float(finer_worths[finest])
        return float(steps[best]), float(worths[best])

    def cycle(self, features: Iterable[int], weights: FloatArray, value: float) -> float:
        """Search along each of these weights in turn; changes ``weights`` in place, returns the utility reached."""
        scores = self.scores(weights)
        for feature in features:
            step, value = self.step(feature, weights, scores, value)
            if step:
                weights[feature] += step
                scores += step * self.columns[feature]
        return value


def weighted_sum(weights: FloatArray, columns: Iterable[tuple[int, Singles]], rows: int) -> FloatArray:
    """The weighted sum of columns, in their order, so that training and prediction round alike."""
    scores = np.zeros(rows)
    for feature, values in columns:
        scores += weights[feature] * values
    return scores


def utility_against(baselines: Baselines, measure: Risk, alpha: float) -> Callable[[QueryNDCG], Utility]:
    """The utility of rankers of some queries: a measure of their NDCG@k against that of the baselines there.

    Several baselines are compared with as their per-query mean, except by a measure of a population, as GeoRisk.
    """
    if measure.needs is None:
        return lambda _: exact_mean

    def utility_of(queries: QueryNDCG) -> Utility:
        values = baseline_ndcg(baselines, queries)
        alphas = np.asarray(alpha, dtype=np.float64)

        def worth(ndcg: FloatArray) -> FloatArray:
            systems = np.atleast_2d(ndcg.T)
            if measure.needs == "population":
                statistics = [measure.source(np.vstack([system, values]))[0] for system in systems]
                found = np.array([float(measure.compute(statistic, alphas)) for statistic in statistics])
            else:
                b = np.broadcast_to(VIRTUAL["MEAN"](values), systems.shape)
                found = np.asarray(measure.compute(measure.source(systems, b), alphas))
            worths = np.where(np.isnan(found), -np.inf, found) * (1 if measure.higher_is_better else -1)
            return np.asarray(worths if ndcg.ndim > 1 else worths[0])

        return worth

    return utility_of


def baseline_ndcg(baselines: Baselines, queries: QueryNDCG) -> FloatArray:
    """NDCG@k of the baselines (rows) on these queries, ties ranked as those of the rankers."""
    if baselines.virtual is not None:
        return VIRTUAL[baselines.virtual](baseline_ndcg(replace(baselines, virtual=None), queries))[np.newaxis]
    found = [
        queries.select_queries(known) if scores is None else queries(queries.select(scores))
        for scores, known in zip(baselines.scores, baselines.metrics, strict=True)
    ]
    return np.stack(found)
