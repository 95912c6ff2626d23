"""The ratchet: a candidate is gated against the last accepted one, and accepted in its place if it passes.

A person who sees how a candidate does on each query can fit the next one to these queries, and no count of tries
corrects for that. Held-out queries give one bit: confirmed or not, and the ratchet counts how often they were used. Up
to the second yes, the open queries and the time of the first yes determine which candidate is tested next, and the
levels of `Question` add up over these times. So the error stays below the level, whatever is tried (as in Blum and
Hardt's Ladder, 2015, and the reusable holdout of Dwork and others, 2015). After that, the levels cover candidates that
depend on the answers only through the accepted candidate; those made from the whole record of yes and no are not
covered, as docs/gate.md says.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from statistics import fmean
from typing import Any

import numpy as np

from surefoot.effectiveness.measures import parse_measure
from surefoot.errors import SurefootError, choose, counted, listed
from surefoot.io.atomic import digest_of
from surefoot.release_gate.accepted import Accepted, Anchor, First, by_topic
from surefoot.release_gate.acknowledged import Acknowledged
from surefoot.release_gate.comparison import Policy
from surefoot.release_gate.doubt import ranked_documents
from surefoot.release_gate.finding import HELD_OUT, Finding, Question
from surefoot.release_gate.gate import as_list, check_rules, gate_all
from surefoot.release_gate.pinned import held_to, named_loosened, options_of
from surefoot.release_gate.rules import Rules, RulesLike
from surefoot.release_gate.verdict import CumulativeChange, GateResult
from surefoot.results import signature
from surefoot.scores import Missing, Scores

DEEPEST = 100
"""The largest number of documents kept for a topic."""


def accept(
    scores: Scores | Sequence[Scores], result: GateResult, before: Accepted | None = None, missing: Missing = "error"
) -> Accepted:
    """The content of a ratchet file once a gate's candidate is accepted.

    Parameters
    ----------
    scores
        The scores that were gated.
    result
        The result of the gate.
    before
        What was accepted before. Its topics without a score now are kept, and so are the count of tries, the first
        accepted candidate, and the anchor unless the mean is higher now.
    missing
        ``"zero"`` keeps such topics with a score of 0; otherwise they keep their old score.

    Returns
    -------
    Accepted
        To be written by `write_accepted`.

    Examples
    --------
    >>> from surefoot import gate
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accept(scores, gate(scores, "old", candidate="new")).scores
    {'score': {'q1': 0.5, 'q2': 0.6}}
    """
    kept, parts = Accepted("", "", {}) if before is None else before, as_list(scores)
    found = {part.measure: _carried(part, result.candidate, kept, missing) for part in parts}
    again = [measure for measure in found if measure in kept.scores]
    anchors = {measure: _next_anchor(kept.anchor(measure), found[measure]) for measure in again}
    return replace(
        kept,
        system=result.candidate,
        signature=result.signature,
        scores=found,
        accepted_by=len(kept.asked),
        anchors={measure: anchor for measure, anchor in anchors.items() if anchor is not None},
        firsts={measure: _next_first(kept, measure, found[measure]) for measure in again},
        rules=result.rules.options(),
        trials={part.measure: _trials(part, result.candidate) for part in parts if result.candidate in part.trials},
        **_ranked(parts, result.candidate),
    )


def _ranked(parts: Sequence[Scores], candidate: str) -> dict[str, Any]:
    """The documents of a candidate down to the deepest cutoff, as far as its run is known."""
    cutoffs = [parse_measure(part.source.measure).cutoff for part in parts if part.source is not None]
    depth = max((cutoff for cutoff in cutoffs if cutoff <= DEEPEST), default=1)
    documents = ranked_documents(parts[0], candidate, depth)
    return {"depth": 0 if documents is None else depth, "documents": documents or {}}


def _trials(scores: Scores, system: str) -> dict[str, list[float]]:
    """The scores of a system's trials by topic."""
    columns = scores.trials[system].T
    return {topic: own[~np.isnan(own)].tolist() for topic, own in zip(scores.topics, columns, strict=True)}


