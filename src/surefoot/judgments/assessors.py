"""How assessors differ: the grade that another one would give, given the grade of the first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from surefoot._scipy import optimize, special
from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.sources import load_qrels
from surefoot.errors import SurefootError
from surefoot.io.document_lists import Qrels
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.unjudged import GradeModel

SHIPPED = "dl2019"
ROUNDS = 5
"""Rounds in which the spreads are estimated from the topics' own traits."""
PRECISION = 0.01
"""That of the prior of the matrix's logarithms, so small that it matters only for grades that never met."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A confusion matrix of grades, tilted by the votes for a document and by the assessor's traits on the topic.

    Row i of ``matrix`` holds the probabilities of another assessor's grades where the first gave the grade i. They are
    multiplied by exp((leniency + ease · f + (votes + trust) · e + taste) j / highest grade) for grade j, and
    normalised. e is the document's excess: how much more likely relevant, in log odds, the runs' votes make it than
    documents of grade i are. f is the same of the topic, as the first assessor judged it. Leniency and trust of the
    other assessor on a topic are normal around 0 with the standard deviations ``spreads``. So is his taste, the third:
    a weight of each run's votes, so that he differs alike on documents that the same runs retrieved.

    >>> Disagreement.of_rate(0.2, [3, 1]).matrix.round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    matrix: FloatArray
    votes: float
    ease: float
    spreads: tuple[float, float, float]
    source: str

    @property
    def levels(self) -> int:
        """The number of grades."""
        return len(self.matrix)

    @classmethod
    def of_rate(cls, rate: float, grades: Sequence[int] | IntArray) -> Disagreement:
        """Another grade with the probability ``rate``, the others in proportion to how often each was given.

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
        return cls(matrix, 0.0, 0.0, (0.0, 0.0, 0.0), f"{rate:g}")

    @classmethod
    def fit(cls, runs: JudgedRuns, others: Iterable[object], model: GradeModel | None = None) -> Disagreement:
        """Fit to double judgments.

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
            The most likely one.
        """
        votes = GradeModel.fit(runs) if model is None else model
        read = [load_qrels(other) for other in others]
        parts = [part for other in read for part in _double_judgments(runs, other, votes) if part[0].size]
        if not parts:
            raise SurefootError(
                f"no retrieved document of {runs.qrels.path} is judged twice; give qrels of the same documents"
            )
        sample = DoubleJudgments.of(parts)
        return _Fit(sample).solve(f"fit({sample.first.size})")

    @classmethod
    def shipped(cls, levels: int) -> Disagreement:
        """The one of TREC Deep Learning 2019, where two further assessors judged again (Parry et al., SIGIR 2025).

        It was fitted on passages with the grades 0 to 3. With two grades 2 and 3 are relevant, as in that track; with
        three they are one; grades above 3 are confused as 3 is.
        """
        stored = json.loads(files("surefoot.judgments").joinpath("dl2019.json").read_text(encoding="utf-8"))
        joint = np.asarray(stored["joint"])
        groups = np.array({2: [0, 0, 1, 1], 3: [0, 1, 2, 2]}.get(levels, [0, 1, 2, 3]))
        merged = np.zeros((groups[-1] + 1, groups[-1] + 1))
        np.add.at(merged, (groups[:, np.newaxis], groups), joint)
        matrix = np.zeros((levels, levels))
        matrix[: len(merged), : len(merged)] = merged / merged.sum(axis=1, keepdims=True)
        for grade in range(len(merged), levels):
            matrix[grade, :3], matrix[grade, grade] = matrix[3, :3], matrix[3, 3]
        return cls(matrix, stored["votes"], stored["ease"], tuple(stored["spreads"]), SHIPPED)

    def probabilities(self, first: IntArray, tilt: FloatArray) -> FloatArray:
        """The other assessor's grades: an axis of grades is added to the arrays, which are broadcast."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.matrix)[first]
        return np.asarray(special.softmax(logs + tilt[..., np.newaxis] * _steps(self.levels), axis=-1))

    def draw_traits(self, effect: float, runs: int, random: np.random.Generator, n: int) -> Traits:
        """The traits of n assessors on a topic of this effect, with so many runs."""
        leniency, trust, taste = self.spreads
        return Traits(
            self.ease * effect + leniency * random.standard_normal((n, 1)),
            self.votes + trust * random.standard_normal((n, 1)),
            taste * random.standard_normal((n, runs)) / np.sqrt(runs),
        )


class Traits(NamedTuple):
    """Leniency with the topic's ease, the weight of votes (each n × 1), and the weights of runs (n × runs)."""

    leniency: FloatArray
    trust: FloatArray
    taste: FloatArray

    def tilt(self, excess: FloatArray, profiles: FloatArray) -> FloatArray:
        """How far each assessor leans to higher grades of documents, n × documents."""
        return np.asarray(self.leniency + self.trust * excess + self.taste @ profiles.T)


