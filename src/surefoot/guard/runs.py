"""Guards of whole runs: two TREC runs are joined by topic and document, to fit a guard or to blend them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._names import natural_order
from surefoot._typing import FloatArray, IntArray, Progress
from surefoot.effectiveness.measures import parse_measure
from surefoot.effectiveness.scoring import RunScorer, look_up
from surefoot.effectiveness.sources import load_qrels, sources_of
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.guard.certificate import Budget
from surefoot.guard.fitting import GuardFit, fit_judged
from surefoot.guard.pairs import Pair, Scored
from surefoot.guard.trial import ALPHA, LabelledPair
from surefoot.io.document_lists import DocumentLists, Qrels, Run, as_qrels

if TYPE_CHECKING:
    from surefoot.guard.guard import Guard


@dataclass(frozen=True, eq=False)
class RunPair:
    """The documents that either of two runs has for the topics that both have, with both scores.

    Documents that one run lacks have a score of minus infinity there. The rows of a topic are in the candidate's order,
    followed by the documents that only the baseline has, in its order; ``documents`` has their ids.
    """

    baseline: Run
    candidate: Run
    documents: DocumentLists
    pair: Pair

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the pair."""
        return self.documents.topics

    @classmethod
    def of(cls, baseline: object, candidate: object) -> RunPair:
        """Join two runs."""
        first, second = (_load(run, name) for run, name in ((candidate, "candidate"), (baseline, "baseline")))
        known = set(second.topics)
        topics = natural_order(topic for topic in first.topics if topic in known)
        if not topics:
            raise InputError(
                first.path,
                f"shares no topic with {second.path}: it has {listed(first.topics, 3)}, the other "
                f"{listed(second.topics, 3)}",
            )
        for run in (first, second):
            _refuse_without_scores(run)
        return cls._join(second, first, topics)

    @classmethod
    def _join(cls, baseline: Run, candidate: Run, topics: tuple[str, ...]) -> RunPair:
        (c_row, c_topic), (b_row, b_topic) = (run.rows(topics) for run in (candidate, baseline))
        found = _rows_in(baseline, candidate)
        theirs = np.full(len(candidate), -np.inf)
        theirs[found[found >= 0]] = baseline.scores[found >= 0]
        is_extra = found[b_row] < 0  # documents that only the baseline has
        topic = np.concatenate([c_topic, b_topic[is_extra]])
        order = np.argsort(topic, kind="stable")

        def joined(of_candidate: Any, of_baseline: Any) -> Any:
            return np.concatenate([of_candidate, of_baseline])[order]

        bounds = np.concatenate([[0], np.cumsum(np.bincount(topic, minlength=len(topics)))])
        extra = b_row[is_extra]
        pair = Pair(
            Scored(joined(theirs[c_row], baseline.scores[extra]), bounds),
            Scored(joined(candidate.scores[c_row], np.full(extra.size, -np.inf)), bounds),
            bounds,
        )
        start = joined(candidate.start[c_row], baseline.start[extra] + len(candidate.text) + 1)
        length = joined(candidate.length[c_row], baseline.length[extra])
        codes = joined(candidate.codes[c_row], baseline.codes[extra])
        text = candidate.text + b"\n" + baseline.text
        documents = DocumentLists("", text, topics, bounds, start, length, codes, np.zeros(codes.size))
        return cls(baseline, candidate, documents, pair)

    def run_by(self, scores: FloatArray, name: str) -> Run:
        """The run in which each topic's documents are ranked by these scores; minus infinity is left out.

        Ties are in the order of the rows.
        """
        return self.run_of(Scored(scores, self.pair.bounds).order, scores, name)

    def run_of(self, ranked: IntArray, scores: FloatArray, name: str) -> Run:
        """The run of these rows, best first within each topic; scores of minus infinity are left out."""
        order = ranked[scores[ranked] > -np.inf]
        topic = np.searchsorted(self.pair.bounds, order, side="right") - 1
        bounds = np.concatenate([[0], np.cumsum(np.bincount(topic, minlength=len(self.topics)))])
        both = self.documents
        ids = both.start[order], both.length[order], both.codes[order]
        return Run("", both.text, both.topics, bounds, *ids, scores[order], name=name)

    def labels(self, qrels: Qrels) -> FloatArray:
        """The grade of each document, 0 if it is not judged or its grade is below 0."""
        return np.maximum(_numbers_in(self.documents, qrels), 0)

    def select(self, topics: Sequence[str]) -> RunPair:
        """The pair of some of its topics."""
        return self._join(self.baseline, self.candidate, tuple(topics))

    def notes(self, topics: Sequence[str]) -> list[str]:
        """The topics of the runs that are left out, and the number of documents that only one run has."""
        kept, notes = set(topics), []
        for run in (self.candidate, self.baseline):
            left = natural_order(topic for topic in run.topics if topic not in kept)
            if left:
                notes.append(f"{counted(len(left), 'topic')} of {run.name} left out: {listed(left, 5)}")
        for run, scored in ((self.candidate, self.pair.candidate), (self.baseline, self.pair.baseline)):
            if scored.is_missing is not None:
                missing = counted(int(np.count_nonzero(scored.is_missing)), "document")
                notes.append(f"{missing} that {run.name} did not return are ranked below those that it returned")
        return notes


