"""The verdict on a candidate: what each rule found, what changed, and which queries got worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import risk
from surefoot.analysis.segments import NONE, group_topics
from surefoot.errors import SurefootError, listed
from surefoot.release_gate.checks import Finding, Pair, Verdict, check_all, worst_of
from surefoot.release_gate.rules import Rules
from surefoot.results import Result, signature
from surefoot.scores import Scores

WORST = 5
"""How many of the queries that lost most are listed for each baseline."""


@dataclass(frozen=True)
class Change:
    """What changed between a baseline and the candidate, over all topics."""

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
    """A query that lost, with both scores."""

    topic: str
    baseline: str
    baseline_score: float
    candidate_score: float
    delta: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GateResult(Result):
    """The verdict over all baselines and rules, and what it is based on; one row for each baseline and rule.

    Attributes
    ----------
    candidate, measure
        The system in question, and the effectiveness measure of the scores.
    findings
        What each rule found against each baseline.
    changes
        Means, wins, losses and ties against each baseline.
    worst
        The queries that lost most against each baseline, at most five of each.
    """

    candidate: str
    measure: str
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    worst: tuple[WorseQuery, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings: ``pass``, ``warn`` or ``fail``."""
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 1 if the candidate is refused, else 0."""
        return int(self.verdict == "fail")

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines that the candidate was compared with."""
        return tuple(change.baseline for change in self.changes)

    def against(self, baseline: str) -> tuple[Finding, ...]:
        """The findings against one baseline."""
        return tuple(finding for finding in self.findings if finding.baseline == baseline)

    def __str__(self) -> str:
        from surefoot.release_gate.render import render_text

        return render_text(self)


def gate(
    scores: Scores,
    baseline: str | Sequence[str],
    *,
    candidate: str,
    rules: Rules | None = None,
    segments: Mapping[Any, object] | None = None,
) -> GateResult:
    """May the candidate replace the baseline, or each of several?

    A rule fails where a loss exceeds its tolerance *and* is significant, warns where only one of the two holds, and
    passes otherwise; ``docs/gate.md`` describes each rule.

    Parameters
    ----------
    scores
        The scores of candidate and baselines on the same topics.
    baseline
        One or more systems, or MEAN, MEDIAN or MAX of each topic.
    candidate
        The system in question.
    rules
        Tolerances and limits; the defaults of `Rules` if None.
    segments
        The segment of each topic, for the rule ``segments``.

    Returns
    -------
    GateResult
        With ``verdict`` and ``exit_code``, the ``findings`` of each rule, and the ``worst`` queries.

    Examples
    --------
    >>> old = [0.5, 0.4, 0.6, 0.3, 0.5, 0.6, 0.4, 0.5]
    >>> new = [0.2, 0.3, 0.1, 0.1, 0.4, 0.2, 0.1, 0.3]
    >>> result = gate(Scores([old, new], ["old", "new"], range(8)), "old", candidate="new")
    >>> result.verdict, result.worst[0].topic
    ('fail', '2')
    """
    baselines = [baseline] if isinstance(baseline, str) else list(dict.fromkeys(baseline))
    if not baselines:
        raise SurefootError("the gate needs a baseline; name one")
    rules = Rules() if rules is None else rules
    absent = [topic for topic in rules.protected if topic not in scores.topics]
    if absent and "protected" not in rules.off:
        raise SurefootError(f"no score for the protected queries {listed(absent)}; a query must not vanish unseen")
    groups = None if segments is None else group_topics(scores.topics, segments)
    pairs = [Pair.of(scores, candidate, name) for name in baselines]
    return result_of(
        _signature(scores, candidate, baselines, rules, groups),
        candidate=candidate,
        measure=scores.measure,
        findings=tuple(finding for pair in pairs for finding in check_all(pair, rules, groups)),
        changes=tuple(_change(pair) for pair in pairs),
        worst=tuple(query for pair in pairs for query in _worst(pair)),
        notes=(*scores.notes, *_notes(candidate, baselines, groups)),
    )


def merge(results: Iterable[GateResult]) -> GateResult:
    """Several results of one candidate as one, with all findings and so the worst verdict."""
    parts = list(results)
    return result_of(
        " ".join(dict.fromkeys(part.signature for part in parts)),
        candidate=parts[0].candidate,
        measure=parts[0].measure,
        findings=tuple(finding for part in parts for finding in part.findings),
        changes=tuple(change for part in parts for change in part.changes),
        worst=tuple(query for part in parts for query in part.worst),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def result_of(signature: str, *, findings: tuple[Finding, ...] = (), **parts: Any) -> GateResult:
    """A result whose rows are the findings."""
    names = ("baseline", "rule", "verdict", "sentence")
    columns = {name: [getattr(finding, name) for finding in findings] for name in names}
    return GateResult(signature=signature, columns=columns, findings=findings, **parts)


def _signature(
    scores: Scores, candidate: str, baselines: Sequence[str], rules: Rules, groups: Mapping[str, object] | None
) -> str:
    return signature(
        "gate",
        measure=scores.measure,
        candidate=candidate,
        baseline=baselines,
        alpha=rules.alpha,
        level=rules.level,
        topics=len(scores.topics),
        segments=None if groups is None else len(groups),
        **rules.changed(),
    )


def _change(pair: Pair) -> Change:
    compared = risk.compare(pair.own, pair.base)
    wins, losses = int(compared.wins), int(compared.losses.n)
    return Change(
        baseline=pair.baseline,
        topics=len(pair.topics),
        baseline_mean=float(pair.base.mean()),
        candidate_mean=float(pair.own.mean()),
        wins=wins,
        losses=losses,
        ties=len(pair.topics) - wins - losses,
        loss20=int(compared.loss20),
    )


def _worst(pair: Pair) -> list[WorseQuery]:
    """The queries that lost most; equal losses are ordered by name, so that the order of topics plays no role."""
    delta = pair.delta
    order = sorted(np.flatnonzero(delta < 0).tolist(), key=lambda index: (delta[index], pair.topics[index]))
    return [
        WorseQuery(pair.topics[i], pair.baseline, float(pair.base[i]), float(pair.own[i]), float(delta[i]))
        for i in order[:WORST]
    ]


def _notes(candidate: str, baselines: Sequence[str], groups: Mapping[str, Sequence[str]] | None) -> list[str]:
    notes = []
    if candidate in baselines:
        notes.append(f"{candidate} is compared with itself, which always passes")
    if groups is not None and NONE in groups:
        notes.append(f"topics without a segment count as {NONE}: {listed(groups[NONE])}")
    return notes