def first_result(scores: Sequence[Scores], *, candidate: str, rules: Rules | None = None) -> GateResult:
    """The result of the first candidate, which is compared with nothing: it passes, and a note says why."""
    first, measures = scores[0], tuple(part.measure for part in scores)
    first.row(candidate)
    note = f"nothing was accepted before: {candidate} is the first, and was compared with nothing"
    return GateResult(
        signature("gate", measure=measures, candidate=candidate, topics=len(first.topics)), (*first.notes, note),
        candidate=candidate, measures=measures, rules=rules or Rules(), noun=first.noun,
    )  # fmt: skip


def gate_accepted(
    scores: Scores | Sequence[Scores],
    accepted: Accepted,
    *,
    candidate: str,
    rules: RulesLike | None = None,
    segments: Mapping[Any, object] | None = None,
    missing: Missing = "error",
    assessors: object = None,
    acknowledged: Acknowledged | None = None,
    seed: int = 0,
) -> GateResult:
    """Gate a candidate against the candidate that was accepted last, and against the anchor.

    New topics have nothing to lose and are left out; a note names them. The candidate counts as one more try if it was
    not tested before, and the level for passing is corrected for the number of tries.

    Parameters
    ----------
    scores
        The scores of the candidate, of one or several measures.
    accepted
        What was accepted, of the same measures.
    candidate, rules, segments, assessors, acknowledged, seed
        As in `gate`.
    missing
        What to do with topics that were accepted and have no score now: ``"error"``, since a query must not vanish
        unseen, ``"zero"`` to count them 0, or ``"drop"`` to leave them out. A note names them.

    Returns
    -------
    GateResult
        As that of `gate`.

    Examples
    --------
    >>> from surefoot import gate
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accepted = accept(scores, gate(scores, "new", candidate="old"))
    >>> gate_accepted(scores, accepted, candidate="new").verdict
    'undecided'
    """
    if not accepted.scores:
        raise SurefootError("no candidate was accepted yet, so there is nothing to compare with")
    policy = Policy.of(rules, acknowledged, assessors=assessors, seed=seed, segments=segments, missing=missing)
    return gate_ratchet(as_list(scores), accepted, policy, candidate=candidate)[0]


def gate_ratchet(
    scores: Sequence[Scores],
    account: Accepted,
    policy: Policy,
    *,
    candidate: str,
    pin: bool = False,
    loosen: bool = False,
) -> tuple[GateResult, Accepted]:
    """The result against baselines, the accepted candidate and the anchor, and the account with the question asked.

    ``pin`` keeps the options in the account: later gates are held to them. To pin options that may be looser than
    pinned ones needs ``loosen``.
    """
    policy = replace(policy, keep_open=policy.rules.protected)
    own = options_of(policy, scores)
    loosened, note = named_loosened(own, account, pin=pin)
    if account.pinned and not pin:
        policy = held_to(policy, own, account.pinned)
    elif account.pinned and loosened and not loosen:
        raise SurefootError(
            f"--pin would replace pinned options by looser or other ones: {'; '.join(loosened)}; add --loosen"
        )
    account = replace(account, pinned=own) if pin else account
    result, account = _judged(scores, account, policy, candidate)
    if loosened:
        result = replace(result, loosened=loosened, notes=(*result.notes, f"{note}: {'; '.join(loosened)}"))
    return result, account


def _judged(scores: Sequence[Scores], account: Accepted, policy: Policy, candidate: str) -> tuple[GateResult, Accepted]:
    missing = policy.missing
    check_rules(scores, policy.rules)
    if not (account.scores or policy.baselines):
        return first_result(scores, candidate=candidate, rules=policy.rules), account
    comparisons = [(part, name) for part in scores for name in policy.baselines]
    comparisons += accepted_comparisons(scores, account, candidate, missing)
    anchors = anchor_comparisons(scores, account, candidate, missing)
    ask = partial(gate_all, candidate=candidate, policy=policy)
    if not policy.holdout:
        account, question = account.ask(scores, candidate)
        result = ask(comparisons, anchors=anchors, question=question)
        changes = tuple(cumulative_change(scores, account, candidate, missing))
        return replace(result, cumulative=changes, notes=(*result.notes, *map(str, changes))), account
    on_open, on_held = split_comparisons(comparisons, policy.holdout, policy.keep_open)
    open_anchors, held_anchors = split_comparisons(anchors, policy.holdout, policy.keep_open)
    result = ask(on_open, anchors=open_anchors)
    if result.verdict == "pass":
        account, question = account.ask(scores, candidate)
        result = confirm(result, ask(on_held, anchors=held_anchors, question=question), question)
    return result, account


