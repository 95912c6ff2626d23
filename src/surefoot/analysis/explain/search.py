"""The search for groups on one half of the queries and their test on the other, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot._random import generator
from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.explain.conditions import FEWEST, Condition
from surefoot.stats.corrections import correct
from surefoot.stats.group_test import group_test, welch_t

GROUPS = 4
"""How many groups a half proposes at most: each further one costs all of them power."""
PROMISING = 1.5
"""The t that a group must reach on the half that proposes it."""


@dataclass(frozen=True, eq=False)
class Tested:
    """A condition that one half or both proposed: the half that tested it (or both), its p and its adjusted p."""

    condition: Condition
    tested_on: BoolArray
    p: float
    p_adjusted: float

    def excess(self, loss: FloatArray) -> float:
        """The fraction of the loss less the fraction of the queries, where it was tested."""
        inside = self.condition.members[self.tested_on]
        return float(loss[self.tested_on][inside].sum() / max(loss[self.tested_on].sum(), 1e-300) - inside.mean())

    def and_also(self, other: Tested) -> Tested:
        """The same condition tested on either half: it is confirmed if one of them confirms it."""
        tested_on = self.tested_on | other.tested_on
        return Tested(self.condition, tested_on, min(self.p, other.p), min(self.p_adjusted, other.p_adjusted))


@dataclass(frozen=True, eq=False)
class Search:
    """The search among some conditions for those that queries with a high loss meet."""

    loss: FloatArray
    conditions: Sequence[Condition]
    n_resamples: int
    seed: int

    def tested(self) -> list[Tested]:
        """All conditions that were tested on a half that had no part in proposing them, the largest excess first.

        Adjusted p are Holm's over the tests of a half, times 2 for the two halves: where each half falsely confirms a
        group with probability level / 2, one of them does with at most level, however they depend on each other.
        """
        first = np.zeros(self.loss.size, np.bool_)
        first[generator(self.seed).permutation(self.loss.size)[::2]] = True
        found: dict[bytes, Tested] = {}
        for half in (first, ~first):
            for one in self._tested_on(~half, self._proposed_by(half)):
                key = one.condition.members.tobytes()
                found[key] = found[key].and_also(one) if key in found else one
        return sorted(found.values(), key=lambda one: -one.excess(self.loss))

    def _proposed_by(self, half: BoolArray) -> list[Condition]:
        """The group with the highest t, then the one among the queries that are left, and so on."""
        left, members = half.copy(), np.array([one.members for one in self.conditions])
        proposed: list[Condition] = []
        while len(proposed) < GROUPS:
            open_ones = np.flatnonzero(_can_be_tested(members[:, left]))
            t = welch_t(self.loss[left], members[np.ix_(open_ones, left)])
            if not t.size or t.max() < PROMISING:
                break
            best = int(open_ones[np.argmax(t)])
            proposed.append(self.conditions[best])
            left &= ~members[best]
        return proposed

    def _tested_on(self, half: BoolArray, proposed: Sequence[Condition]) -> list[Tested]:
        """The tests of groups, each among the queries that are in none before it; those too small to test drop out."""
        left, p = half.copy(), []
        for one in proposed:
            inside = one.members[np.newaxis, left]
            is_open = bool(_can_be_tested(inside)[0])
            p.append(group_test(self.loss[left], inside, self.n_resamples, self.seed)[0] if is_open else np.nan)
            left &= ~one.members
        adjusted = np.minimum(2 * correct(p, "holm"), 1.0)
        return [
            Tested(one, half, float(own), float(both))
            for one, own, both in zip(proposed, p, adjusted, strict=True)
            if np.isfinite(own)
        ]


def _can_be_tested(members: BoolArray) -> BoolArray:
    """Which groups have enough queries on either side."""
    sizes = members.sum(axis=1)
    return np.asarray((sizes >= FEWEST) & (members.shape[1] - sizes >= FEWEST))


def adding(found: Sequence[Tested], loss: FloatArray) -> list[Tested]:
    """Those whose queries that are in none before still lose more than the queries in none at all.

    To leave out what was confirmed can't make a confirmation false.
    """
    kept: list[Tested] = []
    left = np.ones(loss.size, np.bool_)
    for one in found:
        inside, outside = left & one.condition.members, left & ~one.condition.members
        if inside.any() and outside.any() and loss[inside].mean() > loss[outside].mean():
            kept.append(one)
            left = outside
    return kept