def fit_guard_to_runs(
    baseline: object,
    candidate: object,
    qrels: object,
    *,
    measure: object = "nDCG@10",
    kinds: Sequence[str] | None = None,
    alpha: float = ALPHA,
    budget: Budget | None = None,
    anyway: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> GuardFit:
    r"""Fit a guard to two runs and judgments.

    Only topics count that are judged and in both runs; the notes of the result name the others.

    Parameters
    ----------
    baseline, candidate
        The run served now, and the run that may replace it: files, or runs in memory as `score_runs` takes them.
    qrels
        The judgments. The candidate must not have been trained on them.
    measure
        A measure as ir_measures names it.
    kinds, alpha, budget, anyway, seed, progress
        As in `fit_guard`.

    Returns
    -------
    GuardFit
        The guard, and the table of the kinds out of sample.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder, rng = pathlib.Path(tempfile.mkdtemp()), np.random.default_rng(0)
    >>> truth = rng.normal(size=(40, 10))
    >>> def lines(scores):
    ...     return "".join(f"{q} Q0 {d} 0 {s} x\n" for q, row in enumerate(scores) for d, s in enumerate(row))
    >>> _ = (folder / "old.run").write_text(lines(truth + rng.normal(size=truth.shape)))
    >>> _ = (folder / "new.run").write_text(lines(truth + rng.normal(size=truth.shape)))
    >>> judged = [f"{q} 0 {d} {int(truth[q, d] > 1)}\n" for q in range(40) for d in range(10)]
    >>> _ = (folder / "qrels.txt").write_text("".join(judged))
    >>> fit = fit_guard_to_runs(folder / "old.run", folder / "new.run", folder / "qrels.txt", kinds=["z"])
    >>> fit.guard.kind
    'z'
    """
    judged = load_qrels(qrels)
    runs = RunPair.of(baseline, candidate)
    number_of = {topic: number for number, topic in enumerate(judged.topics)}
    topics = [topic for topic in runs.topics if topic in number_of]
    if not topics:
        raise InputError(
            judged.path,
            f"judges none of the topics of both runs: it has {listed(judged.topics, 3)}, they {listed(runs.topics, 3)}",
        )
    runs = runs.select(topics)
    chosen = parse_measure(measure)
    scorer = RunScorer([chosen], judged)
    index = np.array([number_of[topic] for topic in topics])

    def metric(scores: FloatArray) -> FloatArray:
        return np.asarray(scorer.values(runs.run_by(scores, ""))[0, index])

    baseline_run = np.asarray(scorer.values(runs.baseline)[0, index])
    labelled = LabelledPair(runs.pair, runs.labels(judged), metric, baseline_run)
    fit = fit_judged(
        labelled, chosen.name, anyway, kinds=kinds, alpha=alpha, budget=budget, seed=seed, progress=progress
    )  # fmt: skip
    return fit.with_notes(runs.notes(topics), baseline=runs.baseline.name, candidate=runs.candidate.name)


def apply_guard(guard: Guard, baseline: object, candidate: object) -> tuple[Run, list[str]]:
    """The guarded run of all topics that both runs have, and notes on topics and documents left out.

    The scores are falling whole numbers, so that every reader ranks the documents alike.
    """
    runs = RunPair.of(baseline, candidate)
    guarded = runs.run_of(*guard.ranked(runs.pair), f"{runs.candidate.name}-guarded")
    return guarded, runs.notes(runs.topics)


def _load(run: object, name: str) -> Run:
    (source, *others) = sources_of(run)
    if others:
        raise SurefootError(f"the {name} must be one run; got {1 + len(others)}")
    return source.load("file", "error")


def _rows_in(run: Run, other: Run) -> IntArray:
    """The row of each document of a run in another run, negative if it is not there."""
    ids = other.start, other.length, other.codes
    rows = DocumentLists(other.path, other.text, other.topics, other.bounds, *ids, np.arange(float(len(other))))
    indexed = as_qrels(rows)
    return _numbers_in(run, indexed).astype(np.int64)


def _numbers_in(documents: DocumentLists, qrels: Qrels) -> FloatArray:
    """The number that judgments have for each document, negative if they have none."""
    number_of = {topic: number for number, topic in enumerate(qrels.topics)}
    topic_of = np.array([number_of.get(topic, -1) for topic in documents.topics])
    numbers, first = np.full(len(documents), -1.0), documents.bounds[:-1]
    look_up(documents, qrels, topic_of, first, len(documents), False, numbers)
    return numbers


def _refuse_without_scores(run: Run) -> None:
    """A run with the same score for all documents has only ranks, which readers of runs ignore."""
    scored = Scored(run.scores, run.bounds)
    flat = (scored.spread == 0) & (np.diff(run.bounds) > 1)
    if flat.all():
        topic = run.topics[int(np.argmax(flat))]
        raise InputError(
            run.path,
            f"all documents of topic {topic!r} have the same score, and ranks in a run are ignored; write falling "
            "scores, such as 1 / rank",
        )
