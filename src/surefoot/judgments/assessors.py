"""Models of how assessors differ: the grade of another assessor, given that of the first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.sources import load_qrels
from surefoot.errors import SurefootError
from surefoot.io.document_lists import Qrels
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.mixed_odds import GradedDocuments, MixedOdds, draw_student
from surefoot.judgments.unjudged import GradeModel
from surefoot.risk.distributions import logistic, logit

SHIPPED = "dl2019"
WORDS = ("none", "off", SHIPPED)


class Spreads(NamedTuple):
    """Standard deviations of the traits in which assessors differ.

    Three vary from topic to topic: leniency, trust in the votes, and taste, a weight of each run in a document's
    profile, so that an assessor differs in the same way on documents that the same runs found. ``bias`` is a taste that
    is the same on all topics.
    """

    leniency: float = 0.0
    trust: float = 0.0
    taste: float = 0.0
    bias: float = 0.0


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A confusion matrix of grades, tilted by the votes for a document and by the assessor's traits.

    ``log_odds[i, g - 1]`` are the log odds that another assessor gives at least grade g where the first gave i. The sum
    leniency + ease · f + (votes + trust) · e + (taste + bias) · profile is added to them. e is the excess of the
    document: its log odds of being relevant by the runs' votes, less those of documents of grade i. f is the effect of
    the topic in the grades of the first assessor. The other terms are normal with mean 0; see `Spreads`. ``covariance``
    is the uncertainty of the log odds, votes and ease, which all topics share.

    >>> Disagreement.of_rate(0.2, [3, 1]).matrix.round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    log_odds: FloatArray
    votes: float
    ease: float
    spreads: Spreads
    covariance: FloatArray
    source: str

    @property
    def matrix(self) -> FloatArray:
        """Row i holds the probabilities of another assessor's grades where the first gave the grade i."""
        return np.asarray(-np.diff(logistic(self.log_odds), axis=1, prepend=1.0, append=0.0))

    @classmethod
    def of_rate(cls, rate: float, grades: Sequence[int] | IntArray) -> Disagreement:
        """Assessors who give another grade with the probability ``rate``, drawn in proportion to the grades given.

        Parameters
        ----------
        rate
            The probability that another assessor gives another grade.
        grades
            How many documents have each grade, from 0 on.

        Returns
        -------
        Disagreement
            Without votes and leniency.
        """
        if not 0 <= rate < 1:
            raise SurefootError(f"another assessor gives another grade with a probability in [0, 1); got {rate:g}")
        others = np.tile(np.asarray(grades, np.float64) + 1.0, (len(grades), 1))
        np.fill_diagonal(others, 0.0)
        matrix = (1 - rate) * np.eye(len(grades)) + rate * others / others.sum(axis=1, keepdims=True)
        log_odds = logit(np.clip(1 - np.cumsum(matrix, axis=1)[:, :-1], 0.0, 1.0))
        return cls(log_odds, 0.0, 0.0, Spreads(), np.zeros((log_odds.size + 2,) * 2), f"{rate:g}")

    @classmethod
    def fit(cls, runs: JudgedRuns, others: Iterable[object], model: GradeModel | None = None) -> Disagreement:
        """Fit to double judgments: `MixedOdds` of the other assessors' grades.

        Parameters
        ----------
        runs
            Runs with the judgments that are used.
        others
            Further judgments of some of the same documents, one or more files; each is another assessor.
        model
            The model of the runs' grades, if there is one already.

        Returns
        -------
        Disagreement
            The fitted disagreement.
        """
        votes = GradeModel.of(runs) if model is None else model
        parts = [part for other in others for part in _double_judgments(runs, load_qrels(other), votes)]
        if not parts:
            raise SurefootError(
                f"no retrieved document of {runs.qrels.path} is judged twice; give qrels of the same documents"
            )
        return cls.of_judgments(parts)

    @classmethod
    def of_judgments(cls, parts: Sequence[DoubleJudgments]) -> Disagreement:
        """Fit to the double judgments of topics, each of one other assessor."""
        first, second, excess, profiles = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:4])
        effects = np.repeat([part.effect for part in parts], [part.first.size for part in parts])
        levels, voters = max(1, int(first.max()), int(second.max())) + 1, profiles.shape[1]
        steps = first[:, np.newaxis] >= np.arange(1, levels)
        documents = GradedDocuments(
            np.column_stack([profiles, steps, excess, effects]),
            np.repeat([0, -1], [voters, levels + 1]),
            np.column_stack([np.ones(first.size), excess, profiles]),
            np.repeat([0, 1, 2], [1, 1, voters]),
            second,
            np.cumsum([0, *(part.first.size for part in parts)]),
            levels,
        )
        return cls._of(MixedOdds.fit(documents), voters, f"fit({first.size})")

    @classmethod
    def _of(cls, odds: MixedOdds, voters: int, source: str) -> Disagreement:
        """From the thresholds, and the coefficients of profiles, of first grades of at least 1, 2, ..., votes, ease."""
        cuts, estimated = odds.cuts, odds.thresholds.size
        levels, shared = cuts.size + 1, estimated + odds.coefficients.size
        cells = np.zeros((levels, levels - 1, shared))
        for grade in range(levels):
            cells[grade, :, estimated + voters : estimated + voters + grade] = 1
            cells[grade, cuts < estimated, cuts[cuts < estimated]] = -1
        design = np.zeros((cells[..., 0].size + 2, shared))
        design[:-2], design[-2:, -2:] = cells.reshape(-1, shared), np.eye(2)
        found = design @ np.concatenate([odds.thresholds, odds.coefficients])
        log_odds = np.where(cuts < estimated, found[:-2].reshape(levels, -1), -np.inf)
        spreads = Spreads(*np.sqrt([*odds.random_variances, *odds.fixed_variances]).tolist())
        votes, ease = found[-2:].tolist()
        return cls(log_odds, votes, ease, spreads, design @ odds.covariance @ design.T, source)

    @classmethod
    def shipped(cls, levels: int) -> Disagreement:
        """The disagreement in TREC Deep Learning 2019, which two further assessors judged (Parry et al., SIGIR 2025).

        It was fitted on passages with the grades 0 to 3. On a scale of two grades, 2 and 3 are relevant, as in that
        track; on one of three they are merged. Grades above 3 are confused as 3 is.
        """
        from importlib.resources import files

        stored = json.loads(files("surefoot.judgments").joinpath("dl2019.json").read_text(encoding="utf-8"))
        log_odds, moves = _rescaled(np.asarray(stored["log_odds"]), np.asarray(stored["shares"]), levels)
        design = np.zeros((log_odds.size + 2, moves.shape[-1] + 2))
        design[:-2, :-2], design[-2:, -2:] = moves.reshape(log_odds.size, -1), np.eye(2)
        covariance = design @ np.asarray(stored["covariance"]) @ design.T
        return cls(log_odds, stored["votes"], stored["ease"], Spreads(*stored["spreads"]), covariance, SHIPPED)

    def draw(self, random: np.random.Generator, n: int, runs: int) -> DrawnAssessors:
        """Draw n assessors: the traits that they have on all topics, with a ``bias`` for each run."""
        shifts = draw_student(self.covariance, random, n)
        log_odds = self.log_odds + shifts[:, :-2].reshape(n, *self.log_odds.shape)
        bias = self.spreads.bias * random.standard_normal((n, runs))
        return DrawnAssessors(
            np.minimum.accumulate(log_odds, axis=2),
            self.votes + shifts[:, -2:-1],
            self.ease + shifts[:, -1:],
            bias,
            self.spreads,
        )


