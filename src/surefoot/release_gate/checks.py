"""The checks of the rules: each puts an interval around a loss and asks on which side of its limit that lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from surefoot import risk
from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import counted, listed
from surefoot.release_gate.intervals import UNCOUNTED, Interval, Levels, Question, mean_interval, tail_interval
from surefoot.release_gate.rules import RULES, Rules
from surefoot.risk.statistics import large_losses
from surefoot.risk.values import Linear
from surefoot.scores import Scores

Verdict = Literal["pass", "undecided", "fail"]
VERDICTS: tuple[Verdict, ...] = ("pass", "undecided", "fail")
"""From best to worst."""

Groups = Mapping[str, Sequence[str]]
IntervalOf = Callable[[FloatArray, Levels], Interval]
"""The interval of a statistic of the topics' losses, at given levels."""

UNITS: dict[str, Callable[[float, float], str]] = {
    "change": lambda low, high: f"{-high:+z.4f} to {-low:+z.4f}",
    "loss": lambda low, high: f"{low:z.4f} to {high:z.4f}",
    "fraction": lambda low, high: f"{100 * low:z.0f} to {100 * high:z.0f} %",
}
"""How sentences write the interval of a loss."""

MOST_QUERIES = 100_000
"""More queries than that are not asked for."""

SLACK = 1e-9
"""Slack for rounding errors, so that a loss of exactly the tolerance passes."""


@dataclass(frozen=True)
class Finding:
    """What one rule found: its verdict, one sentence, and the loss with its interval and limit.

    ``where`` names the query or segment that the loss is of; ``more_queries`` says about how many more queries like
    these would decide. Whatever does not apply is None.
    """

    rule: str
    measure: str
    baseline: str
    verdict: Verdict
    sentence: str
    loss: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    where: str | None = None
    more_queries: int | None = None


@dataclass(frozen=True)
class ScoredPair:
    """The scores of a candidate (``own``) and of a baseline (``base``) on the same topics.

    ``p_loss`` is the probability that a loss is real, as far as the judgments go: 1 where scores are all there is.
    """

    candidate: str
    baseline: str
    measure: str
    topics: tuple[str, ...]
    own: FloatArray
    base: FloatArray
    p_loss: FloatArray

    @classmethod
    def of(cls, scores: Scores, candidate: str, baseline: str, p_loss: Mapping[str, float] | None = None) -> ScoredPair:
        """The pair of two systems; the baseline may also be MEAN, MEDIAN or MAX of each topic."""
        own, base = scores[candidate], scores.baseline(baseline)
        known = np.array([1.0 if p_loss is None else p_loss.get(topic, 1.0) for topic in scores.topics])
        return cls(candidate, baseline, scores.measure, scores.topics, own, base, known)

    @property
    def loss(self) -> FloatArray:
        """What each topic lost; negative is a gain."""
        return self.base - self.own

    def is_certain(self, level: float) -> BoolArray:
        """Whether a loss of the topic is real, wrong at most at the level."""
        return np.asarray(self.p_loss >= 1 - level)


def decide(interval: Interval, limit: float) -> Verdict:
    """Pass if the loss is shown to be at most the limit, fail if it is shown to be larger, else undecided."""
    if interval.high <= limit + SLACK:
        return "pass"
    return "fail" if interval.low > limit + SLACK else "undecided"


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; ``pass`` if there are none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


