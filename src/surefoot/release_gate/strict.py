"""The evidence "strict": bounds that hold for every distribution, at the price of some 300 queries for a pass.

Each rule puts an interval around a loss and asks on which side of its limit that lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from surefoot import risk
from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import counted
from surefoot.release_gate.evidence import worst_loss
from surefoot.release_gate.finding import (
    MOST_QUERIES,
    SLACK,
    UNCOUNTED,
    Checker,
    Finding,
    Question,
    ScoredPair,
    Verdict,
    worst_of,
)
from surefoot.risk.distributions import normal_quantile
from surefoot.risk.statistics import large_losses
from surefoot.risk.values import Linear
from surefoot.stats.mean_bounds import lower_mean_bound, upper_mean_bound
from surefoot.stats.power import WANTED as POWER

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


IntervalOf = Callable[[FloatArray, Levels], Interval]
"""The interval of a statistic of the topics' losses, at given levels."""

UNITS: dict[str, Callable[[float, float], str]] = {
    "change": lambda low, high: f"{-high:+z.4f} to {-low:+z.4f}",
    "loss": lambda low, high: f"{low:z.4f} to {high:z.4f}",
    "fraction": lambda low, high: f"{100 * low:z.0f} to {100 * high:z.0f} %",
}
"""How sentences write the interval of a loss."""


def decide(interval: Interval, limit: float) -> Verdict:
    """Pass if the loss is shown to be at most the limit, fail if it is shown to be larger, else undecided."""
    if interval.high <= limit + SLACK:
        return "pass"
    return "fail" if interval.low > limit + SLACK else "undecided"