def _rescaled(log_odds: FloatArray, shares: FloatArray, levels: int) -> tuple[FloatArray, FloatArray]:
    """Log odds for grades 0 to 3 on another scale, and their derivatives by the former, along a last axis."""
    rows = {2: [[0, 1], [2, 3]], 3: [[0], [1], [2, 3]]}.get(levels, [[min(grade, 3)] for grade in range(levels)])
    found, moves = np.full((levels, levels - 1), -np.inf), np.zeros((levels, levels - 1, *log_odds.shape))
    for grade, merged in enumerate(rows):
        weights = shares[merged] / shares[merged].sum()
        for cut in range(levels - 1 if levels <= 3 or grade > 3 else 3):
            if cut >= max(grade, 3):
                continue
            column = 1 if levels == 2 else min(cut, 2)
            likely = logistic(log_odds[merged, column])
            mean = float(weights @ likely)
            found[grade, cut] = logit(mean)
            moves[grade, cut, merged, column] = weights * likely * (1 - likely) / (mean * (1 - mean))
    return found, moves.reshape(levels, levels - 1, -1)


class DrawnAssessors(NamedTuple):
    """n assessors: log odds (n × grades × cuts), weights of votes and ease (each n × 1), biases (n × runs)."""

    log_odds: FloatArray
    votes: FloatArray
    ease: FloatArray
    bias: FloatArray
    spreads: Spreads

    @property
    def levels(self) -> int:
        """The number of grades."""
        return int(self.log_odds.shape[1])

    def probabilities(self, first: IntArray, tilt: FloatArray) -> FloatArray:
        """P(grade >= 1, 2, ...) of documents with these grades of the first assessor, n × documents × cuts."""
        odds = np.take_along_axis(self.log_odds, first[..., np.newaxis], axis=1)
        return logistic(odds + tilt[..., np.newaxis])

    def judge(self, first: IntArray, tilt: FloatArray, random: np.random.Generator) -> IntArray:
        """The grades that they give, n × documents."""
        return np.asarray((random.random(tilt.shape)[..., np.newaxis] < self.probabilities(first, tilt)).sum(axis=2))

    def on_topic(self, effect: float, random: np.random.Generator) -> Traits:
        """Their traits on a topic of this effect."""
        n, spreads = len(self.votes), self.spreads
        return Traits(
            self.ease * effect + spreads.leniency * random.standard_normal((n, 1)),
            self.votes + spreads.trust * random.standard_normal((n, 1)),
            self.bias + spreads.taste * random.standard_normal(self.bias.shape),
        )