@dataclass(frozen=True)
class Checker:
    """Checks one pair by the rules; ``tests`` and ``question`` say how much company each test has, see `Levels`."""

    pair: ScoredPair
    rules: Rules
    groups: Groups | None = None
    tests: int = 1
    question: Question = UNCOUNTED

    def findings(self) -> list[Finding]:
        """The findings of all rules that are on and have something to look at."""
        checks = {
            "mean": self.mean,
            "risk": self.risk,
            "losses": self.losses,
            "large-losses": self.large_losses,
            "tail": self.tail,
            "protected": self.protected,
            "segments": self.segments,
        }
        return [checks[name]() for name in self.rules_on]

    @property
    def rules_on(self) -> list[str]:
        """The rules that are on and have something to look at."""
        idle = {"risk": not self.rules.alpha, "protected": not self._protected, "segments": self.groups is None}
        return [name for name in RULES if name not in self.rules.off and not idle.get(name)]

    @property
    def own_tests(self) -> int:
        """How many statistical tests the pair undergoes: one a rule, one a segment, none for protected queries."""
        tests = {"protected": 0, "segments": len(self.groups or ())}
        return sum(tests.get(name, 1) for name in self.rules_on)

    @property
    def _protected(self) -> list[str]:
        topics = set(self.pair.topics)
        return [topic for topic in self.rules.protected if topic in topics]

    def mean(self) -> Finding:
        """Is the fall of the mean within the tolerance?"""
        pair, change = self.pair, float(np.mean(self.pair.own - self.pair.base))
        moved = f"{abs(change):.4f} {'below' if change < 0 else 'above'}" if change else "equal to"
        head = f"Mean {pair.measure} is {pair.own.mean():.4f}, {moved} the baseline's {pair.base.mean():.4f}"
        return self._finding("mean", pair.loss, self._mean_of(), self.rules.mean_tolerance, head)

    def risk(self) -> Finding:
        """Do the gains pay for the losses, which weigh 1 + alpha, but for the tolerance?"""
        weight = 1 + self.rules.alpha
        losses = -Linear(self.rules.alpha)(-self.pair.loss)
        head = f"Losses weighing {weight:g} times, the mean change (U_Risk) is {-losses.mean():z.4f}"
        return self._finding("risk", losses, self._mean_of(weight), self.rules.risk_tolerance, head)

    def losses(self) -> Finding:
        """Is the fraction of topics that lost within the limit?"""
        return self._fraction("losses", self.pair.loss > 0, "lost", self.rules.max_losses)

    def large_losses(self) -> Finding:
        """Is the fraction of topics that lost more than 20 % of their score within the limit?"""
        large = large_losses(-self.pair.loss, self.pair.base)
        return self._fraction("large-losses", large, "lost more than 20 %", self.rules.max_large_losses)

    def tail(self) -> Finding:
        """Is what the worst topics lost on average within the limit?"""
        rules, losses = self.rules, np.maximum(self.pair.loss, 0.0)
        count = int(risk.tail_count(len(losses), rules.tail_share))
        worst = "worst query" if count == 1 else f"{count} worst queries"
        head = f"The {worst} lost {np.sort(losses)[-count:].mean():.4f}{'' if count == 1 else ' on average'}"
        interval = partial(
            tail_interval, fraction=rules.tail_share, limit=rules.max_tail_loss, highest=rules.largest_change
        )
        return self._finding("tail", losses, interval, rules.max_tail_loss, head, "loss")

    def protected(self) -> Finding:
        """Did a protected topic lose? It is not a sample, so that only the judgments can leave a doubt."""
        pair, limit = self.pair, self.rules.protected_tolerance
        loss = dict(zip(pair.topics, pair.loss.tolist(), strict=True))
        certain = dict(zip(pair.topics, pair.is_certain(self.rules.level).tolist(), strict=True))
        chosen = sorted(self._protected, key=lambda topic: (-loss[topic], topic))
        beyond = [topic for topic in chosen if loss[topic] > limit + SLACK]
        real = [topic for topic in beyond if certain[topic]]
        verdict: Verdict = "fail" if real else "undecided" if beyond else "pass"
        told = listed((f"{topic} ({-loss[topic]:.4f})" for topic in real or beyond), most=5)
        several = counted(len(chosen), "protected query")
        sentence = {
            "pass": f"None of {several} lost more than {limit:g}.",
            "undecided": f"{len(beyond)} of {several} lost more than {limit:g}, but by these judgments it may not be "
            f"real: {told}. Judge more of their documents (surefoot judge).",
            "fail": f"{len(real)} of {several} lost more than {limit:g}: {told}.",
        }
        first = (real or beyond or chosen)[0]
        own = loss[first]
        return Finding(
            "protected", pair.measure, pair.baseline, verdict, sentence[verdict], own, own, own, limit, where=first
        )

    def segments(self) -> Finding:
        """Is the fall of each segment's mean within the tolerance? The finding is that of the worst segment."""
        index = {topic: number for number, topic in enumerate(self.pair.topics)}
        limit = self.rules.segment_tolerance
        found = []
        for name, topics in (self.groups or {}).items():
            losses = self.pair.loss[[index[topic] for topic in topics]]
            head = f"The mean of {name} changed by {-losses.mean():+z.4f}"
            finding = self._finding("segments", losses, self._mean_of(), limit, head)
            found.append(replace(finding, where=name))
        verdict = worst_of(finding.verdict for finding in found)
        first, *others = sorted(
            (one for one in found if one.verdict == verdict), key=lambda one: (-(one.high or 0.0), one.where or "")
        )
        sentence = first.sentence
        if verdict == "pass":
            several = counted(len(found), "segment")
            sentence = f"The mean of each of {several} is shown to fall by no more than {limit:g}."
        elif others:
            sentence += f" The same holds for {listed((str(one.where) for one in others), most=5)}."
        return replace(first, sentence=sentence)

    def _mean_of(self, weight: float = 1.0) -> IntervalOf:
        largest = self.rules.largest_change
        return partial(mean_interval, lowest=-largest, highest=weight * largest)

    def _fraction(self, rule: str, lost: BoolArray, verb: str, limit: float) -> Finding:
        """The fraction of topics that lost; the interval of zeros and ones is Clopper and Pearson's."""
        head = f"{int(lost.sum())} of {counted(len(lost), 'query')} {verb}, {100 * lost.mean():.0f} %"
        if doubtful := int((lost & ~self.pair.is_certain(self.rules.level)).sum()):
            head += f", {doubtful} of them not credibly"
        interval = partial(mean_interval, lowest=0.0, highest=1.0)
        return self._finding(rule, lost.astype(np.float64), interval, limit, head, "fraction")

    def _finding(
        self, rule: str, losses: FloatArray, interval_of: IntervalOf, limit: float, head: str, unit: str = "change"
    ) -> Finding:
        """The finding of a statistic; where single losses count, its lower end is that of the certain ones."""
        pair, level = self.pair, self.rules.level
        levels = Levels.of(level, self.tests, self.question)
        interval = as_judged = interval_of(losses, levels)
        if unit != "change" and not pair.is_certain(level).all():
            interval = replace(interval, low=interval_of(np.where(pair.is_certain(level), losses, 0.0), levels).low)
        verdict, more = decide(interval, limit), None
        ending = f"shown to be {'within' if verdict == 'pass' else 'beyond'} the limit of {limit:g}"
        if verdict == "undecided":
            alone = interval_of(losses, Levels.of(level, self.tests))
            more = _more_queries(interval, limit, levels)
            ending = self._doubt(limit, more, decide(as_judged, limit), decide(alone, limit))
        sentence = f"{head} ({UNITS[unit](interval.low, interval.high)}): {ending}."
        numbers = (interval.estimate, interval.low, interval.high, limit)
        return Finding(rule, pair.measure, pair.baseline, verdict, sentence, *numbers, more_queries=more)

    def _doubt(self, limit: float, more: int | None, as_judged: Verdict, alone: Verdict) -> str:
        """Why a rule can't tell, and what would help: the verdicts without doubts, and without other tries."""
        if as_judged == "fail":
            return f"beyond the limit of {limit:g} if all losses are real; more judgments would tell (surefoot judge)"
        would = f"nor would {MOST_QUERIES:,} queries like these"
        if more is not None:
            would = f"about {more:,} more {'query' if more == 1 else 'queries'} like these would"
        if alone == "pass" and self.question.number > 1:
            best = f"the best of {self.question.number} tries"
            return f"within the limit of {limit:g}, but not distinguishable from {best}; {would} tell"
        return f"can't tell whether it is within the limit of {limit:g}; {would}"

    def identical(self) -> Finding:
        """That candidate and baseline have the same scores, so that there is nothing to test."""
        pair = self.pair
        sentence = (
            f"{pair.candidate} scores exactly as {pair.baseline} on all of {counted(len(pair.topics), 'query')}: "
            "nothing changed, so that nothing was tested. Is it the same run?"
        )
        return Finding("identical", pair.measure, pair.baseline, "undecided", sentence)


def _more_queries(interval: Interval, limit: float, levels: Levels) -> int | None:
    """About how many more queries would decide, two digits of it; None if too many."""
    needed = interval.queries_to_decide(limit, levels)
    if needed is None or needed > MOST_QUERIES:
        return None
    return int(float(f"{max(needed - len(interval.values), 1):.2g}"))
