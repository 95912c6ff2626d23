"""Gradients of LambdaMART: weighted changes of a metric by swaps of documents, summed in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._process import available_cores
from surefoot._typing import FloatArray
from surefoot.lambdas import PairLoop
from surefoot.lambdas.metrics import Ints, QueryMetric, rank_queries
from surefoot.native import kernel

Singles = npt.NDArray[np.float32]

PER_QUERY, GLOBAL = 8, 9
"""The number of parameters of a query, and of all queries, that a form may use."""
CHUNKS = 8
"""Chunks of queries per thread, so that a thread with long queries doesn't keep the others waiting."""
FEWEST_PAIRS = 1 << 19
"""Pairs of a chunk. Fewer take less time than waking up a thread."""
PAIRS = 520
"""Pairs that a thread has room for, besides those of the longest query's first document."""

lambda_gradients, pair_weights = kernel("lambda_gradients"), kernel("pair_weights")


class PairWeights(NamedTuple):
    """How an objective turns changes of the metric into weights: a form and its parameters.

    ``per_query`` has a row of `PER_QUERY` parameters for each query, ``shared`` the `GLOBAL` ones of all queries; the
    forms in ``native/swaps.h`` say which they are.
    """

    form: Literal["factor", "line", "step", "cubic", "t", "georisk"]
    per_query: Singles
    shared: Singles


def by_factor(factor: FloatArray) -> PairWeights:
    """Every swap of a query counts ``factor`` times.

    Parameters
    ----------
    factor : array
        A number of 0 or more for each query.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> by_factor(np.array([1.0, 2.0])).per_query[:, 0]
    array([1., 2.], dtype=float32)
    """
    return PairWeights("factor", columns_of(factor), row_of())


def by_line(extra: npt.ArrayLike, above: FloatArray, below: FloatArray, base: npt.ArrayLike = 1.0) -> PairWeights:
    """A change counts ``base`` times, the part of it that lies below a kink ``base`` + ``extra`` times.

    Parameters
    ----------
    extra : float or array
        The additional weight below the kink, of each query or of all.
    above, below : array
        How far each query is above the kink, and how far below it; negative values count as 0.
    base : float or array
        The weight above the kink, of each query or of all.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> d = np.array([0.2, -0.1])  # differences to the baseline
    >>> by_line(1.0, d, -d).per_query[:, :4]
    array([[1. , 0.2, 0. , 1. ],
           [1. , 0. , 0.1, 1. ]], dtype=float32)
    """
    extras, bases = (np.broadcast_to(one, above.shape) for one in (extra, base))
    return PairWeights("line", columns_of(extras, np.maximum(above, 0), np.clip(below, 0, 1e30), bases), row_of())


def by_t(extra: float, d: FloatArray, slope: FloatArray, shared: tuple[float, float]) -> PairWeights:
    """The change of a t statistic; see ``by_t`` in ``native/swaps.h``."""
    line = by_line(extra, d, -d).per_query[:, :3]
    return PairWeights("t", columns_of(*line.T, slope), row_of(*shared))


def by_step(extra: npt.ArrayLike, d: FloatArray) -> PairWeights:
    """A swap that ends below the baseline counts 1 + ``extra`` times, whole.

    Parameters
    ----------
    extra : float or array
        The additional weight, of each query or of all.
    d : array
        The difference of each query to the baseline.

    Returns
    -------
    PairWeights

    Examples
    --------
    >>> by_step(2.0, np.array([0.5])).per_query[0, :2]
    array([2. , 0.5], dtype=float32)
    """
    return PairWeights("step", columns_of(np.broadcast_to(extra, d.shape), d), row_of())


def for_all_queries(weights: PairWeights, counted: npt.NDArray[np.int64], size: int) -> PairWeights:
    """Weights of the queries of some indices, laid out for all ``size`` queries; the others' pairs weigh nothing."""
    if counted.size == size:
        return weights
    per_query = np.zeros((size, weights.per_query.shape[1]), np.float32)
    per_query[counted] = weights.per_query
    return weights._replace(per_query=per_query)


def columns_of(*columns: npt.ArrayLike) -> Singles:
    """Parameters of each query."""
    first = np.asarray(columns[0])
    rows = np.zeros((first.size, PER_QUERY), np.float32)
    for index, column in enumerate(columns):
        rows[:, index] = column
    return rows