class Traits(NamedTuple):
    """Leniency with the topic's ease, the weight of votes (each n × 1), and the weights of runs (n × runs)."""

    leniency: FloatArray
    trust: FloatArray
    taste: FloatArray

    def tilt(self, excess: FloatArray, profiles: FloatArray) -> FloatArray:
        """The shift of each assessor to higher grades of documents, in log odds, n × documents."""
        return np.asarray(self.leniency + self.trust * excess + self.taste @ profiles.T)


def parse_assessors(given: object) -> str | float | Disagreement | list[object]:
    """How assessors differ: a word, a share, a `Disagreement`, or qrels in a list.

    Words are "none" (only unjudged documents are in doubt), "off" (nothing is) and "dl2019". None means "none". An
    empty list, from an option without a value, means "dl2019". Other strings are numbers or files.

    >>> parse_assessors("0.2"), parse_assessors(["none"]), parse_assessors([]), parse_assessors("second.qrels")
    (0.2, 'none', 'dl2019', ['second.qrels'])
    """
    if given is None:
        return "none"
    if isinstance(given, list | tuple):
        return list(given) if len(given) > 1 else parse_assessors(given[0]) if given else SHIPPED
    if isinstance(given, str) and given not in WORDS:
        try:
            return float(given)
        except ValueError:
            return [given]
    return given if isinstance(given, str | float | int | Disagreement) else [given]


def replicate(qrels: Qrels, other: object) -> Qrels:
    """The judgments, with the grades of another assessor for documents that both judged."""
    again, grades = load_qrels(other), {topic: qrels.of_topic(topic) for topic in qrels.topics}
    for topic, own in grades.items():
        own |= {document: grade for document, grade in again.of_topic(topic).items() if document in own}
    return load_qrels(grades)


class DoubleJudgments(NamedTuple):
    """The grades of two assessors on one topic; of each document its excess and profile; the topic's effect."""

    first: IntArray
    second: IntArray
    excess: FloatArray
    profiles: FloatArray
    effect: float


def _double_judgments(runs: JudgedRuns, other: Qrels, model: GradeModel) -> Iterator[DoubleJudgments]:
    """The double judgments of each topic, of documents that the runs retrieved."""
    index = {topic: number for number, topic in enumerate(runs.topics)}
    for number, topic in enumerate(other.topics):
        if topic not in index:
            continue
        at, begin, end = index[topic], other.bounds[number], other.bounds[number + 1]
        pool = model.pools[at]
        _, rows, theirs = np.intersect1d(pool.codes[pool.judged], other.fingerprints[begin:end], return_indices=True)
        if not rows.size:
            continue
        rows = pool.judged[rows]
        codes, first = pool.codes[rows], np.maximum(pool.grades[rows], 0)
        second = np.maximum(other.grades[begin:end][theirs], 0).astype(np.int64)
        excess, effect = model.excess(at, codes, first), float(model.effects[at])
        yield DoubleJudgments(first, second, excess, model.profiles(at, codes), effect)