def replicate(qrels: Qrels, other: object) -> Qrels:
    """The judgments with the grades of another assessor wherever he judged the same documents."""
    again = {topic: dict(zip(own, grades.tolist(), strict=True)) for topic, own, grades in load_qrels(other).by_topic()}
    return load_qrels(
        {
            topic: {document: again.get(topic, {}).get(document, grade) for document, grade in own.items()}
            for topic, own in ((topic, qrels.of_topic(topic)) for topic in qrels.topics)
        }
    )


Judgments = tuple[IntArray, IntArray, FloatArray, FloatArray]
"""The grades of two assessors on one topic; of each document its excess with the topic's effect, and its profile."""


@dataclass(frozen=True, eq=False)
class DoubleJudgments:
    """Documents with the grades of two assessors and their covariates; each topic of each assessor has its number."""

    first: IntArray
    second: IntArray
    covariates: FloatArray
    profiles: FloatArray
    topics: IntArray

    @classmethod
    def of(cls, parts: Sequence[Judgments]) -> DoubleJudgments:
        """Those of several topics and assessors."""
        first, second, covariates, profiles = (np.concatenate(column) for column in zip(*parts, strict=True))
        topics = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return cls(first, second, covariates, profiles, topics)


def _double_judgments(runs: JudgedRuns, other: Qrels, model: GradeModel) -> Iterator[Judgments]:
    """Those of each topic of the other assessor, as far as the runs retrieved the documents."""
    index = {topic: number for number, topic in enumerate(runs.topics)}
    for number, topic in enumerate(other.topics):
        if topic not in index:
            continue
        at, begin, end = index[topic], other.bounds[number], other.bounds[number + 1]
        pool = model.pools[at]
        _, rows, theirs = np.intersect1d(pool.codes[pool.judged], other.codes[begin:end], return_indices=True)
        rows = pool.judged[rows]
        first = np.maximum(pool.grades[rows], 0)
        second = np.maximum(other.grades[begin:end][theirs], 0).astype(np.int64)
        excess = model.excess(at, pool.codes[rows], first)
        covariates = np.stack([excess, np.full(rows.size, model.effects[at])], axis=1)
        yield first, second, covariates, model.profiles(at, pool.codes[rows])


