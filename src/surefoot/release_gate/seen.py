"""The evidence "as far as seen": bounds that are calibrated on pairs of real rankers, and that decide on fifty queries.

A rule *fails* if the loss that was seen is beyond its limit, and a change without effect would seldom look as bad
(`no_effect`, p at most the level). It *passes* if the loss is within the limit with a probability of at least 1 - 3 x
level (mean and segments) or 1 - 1.5 x level (tail). Between the two it is undecided. docs/studies/gate.md measures how
often that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import counted
from surefoot.release_gate.evidence import (
    DEALS,
    Evidence,
    contrasts,
    mean_evidence,
    share_evidence,
    sign_test,
    student_p_of,
    tail_evidence,
)
from surefoot.release_gate.finding import (
    MOST_QUERIES,
    SHOWN,
    SLACK,
    UNCOUNTED,
    Checker,
    Finding,
    Question,
    Verdict,
)
from surefoot.risk.distributions import normal_cdf, normal_quantile
from surefoot.risk.moments import Moments
from surefoot.risk.statistics import large_losses
from surefoot.risk.values import Linear
from surefoot.stats.power import WANTED as POWER

FEWEST_QUERIES = 20
"""Below that nothing passes: the worst tenth would be one query."""
MEAN_FACTOR, TAIL_FACTOR = 3, 1.5
"""How many times the level a loss may be beyond its limit where a rule passes."""
SHARE, LOSSES_SHARE = 0.8, 0.2
"""The parts of the level at which mean and tail fail, and shares of losses do; together they keep the level."""
NET_SHARE = 0.05
"""A rule on the share of losses fails only if losses exceed wins by that share of all queries, and the changed queries
lose the mean tolerance on average."""
FEW_DEALS = 400
"""Deals for each of many draws of grades."""


@dataclass(frozen=True)
class Statistic:
    """A loss that a rule bounds, with its evidence and the beginning of its sentence.

    ``is_share`` marks a share of queries: unless its limit was given, such a rule passes what it does not fail.
    ``may_fail`` is False where the loss is too small to fail by this rule. ``parts`` is the number of statistics of its
    kind in a comparison.
    """

    rule: str
    option: str
    evidence: Evidence
    said: str
    factor: float = MEAN_FACTOR
    is_share: bool = False
    may_fail: bool = True
    where: str | None = None
    parts: int = 1


@dataclass(frozen=True)
class SeenChecker(Checker):
    """Checks one pair by the rules on a sample; ``comparisons`` and ``question`` tighten the levels.

    A gate fails if any of its comparisons does, so that each gets its part of the level for failing; a candidate among
    several that were tried gets its part of the level for passing.
    """

    comparisons: int = 1
    question: Question = UNCOUNTED
    deals: int = DEALS
    seed: int = 0

    def findings(self, draws: FloatArray | None = None) -> list[Finding]:
        """The findings of the rules that are on; with ``draws`` of the differences, over all of these."""
        found = list(self.statistics())
        if draws is not None:
            drawn = [replace(self, pair=self.pair.with_delta(row), deals=FEW_DEALS).statistics() for row in draws]
            found = [
                replace(first, evidence=Evidence.average([one.evidence for one in others]))
                for first, *others in zip(found, *drawn, strict=True)
            ]
        findings = [self._finding(one) for one in found if one.rule != "segments"]
        if segments := [self._finding(one) for one in found if one.rule == "segments"]:
            findings.append(self.worst_segment(segments, lambda one: -(one.probability or 0.0)))
        return findings + ([self.churn()] if "churn" in self.rules_on else [])

    def statistics(self) -> Iterator[Statistic]:
        """The losses that the rules bound."""
        pair, rules = self.pair, self.rules
        noise = contrasts(pair, rules.tail_share if "tail" in self.rules_on else 0.0, self.deals, self.seed)
        for rule in self.rules_on:
            if rule == "mean":
                evidence = mean_evidence(pair.loss, rules.limit("mean_tolerance"), noise.mean.p)
                yield Statistic(rule, "mean_tolerance", evidence, _moved("The mean", evidence.loss))
            elif rule == "risk":
                weighed = -Linear(rules.alpha)(pair.delta)
                evidence = mean_evidence(weighed, rules.limit("risk_tolerance"), student_p_of(weighed))
                said = f"U_Risk at alpha {rules.alpha:g} is {-evidence.loss:z.4f}"
                yield Statistic(rule, "risk_tolerance", evidence, said)
            elif rule == "losses":
                yield self._losses()
            elif rule == "large-losses":
                yield self._large_losses()
            elif rule == "tail":
                evidence = tail_evidence(rules.limit("max_tail_loss"), noise.tail)
                yield Statistic(rule, "max_tail_loss", evidence, self._tail_words(evidence.loss), TAIL_FACTOR)
            elif rule == "segments":
                yield from self._segments()

    def _losses(self) -> Statistic:
        loss = self.pair.loss
        lost, won = int(np.sum(loss > SLACK)), int(np.sum(loss < -SLACK))
        evidence = share_evidence(lost, lost + won, self.rules.limit("max_losses"), sign_test(lost, won))
        said = f"{lost:,} of {counted(lost + won, 'changed query')} lost ({100 * lost / max(lost + won, 1):.0f} %)"
        is_small = float(loss.sum()) < self.rules.limit("mean_tolerance") * (lost + won)
        may_fail = not is_small and self._is_net_loss(lost, won)
        return Statistic("losses", "max_losses", evidence, said, is_share=True, may_fail=may_fail)

    def _is_net_loss(self, lost: int, won: int) -> bool:
        return (lost - won) / len(self.pair.topics) > NET_SHARE + SLACK

    def _large_losses(self) -> Statistic:
        pair = self.pair
        lost = int(large_losses(pair.delta, pair.base).sum())
        won = int(large_losses(-pair.delta, pair.own).sum())
        limit = self.rules.limit("max_large_losses")
        evidence = share_evidence(lost, len(pair.topics), limit, sign_test(lost, won))
        said = f"{lost:,} of {counted(len(pair.topics), 'query')} lost more than 20 %, {won:,} won as much"
        may_fail = self.rules.is_given("max_large_losses") and self._is_net_loss(lost, won)
        return Statistic("large-losses", "max_large_losses", evidence, said, is_share=True, may_fail=may_fail)

    def _segments(self) -> Iterator[Statistic]:
        groups, limit = self.groups or {}, self.rules.limit("segment_tolerance")
        for name, topics in groups.items():
            part = self.pair.at(topics)
            evidence = mean_evidence(part.loss, limit, contrasts(part, 0.0, self.deals, self.seed).mean.p)
            said = _moved(f"The mean of {name}", evidence.loss)
            yield Statistic("segments", "segment_tolerance", evidence, said, where=name, parts=len(groups))

    def _tail_words(self, loss: float) -> str:
        share = f"{100 * self.rules.tail_share:g} %"
        beyond = "chance explains" if self.pair.has_repeats else f"the best {share} won"
        amount = f"{abs(loss):.4f} {'more' if loss > 0 else 'less'} than" if abs(loss) >= SHOWN else "as much as"
        return f"The worst {share} of the queries lost {amount} {beyond}"

    def churn(self) -> Finding:
        """How many queries changed at all? A fact about these queries, within the limit or not."""
        changed, limit = int(np.sum(self.pair.delta != 0)), self.rules.max_churn or 0.0
        share, topics = changed / len(self.pair.topics), len(self.pair.topics)
        verdict: Verdict = "fail" if share > limit + SLACK else "pass"
        sentence = f"{changed:,} of {counted(topics, 'query')} changed; the limit is {100 * limit:g} %."
        return Finding("churn", self.pair.measure, self.pair.baseline, verdict, sentence, share, limit=limit)

    def fail_level(self, one: Statistic | None = None) -> float:
        """How often a rule (by default the mean) may fail a candidate whose change has no effect."""
        share = LOSSES_SHARE if one is not None and one.is_share else SHARE
        families = 1 + sum(rule in self.rules_on for rule in ("risk", "segments"))
        return share * self.rules.level / self.comparisons / families / (1 if one is None else one.parts)

    def pass_level(self, factor: float = MEAN_FACTOR) -> float:
        """How probable a loss beyond the limit may be where a rule passes."""
        return min(factor * self.rules.level, 0.49) * self.question.part

    def _finding(self, one: Statistic) -> Finding:
        """The verdict on a loss: beyond its limit and no noise, within it with enough probability, or neither."""
        limit, evidence, level = self.rules.limit(one.option), one.evidence, self.pass_level(one.factor)
        verdict = self._decide(one, limit)
        ending = {
            "pass": f", within the limit of {limit:g}" if evidence.loss >= SHOWN and not one.is_share else "",
            "undecided": f"; within the limit of {limit:g} with probability {evidence.probability:.2f}",
            "fail": f", beyond the limit of {limit:g}{'' if one.rule == 'risk' else ' and not by chance'}",
        }
        return Finding(
            one.rule, self.pair.measure, self.pair.baseline, verdict, f"{one.said}{ending[verdict]}.",
            evidence.loss, evidence.bound(level, -1), evidence.bound(level, 1), limit, evidence.probability, one.where,
            self._more_queries(one, limit) if verdict == "undecided" else None, p=evidence.p,
        )  # fmt: skip

    def _decide(self, one: Statistic, limit: float) -> Verdict:
        evidence = one.evidence
        if one.may_fail and evidence.loss > limit + SLACK and evidence.p <= self.fail_level(one):
            return "fail"
        if one.is_share and not self.rules.is_given(one.option):
            return "pass"
        enough = len(self.pair.topics) >= FEWEST_QUERIES and evidence.loss <= limit + SLACK
        return "pass" if enough and evidence.probability >= 1 - self.pass_level(one.factor) else "undecided"

    def _more_queries(self, one: Statistic, limit: float) -> int | None:
        """About how many more queries like these decide with a probability of 0.8, by the rule's own bounds.

        The true loss is not known: the probability is taken over the losses that the evidence leaves possible.
        """
        n, evidence = len(self.pair.topics), one.evidence
        levels = (self.pass_level(one.factor), self.fail_level(one))
        passing, failing = (normal_quantile(1 - level) for level in levels)

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

    def resolution(self) -> tuple[float, int]:
        """The smallest loss of the mean that fails in 80 % of gates, and the queries at which no effect passes in 80 %.

        Both hold for differences with the spread of these.
        """
        spread = float(np.nan_to_num(Moments.of(self.pair.loss).sd))
        limit = self.rules.limit("mean_tolerance")
        return resolution_of(len(self.pair.topics), spread, limit, self.fail_level(), self.pass_level())


def resolution_of(n: int, spread: float, limit: float, fail_level: float, pass_level: float) -> tuple[float, int]:
    """The smallest loss that n queries show, and the queries needed, for differences of a spread; docs/calculator.html.

    >>> [round(value, 4) for value in resolution_of(50, 0.2, 0.02, 0.04, 0.15)]
    [0.0733, 352]
    """
    error, power = spread / sqrt(n), normal_quantile(POWER)
    failing, passing = (normal_quantile(1 - level) for level in (fail_level, pass_level))
    needed = ((passing + power) * spread / limit) ** 2 if limit else float("inf")
    return max(failing * error, limit) + power * error, int(max(min(needed, 1e9), FEWEST_QUERIES))


def _moved(name: str, loss: float) -> str:
    if abs(loss) < SHOWN:
        return f"{name} did not change"
    return f"{name} {'fell' if loss > 0 else 'rose'} by {abs(loss):.4f}"
