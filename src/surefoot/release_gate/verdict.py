"""The verdict on a candidate: what each rule found, what changed, and which queries got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from surefoot import risk
from surefoot._typing import PathLike
from surefoot.analysis.segments import NONE, group_topics
from surefoot.errors import SurefootError, listed
from surefoot.io.atomic import digest_of
from surefoot.release_gate import words
from surefoot.release_gate.acknowledged import Acknowledged, read_acknowledged
from surefoot.release_gate.comparison import DRAWS, Comparison, Policy
from surefoot.release_gate.finding import SLACK, Finding, Groups, Resolution, ScoredPair, Verdict, worst_of
from surefoot.release_gate.levels import UNCOUNTED, Question
from surefoot.release_gate.rules import UNDECIDED, Rules, RulesLike, resolve_rules
from surefoot.results import Result, signature
from surefoot.scores import Scores, ScoresLike

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
    noise: float | None = None

    @classmethod
    def of(cls, pair: ScoredPair, noise: float | None) -> Change:
        """What changed in a pair; ``noise`` is how far a system differs from itself, where it was repeated."""
        compared = risk.compare(pair.own, pair.base)
        wins, losses = int(compared.wins), int(compared.losses.n)
        means = (float(pair.base.mean()), float(pair.own.mean()))
        ties = len(pair.topics) - wins - losses
        return cls(
            pair.measure, pair.baseline, len(pair.topics), *means, wins, losses, ties, int(compared.loss20), noise
        )


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
    evidence
        The tier of evidence: ``"seen"`` or ``"strict"``.
    undecided
        What an undecided candidate counts as, as in `Rules`.
    findings
        What each rule found against each baseline.
    changes
        Means, wins, losses and ties against each baseline.
    worst
        The queries that lost most against each baseline, at most five of each.
    resolution
        What so many queries can show.
    needs_repeats
        Whether the scores may be single trials of a random system, whose noise is not known.
    """

    candidate: str
    measures: tuple[str, ...]
    evidence: str = "seen"
    undecided: str = "warn"
    findings: tuple[Finding, ...] = ()
    changes: tuple[Change, ...] = ()
    worst: tuple[WorseQuery, ...] = ()
    resolution: Resolution | None = None
    needs_repeats: bool = False

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all findings: ``pass``, ``undecided`` or ``fail``."""
        return worst_of(finding.verdict for finding in self.findings)

    @property
    def leans(self) -> Literal["for", "against"] | None:
        """Which way an undecided verdict leans: against the candidate if any undecided rule does."""
        leanings = {finding.leans for finding in self.findings} - {None}
        if self.verdict != "undecided" or not leanings:
            return None
        return "against" if "against" in leanings else "for"

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 pass, 1 fail; what is undecided counts as `Rules` says."""
        if self.verdict == "undecided" and self.undecided == "hold":
            return int(self.leans == "against")
        return {"pass": 0, "undecided": UNDECIDED[self.undecided], "fail": 1}[self.verdict]

    @property
    def acceptable(self) -> bool:
        """Whether a ratchet may accept the candidate."""
        return self.verdict == "pass" or (self.verdict == "undecided" and self.undecided == "pass")

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines that the candidate was compared with."""
        return tuple(dict.fromkeys(change.baseline for change in self.changes))

    @property
    def reason(self) -> str:
        """The one reason for the verdict."""
        return words.reason(self)

    @property
    def next_step(self) -> str:
        """What to do now."""
        return words.next_step(self)

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
        """The verdict in words."""
        return words.headline(self)

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
    assessors: object = None,
    acknowledged: PathLike | Acknowledged | None = None,
    tries: int = 0,
    seed: int = 0,
) -> GateResult:
    """May the candidate replace the baseline, or each of several?

    The answer is that of the command ``surefoot gate`` on the same inputs. ``docs/gate.md`` describes the rules.

    Parameters
    ----------
    scores
        The scores of candidate and baselines on the same topics; several measures are several scores. Scores that
        `score_runs` made know their runs and judgments, so that unjudged documents are taken into account.
    baseline
        One or more systems, or MEAN, MEDIAN or MAX of each topic.
    candidate
        The system in question.
    rules
        Tolerances and limits: `Rules`, or a dictionary of its options, such as ``{"mean_tolerance": 0.02}``; the
        defaults if None.
    segments
        The segment of each topic, for the rule ``segments``.
    assessors
        Which grades are in doubt: ``"none"`` (only those of unjudged documents), ``"off"`` (nothing), ``"dl2019"``,
        a share of grades that another assessor would change, or qrels of other assessors. None: ``"none"``, or
        ``"off"`` with strict evidence.
    acknowledged
        Losses of single queries that somebody accepted: the file that ``surefoot gate --acknowledge`` writes.
    tries
        How many candidates these topics were asked about, this one included; 0 if nobody counts.
    seed
        The seed of all random draws.

    Returns
    -------
    GateResult
        With ``verdict``, ``exit_code``, ``reason`` and ``next_step``, the ``findings`` of each rule, and the ``worst``
        queries.

    Examples
    --------
    >>> old = [0.5, 0.4, 0.6, 0.3, 0.5, 0.6, 0.4, 0.5] * 4
    >>> new = [0.1, 0.1, 0.1, 0.0, 0.1, 0.1, 0.1, 0.1] * 4
    >>> result = gate(Scores([old, new], ["old", "new"], range(32)), "old", candidate="new")
    >>> result.verdict, result.worst[0].topic
    ('fail', '10')
    """
    parts = as_list(scores)
    if not parts:
        raise SurefootError("the gate needs scores; got none")
    if type(tries) is not int or tries < 0:
        raise SurefootError(f"tries must be a whole number of 0 or more; got {tries!r}")
    baselines = [baseline] if isinstance(baseline, str) else list(dict.fromkeys(baseline))
    if not baselines:
        raise SurefootError("the gate needs a baseline; name one")
    if acknowledged is not None and not isinstance(acknowledged, Acknowledged):
        acknowledged = read_acknowledged(acknowledged)
    policy = Policy(resolve_rules(rules), assessors, acknowledged, seed)
    refuse_unprotected(parts, policy.rules)
    comparisons = [(part, name) for part in parts for name in baselines]
    return gate_all(comparisons, candidate=candidate, policy=policy, segments=segments, question=Question(tries))


def gate_all(
    comparisons: Sequence[tuple[Scores, str]],
    *,
    candidate: str,
    policy: Policy,
    anchors: Sequence[tuple[Scores, str]] = (),
    segments: Mapping[Any, object] | None = None,
    question: Question = UNCOUNTED,
) -> GateResult:
    """The result of several comparisons, each of scores and a baseline among them, as one gate.

    Against ``anchors`` only the mean is tested, with the loss budget as its limit.
    """
    rules = policy.rules
    pairs = [*comparisons, *anchors]
    for scores, baseline in pairs:
        _validate(scores, baseline, candidate, rules)
    groups = [None if segments is None else group_topics(scores.topics, segments) for scores, _ in pairs]
    found = [
        Comparison(scores, candidate, baseline, policy, own, len(pairs), question, number >= len(comparisons))
        for number, ((scores, baseline), own) in enumerate(zip(pairs, groups, strict=True))
    ]
    if rules.evidence == "strict":
        tests, moved = sum(one.own_tests for one in found), {one.baseline for one in found if np.any(one.pair.delta)}
        found = [replace(one, tests=tests, has_moved=one.baseline in moved) for one in found]
    findings = tuple(finding for one in found for finding in one.findings())
    if not findings:
        raise SurefootError("all rules are off, or have nothing to test; leave one on")
    notes = [note for scores, _ in pairs for note in scores.notes]
    own_notes = [note for one in found for note in one.notes()]
    return GateResult(
        signature=_signature(comparisons, candidate, policy, groups[0], question, len(anchors)),
        columns=_columns(findings),
        candidate=candidate,
        measures=tuple(dict.fromkeys(scores.measure for scores, _ in comparisons)),
        evidence=rules.evidence,
        undecided=rules.undecided,
        findings=findings,
        changes=tuple(Change.of(one.pair, one.noise[1] if one.noise else None) for one in found),
        worst=tuple(query for one in found for query in _worst(one.pair)),
        resolution=found[0].resolution(),
        needs_repeats=any(one.needs_repeats for one in found),
        notes=tuple(dict.fromkeys([*notes, *_notes(groups[0]), *policy.notes(comparisons, candidate), *own_notes])),
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
    names = ("measure", "baseline", "rule", "verdict", "loss", "low", "high", "limit", "probability", "sentence")
    return {name: [getattr(finding, name) for finding in findings] for name in names}


def _validate(scores: Scores, baseline: str, candidate: str, rules: Rules) -> None:
    if candidate == baseline:
        raise SurefootError(f"{candidate} is its own baseline, so there is nothing to compare; name another")
    change = float(np.abs(scores[candidate] - scores.baseline(baseline)).max())
    if change > rules.largest_change + SLACK:
        raise SurefootError(
            f"a query changed by {change:g} in {scores.measure}, more than the {rules.largest_change:g} that is taken "
            "for possible; give the range of the measure by --largest-change (largest_change)"
        )


def _signature(
    comparisons: Sequence[tuple[Scores, str]],
    candidate: str,
    policy: Policy,
    groups: Groups | None,
    question: Question,
    anchors: int,
) -> str:
    """Everything that the verdict depends on besides the scores."""
    trials = {len(one) for scores, baseline in comparisons for name in (candidate, baseline)
              if (one := scores.trials.get(name)) is not None}  # fmt: skip
    return signature(
        "gate",
        measure=dict.fromkeys(scores.measure for scores, _ in comparisons),
        candidate=candidate,
        baseline=dict.fromkeys(baseline for _, baseline in comparisons),
        evidence=policy.rules.evidence,
        level=policy.rules.level,
        topics=len(comparisons[0][0].topics),
        trials=sorted(trials) or None,
        segments=None if groups is None else f"{len(groups)}:{digest_of(repr(sorted(groups.items())), 4)}",
        assessors=policy.named_assessors(comparisons),
        draws=DRAWS if policy.doubted != "off" and any(scores.source for scores, _ in comparisons) else None,
        tries=question.number or None,
        accepted=question.accepted or None,
        anchors=anchors or None,
        acknowledged=policy.acknowledged_digest,
        seed=policy.seed,
        **policy.rules.changed(),
    )


def _worst(pair: ScoredPair) -> list[WorseQuery]:
    """The queries that lost most; equal losses are ordered by name, so that the order of topics plays no role."""
    loss, count = pair.loss, min(WORST, len(pair.topics))
    threshold = max(float(np.partition(loss, -count)[-count]), SLACK)
    rows = sorted(np.flatnonzero(loss >= threshold).tolist(), key=lambda row: (-loss[row], pair.topics[row]))
    return [
        WorseQuery(
            pair.topics[row],
            pair.measure,
            pair.baseline,
            float(pair.base[row]),
            float(pair.own[row]),
            float(-loss[row]),
        )
        for row in rows[:WORST]
    ]


def _notes(groups: Groups | None) -> list[str]:
    if groups is None or NONE not in groups:
        return []
    return [f"topics without a segment count as {NONE}: {listed(groups[NONE])}"]
