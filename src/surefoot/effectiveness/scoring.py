"""Scores of runs on the topics of qrels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from surefoot._alignment import EMPTY, mean_over_trials
from surefoot._names import natural_order
from surefoot._process import default_workers, in_threads
from surefoot._typing import FloatArray, IntArray, PathLike, Progress
from surefoot.effectiveness.measures import ForeignMeasures, Measure, parse_measure
from surefoot.effectiveness.sources import ScoredRuns, Source, load_judgments, sources_of
from surefoot.errors import InputError, SurefootError, choose, counted, listed
from surefoot.io.document_lists import DocumentLists, Duplicates, Qrels, Run, Ties
from surefoot.io.trec import Names
from surefoot.native import kernel, records
from surefoot.scores import Scores

Runs = Mapping[str, Any] | Iterable[PathLike] | PathLike
Unjudged = Literal["zero", "skip"]
SMALL = 1 << 20
"""Files of fewer bytes together are read without threads, which take longer to start."""

_look_up, judged_fractions, measure_topics = map(kernel, ("look_up", "judged_fractions", "measure_topics"))


def score_runs(
    runs: Runs,
    qrels: object,
    measure: object = "nDCG@10",
    names: Names = "file",
    workers: int | None = None,
    progress: Progress | None = None,
    duplicates: Duplicates = "error",
    unjudged: Unjudged = "zero",
    repeats: Mapping[str, Iterable[Any]] = EMPTY,
    llm_qrels: object = (),
    ties: Ties = "exact",
) -> Scores:
    r"""Score runs by one effectiveness measure, on the topics of the qrels.

    Topics that are judged but not retrieved count 0; retrieved topics without judgments are left out. The notes of
    the result name both.

    Parameters
    ----------
    runs
        One or more files (`read_run` names the formats), or ``{name: run}``, where a run is a file,
        ``{query: {document: score}}``, a pandas or polars frame, a pyarrow table, an iterable of records (those of
        ir_measures and ir_datasets, dictionaries, triples), or a ``ranx.Run``.
    qrels
        A file (`read_qrels` names the formats), ``"irds:NAME"`` for a collection of ir_datasets, `Qrels`, or any such
        object with grades instead of scores.
    measure
        A measure as ir_measures names it, such as ``nDCG@10``, ``AP(rel=2)``, ``RR``.
    names
        ``"file"`` names runs after their files, ``"tag"`` after their tags.
    workers
        The number of threads (by default up to 8); it does not change the result.
    progress
        Called after each run with the number of runs done, the number of runs, and a message.
    duplicates
        What to do if a run lists a document twice for a topic: ``"error"``, or keep the ``"first"`` in the file or the
        ``"best"`` scored; a note has the number of documents left out.
    unjudged
        ``"zero"`` counts unjudged documents as not relevant, as trec_eval does; ``"skip"`` leaves them out of the
        rankings (condensed lists; Sakai, "Alternatives to bpref", SIGIR 2007).
    repeats
        Systems that ran several times: ``{name: [run, run]}``, each run as in ``runs``, which may then be empty. The
        scores of such a system are means over its runs; ``trials`` of the result has the scores of each run.
    llm_qrels
        Grades by one or more language models, each as ``qrels``. They change no score: unjudged documents still count
        0. `gate`, `credibility` and `next_judgments` take them as evidence about the grades that people would give.
    ties
        ``"exact"`` compares the scores of documents as float64; ``"trec_eval"`` rounds them to float32 first, as
        trec_eval does, which ties scores that differ only after about seven digits. Ties rank by document id.

    Returns
    -------
    Scores
        Runs × topics.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n")
    >>> _ = (folder / "bm25.run").write_text("q1 Q0 d2 1 7.5 x\nq1 Q0 d1 2 3.5 x\n")
    >>> scores = score_runs([folder / "bm25.run"], folder / "qrels.txt", "RR")
    >>> scores["bm25"], scores.notes
    (array([0.5, 0. ]), ('judged topics that were not retrieved count 0: bm25 on q2',))
    >>> score_runs({"dense": {"q1": {"d1": 0.9, "d2": 0.3}}}, {"q1": {"d1": 1}}, "RR")["dense"]
    array([1.])
    >>> trials = [{"q1": {"d1": 0.9, "d2": 0.3}}, {"q1": {"d1": 0.2, "d2": 0.3}}]
    >>> score_runs([], {"q1": {"d1": 1}}, "RR", repeats={"dense": trials})["dense"]
    array([0.75])
    """
    options = names, workers, progress, duplicates, unjudged, repeats, llm_qrels, ties
    (scores,) = score_runs_by(runs, qrels, [measure], *options).values()
    return scores


def score_runs_by(
    runs: Runs,
    qrels: object,
    measures: Iterable[object],
    names: Names = "file",
    workers: int | None = None,
    progress: Progress | None = None,
    duplicates: Duplicates = "error",
    unjudged: Unjudged = "zero",
    repeats: Mapping[str, Iterable[Any]] = EMPTY,
    llm_qrels: object = (),
    ties: Ties = "exact",
) -> dict[str, Scores]:
    r"""Score runs by several effectiveness measures, reading each run once.

    Parameters
    ----------
    runs, qrels, names, workers, progress, duplicates, unjudged, repeats, llm_qrels, ties
        As in `score_runs`.
    measures
        The measures.

    Returns
    -------
    dict
        `Scores` by the name of the measure.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    >>> _ = (folder / "bm25.run").write_text("q1 Q0 d2 1 7.5 x\nq1 Q0 d1 2 3.5 x\n")
    >>> found = score_runs_by(folder / "bm25.run", folder / "qrels.txt", ["RR", "P@1"])
    >>> {name: scores["bm25"].tolist() for name, scores in found.items()}
    {'RR': [0.5], 'P@1': [0.0]}
    """
    choose(names, get_args(Names), "names")
    if workers is not None and workers < 1:
        raise SurefootError(f"workers must be at least 1; got {workers}")
    sources = sources_of(runs, repeats)
    _refuse_duplicates([source.expected_name(names) for source in sources], sources)
    if not (wanted := list(measures)):
        raise SurefootError("no measures to score by; name at least one, such as nDCG@10")
    chosen = list({measure.name: measure for measure in map(parse_measure, wanted)}.values())
    judged, models = load_judgments(qrels, llm_qrels)
    prepared = RunScorer(chosen, judged, choose(unjudged, get_args(Unjudged), "unjudged") == "skip")
    rows: list[_Row] = []
    kept = {}
    threads = 1 if workers is None and _are_small(sources) else workers or default_workers()

    def score(source: Source) -> tuple[_Row, object]:
        run = source.load(names, duplicates, max(1, threads // len(sources)), ties)
        return prepared.row(run, ties), source.reloadable(run, ties)

    scored = in_threads(score, sources, threads=min(threads, len(sources)))
    for done, (row, reloadable) in enumerate(scored, start=1):
        rows.append(row)
        kept[row.name] = reloadable
        if progress is not None:
            progress(done, len(sources), "Scoring runs")
    _refuse_duplicates([row.name for row in rows], sources)
    groups: dict[str, list[_Row]] = {}
    for source, row in zip(sources, rows, strict=True):
        groups.setdefault(source.repeats or row.name, []).append(row)
    empty = {name: set.intersection(*(set(row.not_retrieved) for row in own)) for name, own in groups.items()}
    notes, choices = _notes(rows, judged), _notes_on_choices(judged, unjudged, ties)
    found = {}
    for index, measure in enumerate(chosen):
        trials = {name: np.stack([row.values[index] for row in group]) for name, group in groups.items()}
        seen = [_mean(np.stack([row.judged[index] for row in group])) for group in groups.values()]
        found[measure.name] = Scores(
            np.stack([*map(_mean, trials.values())]),
            groups,
            judged.topics,
            measure.name,
            [*notes, *_notes_on(measure, judged), *choices, *_notes_on_ties(rows, index)],
            None if judged.are_relevant_only else np.stack(seen),
            trials={name: own for name, own in trials.items() if len(own) > 1},
            source=ScoredRuns(kept, judged, measure.name, duplicates, unjudged == "skip", empty, models, ties),
        )
    return found


def _mean(trials: FloatArray) -> FloatArray:
    """The mean over trials; a single trial is not rounded."""
    return mean_over_trials(trials) if len(trials) > 1 else trials[0]


def _are_small(sources: Sequence[Source]) -> bool:
    with suppress(OSError, TypeError):  # no file, or a run in memory
        return sum(Path(source.run).stat().st_size for source in sources) < SMALL  # type: ignore[arg-type, misc]
    return False


class _Row(NamedTuple):
    """The scores of one run and its judged fractions (measures × topics), and the topics that it or the qrels lack.

    ``rounded`` has the mean of each measure if document scores are float32; None if the order is certainly the same.
    """

    name: str
    values: FloatArray
    judged: FloatArray
    not_retrieved: list[str]
    not_judged: list[str]
    notes: tuple[str, ...] = ()
    rounded: FloatArray | None = None


class RunScorer:
    """Measures over one set of qrels, prepared for any number of runs."""

    def __init__(self, measures: Sequence[Measure], qrels: Qrels, skip: bool = False) -> None:
        for measure in measures:
            refuse_high_grades(measure, qrels)
        self._qrels, self._skip = qrels, skip
        self._topics = {topic: index for index, topic in enumerate(qrels.topics)}
        self._own = [index for index, measure in enumerate(measures) if measure.form is not None]
        self._foreign = [index for index, measure in enumerate(measures) if measure.form is None]
        own = (measures[index].scaled_to(qrels.numbers.max()).formula for index in self._own)
        self._formulas = records("measure", own)
        self._others = None
        if self._foreign:
            self._others = ForeignMeasures([measures[index] for index in self._foreign], qrels, skip)
        self._cutoffs = np.array([measure.cutoff for measure in measures], np.int64)

    def row(self, run: Run, ties: Ties) -> _Row:
        """The scores of a run, whose documents are ranked with these ties."""
        if not any(topic in self._topics for topic in run.topics):
            raise InputError(
                run.path,
                f"none of its topics is judged in {self._qrels.path}: it has {listed(run.topics, most=3)}, "
                f"the qrels have {listed(self._qrels.topics, most=3)}",
            )
        values, judged = self.score(run)
        rounded = None
        if ties == "exact" and self.has_near_ties(run):
            rounded = self.values(run.with_ties("trec_eval")).mean(axis=1)
        retrieved = set(run.topics)
        return _Row(
            run.name,
            values,
            judged,
            [topic for topic in self._qrels.topics if topic not in retrieved],
            [topic for topic in run.topics if topic not in self._topics],
            run.notes,
            rounded,
        )

    def score(self, run: Run) -> tuple[FloatArray, FloatArray]:
        """The scores, 0 where the run lacks a topic, and the judged fractions, NaN there: measures × topics."""
        topic_of = np.array([self._topics.get(topic, -1) for topic in run.topics], np.int64)
        values, own = (np.zeros((rows, len(self._topics))) for rows in (self._cutoffs.size, len(self._own)))
        judged = np.full(values.shape, np.nan)
        first, grades = run.bounds[:-1], np.empty(len(run))
        for skip in (False, True)[: 1 + self._skip]:
            sizes = look_up(run, self._qrels, topic_of, first, int(self._cutoffs.max()), skip, grades)
            ranked = topic_of, first, sizes, grades
            if not skip:
                judged_fractions(ranked, self._cutoffs, judged)
        measure_topics(ranked, self._formulas, self._qrels.bounds, self._qrels.numbers, own)
        values[self._own] = own
        if self._others is not None:
            values[self._foreign] = self._others.values(run)
        return values, judged

    def values(self, run: Run) -> FloatArray:
        """Measures × topics of the qrels; 0 where the run lacks a topic."""
        return self.score(run)[0]

    def has_near_ties(self, run: Run) -> bool:
        """Whether neighbours above a cutoff have scores that differ, but are equal as float32."""
        with np.errstate(over="ignore"):
            rounded = run.scores.astype(np.float32)
        near = np.flatnonzero((rounded[1:] == rounded[:-1]) & (run.scores[1:] != run.scores[:-1]))
        topic = np.searchsorted(run.bounds, near, "right") - 1
        shares_topic = near + 1 < run.bounds[topic + 1]
        return bool((shares_topic & (near - run.bounds[topic] < self._cutoffs.max())).any())


def look_up(
    run: DocumentLists, qrels: Qrels, topic_of: IntArray, first: IntArray, depth: int, skip: bool, grades: FloatArray
) -> IntArray:
    """Fill in the grades of the first documents of each topic of a run, and return how many each has.

    ``topic_of`` is the index in the qrels of each topic of the run, or -1; ``first`` is where the grades of the topic
    begin; ``skip`` leaves out unjudged documents.
    """
    sizes = np.empty(topic_of.size, np.int64)
    judged = qrels.tokens, qrels.numbers, qrels.tables, qrels.slots
    _look_up(run.tokens, run.bounds, topic_of, first, judged, depth, int(skip), grades, sizes)
    return sizes


def _refuse_duplicates(names: Sequence[str | None], sources: Sequence[Source]) -> None:
    """Raise if two systems have the same name, which only trials of one system may share."""
    first: dict[str, Source] = {}
    for run_name, source in zip(names, sources, strict=True):
        name = source.repeats or run_name
        if name is None:
            continue
        other = first.setdefault(name, source)
        if other is not source and (source.repeats is None or other.repeats is None):
            raise SurefootError(f"two runs are named {name!r}: {other} and {source}; rename one of them")


def refuse_high_grades(measure: Measure, qrels: Qrels) -> None:
    """Refuse grades for which the measure is not defined."""
    limit, highest = measure.largest_grade, float(qrels.numbers.max())
    if highest > limit:
        raise InputError(
            qrels.path,
            f"{measure} is defined for grades up to {limit:g}; found {highest:g}; map the grades to 0..{limit:g}",
        )


def _notes(rows: Sequence[_Row], qrels: Qrels) -> list[str]:
    rows = sorted(rows, key=lambda row: row.name)
    notes = [note for row in rows for note in row.notes]
    gaps = [f"{row.name} on {listed(row.not_retrieved, most=5)}" for row in rows if row.not_retrieved]
    if gaps:
        notes.append(f"judged topics that were not retrieved count 0: {listed(gaps, most=5)}")
    unjudged = natural_order({topic for row in rows for topic in row.not_judged})
    if unjudged:
        where = counted(sum(bool(row.not_judged) for row in rows), "run")
        notes.append(
            f"{counted(len(unjudged), 'topic')} of {where} left out, not judged in {PurePath(qrels.path).name}: "
            f"{listed(unjudged, most=5)}"
        )
    return notes


def _notes_on_choices(qrels: Qrels, unjudged: Unjudged, ties: Ties) -> list[str]:
    notes = []
    if unjudged == "skip":
        notes.append("unjudged documents are left out of the rankings")
        if qrels.are_relevant_only:
            notes.append(f"{PurePath(qrels.path).name} judges only relevant documents, so only these are left")
    if ties == "trec_eval":
        notes.append("scores of documents are compared as float32, as in trec_eval")
    return notes


def _notes_on_ties(rows: Sequence[_Row], index: int) -> list[str]:
    """A note on the runs whose mean, as printed, differs if document scores are float32."""
    means = {row.name: (row.values[index].mean(), row.rounded[index]) for row in rows if row.rounded is not None}
    others = [
        f"{name} {theirs:.4f}" for name, (own, theirs) in sorted(means.items()) if f"{own:.4f}" != f"{theirs:.4f}"
    ]
    if not others:
        return []
    return [
        f"trec_eval, which compares scores as float32, has other means (--ties trec_eval): {listed(others, most=5)}"
    ]


def _notes_on(measure: Measure, qrels: Qrels) -> list[str]:
    notes = []
    if measure.scale is None:
        scale = measure.scaled_to(qrels.numbers.max()).scale
        notes.append(f"{measure}: a document's gain is its grade over {scale:g}, the highest")
    starts, ends = qrels.bounds[:-1].tolist(), qrels.bounds[1:].tolist()
    empty = [
        topic
        for topic, start, end in zip(qrels.topics, starts, ends, strict=True)
        if start == end or qrels.numbers[start] < measure.rel
    ]
    if empty:
        notes.append(f"{counted(len(empty), 'topic')} without a relevant document, counted 0: {listed(empty, most=5)}")
    return notes
