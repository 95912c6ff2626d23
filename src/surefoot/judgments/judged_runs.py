"""Runs with their judgments, and pairs of rankings, topic by topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.effectiveness.measures import NATIVE, UNJUDGED, Formula, Measure, parse_measure
from surefoot.effectiveness.scoring import Runs, look_up, refuse_high_grades
from surefoot.effectiveness.sources import ScoredRuns, load_judgments, sources_of
from surefoot.errors import InputError, SurefootError, did_you_mean, listed
from surefoot.io.document_lists import Duplicates, Qrels, Run
from surefoot.io.trec import Names
from surefoot.native import kernel
from surefoot.scores import VIRTUAL, Scores

measure_both, measure_ranking = kernel("measure_both"), kernel("measure_ranking")

DEEPEST = 1000
"""The depth of rankings where the measure has no cutoff."""
POOL = 100
"""The depth of rankings for votes."""

VOTERS = 10
"""With fewer runs, votes predict grades less well, so intervals are widened."""
FEWEST, ENOUGH = 50, 100
"""The fewest documents graded by both people and a language model; with fewer than the second number, a note."""

Codes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The first documents of a run for each topic of the qrels: hashes of their ids, and their grades."""

    run: Run
    first: IntArray
    sizes: IntArray
    grades: npt.NDArray[np.int32]

    @classmethod
    def of(cls, run: Run, qrels: Qrels, depth: int) -> Ranking:
        """The run's first ``depth`` documents of each topic."""
        index = {topic: number for number, topic in enumerate(qrels.topics)}
        topic_of = np.array([index.get(topic, -1) for topic in run.topics], np.int64)
        depth = min(depth, int(np.diff(run.bounds).max()))
        grades = np.full((len(index), depth), UNJUDGED, np.float64)
        sizes, first = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
        known = topic_of >= 0
        first[topic_of[known]] = run.bounds[:-1][known]
        found = look_up(run, qrels, topic_of, topic_of * depth, depth, False, grades.reshape(-1))
        sizes[topic_of[known]] = found[known]
        return cls(run, first, sizes, grades.astype(np.int32))

    def codes(self, topic: int, depth: int) -> Codes:
        """The hashes of a topic's first documents."""
        begin = self.first[topic]
        return self.run.fingerprints[begin : begin + min(depth, self.sizes[topic])]

    def documents(self, topic: int, depth: int) -> dict[int, str]:
        """The ids of a topic's first documents by their hashes."""
        begin = int(self.first[topic])
        items = range(begin, begin + int(min(depth, self.sizes[topic])))
        return {int(self.run.fingerprints[item]): self.run.document(item) for item in items}


