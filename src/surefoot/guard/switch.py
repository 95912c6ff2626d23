"""Guards that rank a whole query by one of two rankers, as a number of the query decides.

``threshold``: the candidate ranks the queries whose highest score by the baseline is below an edge, as selective
re-ranking does (Wang, Bennett and Collins-Thompson, SIGIR 2012). ``selector``: in each of some bins of disagreement
between the two rankings, the ranker that was best there. ``coin``: the baseline ranks a random share of the queries,
which reaches every point on the line between both rankers in the plane of risk and gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.errors import SurefootError
from surefoot.guard.pairs import Pair

BINS = 4
BASELINE, CANDIDATE = 0, 1


@dataclass(frozen=True)
class Switch:
    """Bins of a number by their inner edges, and the ranker of each; of two rankers 0 is the baseline."""

    edges: tuple[float, ...] = ()
    rankers: tuple[int, ...] = (CANDIDATE,)

    def __post_init__(self) -> None:
        if len(self.rankers) != len(self.edges) + 1 or not np.isfinite(self.edges).all():
            raise SurefootError("a switch needs finite edges, and one ranker more")
        if any(low > high for low, high in pairwise(self.edges)):
            raise SurefootError("the edges of a switch must not fall")

    def pick(self, numbers: npt.ArrayLike) -> IntArray:
        """The ranker of each query."""
        return np.array(self.rankers)[np.searchsorted(self.edges, numbers, side="right")]

    @classmethod
    def threshold(cls, gains: npt.ArrayLike, numbers: npt.ArrayLike) -> Switch:
        """The candidate below the edge that has the largest sum of gains, the first of equal ones; else the baseline.

        >>> Switch.threshold(gains=[-0.2, 0.4, 0.0], numbers=[9.0, 3.0, 5.0])
        Switch(edges=(5.0,), rankers=(1, 0))
        """
        of_query, by = _of_queries(gains, numbers)
        order = np.argsort(by, kind="stable")
        edges, first = np.unique(by[order], return_index=True)
        sums = np.concatenate([[0.0], np.cumsum(of_query[order])])[np.append(first, by.size)]
        best = int(np.argmax(sums))
        return cls() if best == edges.size else cls((float(edges[best]),), (CANDIDATE, BASELINE))

    @classmethod
    def of_bins(cls, values: npt.ArrayLike, numbers: npt.ArrayLike, bins: int = BINS) -> Switch:
        """In each of some bins of as many queries, the ranker (row of values) with the best mean there.

        >>> found = Switch.of_bins([[0.9, 0.8, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5]], [0.0, 0.1, 0.3, 0.4], bins=2)
        >>> found.pick([0.05, 0.35])
        array([0, 1])
        """
        rows, by = _of_queries(values, numbers)
        edges = np.quantile(by, np.linspace(0, 1, bins + 1)[1:-1])
        bin_of_query = np.searchsorted(edges, by, side="right")
        means = [rows[:, bin_of_query == each if (bin_of_query == each).any() else slice(None)].mean(axis=1)
                 for each in range(bins)]  # fmt: skip
        return cls(tuple(edges.tolist()), tuple(int(np.argmax(mean)) for mean in means))


SWITCHES: dict[str, tuple[Callable[[Pair], FloatArray], Callable[[FloatArray, FloatArray], Switch]]] = {
    "threshold": (lambda pair: pair.baseline.highest, Switch.threshold),
    "selector": (
        lambda pair: 1 - pair.overlap,
        lambda gains, numbers: Switch.of_bins([np.zeros_like(gains), gains], numbers),
    ),
}
"""The kinds that have a switch: the number of each query that decides, and the fit to the candidate's gains."""


def switched(pair: Pair, ranker: IntArray) -> FloatArray:
    """The scores of the ranker of each query."""
    return np.where(np.repeat(ranker, np.diff(pair.bounds)) == CANDIDATE, pair.candidate.scores, pair.baseline.scores)


def coin(pair: Pair) -> FloatArray:
    """A number of each query from 0 to 1, as if drawn at random: a hash of both rankings, the same on every machine.

    >>> coin(Pair.of([3.0, 2.0, 1.0], [1.0, 5.0, 3.0])).round(3)
    array([0.632])
    """
    ranks = pair.baseline.rank[pair.candidate.order].astype("<i4")
    hashes = [crc32(ranks[begin:end].tobytes()) for begin, end in pairwise(pair.bounds.tolist())]
    return np.array(hashes) / 2**32


def _of_queries(values: npt.ArrayLike, numbers: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    rows, by = np.asarray(values, dtype=np.float64), np.asarray(numbers, dtype=np.float64)
    if rows.shape[-1:] != by.shape or not by.size or not np.isfinite(by).all():
        raise SurefootError(f"a switch needs a finite number for each query; got shapes {rows.shape} and {by.shape}")
    return rows, by
