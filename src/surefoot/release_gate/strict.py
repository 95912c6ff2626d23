"""The evidence "strict": bounds that hold for every distribution, at the price of some 300 queries for a pass.

Each rule puts an interval around a loss and asks on which side of its limit that lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import counted
from surefoot.release_gate.checker import Checker, Statistic, two_digits, worst_loss
from surefoot.release_gate.finding import (
    MOST_QUERIES,
    SLACK,
    UNCOUNTED,
    Finding,
    Question,
    Resolution,
    ScoredPair,
    Verdict,
    worst_of,
)
from surefoot.risk.distributions import normal_quantile
from surefoot.risk.moments import tail_count
from surefoot.stats.inference import POWER
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

    def decide(self, limit: float) -> Verdict:
        """Pass if the loss is shown to be at most the limit, fail if it is shown to be larger, else undecided."""
        if self.high <= limit + SLACK:
            return "pass"
        return "fail" if self.low > limit + SLACK else "undecided"


def mean_interval(losses: FloatArray, levels: Levels, *, lowest: float, highest: float) -> Interval:
    """The interval of a mean of losses that lie between two values, up to rounding."""
    low = lower_mean_bound(losses, min(lowest, losses.min()), levels.fail)
    high = upper_mean_bound(losses, max(highest, losses.max()), levels.accept)
    return Interval(low, high, losses)


def tail_interval(losses: FloatArray, levels: Levels, *, fraction: float, limit: float, highest: float) -> Interval:
    """The interval of the mean over the worst fraction of the queries, losses being 0 or more.

    That mean is the smallest value of c + E[max(x - c, 0)] / fraction over all thresholds c (Rockafellar and Uryasev
    2000). So any fixed c gives an upper bound; half the limit is taken. The expectation falls as c grows, so
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
    worst = int(tail_count(len(losses), fraction))
    threshold = float(np.sort(losses)[-worst])
    values = threshold + np.maximum(losses - threshold, 0.0) * len(losses) / worst
    return Interval(low, min(fixed + beyond / fraction, highest), values)


@dataclass(frozen=True)
class StrictChecker(Checker):
    """Checks one pair by the rules; all queries count for ``losses``, and gains do not offset the tail.

    ``advises``: compute how many more queries would decide.
    """

    advises: bool = True

    def _losses(self) -> Statistic:
        lost = (self.pair.loss > 0).astype(np.float64)
        said = f"{int(lost.sum()):,} of {counted(lost.size, 'query')} lost"
        return Statistic("losses", "max_losses", lost, said, "share")

    def tail_words(self) -> str:
        """What the worst queries lost, as the beginning of a sentence."""
        count = int(tail_count(len(self.pair.topics), self.rules.tail_share))
        worst = "worst query" if count == 1 else f"{count} worst queries"
        return f"The {worst} lost {worst_loss(self.pair.loss, count):.4f}{'' if count == 1 else ' on average'}"

    def interval(self, one: Statistic, levels: Levels, values: FloatArray) -> Interval:
        """The interval of a statistic of some values; that of a share is Clopper and Pearson's."""
        rules, most = self.rules, self.rules.largest_change
        if one.kind == "share":
            return mean_interval(values, levels, lowest=0.0, highest=1.0)
        if one.kind == "mean":
            return mean_interval(values, levels, lowest=-most, highest=one.weight * most)
        limit = rules.limit(one.option)
        return tail_interval(np.maximum(values, 0.0), levels, fraction=rules.tail_share, limit=limit, highest=most)

    def _judge(self, one: Statistic) -> Finding:
        limit, level = self.rules.limit(one.option), self.rules.level
        levels = Levels.of(level, self.n_tests, self.question)
        interval = self.interval(one, levels, one.values)
        verdict, more = interval.decide(limit), None
        ending = {"pass": f"within the limit of {limit:g}", "fail": f"beyond the limit of {limit:g}"}
        if verdict == "undecided":
            more = self._more_queries(one, levels) if self.advises else None
            ending["undecided"] = f"the limit of {limit:g} lies between"
            uncounted = self.interval(one, Levels.of(level, self.n_tests), one.values)
            if self.question.number > 1 and uncounted.decide(limit) == "pass":
                ending["undecided"] = (
                    f"within the limit of {limit:g}, but not for the best of {self.question.number} tries"
                )
        low, high = interval.low, interval.high
        bounds = f"the loss is {low:z.4f} to {high:z.4f}"
        if one.kind == "share":
            bounds = f"{100 * low:z.0f} to {100 * high:z.0f} % of queries like these"
        sentence = f"{one.claim} ({bounds}): {ending[verdict]}."
        estimate = float(interval.values.mean())
        return self._new_finding(one, verdict, sentence, loss=estimate, low=low, high=high, more_queries=more)

    def _more_queries(self, one: Statistic, levels: Levels) -> int | None:
        """About how many more queries like these decide, with a probability of about 0.8; None if too many.

        The sample is repeated until its interval lies on one side of the limit, with a margin for what the new queries
        and these ones do not show.
        """
        n, limit, power = one.values.size, self.rules.limit(one.option), normal_quantile(POWER)

        def decides(total: int) -> bool:
            found = self.interval(one, levels, np.resize(one.values, total))
            margin = power * float(found.values.std()) * (1 / n + 1 / total) ** 0.5
            return bool(found.high + margin <= limit or found.low - margin > limit)

        total = _smallest(decides, n + 1, n + MOST_QUERIES)
        return None if total is None else two_digits(total - n)

    def severity(self, finding: Finding) -> float:
        return finding.high or 0.0

    def resolution(self) -> Resolution:
        """The fewest queries at which anything passes."""
        return Resolution(len(self.pair.topics), self.rules.limit("mean_tolerance"), self.fewest_queries())

    def fewest_queries(self) -> int:
        """The fewest queries at which a candidate that changes nothing would pass all rules."""

        def passes(n: int) -> bool:
            zeros = np.zeros(n)
            pair = ScoredPair(self.pair.candidate, self.pair.baseline, "", tuple(map(str, range(n))), zeros, zeros)
            checker = replace(self, pair=pair, groups=None, advises=False)
            return worst_of(one.verdict for one in checker.findings()) == "pass"

        high = next((n for n in (2**power for power in range(4, 17)) if passes(n)), MOST_QUERIES)
        return _smallest(passes, high // 2, high, 0.0) or MOST_QUERIES


def _smallest(holds: Callable[[int], bool], low: int, high: int, precision: float = 0.02) -> int | None:
    """The smallest number for which a condition holds, up to a relative precision; None if it does not hold for any."""
    if not holds(high):
        return None
    while high - low > max(1, precision * high):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