def accepted_comparisons(
    scores: Sequence[Scores], accepted: Accepted, candidate: str, missing: Missing
) -> list[tuple[Scores, str]]:
    """The candidate and the accepted scores, if there are any, on the accepted topics, for each measure."""
    if not accepted.scores:
        return []
    return [(_beside_accepted(part, accepted, candidate, missing), accepted.name) for part in scores]


def anchor_comparisons(
    scores: Sequence[Scores], accepted: Accepted, candidate: str, missing: Missing
) -> list[tuple[Scores, str]]:
    """The candidate and the anchor, for each measure whose anchor is not the candidate that was accepted last."""
    anchors = [(part, accepted.anchors[part.measure]) for part in scores if part.measure in accepted.anchors]
    return [(_beside(part, anchor.scores, anchor.name, candidate, missing), anchor.name) for part, anchor in anchors]


def cumulative_change(
    scores: Sequence[Scores], accepted: Accepted, candidate: str, missing: Missing = "error"
) -> list[CumulativeChange]:
    """The change of the mean since the anchor and since the first accepted candidate, for each measure.

    The means are over the accepted topics. Those without a score now count as in `accept`.
    """
    found = []
    for part in scores if accepted.scores else ():
        anchor, first = accepted.anchor(part.measure), accepted.first(part.measure)
        own = _carried(part, candidate, accepted, missing)
        mean = fmean(own[topic] for topic in anchor.scores)
        since_anchor = mean - fmean(anchor.scores.values())
        found.append(CumulativeChange(part.measure, anchor.system, since_anchor, first.system, mean - first.mean))
    return found


def refuse_other_collection(accepted: Accepted, collection: Mapping[str, str]) -> None:
    """Refuse to compare with scores that come from other judgments or queries."""
    for name, digest in collection.items():
        before = accepted.collection.get(name)
        if before is not None and before != digest:
            those = f"by which {accepted.system} was accepted" if accepted.system else "of the ratchet file"
            raise SurefootError(
                f"the {name} are not those {those}, so that scores can't be compared; use those, or delete the ratchet "
                "file and accept a candidate again"
            )


def _carried(scores: Scores, candidate: str, before: Accepted, missing: Missing) -> dict[str, float]:
    """The candidate's score by topic; accepted topics without a score now count 0, or keep their accepted score."""
    old = before.scores.get(scores.measure, {})
    own = by_topic(scores, candidate)
    return own | {topic: 0.0 if missing == "zero" else score for topic, score in old.items() if topic not in own}


def _next_anchor(anchor: Anchor, own: Mapping[str, float]) -> Anchor | None:
    """The anchor, extended to the topics of the candidate accepted now; None if that candidate is the anchor now."""
    rose = fmean(own[topic] for topic in anchor.scores) > fmean(anchor.scores.values())
    if rose or anchor.scores == own:
        return None
    return replace(anchor, scores={topic: anchor.scores.get(topic, score) for topic, score in own.items()})


def _next_first(before: Accepted, measure: str, own: Mapping[str, float]) -> First:
    """The first accepted candidate, extended to the topics of the candidate accepted now."""
    first, old = before.first(measure), before.scores[measure]
    added = [score for topic, score in own.items() if topic not in old]
    return replace(first, mean=math.fsum([first.mean * len(old), *added]) / len(own)) if added else first


def _beside(scores: Scores, old: Mapping[str, float], name: str, candidate: str, missing: Missing) -> Scores:
    now = by_topic(scores, candidate)
    gone = [topic for topic in old if topic not in now]
    new = [topic for topic in now if topic not in old]
    if gone and choose(missing, ("error", "zero", "drop"), "missing") == "error":
        raise SurefootError(
            f"{candidate} has no score for topics that were accepted: {listed(gone)}; "
            "choose missing='zero' to count them 0 or missing='drop' to leave them out"
        )
    topics = [topic for topic in old if missing == "zero" or topic in now]
    if not topics:
        raise SurefootError(f"the accepted scores share no topic with these: they have {listed(old, 3)}")
    values = [[now.get(topic, 0.0) for topic in topics], [old[topic] for topic in topics]]
    notes = (*scores.notes, *_notes(gone, new, missing))
    return Scores(values, [candidate, name], topics, scores.measure, notes)