class _Fit:
    """Maximum a posteriori by L-BFGS.

    Parameters are the logarithms of the matrix, the weights of the covariates, then leniency and trust of each topic.
    """

    def __init__(self, sample: DoubleJudgments) -> None:
        self._sample = sample
        self._levels = max(1, int(sample.first.max()), int(sample.second.max())) + 1
        self._topics = int(sample.topics.max()) + 1
        self._cells = self._levels**2
        self._traits = np.stack([np.ones(sample.first.size), sample.covariates[:, 0]], axis=1)

    def solve(self, source: str) -> Disagreement:
        """The most likely disagreement; the spreads are estimated from the topics' own traits."""
        variances, parameters = np.ones(2), np.zeros(self._cells + 2 + 2 * self._topics)
        for _ in range(ROUNDS):
            parameters = optimize.minimize(
                self._objective, parameters, args=(variances,), jac=True, method="L-BFGS-B"
            ).x
            errors = 1 / (self._information(parameters) + 1 / variances)
            traits = parameters[self._cells + 2 :].reshape(-1, 2)
            variances = np.maximum((traits**2 + errors).mean(axis=0), 1e-3)
        matrix = special.softmax(parameters[: self._cells].reshape(self._levels, self._levels), axis=1)
        votes, ease = parameters[self._cells : self._cells + 2].tolist()
        leniency, trust = np.sqrt(variances).tolist()
        return Disagreement(matrix, votes, ease, (leniency, trust, self._taste(parameters)), source)

    def _taste(self, parameters: FloatArray) -> float:
        """The spread of taste, from how far residuals of two documents agree that the same runs retrieved.

        By moments, to the first order: too small where it is large.
        """
        sample, steps = self._sample, _steps(self._levels)
        probabilities = np.exp(self._log_probabilities(parameters))
        variances = probabilities @ steps**2 - (probabilities @ steps) ** 2
        residuals = steps[sample.second] - probabilities @ steps
        agreement, scale = 0.0, 0.0
        for topic in range(self._topics):
            own = sample.topics == topic
            alike = sample.profiles[own] @ sample.profiles[own].T / sample.profiles.shape[1]
            alike *= np.outer(variances[own], variances[own])
            np.fill_diagonal(alike, 0.0)
            agreement += float(residuals[own] @ alike @ residuals[own])
            scale += float((alike**2).sum())
        return max(agreement / scale, 0.0) ** 0.5 if scale else 0.0

    def _log_probabilities(self, parameters: FloatArray) -> FloatArray:
        sample, cells = self._sample, self._cells
        logs = parameters[:cells].reshape(self._levels, self._levels)[sample.first]
        traits = parameters[cells + 2 :].reshape(-1, 2)[sample.topics]
        tilt = sample.covariates @ parameters[cells : cells + 2] + (self._traits * traits).sum(axis=1)
        return np.asarray(special.log_softmax(logs + tilt[:, np.newaxis] * _steps(self._levels), axis=1))

    def _by_topic(self, values: FloatArray) -> FloatArray:
        """Sums over the documents of each topic, topics × traits."""
        sums = np.zeros((self._topics, 2))
        np.add.at(sums, self._sample.topics, values)
        return sums

    def _information(self, parameters: FloatArray) -> FloatArray:
        probabilities, steps = np.exp(self._log_probabilities(parameters)), _steps(self._levels)
        variances = probabilities @ steps**2 - (probabilities @ steps) ** 2
        return self._by_topic(variances[:, np.newaxis] * self._traits**2)

    def _objective(self, parameters: FloatArray, variances: FloatArray) -> tuple[float, FloatArray]:
        sample, rows = self._sample, np.arange(self._sample.first.size)
        logs = self._log_probabilities(parameters)
        residual = np.exp(logs)
        residual[rows, sample.second] -= 1
        by_cell = np.zeros((self._levels, self._levels))
        np.add.at(by_cell, sample.first, residual)
        slope = residual @ _steps(self._levels)
        by_topic = self._by_topic(slope[:, np.newaxis] * self._traits)
        gradient = np.concatenate([by_cell.ravel(), slope @ sample.covariates, by_topic.ravel()])
        precision = np.full(parameters.size, PRECISION)
        precision[self._cells + 2 :] = np.tile(1 / variances, self._topics)
        value = -logs[rows, sample.second].sum() + 0.5 * (precision * parameters**2).sum()
        return float(value), gradient + precision * parameters


def _steps(levels: int) -> FloatArray:
    return np.arange(levels) / (levels - 1)
