"""The path from a pair of systems to the findings of its sample rules, which every tier of evidence shares.

`Checker.statistics` gives the losses that a rule bounds. A tier judges them in `findings_of` (`SeenChecker`,
`StrictChecker`, `SequentialChecker`), and says in `resolution` what this number of queries can show.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import counted, listed
from surefoot.release_gate.finding import (
    SHOWN,
    SLACK,
    UNCOUNTED,
    Finding,
    Groups,
    Question,
    Resolution,
    ScoredPair,
    Verdict,
    worst_of,
)
from surefoot.release_gate.rules import Rules
from surefoot.risk.moments import tail_count
from surefoot.risk.statistics import large_losses
from surefoot.risk.values import Linear

NET_SHARE = 0.05
"""A rule on the share of losses fails only if losses exceed wins by this share of all queries. The rule ``losses`` also
needs that the changed queries lose the mean tolerance on average."""


@dataclass(frozen=True)
class Statistic:
    """A loss that a rule bounds by one of its options; ``claim`` states it, as the beginning of a sentence.

    The loss is the mean of the ``values`` of single queries, or the mean of their worst part (``"tail"``). For a
    ``"share"`` the values are 0 and 1, and ``won`` queries moved the other way. ``weight`` is the largest possible
    value, in units of the largest change. ``can_fail``: whether the loss is large enough to fail by this rule, after
    each of the values; None: it always is. ``parts`` is the number of statistics of this rule in a comparison.
    """

    rule: str
    option: str
    values: FloatArray
    claim: str
    kind: Literal["mean", "share", "tail"] = "mean"
    weight: float = 1.0
    won: int = 0
    can_fail: BoolArray | None = None
    where: str | None = None
    parts: int = 1

    @property
    def mean(self) -> float:
        """The mean of the values; 0 if there are none."""
        return float(self.values.mean()) if self.values.size else 0.0

    @property
    def may_fail(self) -> bool:
        """Whether the loss over all values is large enough to fail by this rule."""
        return self.can_fail is None or bool(self.can_fail[-1:].any())


@dataclass(frozen=True)
class Checker:
    """Checks one pair of systems by the rules on a sample.

    ``n_tests`` is the number of comparisons (with strict evidence: of tests) that share the level for failing;
    ``question`` gives the part of the level for passing if several candidates were tried.
    """

    pair: ScoredPair
    rules: Rules
    groups: Groups | None = None
    n_tests: int = 1
    question: Question = UNCOUNTED
    seed: int = 0

    @abstractmethod
    def _judge(self, one: Statistic) -> Finding:
        """The finding on a statistic."""

    @abstractmethod
    def resolution(self) -> Resolution:
        """What this number of queries can show."""

    @property
    def rules_on(self) -> list[str]:
        """The sample rules that are on and have something to test."""
        return self.rules.sample_rules(self.groups is not None)

    def findings(self) -> list[Finding]:
        """The finding of each rule that is on."""
        return [self.finding(rule) for rule in self.rules_on]

    def findings_of(self, rule: str) -> list[Finding]:
        """The findings of a rule: one, or one for each segment."""
        return [self._judge(one) for one in self.statistics(rule)]

    def finding(self, rule: str) -> Finding:
        """The finding of a rule; for segments that of the worst one."""
        found = self.findings_of(rule)
        return self._worst_segment(found) if rule == "segments" else found[0]

    def statistics(self, rule: str) -> Iterator[Statistic]:
        """The losses that a rule bounds."""
        pair, rules = self.pair, self.rules
        if rule == "mean":
            yield Statistic(rule, "mean_tolerance", pair.loss, moved("The mean", float(pair.loss.mean())))
        elif rule == "risk":
            weighed = -Linear(rules.alpha)(pair.delta)
            claim = f"U_Risk at alpha {rules.alpha:g} is {-weighed.mean():z.4f}"
            yield Statistic(rule, "risk_tolerance", weighed, claim, weight=1 + rules.alpha)
        elif rule == "losses":
            yield self._losses()
        elif rule == "large-losses":
            yield self._large_losses()
        elif rule == "tail":
            yield Statistic(rule, "max_tail_loss", pair.loss, self.tail_words(), "tail")
        elif rule == "churn":
            changed = (pair.delta != 0).astype(np.float64)
            claim = f"{int(changed.sum()):,} of {counted(changed.size, 'query')} changed"
            yield Statistic(rule, "max_churn", changed, claim, "share")
        else:
            groups = self.groups or {}
            for name, topics in groups.items():
                loss = pair.at(topics).loss
                claim = moved(f"The mean of {name}", float(loss.mean()))
                yield Statistic(rule, "segment_tolerance", loss, claim, where=name, parts=len(groups))

    def _losses(self) -> Statistic:
        loss = self.pair.loss
        changed, lost = np.abs(loss) > SLACK, loss > SLACK
        number, of = int(lost.sum()), int(changed.sum())
        claim = f"{number:,} of {counted(of, 'changed query')} lost ({100 * number / max(of, 1):.0f} %)"
        enough = np.cumsum(loss) >= self.rules.limit("mean_tolerance") * np.cumsum(changed) - SLACK
        can_fail = (enough & _net_losses(lost, changed & ~lost))[changed]
        values = lost[changed].astype(np.float64)
        return Statistic("losses", "max_losses", values, claim, "share", won=of - number, can_fail=can_fail)

    def _large_losses(self) -> Statistic:
        pair, given = self.pair, self.rules.is_given("max_large_losses")
        lost, gained = large_losses(pair.delta, pair.base), large_losses(-pair.delta, pair.own)
        won = int(gained.sum())
        claim = f"{int(lost.sum()):,} of {counted(lost.size, 'query')} lost more than 20 %, {won:,} won as much"
        can_fail, values = _net_losses(lost, gained) & given, lost.astype(np.float64)
        return Statistic("large-losses", "max_large_losses", values, claim, "share", won=won, can_fail=can_fail)

    def tail_loss(self) -> float:
        """What the worst queries lost, more than the best ones won."""
        return tail_of(self.pair.loss, int(tail_count(len(self.pair.topics), self.rules.tail_share)))

    def tail_words(self) -> str:
        """The tail, as the beginning of a sentence."""
        loss, share = self.tail_loss(), f"{100 * self.rules.tail_share:g} %"
        beyond = "chance explains" if self.pair.has_repeats else f"the best {share} won"
        amount = f"{abs(loss):.4f} {'more' if loss > 0 else 'less'} than" if abs(loss) >= SHOWN else "as much as"
        return f"The worst {share} of the queries lost {amount} {beyond}"

    def is_reported(self, one: Statistic) -> bool:
        """Whether a rule is only reported unless it fails: a share of queries without a given limit."""
        return one.kind == "share" and not self.rules.is_given(one.option)

    def _new_finding(self, one: Statistic, verdict: Verdict, sentence: str, **fields: Any) -> Finding:
        return Finding(
            one.rule, self.pair.measure, self.pair.baseline, verdict, sentence, limit=self.rules.limit(one.option),
            where=one.where, **fields,
        )  # fmt: skip

    def _worst_segment(self, found: Sequence[Finding]) -> Finding:
        verdict = worst_of(one.verdict for one in found)
        same = [one for one in found if one.verdict == verdict]
        first, *others = sorted(same, key=lambda one: (-self.severity(one), one.where or ""))
        if verdict == "pass":
            limit = self.rules.limit("segment_tolerance")
            return replace(first, sentence=f"No mean of {counted(len(found), 'segment')} fell by more than {limit:g}.")
        also = f" The same holds for {listed((str(one.where) for one in others), most=5)}." if others else ""
        return replace(first, sentence=first.sentence + also)

    def severity(self, finding: Finding) -> float:
        """How bad a finding is, to find the worst of several segments with the same verdict."""
        return finding.loss or 0.0


def tail_of(loss: FloatArray, count: int) -> float:
    """The mean loss of the worst queries less the mean gain of the best ones: 0 on average if a change has no effect.

    >>> round(tail_of(np.array([0.5, 0.3, 0.0, -0.1, -0.2]), 1), 9)
    0.3
    """
    return worst_loss(loss, count) - worst_loss(-loss, count)


def worst_loss(loss: FloatArray, count: int) -> float:
    """The mean loss of the worst queries; a gain counts 0."""
    return float(np.maximum(np.partition(loss, -count)[-count:], 0.0).mean()) if count else 0.0


def two_digits(number: float) -> int:
    """A number rounded to two digits, for advice.

    >>> two_digits(1234)
    1200
    """
    return int(float(f"{number:.2g}"))


def _net_losses(lost: BoolArray, won: BoolArray) -> BoolArray:
    """Whether losses exceed wins by `NET_SHARE` of the queries up to each one."""
    net = np.cumsum(lost, dtype=np.int64) - np.cumsum(won, dtype=np.int64)
    return np.asarray(net / np.arange(1, lost.size + 1) > NET_SHARE + SLACK)


def moved(name: str, loss: float) -> str:
    """A change of a mean, as the beginning of a sentence."""
    if abs(loss) < SHOWN:
        return f"{name} did not change"
    return f"{name} {'fell' if loss > 0 else 'rose'} by {abs(loss):.4f}"