@dataclass(frozen=True)
class StrictChecker(Checker):
    """Checks one pair by the rules; ``tests`` and ``question`` say how much company each test has, see `Levels`.

    ``advises``: compute how many more queries would decide.
    """

    tests: int = 1
    question: Question = UNCOUNTED
    advises: bool = True

    def findings(self) -> list[Finding]:
        """The findings of all rules that are on and have something to look at."""
        checks = {
            "mean": self.mean,
            "risk": self.risk,
            "losses": self.losses,
            "large-losses": self.large_losses,
            "tail": self.tail,
            "segments": self.segments,
        }
        return [checks[name]() for name in self.rules_on]

    @property
    def own_tests(self) -> int:
        """How many statistical tests the pair undergoes: one a rule, one a segment."""
        return sum(len(self.groups or ()) if name == "segments" else 1 for name in self.rules_on)

    def mean(self) -> Finding:
        """Is the fall of the mean within the tolerance?"""
        pair, change = self.pair, float(np.mean(self.pair.own - self.pair.base))
        moved = f"{abs(change):.4f} {'below' if change < 0 else 'above'}" if change else "equal to"
        head = f"Mean {pair.measure} is {pair.own.mean():.4f}, {moved} the baseline's {pair.base.mean():.4f}"
        return self._finding("mean", pair.loss, self._mean_of(), self.rules.limit("mean_tolerance"), head)

    def risk(self) -> Finding:
        """Do the gains pay for the losses, which weigh 1 + alpha, but for the tolerance?"""
        weight = 1 + self.rules.alpha
        losses = -Linear(self.rules.alpha)(-self.pair.loss)
        head = f"Losses weighing {weight:g} times, the mean change (U_Risk) is {-losses.mean():z.4f}"
        return self._finding("risk", losses, self._mean_of(weight), self.rules.limit("risk_tolerance"), head)

    def losses(self) -> Finding:
        """Is the fraction of topics that lost within the limit?"""
        return self._fraction("losses", self.pair.loss > 0, "lost", self.rules.limit("max_losses"))

    def large_losses(self) -> Finding:
        """Is the fraction of topics that lost more than 20 % of their score within the limit?"""
        large = large_losses(-self.pair.loss, self.pair.base)
        return self._fraction("large-losses", large, "lost more than 20 %", self.rules.limit("max_large_losses"))

    def tail(self) -> Finding:
        """Is what the worst topics lost on average within the limit?"""
        rules, losses = self.rules, np.maximum(self.pair.loss, 0.0)
        count = int(risk.tail_count(len(losses), rules.tail_share))
        worst = "worst query" if count == 1 else f"{count} worst queries"
        head = f"The {worst} lost {worst_loss(self.pair.loss, count):.4f}{'' if count == 1 else ' on average'}"
        interval = partial(
            tail_interval, fraction=rules.tail_share, limit=rules.limit("max_tail_loss"), highest=rules.largest_change
        )
        return self._finding("tail", losses, interval, rules.limit("max_tail_loss"), head, "loss")

    def segments(self) -> Finding:
        """Is the fall of each segment's mean within the tolerance? The finding is that of the worst segment."""
        found = []
        for name, topics in (self.groups or {}).items():
            losses = self.pair.at(topics).loss
            head = f"The mean of {name} changed by {-losses.mean():+z.4f}"
            limit = self.rules.limit("segment_tolerance")
            found.append(replace(self._finding("segments", losses, self._mean_of(), limit, head), where=name))
        return self.worst_segment(found, lambda one: one.high or 0.0)

    def _mean_of(self, weight: float = 1.0) -> IntervalOf:
        largest = self.rules.largest_change
        return partial(mean_interval, lowest=-largest, highest=weight * largest)

    def _fraction(self, rule: str, lost: BoolArray, verb: str, limit: float) -> Finding:
        """The fraction of topics that lost; the interval of zeros and ones is Clopper and Pearson's."""
        head = f"{int(lost.sum())} of {counted(len(lost), 'query')} {verb}, {100 * lost.mean():.0f} %"
        interval = partial(mean_interval, lowest=0.0, highest=1.0)
        return self._finding(rule, lost.astype(np.float64), interval, limit, head, "fraction")

    def _finding(
        self, rule: str, losses: FloatArray, interval_of: IntervalOf, limit: float, head: str, unit: str = "change"
    ) -> Finding:
        """The finding of a statistic of the losses."""
        levels = Levels.of(self.rules.level, self.tests, self.question)
        interval = interval_of(losses, levels)
        verdict, more = decide(interval, limit), None
        ending = {"pass": f"within the limit of {limit:g}", "fail": f"beyond the limit of {limit:g}"}
        if verdict == "undecided":
            more = _more_queries(losses, interval_of, levels, limit) if self.advises else None
            ending["undecided"] = f"the limit of {limit:g} lies between"
            uncounted = interval_of(losses, Levels.of(self.rules.level, self.tests))
            if self.question.number > 1 and decide(uncounted, limit) == "pass":
                ending["undecided"] = (
                    f"within the limit of {limit:g}, but not for the best of {self.question.number} tries"
                )
        sentence = f"{head} ({UNITS[unit](interval.low, interval.high)}): {ending[verdict]}."
        numbers = (interval.estimate, interval.low, interval.high, limit)
        return Finding(rule, self.pair.measure, self.pair.baseline, verdict, sentence, *numbers, more_queries=more)

    def fewest_queries(self) -> int:
        """The fewest queries at which a candidate that changes nothing would pass all rules."""

        def passes(n: int) -> bool:
            zeros = np.zeros(n)
            pair = ScoredPair(self.pair.candidate, self.pair.baseline, "", tuple(map(str, range(n))), zeros, zeros)
            checker = replace(self, pair=pair, groups=None, advises=False)
            return worst_of(one.verdict for one in checker.findings()) == "pass"

        high = next((n for n in (2**power for power in range(4, 17)) if passes(n)), MOST_QUERIES)
        return _smallest(passes, high // 2, high, 0.0) or MOST_QUERIES


def _more_queries(losses: FloatArray, interval_of: IntervalOf, levels: Levels, limit: float) -> int | None:
    """About how many more queries like these decide, with a probability of about 0.8; None if too many.

    The sample is repeated until its interval lies on one side of the limit, with a margin for what the new queries and
    these ones do not show.
    """
    n, power = len(losses), normal_quantile(POWER)

    def decides(total: int) -> bool:
        found = interval_of(np.resize(losses, total), levels)
        margin = power * float(found.values.std()) * (1 / n + 1 / total) ** 0.5
        return bool(found.high + margin <= limit or found.low - margin > limit)

    total = _smallest(decides, n + 1, n + MOST_QUERIES)
    return None if total is None else int(float(f"{total - n:.2g}"))


def _smallest(holds: Callable[[int], bool], low: int, high: int, precision: float = 0.02) -> int | None:
    """The smallest number for which a condition holds, up to a relative precision; None if it does not hold for any."""
    if not holds(high):
        return None
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
