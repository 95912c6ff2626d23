"""The gate: one candidate against one or several baselines, as one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot._names import NO_SEGMENT
from surefoot._typing import PathLike
from surefoot.errors import SurefootError, listed
from surefoot.io.atomic import digest_of
from surefoot.io.document_lists import digests_of
from surefoot.release_gate.acknowledged import Acknowledged
from surefoot.release_gate.comparison import Comparison, Policy
from surefoot.release_gate.doubt import assessors_name
from surefoot.release_gate.finding import SLACK, UNCOUNTED, Arrival, Groups, Question, ScoredPair
from surefoot.release_gate.rules import Rules, RulesLike
from surefoot.release_gate.verdict import Change, GateResult, WorseQuery
from surefoot.results import signature
from surefoot.scores import Scores, ScoresLike

WORST = 5
"""How many of the queries that lost most are listed for each baseline."""


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
        Accepted losses of single queries: the file that ``surefoot gate --acknowledge`` writes.
    tries
        How many candidates were tested on these topics, this one included; 0 if tries are not counted.
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
    if type(tries) is not int or tries < 0:
        raise SurefootError(f"tries must be a whole number of 0 or more; got {tries!r}")
    baselines = as_baselines(baseline)
    policy = Policy.of(rules, acknowledged, assessors=assessors, seed=seed, baselines=baselines, segments=segments)
    check_rules(parts, policy.rules)
    comparisons = [(part, name) for part in parts for name in baselines]
    return gate_all(comparisons, candidate=candidate, policy=policy, question=Question(tries))


def check_rules(parts: Sequence[Scores], rules: Rules) -> None:
    """Refuse sequential evidence, as the order of arrival is unknown, and protected queries without a score."""
    if rules.evidence == "sequential":
        raise SurefootError("sequential evidence needs the order of arrival: use --sequential FILE (SequentialGate)")
    for part in parts if "protected" not in rules.off else ():
        absent = [topic for topic in rules.protected if topic not in part.topics]
        if absent:
            raise SurefootError(
                f"no score for the protected queries {listed(absent)}; each protected query needs a score"
            )


def gate_all(
    comparisons: Sequence[tuple[Scores, str]],
    *,
    candidate: str,
    policy: Policy,
    anchors: Sequence[tuple[Scores, str]] = (),
    question: Question = UNCOUNTED,
    arrival: Arrival | None = None,
) -> GateResult:
    """The result of several comparisons, each of scores and a baseline among them, as one gate.

    Against ``anchors`` only the mean is tested, with the loss budget as its limit. With an ``arrival`` the topics stand
    in the order in which they arrived, and the evidence is sequential.
    """
    rules = policy.rules
    pairs = [*comparisons, *anchors]
    for scores, baseline in pairs:
        _validate(scores, baseline, candidate, rules)
    found = [
        Comparison(
            scores, candidate, baseline, policy, len(pairs), question, number >= len(comparisons), arrival=arrival
        )
        for number, (scores, baseline) in enumerate(pairs)
    ]
    if rules.evidence == "strict":
        tests, moved = sum(one.tests for one in found), {one.baseline for one in found if np.any(one.pair.delta)}
        found = [replace(one, n_tests=tests, has_moved=one.baseline in moved) for one in found]
    findings = tuple(finding for one in found for finding in one.findings())
    if not findings:
        raise SurefootError("all rules are off, or have nothing to test; leave one on")
    notes = [note for scores, _ in pairs for note in scores.notes]
    notes += _notes(found[0].groups, [scores for scores, _ in comparisons], candidate, policy)
    notes += [note for one in found for note in one.notes()]
    return GateResult(
        signature=_signature(found[: len(comparisons)], policy, question, len(anchors), arrival),
        candidate=candidate,
        measures=tuple(dict.fromkeys(scores.measure for scores, _ in comparisons)),
        rules=rules,
        findings=findings,
        changes=tuple(Change.of(one.expected_pair, one.noise[1] if one.noise else None) for one in found),
        worst=tuple(query for one in found for query in _worst(one.expected_pair)),
        resolution=found[0].resolution(),
        needs_repeats=any(one.needs_repeats for one in found),
        noun=comparisons[0][0].noun,
        notes=tuple(dict.fromkeys(notes)),
    )


def as_list(scores: ScoresLike) -> list[Scores]:
    """Scores of one or several measures as a list; each is anything that `Scores.of` takes."""
    found = [Scores.of(one) for one in (scores if isinstance(scores, list | tuple) else [scores])]
    if not found:
        raise SurefootError("the gate needs scores; got none")
    return found


def as_baselines(baseline: str | Sequence[str]) -> list[str]:
    """One or more baselines, each once."""
    found = [baseline] if isinstance(baseline, str) else list(dict.fromkeys(baseline))
    if not found:
        raise SurefootError("the gate needs a baseline; name one")
    return found


def _validate(scores: Scores, baseline: str, candidate: str, rules: Rules) -> None:
    if candidate == baseline:
        raise SurefootError(f"{candidate} is its own baseline, so there is nothing to compare; name another")
    if rules.evidence != "seen" and scores.source is not None and scores.source.llm_qrels:
        raise SurefootError(f"{rules.evidence} evidence takes the judgments as facts; leave out llm_qrels")
    change = float(np.abs(scores[candidate] - scores.baseline(baseline)).max())
    if change > rules.largest_change + SLACK:
        raise SurefootError(
            f"a query changed by {change:g} in {scores.measure}, but the gate assumes changes of at most "
            f"{rules.largest_change:g}; set --largest-change (largest_change) to the range of the measure"
        )


def _signature(
    found: Sequence[Comparison],
    policy: Policy,
    question: Question,
    anchors: int,
    arrival: Arrival | None,
) -> str:
    """Everything that the verdict depends on besides the scores."""
    pairs, scores, groups = [one.pair for one in found], found[0].scores, found[0].groups
    trials = {len(own) for pair in pairs for own in (pair.own_trials, pair.base_trials) if own is not None}
    is_known = any(one.scores.source is not None and one.scores.source.runs for one in found)
    return signature(
        "gate",
        measure=dict.fromkeys(pair.measure for pair in pairs),
        candidate=pairs[0].candidate,
        baseline=dict.fromkeys(pair.baseline for pair in pairs),
        evidence=policy.rules.evidence,
        level=policy.rules.level,
        topics=len(scores.topics),
        trials=sorted(trials) or None,
        ties=scores.ties,
        segments=None if groups is None else f"{len(groups)}:{digest_of(repr(sorted(groups.items())), 4)}",
        assessors=assessors_name(policy.doubted) if is_known else "unknown",
        llm=digests_of(scores.source.llm_qrels) if scores.source else None,
        draws=max((len(one.doubt.deltas) for one in found if one.doubt and one.doubt.is_open), default=None),
        tries=question.number or None,
        accepted=question.accepted or None,
        anchors=anchors or None,
        holdout=policy.holdout or None,
        arrived=arrival and arrival.digest[:8],
        acknowledged=policy.acknowledged and policy.acknowledged.digest,
        seed=policy.seed,
        **policy.rules.changed(),
    )


def _worst(pair: ScoredPair) -> list[WorseQuery]:
    """The queries that lost most; equal losses are ordered by name, so that the order of topics plays no role."""
    loss, count = pair.loss, min(WORST, len(pair.topics))
    threshold = max(float(np.partition(loss, -count)[-count]), SLACK)
    rows = sorted(np.flatnonzero(loss >= threshold).tolist(), key=lambda row: (-loss[row], pair.topics[row]))
    scores = np.transpose([pair.base, pair.own, -loss]).tolist()
    return [WorseQuery(pair.topics[row], pair.measure, pair.baseline, *scores[row]) for row in rows[:WORST]]


def _notes(groups: Groups | None, scores: Sequence[Scores], candidate: str, policy: Policy) -> list[str]:
    """Topics without a segment, and acknowledged losses that have expired."""
    notes = []
    if groups is not None and NO_SEGMENT in groups:
        notes.append(f"topics without a segment count as {NO_SEGMENT}: {listed(groups[NO_SEGMENT])}")
    if policy.acknowledged and (expired := policy.acknowledged.expired(scores, candidate)):
        notes.append(f"no longer acknowledged, since the score changed again: {listed(expired)}")
    return notes
