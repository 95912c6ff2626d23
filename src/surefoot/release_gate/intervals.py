"""The interval of each statistic that a rule is about, and how many more queries would narrow it enough."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.release_gate.levels import UNCOUNTED, Question
from surefoot.stats.mean_bounds import lower_mean_bound, upper_mean_bound

CELLS = 40
"""How finely the thresholds are searched below which losses do not count as the tail."""


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

    @property
    def estimate(self) -> float:
        """The loss on the queries in hand."""
        return float(self.values.mean())


def mean_interval(losses: FloatArray, levels: Levels, *, lowest: float, highest: float) -> Interval:
    """The interval of a mean of losses that lie between two values, up to rounding."""
    low = lower_mean_bound(losses, min(lowest, losses.min()), levels.fail)
    high = upper_mean_bound(losses, max(highest, losses.max()), levels.accept)
    return Interval(low, high, losses)


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
    return Interval(low, min(fixed + beyond / fraction, highest), values)
