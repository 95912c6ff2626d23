"""The evidence "as far as seen": bounds that are calibrated on pairs of real rankers, and that decide on fifty queries.

A rule *fails* if the loss that was seen is beyond its limit, and a change without effect would seldom look as bad
(p at most the level). It *passes* if the loss is within the limit with a probability of at least 1 - 3 x level (mean
and segments) or 1 - 1.5 x level (tail). Between the two it is undecided. docs/studies/gate.md measures how often that
is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from surefoot._typing import FloatArray
from surefoot.release_gate.checker import Checker, Statistic
from surefoot.release_gate.evidence import (
    DEALS,
    Contrasts,
    Evidence,
    contrasts,
    mean_evidence,
    share_evidence,
    sign_test,
    student_p_of,
    tail_evidence,
)
from surefoot.release_gate.finding import MOST_QUERIES, SHOWN, SLACK, Finding, Resolution, Verdict
from surefoot.risk.distributions import normal_cdf, normal_quantile
from surefoot.risk.moments import Moments
from surefoot.stats.power import WANTED as POWER

FEWEST_QUERIES = 20
"""Below that nothing passes: the worst tenth would be one query."""
MEAN_FACTOR, TAIL_FACTOR = 3, 1.5
"""How many times the level a loss may be beyond its limit where a rule passes."""
SHARE, LOSSES_SHARE = 0.8, 0.2
"""The parts of the level at which mean and tail fail, and shares of losses do; together they keep the level."""
FEW_DEALS = 400
"""Deals for each of many draws of grades."""


@dataclass(frozen=True)
class SeenChecker(Checker):
    """Checks one pair by the rules on a sample; with ``draws`` of the differences, by the average over these.

    A gate fails if any of its comparisons does, so that each gets its part of the level for failing; a candidate among
    several that were tried gets its part of the level for passing.
    """

    deals: int = DEALS
    draws: FloatArray | None = None

    def judged(self, rule: str) -> list[Finding]:
        """The findings of a rule: one, or one for each segment."""
        found = list(self.statistics(rule))
        if rule == "churn":
            return [self._churn(one) for one in found]
        evidence = [self.evidence(one) for one in found]
        if self.draws is not None:
            drawn = [[checker.evidence(one) for one in checker.statistics(rule)] for checker in self._drawn]
            evidence = [Evidence.average(own) for own in zip(*drawn, strict=True)]
            found = [_as_drawn(one, own.loss) for one, own in zip(found, evidence, strict=True)]
        return [self._finding(one, own) for one, own in zip(found, evidence, strict=True)]

    @cached_property
    def _drawn(self) -> list[SeenChecker]:
        rows = np.empty((0, 0)) if self.draws is None else self.draws
        return [replace(self, pair=self.pair.with_delta(row), deals=FEW_DEALS, draws=None) for row in rows]

    @cached_property
    def noise(self) -> Contrasts:
        """Mean loss and tail against their distributions under no effect."""
        share = self.rules.tail_share if "tail" in self.rules_on else 0.0
        return contrasts(self.pair, share, self.deals, self.seed)

    def tail_loss(self) -> float:
        """What the worst queries lost, more than the best ones won, or with repeats more than chance explains."""
        return self.noise.tail.value

    def evidence(self, one: Statistic) -> Evidence:
        """The evidence on a loss."""
        limit = self.rules.limit(one.option)
        if one.kind == "tail":
            return tail_evidence(limit, self.noise.tail)
        if one.kind == "share":
            lost = int(one.values.sum())
            return share_evidence(lost, one.values.size, limit, sign_test(lost, one.won))
        if one.rule == "risk":
            return mean_evidence(one.values, limit, student_p_of(one.values))
        noise = self.noise
        if one.where is not None:
            noise = contrasts(self.pair.at((self.groups or {})[one.where]), 0.0, self.deals, self.seed)
        return mean_evidence(one.values, limit, noise.mean.p)

    def _churn(self, one: Statistic) -> Finding:
        """Churn is a fact about these queries, within the limit or not."""
        limit = self.rules.max_churn or 0.0
        verdict: Verdict = "fail" if one.mean > limit + SLACK else "pass"
        return self.found(one, verdict, f"{one.said}; the limit is {100 * limit:g} %.", loss=one.mean)

    def fail_level(self, one: Statistic | None = None) -> float:
        """How often a rule (by default the mean) may fail a candidate whose change has no effect."""
        share = LOSSES_SHARE if one is not None and one.kind == "share" else SHARE
        families = 1 + sum(rule in self.rules_on for rule in ("risk", "segments"))
        return share * self.rules.level / self.company / families / (1 if one is None else one.parts)

    def pass_level(self, factor: float = MEAN_FACTOR) -> float:
        """How probable a loss beyond the limit may be where a rule passes."""
        return min(factor * self.rules.level, 0.49) * self.question.part

    def _pass_level_of(self, one: Statistic) -> float:
        return self.pass_level(TAIL_FACTOR if one.kind == "tail" else MEAN_FACTOR)

    def _finding(self, one: Statistic, evidence: Evidence) -> Finding:
        """The verdict on a loss: beyond its limit and no noise, within it with enough probability, or neither."""
        limit, level = self.rules.limit(one.option), self._pass_level_of(one)
        verdict = self._decide(one, evidence)
        ending = {
            "pass": f", within the limit of {limit:g}" if evidence.loss >= SHOWN and one.kind != "share" else "",
            "undecided": f". The probability that {_within(one, limit)} is {evidence.probability:.2f}",
            "fail": f", beyond the limit of {limit:g}{'' if one.rule == 'risk' else ' and not by chance'}",
        }
        return self.found(
            one, verdict, f"{one.said}{ending[verdict]}.", loss=evidence.loss, low=evidence.bound(level, -1),
            high=evidence.bound(level, 1), probability=evidence.probability, p=evidence.p,
            more_queries=self._more_queries(one, evidence) if verdict == "undecided" else None,
        )  # fmt: skip

    def _decide(self, one: Statistic, evidence: Evidence) -> Verdict:
        limit = self.rules.limit(one.option)
        if one.may_fail and evidence.loss > limit + SLACK and evidence.p <= self.fail_level(one):
            return "fail"
        if self.is_reported(one):
            return "pass"
        enough = len(self.pair.topics) >= FEWEST_QUERIES and evidence.loss <= limit + SLACK
        return "pass" if enough and evidence.probability >= 1 - self._pass_level_of(one) else "undecided"

    def _more_queries(self, one: Statistic, evidence: Evidence) -> int | None:
        """About how many more queries like these decide with a probability of 0.8, by the rule's own bounds.

        The true loss is not known: the probability is taken over the losses that the evidence leaves possible.
        """
        n, limit = len(self.pair.topics), self.rules.limit(one.option)
        passing, failing = (normal_quantile(1 - level) for level in (self._pass_level_of(one), self.fail_level(one)))

        def decided(total: float) -> float:
            error = evidence.error * sqrt(n / total)
            spread = sqrt(evidence.error**2 + error**2)
            passed, failed = limit - passing * error, max(limit, failing * error)
            below, above = (passed - evidence.loss) / spread, (evidence.loss - failed) / spread
            return float(normal_cdf(below) + normal_cdf(above))

        low, high = float(n), float(n + MOST_QUERIES)
        if decided(high) < POWER:
            return None
        while high - low > max(1.0, 0.02 * (high - n)):
            middle = (low + high) / 2
            low, high = (low, middle) if decided(middle) >= POWER else (middle, high)
        return int(float(f"{max(high - n, FEWEST_QUERIES - n, 1):.2g}"))

    def badness(self, finding: Finding) -> float:
        """By which the worst of several segments with the same verdict is found."""
        return -(finding.probability or 0.0)

    def resolution(self) -> Resolution:
        """The smallest loss of the mean that fails in 80 % of gates, and the queries at which no effect passes in 80 %.

        Both hold for differences with the spread of these.
        """
        spread, limit = float(np.nan_to_num(Moments.of(self.pair.loss).sd)), self.rules.limit("mean_tolerance")
        n = len(self.pair.topics)
        shown = resolution_of(n, spread, limit, self.fail_level(), self.pass_level())
        return Resolution(n, limit, FEWEST_QUERIES, *shown)


def _as_drawn(one: Statistic, loss: float) -> Statistic:
    """A statistic whose sentence also has the loss over the drawn grades, which the verdict rests on."""
    shown = f"{100 * loss:.0f} %" if one.kind == "share" else f"a loss of {loss:z.4f}"
    return replace(one, said=f"{one.said} as judged, {shown} on average over the drawn grades")


def resolution_of(n: int, spread: float, limit: float, fail_level: float, pass_level: float) -> tuple[float, int]:
    """The smallest loss that n queries show, and the queries needed, for differences of a spread; docs/calculator.html.

    >>> [round(value, 4) for value in resolution_of(50, 0.2, 0.02, 0.04, 0.15)]
    [0.0733, 352]
    """
    error, power = spread / sqrt(n), normal_quantile(POWER)
    failing, passing = (normal_quantile(1 - level) for level in (fail_level, pass_level))
    needed = ((passing + power) * spread / limit) ** 2 if limit else float("inf")
    return max(failing * error, limit) + power * error, int(max(min(needed, 1e9), FEWEST_QUERIES))


def _within(one: Statistic, limit: float) -> str:
    """The clause that a statistic keeps to its limit."""
    if one.kind == "share":
        return f"at most {100 * limit:g} % do so among queries like these"
    if one.kind == "tail":
        return f"this difference is at most {limit:g}"
    return f"it is at least {-limit:g}" if one.rule == "risk" else f"it does not fall by more than {limit:g}"