def row_of(*values: float) -> Singles:
    """Parameters of all queries."""
    return np.array([*values, *[0.0] * (GLOBAL - len(values))], dtype=np.float32)


class Pairs(NamedTuple):
    """Cells of query × rank × lower rank.

    ``change`` is the signed change of the metric if the documents at the two ranks swapped, ``weight`` its weight under
    the objective.
    """

    change: Singles
    weight: Singles


class Buffers(NamedTuple):
    """Scratch space of one thread, overwritten for every query: columns of documents, ranks, pairs, sums over ranks."""

    documents: Singles
    ranks: Ints
    pairs: Singles
    sums: FloatArray

    @classmethod
    def of(cls, longest: int) -> Buffers:
        """For queries of up to ``longest`` documents."""
        documents, pairs = (np.empty(shape, np.float32) for shape in ((16, longest), (2, longest + PAIRS)))
        return cls(documents, np.empty((2, longest), np.int64), pairs, np.empty((2, longest)))


class LambdaGradients:
    """The ranking of each query of a training set, and the gradients of its pairs of documents.

    All arrays are allocated once and overwritten in every iteration. The number of threads changes no bit.
    """

    def __init__(self, metric: QueryMetric, loop: PairLoop, n_jobs: int | None = None) -> None:
        self.metric = metric
        sizes = np.diff(metric.bounds)
        longest, rows = int(sizes.max(initial=1)), int(metric.bounds[-1])
        truncation = longest if loop.truncation is None else loop.truncation
        self.truncation, self.loop = truncation, loop._replace(truncation=truncation)
        self.scores, self.order = np.zeros(rows), metric.first_order()
        self.values = np.zeros(sizes.size)
        self.gradient, self.hessian = np.zeros((2, rows), np.float32)
        self.n_jobs = n_jobs or available_cores()
        pairs = np.cumsum(np.minimum(sizes, truncation) * sizes)
        most = int(pairs.max(initial=0))
        count = max(1, min(self.n_jobs * CHUNKS, most // FEWEST_PAIRS))
        cuts = np.searchsorted(pairs, np.linspace(0, most, count + 1)[1:-1])
        self.chunks = list(zip([0, *cuts.tolist()], [*cuts.tolist(), sizes.size], strict=True))
        self.buffers = [Buffers.of(longest) for _ in self.chunks]
        self._pool = self._new_pool()

    def rank(self, scores: FloatArray) -> FloatArray:
        """Rank each query's documents by these scores; returns the metric of each query."""
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)

        def work(chunk: int) -> None:
            rank_queries(self.metric.queries, self.scores, self.order, False, self.values, self.chunks[chunk])

        self._for_all_chunks(work)
        return self.metric.fill_empty(self.values.copy())

    def gradients(self, weights: PairWeights) -> tuple[Singles, Singles]:
        """The gradients and hessians at the scores last ranked, under an objective's weights."""

        def work(chunk: int) -> None:
            lambda_gradients(
                self.metric.queries, self.scores, self.order, weights, self.loop, self.chunks[chunk],
                self.buffers[chunk], self.gradient, self.hessian,
            )  # fmt: skip

        self._for_all_chunks(work)
        return self.gradient, self.hessian

    def pairs(self, weights: PairWeights) -> Pairs:
        """The change of the metric by each swap at the scores last ranked, and its weight; 0 where there is no pair."""
        queries, longest = self.values.size, self.metric.discounts.shape[1]
        out = Pairs(*np.zeros((2, queries, longest, longest), np.float32))

        def work(chunk: int) -> None:
            gain, sums = np.empty(longest, np.float32), np.empty((2, longest))
            pair_weights(self.metric.queries, self.order, weights, self.truncation, self.chunks[chunk], gain, sums, out)

        self._for_all_chunks(work)
        return out

    def _for_all_chunks(self, work: Callable[[int], None]) -> None:
        if self._pool is None:
            for chunk in range(len(self.chunks)):
                work(chunk)
        else:
            list(self._pool.map(work, range(len(self.chunks))))

    def _new_pool(self) -> ThreadPoolExecutor | None:
        return ThreadPoolExecutor(self.n_jobs) if min(self.n_jobs, len(self.chunks)) > 1 else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pool = self._new_pool()