def _beside_accepted(scores: Scores, accepted: Accepted, candidate: str, missing: Missing) -> Scores:
    """The candidate and the accepted scores, with the runs and trials of both as far as they are known."""
    beside = _beside(scores, accepted.scores_of(scores.measure), accepted.name, candidate, missing)
    trials = {}
    if own := accepted.trials.get(scores.measure):
        rows = [own.get(topic) or [score] for topic, score in zip(beside.topics, beside[accepted.name], strict=True)]
        trials[accepted.name] = np.array(list(zip_longest(*rows, fillvalue=np.nan)))
    if candidate in scores.trials and not set(beside.topics) - set(scores.topics):
        trials[candidate] = scores.select(topics=beside.topics).trials[candidate]
    source, known = scores.source, set(accepted.documents)
    if source is not None and candidate in source.empty and known >= set(beside.topics):
        runs, empty = {}, [topic for topic in beside.topics if not accepted.documents[topic]]
        if candidate in source.runs and parse_measure(source.measure).cutoff <= accepted.depth:
            ranked = {topic: accepted.documents[topic] for topic in known}
            run = {topic: {one: -float(rank) for rank, one in enumerate(own)} for topic, own in ranked.items() if own}
            runs = {candidate: source.runs[candidate], accepted.name: run}
        empties = {candidate: source.empty[candidate], accepted.name: empty}
        source = replace(source, runs=runs, empty=empties)
    else:
        source = None
    return replace(beside, trials=trials, source=source, noun=scores.noun)


def _notes(gone: list[str], new: list[str], missing: Missing) -> list[str]:
    notes = []
    if gone:
        done = "counted 0" if missing == "zero" else "left out"
        notes.append(f"accepted topics without a score now, {done}: {listed(gone)}")
    if new:
        notes.append(f"new topics, not compared with the accepted scores: {listed(new)}")
    return notes


def split_topics(scores: Scores, fraction: float, keep_open: Collection[str] = ()) -> tuple[Scores, Scores]:
    """The scores on the open and on the held-out topics; which these are depends only on their names.

    >>> scores = Scores([[0.5] * 100], ["a"], range(100))
    >>> [len(part.topics) for part in split_topics(scores, 0.3)]
    [71, 29]
    """
    if not 0 < fraction < 1:
        raise SurefootError(f"the fraction of queries held out must lie between 0 and 1; got {fraction:g}")
    limit = fraction * 16**8
    held = {topic for topic in scores.topics if int(digest_of(topic, 4), 16) < limit} - set(keep_open)
    parts = [[topic for topic in scores.topics if (topic in held) == wanted] for wanted in (False, True)]
    if not all(parts):
        raise SurefootError(f"holding out {fraction:g} of {counted(len(scores.topics), 'query')} leaves one part empty")
    return scores.select(topics=parts[0]), scores.select(topics=parts[1])


def split_comparisons(
    comparisons: Iterable[tuple[Scores, str]], fraction: float, keep_open: Collection[str] = ()
) -> tuple[list[tuple[Scores, str]], list[tuple[Scores, str]]]:
    """The comparisons, each of scores and a baseline, on the open and on the held-out topics."""
    parts = [(split_topics(scores, fraction, keep_open), name) for scores, name in comparisons]
    return [(own, name) for (own, _), name in parts], [(held, name) for (_, held), name in parts]


def confirm(result: GateResult, held_out: GateResult, question: Question) -> GateResult:
    """A result that passed, with whether the held-out queries confirm it, and nothing else about them.

    The signature gets the number of the question, on which only this answer depends.
    """
    confirmed = held_out.verdict == "pass"
    change, topics = result.changes[0], counted(held_out.changes[0].topics, "query")
    answer = "confirm it" if confirmed else "do not confirm it"
    finding = Finding(
        HELD_OUT,
        change.measure,
        change.baseline,
        "pass" if confirmed else "undecided",
        sentence=f"The {topics} held out {answer}; it was their question number {question.number}.",
    )
    own, marker, version = result.signature.rpartition("|surefoot=")
    own += f"|tries={question.number}" + (f"|accepted={question.accepted}" if question.accepted else "")
    return replace(result, signature=f"{own}{marker}{version}", findings=(*result.findings, finding))
