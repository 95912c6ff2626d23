"""What two passes over a log need to remember: small statistics of batches of topics, which add up.

`Totals` is all that the measures against one baseline need, and the margins S_i and N behind Z_Risk. `Expectations`
is Z_Risk itself, once those margins are known: T_j, the total of a topic, is in the topic's own column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot.risk.statistics import Comparison, chunks
from surefoot.scores import FloatArray

Hashes = npt.NDArray[np.uint64]
PIECES = 64
"""Hashes are compared in this many pieces, so that no second copy of all of them is ever made."""

EXAMPLES = 5
"""How many missing scores are named."""


@dataclass(frozen=True)
class Totals:
    """The first pass: per system the total and the comparison with the baseline, and how many topics there were."""

    topics: int
    sums: FloatArray
    lowest: float
    compared: Comparison | None

    @classmethod
    def of(cls, matrix: FloatArray, baseline: FloatArray | None) -> Totals:
        """The totals of a matrix of systems × topics, which may have no topic.

        >>> both = Totals.of(np.array([[1.0, 2.0]]), None) + Totals.of(np.array([[4.0]]), None)
        >>> both.topics, both.sums.tolist(), both.lowest
        (3, [7.0], 1.0)
        """
        topics = matrix.shape[1]
        compared = Comparison.of(matrix, baseline) if topics and baseline is not None else None
        return cls(topics, matrix.sum(axis=1), float(matrix.min(initial=np.inf)), compared)

    def __add__(self, other: Totals) -> Totals:
        if self.compared is None or other.compared is None:
            compared = self.compared or other.compared
        else:
            compared = self.compared + other.compared
        return Totals(self.topics + other.topics, self.sums + other.sums, min(self.lowest, other.lowest), compared)

    @property
    def shares(self) -> FloatArray:
        """S_i / N: what part of all scores is the system's; 0 where all scores are."""
        total = self.sums.sum()
        return self.sums / (total if total > 0 else 1.0)


@dataclass(frozen=True)
class Expectations:
    """The second pass: the sums of the positive and of the negative z of each system."""

    gains: FloatArray
    losses: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, shares: FloatArray) -> Expectations:
        """The sums over the topics of a matrix, each system's share S_i / N of *all* topics being known.

        >>> x = np.array([[0.05, 0.55], [0.40, 0.20]])
        >>> found = Expectations.of(x, x.sum(axis=1) / x.sum())
        >>> found.at(np.array([1.0])).round(3)
        array([[-0.452, -0.203]])
        """
        systems, topics = matrix.shape
        gains, losses = np.zeros(systems), np.zeros(systems)
        for part in chunks(topics, systems):
            x = matrix[:, part]
            expected = shares[:, np.newaxis] * x.sum(axis=0)
            root = np.sqrt(expected)
            z = np.subtract(x, expected, out=expected)
            z /= np.where(root > 0, root, np.inf)  # nothing expected: nothing gained or lost
            gains += np.maximum(z, 0).sum(axis=1)
            losses += np.minimum(z, 0).sum(axis=1)
        return cls(gains, losses)

    def __add__(self, other: Expectations) -> Expectations:
        return Expectations(self.gains + other.gains, self.losses + other.losses)

    def at(self, alphas: FloatArray) -> FloatArray:
        """Z_Risk at each alpha."""
        return np.asarray(self.gains + np.multiply.outer(1 + alphas, self.losses))


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
        places = [[0, *np.searchsorted(some, borders).tolist(), len(some)] for some in self.hashes]
        found = []
        for piece in range(PIECES):
            some = [own[at[piece] : at[piece + 1]] for own, at in zip(self.hashes, places, strict=True)]
            together = np.sort(np.concatenate(some))
            found.append(np.unique(together[1:][together[1:] == together[:-1]]))
        return np.concatenate(found)


@dataclass(frozen=True)
class FirstPass:
    """What one look at a batch tells: its totals, and which topics those were."""

    totals: Totals
    seen: Seen

    def __add__(self, other: FirstPass) -> FirstPass:
        return FirstPass(self.totals + other.totals, self.seen + other.seen)
