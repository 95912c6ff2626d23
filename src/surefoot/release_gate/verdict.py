"""The verdict on a candidate: what each rule found, what changed, and which queries got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot import risk
from surefoot.analysis.segments import NONE, group_topics
from surefoot.errors import SurefootError, listed
from surefoot.release_gate.checks import SLACK, Checker, Finding, Groups, ScoredPair, Verdict, worst_of
from surefoot.release_gate.intervals import UNCOUNTED, Question
from surefoot.release_gate.rules import UNDECIDED, Rules, RulesLike, resolve_rules
from surefoot.results import Result, signature
from surefoot.scores import Scores, ScoresLike

PLoss = Mapping[tuple[str, str], Mapping[str, float]]
"""The probability that a loss is real, by measure and baseline, by topic."""

WORST = 5
"""How many of the queries that lost most are listed for each baseline."""


@dataclass(frozen=True)
class Change:
    """What changed between a baseline and the candidate, over all topics."""

    measure: str
    baseline: str
    topics: int
    baseline_mean: float
    candidate_mean: float
    wins: int
    losses: int
    ties: int
    loss20: int


@dataclass(frozen=True)
class WorseQuery:
    """A query that lost, with both scores, and its text where that is known."""

    topic: str
    measure: str
    baseline: str
    baseline_score: float
    candidate_score: float
    delta: float
    text: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GateResult(Result):
    """The verdict over all baselines, measures and rules, and what it is based on; one row for each finding.

    Attributes
    ----------
    candidate, measures
        The system in question, and the effectiveness measures of the scores.
    undecided
        What a candidate counts as that can't be decided, as in `Rules`.
    findings
        What each rule found against each baseline.
    changes
        Means, wins, losses and ties against each baseline.
    worst
        The queries that lost most against each baseline, at most five of each.
    """

    candidate: str
    measures: tuple[str, ...]
    undecided: str = "warn"
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    worst: tuple[WorseQuery, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings: ``pass``, ``undecided`` or ``fail``."""
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 pass, 1 fail; what is undecided counts as `Rules` says."""
        return {"pass": 0, "undecided": UNDECIDED[self.undecided], "fail": 1}[self.verdict]

    @property
    def acceptable(self) -> bool:
        """Whether a ratchet may accept the candidate."""
        return self.verdict == "pass" or (self.verdict == "undecided" and self.undecided == "pass")

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines that the candidate was compared with."""
        return tuple(dict.fromkeys(change.baseline for change in self.changes))

    def against(self, change: Change) -> tuple[Finding, ...]:
        """The findings of one comparison."""
        return tuple(one for one in self.findings if (one.measure, one.baseline) == (change.measure, change.baseline))

    def with_note(self, note: str) -> GateResult:
        """The same with one more note."""
        return replace(self, notes=(*self.notes, note))

    def with_finding(self, finding: Finding) -> GateResult:
        """The same with one more finding."""
        findings = (*self.findings, finding)
        return replace(self, findings=findings, columns=_columns(findings))

    def with_texts(self, texts: Mapping[str, str]) -> GateResult:
        """The same with the text of each query that lost."""
        return replace(self, worst=tuple(replace(one, text=texts.get(one.topic)) for one in self.worst))

    def headline(self) -> str:
        """The verdict."""
        return f"{self.candidate}: {self.verdict}"

    def __str__(self) -> str:
        from surefoot.release_gate.render import render_text

        return render_text(self)


def gate(
    scores: ScoresLike,
    baseline: str | Sequence[str],
    *,
    candidate: str,
    rules: RulesLike | None = None,
    segments: Mapping[Any, object] | None = None,
    p_loss: PLoss | None = None,
    tries: int = 0,
) -> GateResult:
    """May the candidate replace the baseline, or each of several?

    A rule passes where the loss is shown to be within its limit, fails where it is shown to be beyond, and is undecided
    otherwise; ``docs/gate.md`` describes each rule, and what "shown" means.

    Parameters
    ----------
    scores
        The scores of candidate and baselines on the same topics; several measures are several scores.
    baseline
        One or more systems, or MEAN, MEDIAN or MAX of each topic.
    candidate
        The system in question.
    rules
        Tolerances and limits: `Rules`, or a dictionary of its options, such as ``{"mean_tolerance": 0.02}``; the
        defaults if None.
    segments
        The segment of each topic, for the rule ``segments``.
    p_loss
        For a measure and a baseline, by topic: the probability that a loss is real in spite of what the judgments
        leave open; 1 where it is not given. Rules on single queries fail only by losses that have at least 1 - level.
    tries
        How many candidates these topics were asked about, this one included; 0 if nobody counts.

    Returns
    -------
    GateResult
        With ``verdict`` and ``exit_code``, the ``findings`` of each rule, and the ``worst`` queries.

    Examples
    --------
    >>> old = [0.5, 0.4, 0.6, 0.3, 0.5, 0.6, 0.4, 0.5] * 4
    >>> new = [0.1, 0.1, 0.1, 0.0, 0.1, 0.1, 0.1, 0.1] * 4
    >>> result = gate(Scores([old, new], ["old", "new"], range(32)), "old", candidate="new")
    >>> result.verdict, result.worst[0].topic
    ('fail', '10')
    """
    parts = as_list(scores)
    baselines = [baseline] if isinstance(baseline, str) else list(dict.fromkeys(baseline))
    if not baselines:
        raise SurefootError("the gate needs a baseline; name one")
    rules = resolve_rules(rules)
    refuse_unprotected(parts, rules)
    comparisons = [(part, name) for part in parts for name in baselines]
    return gate_all(
        comparisons, candidate=candidate, rules=rules, segments=segments, p_loss=p_loss, question=Question(tries)
    )


