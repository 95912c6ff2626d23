"""One candidate against one baseline: the rules on single queries, those on a sample, and the doubt about judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from surefoot._names import group_topics
from surefoot._typing import FloatArray, PathLike
from surefoot.errors import SurefootError, counted, listed
from surefoot.judgments.assessors import parse_assessors
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.release_gate.acknowledged import Acknowledged, read_acknowledged
from surefoot.release_gate.checker import Checker
from surefoot.release_gate.doubt import Doubt, doubt, lost_results, same_rankings, why_no_doubt
from surefoot.release_gate.finding import (
    SLACK,
    UNCOUNTED,
    VERDICTS,
    Arrival,
    Finding,
    Groups,
    Question,
    Resolution,
    ScoredPair,
    Verdict,
    worst_of,
)
from surefoot.release_gate.rules import SAMPLE, Rules, RulesLike, resolve_rules
from surefoot.release_gate.seen import FEW_PERMUTATIONS, FEWEST_QUERIES, SeenChecker
from surefoot.release_gate.sequential import SequentialChecker
from surefoot.release_gate.strict import StrictChecker
from surefoot.scores import Missing, Scores
from surefoot.stats.repeats import spread_of_trials

CHECKERS: dict[str, type[Checker]] = {"seen": SeenChecker, "strict": StrictChecker, "sequential": SequentialChecker}
"""The checkers of sample rules, by tier of evidence."""

AGREEMENT = 0.9
"""Where language models graded documents, a verdict stands if this share of the draws agrees on it."""

FEWEST_DRAWS, RULE_DRAWS, CELLS = 20, 200, 200_000
"""The number of draws on which rules are tested, at least and at most, and the number of differences in all."""
WOULD = {"pass": "pass", "undecided": "be undecided", "fail": "fail"}


@dataclass(frozen=True)
class Policy:
    """How every gate decides: the rules, which grades are in doubt, acknowledged losses, segments, and the seed.

    A ratchet also has ``missing``, which says how to treat accepted topics without a score, and ``holdout``, the share
    of the queries that are held out, to confirm what the open ones pass; ``keep_open`` are never held out.
    """

    rules: Rules
    assessors: object = None
    acknowledged: Acknowledged | None = None
    seed: int = 0
    baselines: Sequence[str] = ()
    segments: Mapping[Any, object] | None = None
    missing: Missing = "error"
    holdout: float = 0.0
    keep_open: Sequence[str] = ()

    @classmethod
    def of(cls, rules: RulesLike | None, acknowledged: PathLike | Acknowledged | None, **fields: Any) -> Policy:
        """The policy of rules (or their options) and of acknowledged losses (or their file)."""
        if acknowledged is not None and not isinstance(acknowledged, Acknowledged):
            acknowledged = read_acknowledged(acknowledged)
        return cls(resolve_rules(rules), acknowledged=acknowledged, **fields)

    def __post_init__(self) -> None:
        if self.rules.evidence != "seen" and self.doubted != "off":
            raise SurefootError(
                f"{self.rules.evidence} evidence takes the judgments as facts; leave out assessors, or choose 'off'"
            )

    @cached_property
    def doubted(self) -> object:
        """Which grades are in doubt."""
        if self.assessors is None:
            return "none" if self.rules.evidence == "seen" else "off"
        return parse_assessors(self.assessors)


@dataclass(frozen=True)
class Contract:
    """Checks the rules on single queries of one pair.

    ``emptied`` are the topics that had results and have none now, None where only scores are known; ``doubt`` is what
    unjudged documents could change.
    """

    pair: ScoredPair
    rules: Rules
    emptied: tuple[str, ...] | None = None
    acknowledged: Acknowledged | None = None
    doubt: Doubt | None = None

    def findings(self) -> list[Finding]:
        """The findings of the rules that are on and have something to look at."""
        found = []
        loss = dict(zip(self.pair.topics, self.pair.loss.tolist(), strict=True))
        chosen = [topic for topic in self.rules.protected if topic in loss]
        is_sequential = self.rules.evidence == "sequential"
        if "protected" not in self.rules.off and (chosen or (is_sequential and self.rules.protected)):
            limit = self.rules.protected_tolerance
            finding = self._losses("protected", {topic: loss[topic] for topic in chosen}, limit, "protected query")
            absent = [topic for topic in self.rules.protected if topic not in loss]
            if finding.verdict == "pass" and absent and is_sequential:
                said = f"{finding.sentence} {listed(absent)} {'has' if len(absent) == 1 else 'have'} not arrived yet."
                finding = replace(finding, verdict="undecided", sentence=said)
            found.append(finding)
        if "query-loss" not in self.rules.off and self.rules.max_query_loss is not None:
            found.append(self._losses("query-loss", loss, self.rules.max_query_loss, "query"))
        if "no-results" not in self.rules.off and self.emptied is not None:
            found.append(self._no_results(self.emptied))
        return found

    def _losses(self, rule: str, loss: Mapping[str, float], limit: float, noun: str) -> Finding:
        order = sorted(loss, key=lambda topic: (-loss[topic], topic))
        beyond = [topic for topic in order if loss[topic] > limit + SLACK]
        accepted = {topic: reason for topic in beyond if (reason := self._reason(topic)) is not None}
        open_ = [topic for topic in beyond if topic not in accepted]
        undoable = [topic for topic in open_ if self._may_be_undone(topic, limit)]
        broken = [topic for topic in open_ if topic not in undoable]
        verdict: Verdict = "fail" if broken else "undecided" if undoable else "pass"
        first = next(iter(broken or undoable or order), None)
        named = listed((f"{topic} ({-loss[topic]:.4f})" for topic in broken or undoable), most=5)
        several = counted(len(loss), noun)
        sentence = {
            "pass": f"None of {several} lost more than {limit:g}.",
            "undecided": f"{len(undoable)} of {several} lost more than {limit:g}, but unjudged documents could undo "
            f"it: {named}.",
            "fail": f"{len(broken)} of {several} lost more than {limit:g}: {named}.",
        }[verdict]
        if accepted:
            sentence = sentence.replace("None", "None of the others", 1) if verdict == "pass" else sentence
            sentence += f" Acknowledged: {listed((f'{topic} ({why})' for topic, why in accepted.items()), most=5)}."
        own = None if first is None else loss[first]
        return Finding(
            rule, self.pair.measure, self.pair.baseline, verdict, sentence, own, own, own, limit, where=first,
            documents=self._unjudged(undoable),
        )  # fmt: skip

    def _no_results(self, emptied: tuple[str, ...]) -> Finding:
        accepted = [topic for topic in emptied if self._reason(topic) is not None]
        broken = [topic for topic in emptied if topic not in accepted]
        sentence = f"Every {'other ' if accepted else ''}query that had results still has some."
        if broken:
            has = "has" if len(broken) == 1 else "have"
            sentence = f"{counted(len(broken), 'query')} had results and now {has} none: {listed(broken, most=5)}."
        if accepted:
            sentence += f" Acknowledged: {listed(accepted, most=5)}."
        verdict: Verdict = "fail" if broken else "pass"
        where = broken[0] if broken else None
        share = len(broken) / len(self.pair.topics)
        return Finding(
            "no-results", self.pair.measure, self.pair.baseline, verdict, sentence, share, limit=0.0, where=where
        )

    def _reason(self, topic: str) -> str | None:
        if self.acknowledged is None:
            return None
        pair, row = self.pair, self.pair.row_of[topic]
        return self.acknowledged.covers(topic, pair.measure, float(pair.base[row]), float(pair.own[row]))

    def _may_be_undone(self, topic: str, limit: float) -> bool:
        return self.doubt is not None and bool(self.doubt.highest[self.pair.row_of[topic]] >= -limit - SLACK)

    def _unjudged(self, topics: list[str]) -> tuple[tuple[str, str], ...]:
        if self.doubt is None:
            return ()
        return tuple(one for topic in topics for one in self.doubt.unjudged[self.pair.row_of[topic]])


@dataclass(frozen=True)
class Comparison:
    """One candidate against one baseline, as one of several comparisons of a gate.

    ``is_anchor``: only the loss budget is tested. ``n_tests`` is that of `Checker`. With strict evidence ``has_moved``
    is set where another measure changed: equal scores are tested then. With sequential evidence ``arrival`` is set,
    and the topics stand in the order of arrival.
    """

    scores: Scores
    candidate: str
    baseline: str
    policy: Policy
    n_tests: int = 1
    question: Question = UNCOUNTED
    is_anchor: bool = False
    has_moved: bool = False
    arrival: Arrival | None = None

    @cached_property
    def pair(self) -> ScoredPair:
        """The scores of both systems."""
        return ScoredPair.of(self.scores, self.candidate, self.baseline)

    @cached_property
    def groups(self) -> Groups | None:
        """The topics of each segment."""
        segments = None if self.is_anchor else self.policy.segments
        return None if segments is None else group_topics(self.pair.topics, segments)

    @cached_property
    def rules(self) -> Rules:
        """The rules of this comparison: for an anchor only the mean, with the loss budget as its tolerance."""
        rules = self.policy.rules
        if not self.is_anchor:
            return rules
        return replace(
            rules, mean_tolerance=rules.budget, off=tuple(name for name in SAMPLE if name != "mean"), protected=()
        )

    @cached_property
    def checker(self) -> Checker:
        """The checker of the sample rules."""
        make = CHECKERS[self.rules.evidence]
        return make(self.pair, self.rules, self.groups, self.n_tests, self.question, self.policy.seed)

    @property
    def tests(self) -> int:
        """The number of tests of the sample rules: one for each rule, for segments one each."""
        return sum(len(self.groups or ()) if rule == "segments" else 1 for rule in self.checker.rules_on)

    @cached_property
    def doubt(self) -> Doubt | None:
        """The doubt about the judgments; None where nothing is in doubt or the judgments are not known."""
        if self.is_anchor or self.policy.doubted == "off":
            return None
        return doubt(self.scores, self.candidate, self.baseline, self.policy.doubted, seed=self.policy.seed)

    @property
    def expected_pair(self) -> ScoredPair:
        """The scores as judged, or as expected of people where language models graded documents."""
        if self.doubt is None or self.doubt.llm is None:
            return self.pair
        return self.pair.with_delta(self.doubt.expected, self.doubt.base)

    def findings(self) -> list[Finding]:
        """What the rules found."""
        emptied = lost_results(self.scores, self.candidate, self.baseline) if self.rules.evidence == "seen" else None
        if self.arrival is not None:
            emptied = self.arrival.emptied.get(self.baseline)
        elif not (np.any(self.pair.delta) or self.pair.has_repeats or self.has_moved or emptied):
            is_open = self.doubt is not None and any(self.doubt.unjudged) and not self._is_same_ranking
            if not is_open:
                return [self._unchanged()]
        if self.is_anchor:
            return [replace(one, rule="budget") for one in self.checker.findings()]
        contract = Contract(self.pair, self.rules, emptied, self.policy.acknowledged, self.doubt)
        return [self._settled(one) for one in (*contract.findings(), *self._sampled())]

    def _sampled(self) -> list[Finding]:
        """The findings of the sample rules; those that unjudged documents could change are undecided."""
        checker, doubt = self.checker, self.doubt
        if doubt is None or not isinstance(checker, SeenChecker):
            return checker.findings()
        if doubt.llm is not None:
            return self._by_draws(checker, doubt)
        if self.policy.doubted != "none":
            return replace(checker, draws=self._draws(doubt)).findings()
        measured = checker.findings()
        if np.array_equal(doubt.expected, self.pair.delta):
            return measured
        expected = replace(checker, pair=self.pair.with_delta(doubt.expected)).findings()
        return [_doubted(one, other, doubt) for one, other in zip(measured, expected, strict=True)]

    def _draws(self, doubt: Doubt) -> FloatArray:
        """The draws on which rules are tested."""
        return doubt.deltas[: max(FEWEST_DRAWS, min(RULE_DRAWS, CELLS // len(self.pair.topics)))]

    def _by_draws(self, checker: SeenChecker, doubt: Doubt) -> list[Finding]:
        """The findings with the expected grades; one stands if `AGREEMENT` of the draws agree, else it is undecided.

        A draw is a possible outcome of people judging all documents. So language models decide only where their
        calibration leaves hardly any doubt that people would decide alike.
        """
        expected = replace(checker, pair=self.expected_pair).findings()
        drawn = [
            replace(checker, pair=self.pair.with_delta(row, doubt.base), n_permutations=FEW_PERMUTATIONS).findings()
            for row in self._draws(doubt)
        ]
        return [
            _by_most(one, [own.verdict for own in others], doubt) for one, *others in zip(expected, *drawn, strict=True)
        ]

    def _llm_note(self, llm: FloatArray, expected: float) -> str:
        """The change and the verdict by the grades of language models only."""
        delta = llm.mean(axis=0)
        verdict = worst_of(one.verdict for one in replace(self.checker, pair=self.pair.with_delta(delta)).findings())
        return (
            f"by the grades of language models only the mean changes by {delta.mean():+.4f}, and the sample rules give "
            f"{verdict}; {expected:+.4f} is expected of people: a bias of {delta.mean() - expected:+.4f}"
        )

    def _settled(self, finding: Finding) -> Finding:
        """Decide an undecided finding by its probability, if `Rules.decide` is set; noise does not fail."""
        decide = self.rules.decide
        if decide is None or finding.verdict != "undecided" or finding.probability is None or finding.documents:
            return finding
        may_pass = finding.probability >= decide and len(self.pair.topics) >= FEWEST_QUERIES
        may_fail = finding.probability <= 1 - decide and (finding.p or 0.0) <= 2 * self.rules.level
        if not (may_pass or may_fail):
            return finding
        verdict: Verdict = "pass" if may_pass else "fail"
        sentence = f"{finding.sentence} Decided by this probability (decide {decide:g})."
        return replace(finding, verdict=verdict, sentence=sentence, more_queries=None)

    @cached_property
    def _is_same_ranking(self) -> bool:
        return same_rankings(self.scores, self.candidate, self.baseline)

    def _unchanged(self) -> Finding:
        """Equal scores: a pass, unless they are 0 or 1 and the rankings may differ."""
        many = counted(len(self.pair.topics), "query")
        verdict: Verdict = "pass"
        sentence = f"Nothing changed: {self.candidate} has the scores of {self.baseline} on all {many}."
        if self._is_same_ranking:
            sentence = f"Nothing changed: {self.candidate} ranks the same documents as {self.baseline} for {many}."
        elif self.pair.is_binary:
            verdict = "undecided"
            sentence = f"All scores are equal on {many}, but scores of 0 and 1 show little of what changed."
        if self.rules.evidence == "strict":
            verdict = "undecided"
        return Finding("identical", self.pair.measure, self.pair.baseline, verdict, sentence)

    @cached_property
    def noise(self) -> tuple[str, float] | None:
        """The repeated system that differs most from itself on a query, and by how much; None without repeats."""
        names = (self.candidate, self.baseline)
        repeated = [(name, own) for name, own in zip(names, self.pair.trials, strict=True) if len(own) > 1]
        found = [(name, spread_of_trials(own).noise_floor) for name, own in repeated]
        return max(found, key=lambda one: one[1], default=None)

    @property
    def needs_repeats(self) -> bool:
        """Whether the scores may be single trials of a random system: a table of 0 and 1 without repeats."""
        is_table = self.scores.source is None and self.arrival is None
        return is_table and self.pair.is_binary and not self.pair.has_repeats

    def resolution(self) -> Resolution | None:
        """What this number of queries can show; None where nothing changed, because the spread is then unknown."""
        return self.checker.resolution() if np.any(self.pair.delta) else None

    def notes(self) -> list[str]:
        """Notes on doubt and noise."""
        notes = []
        if self.noise is not None:
            system, noise = self.noise
            notes.append(f"{system} differs from itself by {noise:.3f} per query")
        if self.needs_repeats:
            notes.append(
                "each query has one score: if a system answers differently each time, give repeats to measure its noise"
            )
        if self.doubt is not None:
            notes.append(self.doubt.note)
            if self.doubt.llm is not None:
                note = self._llm_note(self.doubt.llm, float(self.doubt.expected.mean()))
                notes += [*JudgedRuns.of(self.scores).notes, note]
        elif self.policy.assessors is not None and not self.is_anchor and self.policy.doubted != "off":
            why = why_no_doubt(self.scores, self.candidate, self.baseline, self.policy.doubted)
            notes.append(f"no grade is in doubt against {self.baseline}: {why}")
        return notes


def _doubted(measured: Finding, expected: Finding, doubt: Doubt) -> Finding:
    """A finding as measured, or an undecided one if the expected grades of unjudged documents would change it."""
    if measured.verdict in ("undecided", expected.verdict):
        return measured
    count = counted(len(doubt.documents), "unjudged document")
    sentence = f"{measured.sentence} But with the expected grades of {count} it would {WOULD[expected.verdict]}."
    probability = min(expected.probability or 0.0, 0.49) if measured.verdict == "fail" else expected.probability
    return replace(measured, verdict="undecided", sentence=sentence, probability=probability, documents=doubt.documents)


def _by_most(finding: Finding, drawn: Sequence[Verdict], doubt: Doubt) -> Finding:
    """The verdict of `AGREEMENT` of the draws, or an undecided one."""
    verdict = max(VERDICTS, key=drawn.count)
    share = drawn.count(verdict) / len(drawn)
    draws = f"in {100 * share:.0f} % of the draws"
    sentence = f"{finding.sentence} If people judged all documents, it would {WOULD[verdict]} {draws}."
    if share >= AGREEMENT:
        return replace(finding, verdict=verdict, sentence=sentence)
    return replace(finding, verdict="undecided", sentence=sentence, documents=doubt.documents)