@dataclass(frozen=True, eq=False)
class TopicPair:
    """The documents of two rankings of one topic.

    ``own`` and ``base`` are the candidate's and the baseline's ranked documents, as indices of ``codes`` and
    ``grades``. ``rest`` counts the judged documents of each grade that are in neither.
    """

    codes: Codes
    grades: npt.NDArray[np.int32]
    own: IntArray
    base: IntArray
    rest: IntArray

    @property
    def unjudged(self) -> BoolArray:
        """Which documents nobody judged."""
        return np.asarray(self.grades == UNJUDGED)

    @property
    def zero_filled(self) -> IntArray:
        """The grades, 0 where nobody judged or where the grade is below 0."""
        return np.maximum(self.grades, 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    r"""Runs on the topics of qrels, down to the depth of a measure.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    >>> _ = (folder / "old.run").write_text("q1 Q0 d2 1 7.5 x\nq1 Q0 d1 2 3.5 x\n")
    >>> _ = (folder / "new.run").write_text("q1 Q0 d3 1 7.5 x\nq1 Q0 d1 2 3.5 x\n")
    >>> runs = JudgedRuns.read([folder / "old.run", folder / "new.run"], folder / "qrels.txt", "P@2")
    >>> runs.pair("new", "old").delta, runs.judged("new"), runs.judged("old")
    (array([0.]), array([0.5]), array([1.]))
    """

    measure: Measure
    qrels: Qrels
    rankings: dict[str, Ranking]
    llm_qrels: tuple[Qrels, ...] = ()

    @classmethod
    def read(
        cls,
        runs: Runs,
        qrels: object,
        measure: object = "nDCG@10",
        names: Names = "file",
        duplicates: Duplicates = "error",
        llm_qrels: object = (),
    ) -> JudgedRuns:
        """Read runs and qrels.

        Parameters
        ----------
        runs, qrels, names, duplicates, llm_qrels
            As in `surefoot.score_runs`; each run is a vote for the documents that it ranks high.
        measure
            A measure; bounds, drawn grades and what to judge next need one that Surefoot itself computes.

        Returns
        -------
        JudgedRuns
            The runs.
        """
        chosen, (judged, models) = parse_measure(measure), load_judgments(qrels, llm_qrels)
        for one in (judged, *models):
            if not one.are_whole:
                raise InputError(one.path, "some grades are fractions; judgments can be doubted where grades are whole")
        for one in models:
            if (number := judged_by_both(judged, one)) < FEWEST:
                raise InputError(
                    one.path,
                    f"expected {FEWEST} or more documents that people judged too in {judged.path}, to calibrate "
                    f"the grades; found {number}; judge some of them by hand",
                )
        refuse_high_grades(chosen, judged)
        depth = max(min(chosen.cutoff, DEEPEST), POOL)
        loaded = (source.load(names, duplicates) for source in sources_of(runs))
        rankings = {run.name: Ranking.of(run, judged, depth) for run in loaded}
        return cls(chosen, judged, dict(sorted(rankings.items())), models)  # models and draws depend on the order

    @classmethod
    def of(cls, scores: Scores) -> JudgedRuns:
        """The runs and judgments that scores come from; they are read once."""
        source = scores.source
        if source is None:
            raise SurefootError("doubts about judgments need run files with --qrels; a table has only scores")
        if source not in _READ:
            runs = dict(source.runs)
            _READ[source] = cls.read(runs, source.qrels, source.measure, "file", source.duplicates, source.llm_qrels)
        return _READ[source]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the qrels."""
        return self.qrels.topics

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on language models that few judgments calibrate or, without any, on few runs that vote."""
        if not self.llm_qrels and len(self.rankings) < VOTERS:
            few = len(self.rankings)
            return (f"only {few} runs predict unjudged grades, so intervals are wide; with {VOTERS} they are narrower",)
        numbers = {one.path: judged_by_both(self.qrels, one) for one in self.llm_qrels}
        return tuple(
            f"{path}: only {n} of its documents are judged by hand; {ENOUGH} calibrate it better"
            for path, n in numbers.items()
            if n < ENOUGH
        )

    @property
    def depth(self) -> int:
        """How many documents of each ranking count."""
        return min(self.measure.cutoff, DEEPEST)

    @cached_property
    def levels(self) -> int:
        """The number of grades, from 0 to the highest in the qrels."""
        return max(1, int(self.qrels.grades.max())) + 1

    @property
    def has_judged(self) -> bool:
        """Whether some document that votes count for is judged."""
        return any((ranking.grades[:, :POOL] != UNJUDGED).any() for ranking in self.rankings.values())

    @property
    def grade_counts(self) -> IntArray:
        """How many documents have each grade; grades below 0 count as 0."""
        return self.histogram(self.qrels.grades)

    def histogram(self, grades: npt.NDArray[Any]) -> IntArray:
        """How many of some judged documents have each grade."""
        return np.bincount(np.maximum(grades, 0).astype(np.int64), minlength=self.levels)

    def ranking(self, name: str) -> Ranking:
        """The ranking of a run."""
        if name not in self.rankings:
            raise SurefootError(
                f"no run {name!r}{did_you_mean(name, self.rankings)}; there are {listed(self.rankings)}"
            )
        return self.rankings[name]

    def judged(self, name: str) -> FloatArray:
        """The fraction of a run's first documents that is judged, for each topic; 1 where it retrieved none."""
        ranking = self.ranking(name)
        ranks = np.arange(min(self.depth, ranking.grades.shape[1]))
        within = ranks < ranking.sizes[:, np.newaxis]
        known = within & (ranking.grades[:, ranks] != UNJUDGED)
        return np.where(within.any(axis=1), known.sum(axis=1) / np.maximum(within.sum(axis=1), 1), 1.0)

    def pair(self, candidate: str, baseline: str) -> JudgedPair:
        """Two of the runs, topic by topic."""
        if self.measure.form is None:
            raise SurefootError(
                f"{self.measure} is left to ir_measures; bounds and drawn grades are for {listed(NATIVE)}"
            )
        for name in (candidate, baseline):
            if name in VIRTUAL:
                raise SurefootError(
                    f"{name} is made of all runs; bounds and drawn grades compare two runs: name one as the baseline"
                )
            self.ranking(name)
        return JudgedPair(self, candidate, baseline)


def judged_by_both(qrels: Qrels, other: Qrels) -> int:
    """The number of documents that two judges graded."""
    common = [topic for topic in other.topics if topic in set(qrels.topics)]
    pairs = [(set(qrels.of_topic(topic)), set(other.of_topic(topic))) for topic in common]
    return sum(len(own & theirs) for own, theirs in pairs)


_READ: WeakKeyDictionary[ScoredRuns, JudgedRuns] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class JudgedPair:
    """A candidate and a baseline."""

    runs: JudgedRuns
    candidate: str
    baseline: str

    @cached_property
    def topics(self) -> tuple[TopicPair, ...]:
        """The two rankings of each topic."""
        return tuple(self._topic(topic) for topic in range(len(self.runs.topics)))

    def _topic(self, topic: int) -> TopicPair:
        both = [self.runs.ranking(name) for name in (self.candidate, self.baseline)]
        ranked = [ranking.codes(topic, self.runs.depth) for ranking in both]
        codes, where = np.unique(np.concatenate(ranked), return_inverse=True)
        grades = np.empty(codes.size, np.int32)
        grades[where] = np.concatenate(
            [ranking.grades[topic, : own.size] for ranking, own in zip(both, ranked, strict=True)]
        )
        bounds = self.runs.qrels.bounds
        judged = self.runs.qrels.grades[bounds[topic] : bounds[topic + 1]]
        rest = self.runs.histogram(judged) - self.runs.histogram(grades[grades != UNJUDGED])
        return TopicPair(codes, grades, where[: ranked[0].size], where[ranked[0].size :], rest)

    def documents(self, topic: int) -> list[str]:
        """The ids of the documents of either ranking, in the order of their hashes."""
        found = [self.runs.ranking(name).documents(topic, self.runs.depth) for name in (self.candidate, self.baseline)]
        ids = found[0] | found[1]
        return [ids[code] for code in self.topics[topic].codes.tolist()]

    def values(self, own: TopicPair, grades: IntArray, rest: IntArray) -> FloatArray:
        """The measure of candidate and baseline on a topic, under each of several assignments of grades.

        ``grades[assignment, document]`` are those of the topic's documents; ``rest[assignment, grade]`` counts the
        other judged documents of each grade.
        """
        judged = np.empty(grades.shape[1] + int(rest.sum(axis=1).max()))
        ranked = np.empty(max(own.own.size, own.base.size))
        values = np.empty((2, len(rest)))
        measure_both(self._formula, own.own, own.base, grades, rest, judged, ranked, values)
        return values

    def deltas(self, own: TopicPair, grades: IntArray, rest: IntArray) -> FloatArray:
        """The differences of `values`."""
        candidate, baseline = self.values(own, grades, rest)
        return np.asarray(candidate - baseline)

    def value(self, grades: IntArray, judged: IntArray) -> float:
        """The measure of one ranking by the grades of its documents and those of all judged ones, highest first."""
        value = np.empty(1)
        measure_ranking(self._formula, grades.astype(np.float64), judged.astype(np.float64, order="C"), value)
        return float(value[0])

    @cached_property
    def _formula(self) -> Formula:
        return self.runs.measure.scaled_to(self.runs.qrels.numbers.max()).formula

    @cached_property
    def delta(self) -> FloatArray:
        """The difference of each topic as judged; unjudged documents count 0."""
        assigned = ((own, own.zero_filled[np.newaxis], own.rest[np.newaxis]) for own in self.topics)
        return np.concatenate([self.deltas(*arguments) for arguments in assigned])
