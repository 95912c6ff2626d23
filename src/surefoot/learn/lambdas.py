"""Lambdas: how training walks all pairs of all queries, on as many threads as there are cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._numba import is_compiled
from surefoot.learn import kernels
from surefoot.learn.metrics import Ints, Labels, Metric
from surefoot.scores import FloatArray

Singles = npt.NDArray[np.float32]
CHUNKS = 8
"""Of a thread's queries, so that a thread with long ones doesn't keep the others waiting."""


class Lambdas:
    """The ranking of each query of a training set, and the pull of its pairs of documents.

    ``truncation``: only pairs with one document above this rank count (None: all). ``norm`` divides by distances of
    scores and by the sum of a query's pulls, as LightGBM's ``lambdarank_norm``. Everything that an iteration needs
    is allocated once. The number of threads changes no figure.
    """

    def __init__(
        self,
        labels: Labels,
        bounds: Ints,
        metric: Metric,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        norm: bool = True,
        threads: int | None = None,
    ) -> None:
        self.bounds, self.metric, self.sigmoid, self.norm = bounds, metric, sigmoid, norm
        sizes = np.diff(bounds)
        longest = int(sizes.max(initial=1))
        self.truncation = longest if truncation is None else truncation
        self.gains = metric.gains(labels, bounds)
        self.discounts = metric.discounts(longest)
        self.order = (np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)).astype(np.int32)
        self.values = np.zeros(sizes.size)
        self.gradients = np.zeros(int(bounds[-1]), np.float32)
        self.hessians = np.zeros(int(bounds[-1]), np.float32)
        self.threads = threads or os.cpu_count() or 1
        pairs = np.cumsum(np.minimum(sizes, self.truncation) * sizes)
        cuts = np.searchsorted(pairs, np.linspace(0, pairs.max(initial=0), self.threads * CHUNKS + 1)[1:-1])
        self.chunks = list(zip([0, *cuts.tolist()], [*cuts.tolist(), sizes.size], strict=True))
        self.scratch = np.zeros((len(self.chunks), kernels.BUFFERS, longest), np.float32)
        self.sums = np.zeros((len(self.chunks), kernels.SUMS, max(longest, 2)))
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._scores = np.zeros(0)

    def rank(self, scores: FloatArray) -> FloatArray:
        """Rank each query's documents by these scores, and return the metric of each query."""
        self._scores = np.ascontiguousarray(scores, dtype=np.float64)

        def work(chunk: int) -> None:
            kernels.rank_queries(
                self._scores, self.bounds, self.order, self.gains, self.discounts, self.metric.code,
                *self.chunks[chunk], self.values,
            )  # fmt: skip

        self._everywhere(work)
        return self.values

    def pull(self, form: int, own: Singles, world: Singles) -> tuple[Singles, Singles]:
        """The gradients and hessians of the scores last ranked, under an objective's figures."""

        def work(chunk: int) -> None:
            kernels.add_lambdas(
                self._scores, self.bounds, self.order, self.gains, self.discounts, self.metric.code, form, own,
                world, self.truncation, self.sigmoid, self.norm, *self.chunks[chunk], self.scratch[chunk],
                self.sums[chunk], self.gradients, self.hessians,
            )  # fmt: skip

        self._everywhere(work)
        return self.gradients, self.hessians

    def _everywhere(self, work: Callable[[int], None]) -> None:
        if self._pool is None:
            for chunk in range(len(self.chunks)):
                work(chunk)
        else:
            list(self._pool.map(work, range(len(self.chunks))))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None


def will_compile() -> bool:
    """Whether the first iteration will wait for the compiler; the machine code is then kept for the next process."""
    return not (is_compiled(kernels.rank_queries) and is_compiled(kernels.add_lambdas))
