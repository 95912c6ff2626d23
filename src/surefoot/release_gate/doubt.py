"""Doubt about the judgments behind a comparison: differences under drawn grades, and their bounds."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from surefoot._names import positions
from surefoot._typing import FloatArray
from surefoot.effectiveness.measures import parse_measure
from surefoot.errors import SurefootError, counted
from surefoot.io.atomic import digest_of
from surefoot.io.files import read_bytes
from surefoot.judgments.bounds import ROUNDING, delta_bounds, matters
from surefoot.judgments.credibility import NO_CHANGE, Assessors, draw_values, draws_for, llm_deltas, resolve_assessors
from surefoot.judgments.judged_runs import DEEPEST, JudgedPair, JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from surefoot.scores import Scores


@dataclass(frozen=True, eq=False)
class Doubt:
    """Differences, candidate minus baseline, under other grades, on the topics of the scores.

    ``deltas`` are joint draws, draws × topics. ``highest`` is the largest difference over all grades of the unjudged
    documents. ``unjudged`` lists for each topic, as (topic, document), the unjudged documents that may change
    the difference, those of the candidate first. Where language models graded documents, ``base`` is the expected
    score of the baseline, and ``llm`` are the differences by their grades only, models × topics.
    """

    deltas: FloatArray
    highest: FloatArray
    unjudged: tuple[tuple[tuple[str, str], ...], ...]
    note: str
    base: FloatArray | None = None
    llm: FloatArray | None = None

    @property
    def expected(self) -> FloatArray:
        """The mean difference of each topic over the draws."""
        return np.asarray(self.deltas.mean(axis=0))

    @property
    def is_open(self) -> bool:
        """Whether some draw gives another difference than the judgments do."""
        return bool(self.documents) or bool(np.any(self.deltas != self.deltas[0]))

    @property
    def documents(self) -> tuple[tuple[str, str], ...]:
        """The unjudged documents of all topics."""
        return tuple(one for own in self.unjudged for one in own)


def lost_results(scores: Scores, candidate: str, baseline: str) -> tuple[str, ...] | None:
    """The topics for which the baseline retrieved a document and the candidate none; None if this is not known.

    >>> from surefoot.effectiveness import score_runs
    >>> runs = {"old": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "new": {"q2": {"d1": 1.0}}}
    >>> lost_results(score_runs(runs, {"q1": {"d1": 1}, "q2": {"d1": 0}}), "new", "old")
    ('q1',)
    """
    empty = {} if scores.source is None else scores.source.empty
    if candidate not in empty or baseline not in empty:
        return None
    lost = set(empty[candidate]) - set(empty[baseline])
    return tuple(topic for topic in scores.topics if topic in lost)


def why_no_doubt(scores: Scores, candidate: str, baseline: str, assessors: Assessors = "none") -> str | None:
    """The reason why `doubt` gives None; None if it gives a `Doubt`."""
    source = scores.source
    if assessors == "off":
        return "doubt about judgments is off"
    if source is None:
        return "scores without runs: the judgments are unknown"
    if others := [name for name in (candidate, baseline) if name not in source.runs]:
        return f"{others[0]} is not a single run"
    if source.skips_unjudged:
        return "unjudged documents are left out of the rankings"
    if parse_measure(source.measure).form is None:
        return f"{source.measure} is computed by ir_measures, and grades are drawn only for measures of Surefoot"
    if not source.qrels.are_whole:
        return "some grades are fractions"
    if source.qrels.are_relevant_only:
        return "only relevant documents are judged, so that the grades of others can't be estimated"
    if not _is_judged(scores, candidate, baseline, assessors) and not JudgedRuns.of(scores).has_judged:
        return "no retrieved document is judged"
    return None


def doubt(
    scores: Scores,
    candidate: str,
    baseline: str,
    assessors: Assessors = "none",
    *,
    n_draws: int | None = None,
    seed: int = 0,
) -> Doubt | None:
    """Draw the grades that are in doubt, and compute the differences that they give.

    Parameters
    ----------
    scores
        Scores of runs, by `surefoot.score_runs`.
    candidate, baseline
        The names of two of the runs.
    assessors
        ``"none"``: judged grades are facts, and only unjudged documents are in doubt. ``"off"``: nothing is in doubt.
        ``"dl2019"``, a share, or a list of qrels of other assessors: another assessor may give another grade, as in
        `surefoot.credibility`; `parse_assessors` gives one of these.
    n_draws, seed
        The number of draws (by default that of all commands, `draws_for`), and the random seed.

    Returns
    -------
    Doubt
        None if no grade can be in doubt; `why_no_doubt` gives the reason.

    Examples
    --------
    >>> from surefoot.effectiveness import score_runs
    >>> runs = {"old": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "new": {"q1": {"d2": 1.0}, "q2": {"d3": 1.0}}}
    >>> scores = score_runs(runs, {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}}, "P@1")
    >>> found = doubt(scores, "new", "old")
    >>> found.highest, found.unjudged
    (array([-1.,  0.]), ((), (('q2', 'd3'),)))
    """
    measured = scores[candidate] - scores.baseline(baseline)
    if scores.source is None or why_no_doubt(scores, candidate, baseline, assessors) is not None:
        return None
    n_draws = draws_for(len(scores.source.qrels.topics), n_draws)
    if _is_judged(scores, candidate, baseline, assessors):
        same = np.broadcast_to(measured, (n_draws, measured.size))
        return Doubt(same, measured, ((),) * measured.size, "every document that counts is judged")
    runs = JudgedRuns.of(scores)
    pair, columns = runs.pair(candidate, baseline), positions("topic", runs.topics, scores.topics)
    shift = measured - pair.delta[columns]  # 0 unless the measure looks deeper than `JudgedRuns`
    _refuse_changes(pair, columns, shift)
    model, bounds = GradeModel.of(runs, pair), delta_bounds(pair)
    values = draw_values(pair, model, resolve_assessors(assessors, runs, model), n_draws, seed)[..., columns]
    deltas = values[0] - values[1] + shift
    is_open = ~bounds["exact"] | (bounds.high - bounds.low > ROUNDING)
    unjudged = tuple(_unjudged(pair, topic) if is_open[topic] else () for topic in columns)
    settled = np.array([not documents for documents in unjudged])
    highest, note = np.where(settled, measured, bounds.high[columns] + shift), _note(unjudged, assessors, n_draws)
    if runs.llm_qrels:
        llm = llm_deltas(runs, candidate, baseline)[:, columns]
        return Doubt(deltas, highest, unjudged, note, values[1].mean(axis=0), llm)
    if assessors == "none":
        deltas[:, settled] = measured[settled]
    return Doubt(deltas, highest, unjudged, note)


def _is_judged(scores: Scores, candidate: str, baseline: str, given: object) -> bool:
    """Whether every document that counts is judged, by the judged fractions."""
    if given != "none" or scores.judged is None or (scores.source is not None and scores.source.llm_qrels):
        return False
    judged = scores.judged[[scores.row(candidate), scores.row(baseline)]]
    return bool((np.isnan(judged) | (judged == 1)).all())


def _refuse_changes(pair: JudgedPair, columns: list[int], shift: FloatArray) -> None:
    """Raise if the files or objects that were read again give other scores."""
    sizes = np.maximum(pair.runs.ranking(pair.candidate).sizes, pair.runs.ranking(pair.baseline).sizes)[columns]
    is_whole = (sizes < DEEPEST) | (pair.runs.measure.cutoff <= DEEPEST)
    if (np.abs(shift[is_whole]) > NO_CHANGE).any():
        raise SurefootError(
            f"{pair.candidate} or {pair.baseline} has changed since it was scored; score the runs again"
        )


def _unjudged(pair: JudgedPair, topic: int) -> tuple[tuple[str, str], ...]:
    """The unjudged documents of a topic that may change the difference, in the order of the two rankings."""
    own, documents = pair.topics[topic], pair.documents(topic)
    counts, ranked = matters(pair, own), dict.fromkeys([*own.own.tolist(), *own.base.tolist()])
    return tuple((pair.runs.topics[topic], documents[index]) for index in ranked if counts[index])


def _note(unjudged: tuple[tuple[tuple[str, str], ...], ...], given: object, n_draws: int) -> str:
    """The grades that are in doubt, in words."""
    number, queries = sum(map(len, unjudged)), sum(map(bool, unjudged))
    where = f"{counted(number, 'unjudged document')} of {counted(queries, 'query')}"
    drawn = f"the verdict allows for {n_draws:,} draws of"
    if given != "none":
        return f"{drawn} all grades" + (f", also those of {where}" if number else "")
    return f"{drawn} the grades of {where}" if number else "no unjudged document can matter"


def same_rankings(scores: Scores, candidate: str, baseline: str) -> bool:
    """Whether two runs rank the same documents, down to the cutoff of the measure; False if this is not known."""
    source = scores.source
    if source is None or not {candidate, baseline} <= set(source.runs) or not source.qrels.are_whole:
        return False
    runs = JudgedRuns.of(scores)
    own, base = runs.ranking(candidate), runs.ranking(baseline)
    topics = positions("topic", runs.topics, scores.topics)
    return all(np.array_equal(own.codes(topic, runs.depth), base.codes(topic, runs.depth)) for topic in topics)


def ranked_documents(scores: Scores, system: str, depth: int) -> dict[str, list[str]] | None:
    """The first documents of a run for each topic; None if the run is not known."""
    if scores.source is None or system not in scores.source.runs or not scores.source.qrels.are_whole:
        return None
    runs = JudgedRuns.of(scores)
    ranking, places = runs.ranking(system), positions("topic", runs.topics, scores.topics)
    return {runs.topics[place]: list(ranking.documents(place, depth).values()) for place in places}


def assessors_name(found: object) -> str:
    """Which grades are in doubt, for a signature: a word, a share, or a digest of qrels."""
    if isinstance(found, str | float | int):
        return str(found)
    parts = found if isinstance(found, list) else [found]
    texts = [read_bytes(one) if isinstance(one, str | os.PathLike) else repr(one).encode() for one in parts]
    return f"qrels:{digest_of(b''.join(texts), 4)}"
