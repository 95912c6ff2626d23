"""The gradients of LambdaMART for a training set, on as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from surefoot._cores import available_cores
from surefoot.learn.metrics import Ints, QueryMetric, rank_queries
from surefoot.learn.pair_weights import PairWeights, Singles
from surefoot.learn.settings import PairOptions
from surefoot.native import kernel
from surefoot.scores import FloatArray

CHUNKS = 8
"""Chunks of queries per thread, so that a thread with long queries doesn't keep the others waiting."""
FEWEST_PAIRS = 1 << 19
"""Of a chunk: fewer are walked before a thread has been woken up for them."""
PAIRS = 520
"""Pairs that a thread has room for, besides those of the longest query's first document."""

lambda_gradients, pair_weights = kernel("lambda_gradients"), kernel("pair_weights")


class PairLoop(NamedTuple):
    """Which pairs are walked and how they are normalised: `PairOptions` as the kernels take them."""

    truncation: int
    sigmoid: float
    norm: int


class Pairs(NamedTuple):
    """Cells of query × rank × lower rank.

    ``change`` is the signed change of the metric if the documents at the two ranks swapped, ``weight`` what the
    objective makes of its size.
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
        """For queries of up to so many documents."""
        documents, pairs = (np.empty(shape, np.float32) for shape in ((16, longest), (2, longest + PAIRS)))
        return cls(documents, np.empty((2, longest), np.int64), pairs, np.empty((2, longest)))


class LambdaGradients:
    """The ranking of each query of a training set, and the gradients of its pairs of documents.

    All arrays are allocated once and overwritten in every iteration. The number of threads changes no bit.
    """

    def __init__(self, metric: QueryMetric, options: PairOptions, n_jobs: int | None = None) -> None:
        self.metric = metric
        sizes = np.diff(metric.bounds)
        longest, rows = int(sizes.max(initial=1)), int(metric.bounds[-1])
        truncation = longest if options.truncation is None else options.truncation
        self.loop = PairLoop(truncation, options.sigmoid, options.norm)
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
            rank_queries(self.metric.queries, self.scores, self.order, self.values, self.chunks[chunk])

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
            pair_weights(
                self.metric.queries, self.order, weights, self.loop.truncation, self.chunks[chunk], gain, sums, out
            )

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
