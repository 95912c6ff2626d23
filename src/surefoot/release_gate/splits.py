"""Parts of the scores: queries that are held out, and the halves of a system's trials.

Held-out queries answer one question, yes or no, and the ratchet counts how often they were asked.

A person who sees how a candidate fares on each query can fit the next one to these queries, and no count of tries
corrects for that. Held-out queries give one bit: confirmed or not. Up to the second yes, the open queries and the time
of the first yes determine which candidate is asked about next, and the levels of `Question` add up over these times:
that is enough, whatever is tried (as in Blum and Hardt's Ladder, 2015, and the reusable holdout of Dwork and others,
2015).
Afterwards they cover candidates that depend on the answers only by what is accepted now; those made from the whole
record of yes and no are not covered, as docs/gate.md says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from surefoot.errors import SurefootError, counted, listed
from surefoot.io.atomic import digest_of
from surefoot.release_gate.finding import Finding
from surefoot.release_gate.verdict import GateResult
from surefoot.scores import Scores


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
    return [(shown, name) for (shown, _), name in parts], [(held, name) for (_, held), name in parts]


def confirm(result: GateResult, held_out: GateResult, number: int) -> GateResult:
    """A result that passed, with the word of the held-out queries, and nothing else of what they know."""
    confirmed = held_out.verdict == "pass"
    change, topics = result.changes[0], counted(held_out.changes[0].topics, "query")
    word = "confirm it" if confirmed else "do not confirm it"
    finding = Finding(
        "held-out",
        change.measure,
        change.baseline,
        "pass" if confirmed else "undecided",
        sentence=f"The {topics} held out {word}; it was their question number {number}.",
    )
    return result.with_finding(finding)


HALVES = ("odd trials", "even trials")


def split_trials(scores: Scores, system: str) -> Scores:
    """The trials of one system as two systems: the first, third, ... trial against the others.

    >>> scores = Scores([[0.5]], ["a"], ["q1"], trials={"a": [[0.4], [0.6]]})
    >>> split_trials(scores, "a").values.tolist()
    [[0.4], [0.6]]
    """
    trials = scores.trials.get(system)
    if trials is None or len(trials) < 2:
        repeated = f"; repeated are {listed(scores.trials)}" if scores.trials else ""
        raise SurefootError(f"{system} needs two trials or more to be compared with itself{repeated}")
    halves = [trials[0::2], trials[1::2]]
    kept = np.flatnonzero(np.all([~np.isnan(half).all(axis=0) for half in halves], axis=0)).tolist()
    if not kept:
        raise SurefootError(f"no query has two trials of {system}")
    names = [f"{system} ({half})" for half in HALVES]
    parts = {name: half[:, kept] for name, half in zip(names, halves, strict=True)}
    means = [np.nanmean(part, axis=0) for part in parts.values()]
    return Scores(means, names, [scores.topics[place] for place in kept], scores.measure, scores.notes, trials=parts)