def gate_all(
    comparisons: Sequence[tuple[Scores, str]],
    *,
    candidate: str,
    rules: Rules,
    segments: Mapping[Any, object] | None = None,
    p_loss: PLoss | None = None,
    question: Question = UNCOUNTED,
) -> GateResult:
    """The result of several comparisons, each of scores and a baseline among them, as one gate."""
    for scores, baseline in comparisons:
        _validate(scores, baseline, candidate, rules)
    checkers = [
        Checker(
            ScoredPair.of(scores, candidate, baseline, (p_loss or {}).get((scores.measure, baseline))),
            rules,
            None if segments is None else group_topics(scores.topics, segments),
            question=question,
        )
        for scores, baseline in comparisons
    ]
    if not any(checker.rules_on for checker in checkers):
        raise SurefootError("all rules are off, so nothing would be tested; leave one on")
    tests = max(1, sum(checker.own_tests for checker in checkers))
    changed = {one.pair.baseline for one in checkers if np.any(one.pair.loss)}
    findings = tuple(
        finding
        for one in checkers
        for finding in (replace(one, tests=tests).findings() if one.pair.baseline in changed else [one.identical()])
    )
    notes = [note for scores, _ in comparisons for note in scores.notes]
    return GateResult(
        signature=_signature(comparisons, candidate, rules, checkers[0].groups, question),
        columns=_columns(findings),
        candidate=candidate,
        measures=tuple(dict.fromkeys(scores.measure for scores, _ in comparisons)),
        undecided=rules.undecided,
        findings=findings,
        changes=tuple(_change(checker.pair) for checker in checkers),
        worst=tuple(query for checker in checkers for query in _worst(checker.pair)),
        notes=tuple(dict.fromkeys([*notes, *_notes(checkers[0].groups)])),
    )


def as_list(scores: ScoresLike) -> list[Scores]:
    """Scores of one or several measures as a list; each is whatever `Scores.of` takes."""
    return [Scores.of(one) for one in (scores if isinstance(scores, list | tuple) else [scores])]


def refuse_unprotected(parts: Sequence[Scores], rules: Rules) -> None:
    """Refuse protected queries without a score: they must not vanish unseen."""
    for part in parts if "protected" not in rules.off else ():
        absent = [topic for topic in rules.protected if topic not in part.topics]
        if absent:
            raise SurefootError(f"no score for the protected queries {listed(absent)}; a query must not vanish unseen")


def _columns(findings: Sequence[Finding]) -> dict[str, list[object]]:
    names = ("measure", "baseline", "rule", "verdict", "loss", "low", "high", "limit", "sentence")
    return {name: [getattr(finding, name) for finding in findings] for name in names}


def _validate(scores: Scores, baseline: str, candidate: str, rules: Rules) -> None:
    if candidate == baseline:
        raise SurefootError(f"{candidate} is its own baseline, so there is nothing to compare; name another")
    change = float(np.abs(scores[candidate] - scores.baseline(baseline)).max())
    if change > rules.largest_change + SLACK:
        raise SurefootError(
            f"a query changed by {change:g} in {scores.measure}, more than the {rules.largest_change:g} that is taken "
            "for possible; give the range of the measure by largest_change (--largest-change)"
        )


def _signature(
    comparisons: Sequence[tuple[Scores, str]], candidate: str, rules: Rules, groups: Groups | None, question: Question
) -> str:
    return signature(
        "gate",
        measure=dict.fromkeys(scores.measure for scores, _ in comparisons),
        candidate=candidate,
        baseline=dict.fromkeys(baseline for _, baseline in comparisons),
        level=rules.level,
        topics=len(comparisons[0][0].topics),
        segments=None if groups is None else len(groups),
        tries=question.number or None,
        accepted=question.accepted or None,
        **rules.changed(),
    )


def _change(pair: ScoredPair) -> Change:
    compared = risk.compare(pair.own, pair.base)
    wins, losses = int(compared.wins), int(compared.losses.n)
    return Change(
        measure=pair.measure,
        baseline=pair.baseline,
        topics=len(pair.topics),
        baseline_mean=float(pair.base.mean()),
        candidate_mean=float(pair.own.mean()),
        wins=wins,
        losses=losses,
        ties=len(pair.topics) - wins - losses,
        loss20=int(compared.loss20),
    )


def _worst(pair: ScoredPair) -> list[WorseQuery]:
    """The queries that lost most; equal losses are ordered by name, so that the order of topics plays no role."""
    order = sorted(np.flatnonzero(pair.loss > 0).tolist(), key=lambda row: (-pair.loss[row], pair.topics[row]))
    return [
        WorseQuery(
            pair.topics[row],
            pair.measure,
            pair.baseline,
            float(pair.base[row]),
            float(pair.own[row]),
            float(-pair.loss[row]),
        )
        for row in order[:WORST]
    ]


def _notes(groups: Groups | None) -> list[str]:
    if groups is None or NONE not in groups:
        return []
    return [f"topics without a segment count as {NONE}: {listed(groups[NONE])}"]
