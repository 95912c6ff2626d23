"""The interval of each statistic that a rule is about, and how many more queries would narrow it enough."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, log1p
from typing import NamedTuple

import numpy as np

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.risk.distributions import normal_quantile
from surefoot.stats.mean_bounds import lower_mean_bound, upper_mean_bound
from surefoot.stats.power import WANTED

CELLS = 40
"""How finely the thresholds are searched below which losses do not count as the tail."""


class Question(NamedTuple):
    """How many candidates the topics were asked about, this one included, and which of them is the accepted one.

    The k-th candidate, asked about when the i-th was the last to be accepted, gets the part 1 / ((i + 1) (i + 2)) times
    1 / (g (g + 1)) of the level, where g = k - i. Over all i and g these parts add up to 1: whichever candidates are
    accepted on the way, all pairs of a candidate and the accepted one it may meet share one level.
    """

    number: int = 0
    accepted: int = 0

    @property
    def part(self) -> float:
        """The part of the level; all of it if nobody counts.

        >>> Question(3).part == 1 / 2 / 12, Question(3, accepted=2).part == 1 / 12 / 2
        (True, True)
        """
        if not self.number:
            return 1.0
        since = self.number - self.accepted
        return 1 / ((self.accepted + 1) * (self.accepted + 2) * since * (since + 1))


UNCOUNTED = Question()


@dataclass(frozen=True)
class Levels:
    """How often a lower bound may be wrong, by which a rule fails, and an upper bound, by which it passes."""

    fail: float
    accept: float

    @classmethod
    def of(cls, level: float, tests: int = 1, question: Question = UNCOUNTED) -> Levels:
        """The levels of one of several tests, for one of several candidates.

        A gate fails if any test does, so each gets its part of the level (Bonferroni). It passes only if all do, so
        none needs a correction (the intersection-union test, Berger 1982). Of several candidates any may pass, so that
        each gets its part of the level.
        """
        return cls(level / tests, level * question.part)


@dataclass(frozen=True)
class Interval:
    """An estimated loss with its bounds; ``values`` are one for each query, and their mean is the estimate."""

    low: float
    high: float
    values: FloatArray
    lowest: float
    highest: float

    @property
    def estimate(self) -> float:
        """The loss on the queries in hand."""
        return float(self.values.mean())

    def queries_to_decide(self, limit: float, levels: Levels) -> float | None:
        """About how many queries like these show on which side of the limit the loss lies, with a power of 0.8.

        A normal mean needs (z + z')² s² / gap² of them. A loss that is rare needs as many as make it likely to be seen:
        one observation at the end of the range is part of the sample. None where the loss equals the limit.
        """
        gap = abs(limit - self.estimate)
        within = self.estimate < limit
        room = self.highest - self.estimate if within else self.estimate - self.lowest
        level = levels.accept if within else levels.fail
        if not 1e-9 < gap < room:
            return None
        normal = (normal_quantile(1 - level) + normal_quantile(WANTED)) * self.values.std() / gap
        return float(normal**2 + log(level) / log1p(-gap / room))


def mean_interval(losses: FloatArray, levels: Levels, *, lowest: float, highest: float) -> Interval:
    """The interval of a mean of losses that lie between two values, up to rounding."""
    low = lower_mean_bound(losses, min(lowest, losses.min()), levels.fail)
    high = upper_mean_bound(losses, max(highest, losses.max()), levels.accept)
    return Interval(low, high, losses, lowest, highest)


def tail_interval(losses: FloatArray, levels: Levels, *, fraction: float, limit: float, highest: float) -> Interval:
    """The interval of the mean over the worst fraction of the queries, losses being 0 or more.

    That mean is the smallest value of c + E[max(x - c, 0)] / fraction over all thresholds c (Rockafellar and Uryasev
    2000). So any fixed c gives an upper bound, of which half the limit is taken. The expectation falls as c grows, so
    that on each step of c the sum is at least its start plus the expectation at its end: the smallest of these is a
    lower bound.
    """
    highest = max(highest, float(losses.max()))
    fixed = min(limit, highest) / 2
    beyond = upper_mean_bound(np.maximum(losses - fixed, 0.0), highest - fixed, levels.accept)
    low = highest
    for start, end in pairwise(np.linspace(0.0, highest, CELLS + 1).tolist()):
        if start >= low:
            break  # the sum is at least its start, from here on
        low = min(low, start + lower_mean_bound(np.maximum(losses - end, 0.0), 0.0, levels.fail) / fraction)
    worst = int(risk.tail_count(len(losses), fraction))
    threshold = float(np.sort(losses)[-worst])
    values = threshold + np.maximum(losses - threshold, 0.0) * len(losses) / worst
    return Interval(low, min(fixed + beyond / fraction, highest), values, 0.0, highest / fraction)
