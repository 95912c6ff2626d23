"""Two passes over the files, on this machine or on a cluster: statistics of batches of topics, which add up.

The first pass gives all that the measures against one baseline need, and the margins S_i / N behind Z_Risk. The second
gives Z_Risk, once those margins are known: T_j, the total of a topic, is in the topic's own column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from surefoot._lazy import LazyModule
from surefoot._typing import FloatArray
from surefoot.analysis.streaming.files import Batch, Dataset
from surefoot.risk.statistics import Comparison, Expectation, Mean
from surefoot.scores import VIRTUAL

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

Hashes = npt.NDArray[np.uint64]
PIECES = 64
"""Hashes are compared in this many pieces, so that no second copy of all of them is made."""

EXAMPLES = 5
"""How many missing scores are named."""


@dataclass(frozen=True)
class Seen:
    """Which topics there were, as sorted hashes of 8 bytes each, and which scores were missing."""

    hashes: tuple[Hashes, ...]
    gaps: int = 0
    incomplete: int = 0
    """How many topics lack a score."""
    examples: tuple[str, ...] = ()

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            self.hashes + other.hashes,
            self.gaps + other.gaps,
            self.incomplete + other.incomplete,
            (self.examples + other.examples)[:EXAMPLES],
        )

    def twice(self) -> Hashes:
        """The hashes that came more than once.

        >>> one, two = (Seen((np.array(sorted_hashes, dtype=np.uint64),)) for sorted_hashes in ([3, 7], [5, 7]))
        >>> (one + two).twice().tolist()
        [7]
        """
        borders = np.linspace(0, 2.0**64, PIECES + 1)[1:-1].astype(np.uint64)
        cuts = [[0, *np.searchsorted(some, borders).tolist(), len(some)] for some in self.hashes]
        found = []
        for piece in range(PIECES):
            some = [own[at[piece] : at[piece + 1]] for own, at in zip(self.hashes, cuts, strict=True)]
            together = polars.Series(np.concatenate(some)).sort().to_numpy()
            found.append(np.unique(together[1:][together[1:] == together[:-1]]))
        return np.concatenate(found)


@dataclass(frozen=True)
class FirstPass:
    """The scores of some topics: their sums, the lowest, the comparison with the baseline, and which topics."""

    mean: Mean
    lowest: float
    comparison: Comparison | None
    seen: Seen

    @classmethod
    def of(cls, matrix: FloatArray, baseline: FloatArray | None, seen: Seen) -> FirstPass:
        """The first pass over a matrix of systems × topics, which may have no topic."""
        comparison = Comparison.of(matrix, baseline) if matrix.shape[1] and baseline is not None else None
        return cls(Mean.of(matrix), float(matrix.min(initial=np.inf)), comparison, seen)

    def __add__(self, other: FirstPass) -> FirstPass:
        if self.comparison is None or other.comparison is None:
            comparison = self.comparison or other.comparison
        else:
            comparison = self.comparison + other.comparison
        lowest = min(self.lowest, other.lowest)
        return FirstPass(self.mean + other.mean, lowest, comparison, self.seen + other.seen)

    @property
    def topics(self) -> int:
        """The number of topics."""
        return int(self.mean.n[0])

    @property
    def shares(self) -> FloatArray:
        """S_i / N: the fraction of all scores that is the system's; 0 where all scores are 0."""
        total = self.mean.total.sum()
        return self.mean.total / (total if total > 0 else 1.0)


def first_pass(dataset: Dataset, baseline: str | None, path: str) -> FirstPass:
    """The sums of a file, and which topics it holds."""
    return reduce(add, (_first(dataset, baseline, batch) for batch in dataset.batches(path)))


def second_pass(dataset: Dataset, shares: FloatArray, path: str) -> Expectation:
    """The sums of z over the topics of a file, given each system's share of all scores."""
    matrices = (_complete(dataset, batch.values) for batch in dataset.batches(path))
    return reduce(add, (Expectation.of(matrix, shares=shares) for matrix in matrices))


def occurrences(dataset: Dataset, hashes: Hashes, path: str) -> list[tuple[str, str]]:
    """The topics of a file whose hash is among those given, and the file, as often as they occur."""
    wanted = polars.Series(hashes, dtype=polars.UInt64).implode()
    every = (batch.topics() for batch in dataset.batches(path))
    return [(topic, path) for topics in every for topic in topics.filter(topics.hash().is_in(wanted))]


def _first(dataset: Dataset, baseline: str | None, batch: Batch) -> FirstPass:
    matrix = _complete(dataset, batch.values)
    return FirstPass.of(matrix, _baseline_row(dataset, matrix, baseline), _seen(dataset, batch))


def _baseline_row(dataset: Dataset, matrix: FloatArray, baseline: str | None) -> FloatArray | None:
    if baseline is None or not matrix.shape[1]:
        return None
    if baseline not in VIRTUAL:
        return np.asarray(matrix[dataset.systems.index(baseline)])
    by_name = sorted(range(len(matrix)), key=dataset.systems.__getitem__)  # sums round by position
    return VIRTUAL[baseline](matrix[by_name])


def _complete(dataset: Dataset, matrix: FloatArray) -> FloatArray:
    """The scores without missing ones: filled with 0, or their topics left out."""
    absent = np.isnan(matrix)
    if not absent.any():
        return matrix
    return np.where(absent, 0.0, matrix) if dataset.missing == "zero" else matrix[:, ~absent.any(axis=0)]


def _seen(dataset: Dataset, batch: Batch) -> Seen:
    topics, absent = batch.topics(), np.isnan(batch.values)
    first = np.argwhere(absent)[:EXAMPLES].tolist() if absent.any() else []
    return Seen(
        (topics.hash().sort().to_numpy(),),
        int(np.count_nonzero(absent)),
        int(np.count_nonzero(absent.any(axis=0))),
        tuple(f"{dataset.systems[row]} on {topics[column]}" for row, column in first),
    )
