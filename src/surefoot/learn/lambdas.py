"""The gradients of LambdaMART for a training set, on as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._cores import available_cores
from surefoot._numba import is_compiled
from surefoot.learn import kernels
from surefoot.learn.metrics import QueryMetric
from surefoot.learn.settings import PairOptions
from surefoot.learn.weight_kernels import PairWeights
from surefoot.scores import FloatArray

Singles = npt.NDArray[np.float32]
CHUNKS = 8
"""Chunks of queries per thread, so that a thread with long queries doesn't keep the others waiting."""
FEWEST_PAIRS = 1 << 19
"""Of a chunk: fewer are walked before a thread has been woken up for them."""


class LambdaGradients:
    """The ranking of each query of a training set, and the gradients of its pairs of documents.

    All arrays are allocated once and overwritten in every iteration. The number of threads changes no bit.
    """

    def __init__(self, metric: QueryMetric, options: PairOptions, n_jobs: int | None = None) -> None:
        self.metric = metric
        sizes = np.diff(metric.bounds)
        longest, rows = int(sizes.max(initial=1)), int(metric.bounds[-1])
        truncation = longest if options.truncation is None else options.truncation
        self.loop = kernels.PairLoop(truncation, float(options.sigmoid), bool(options.norm))
        self.rankings = metric.rankings(np.zeros(0), metric.first_order())
        self.values = np.zeros(sizes.size)
        self.out = kernels.Gradients(np.zeros(rows, np.float32), np.zeros(rows, np.float32))
        self.n_jobs = n_jobs or available_cores()
        pairs = np.cumsum(np.minimum(sizes, truncation) * sizes)
        most = int(pairs.max(initial=0))
        count = max(1, min(self.n_jobs * CHUNKS, most // FEWEST_PAIRS))
        cuts = np.searchsorted(pairs, np.linspace(0, most, count + 1)[1:-1])
        self.chunks = list(zip([0, *cuts.tolist()], [*cuts.tolist(), sizes.size], strict=True))
        self.buffers = [buffers_for(longest) for _ in self.chunks]
        self._pool = self._new_pool()

    def rank(self, scores: FloatArray) -> FloatArray:
        """Rank each query's documents by these scores; returns the metric of each query."""
        self.rankings = self.rankings._replace(scores=np.ascontiguousarray(scores, dtype=np.float64))

        def work(chunk: int) -> None:
            kernels.rank_queries(self.rankings, *self.chunks[chunk], self.values)

        self._for_all_chunks(work)
        return self.metric.fill_empty(self.values.copy())

    def gradients(self, weights: PairWeights) -> tuple[Singles, Singles]:
        """The gradients and hessians at the scores last ranked, under an objective's weights."""

        def work(chunk: int) -> None:
            kernels.lambda_gradients(
                self.rankings, weights, self.loop, *self.chunks[chunk], self.buffers[chunk], self.out
            )

        self._for_all_chunks(work)
        return self.out.gradient, self.out.hessian

    def pairs(self, weights: PairWeights) -> kernels.Pairs:
        """The change of the metric by each swap at the scores last ranked, and its weight; 0 where there is no pair."""
        sizes = np.diff(self.metric.bounds)
        shape = (sizes.size, *[int(sizes.max(initial=1))] * 2)
        out = kernels.Pairs(np.zeros(shape, np.float32), np.zeros(shape, np.float32))

        def work(chunk: int) -> None:
            kernels.pair_weights(
                self.rankings, weights, self.loop.truncation, *self.chunks[chunk], self.buffers[chunk], out
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


def buffers_for(longest: int) -> kernels.Buffers:
    """Scratch space for queries of up to so many documents."""
    return kernels.Buffers(
        documents=np.zeros((kernels.COLUMNS, 2 * longest), np.float32),
        ranks=np.zeros((kernels.RANK_COLUMNS, 2 * longest), np.int64),
        pairs=np.zeros((kernels.PAIR_COLUMNS, kernels.PAIRS + longest + kernels.LANES), np.float32),
        sums=np.zeros((kernels.SUMS, max(longest, 2))),
    )


def will_compile() -> bool:
    """Whether the first iteration will wait for the compiler; the machine code is then kept for the next process."""
    return not (is_compiled(kernels.rank_queries) and is_compiled(kernels.lambda_gradients))
