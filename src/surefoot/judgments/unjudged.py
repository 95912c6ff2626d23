"""What grade an unjudged document probably has: a model of rank, votes of runs and topic, fitted to those judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from surefoot._scipy import optimize, special
from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.kernels import UNJUDGED
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import POOL, Codes, JudgedRuns, Ranking, TopicPair

ROUNDS = 5
"""Rounds in which the spread of the topics' effects is estimated from the effects themselves."""
SHRINKAGE = 3.0
"""The precision of the prior of a run's own weight, around the weight that all runs have in common."""
PRECISION = 0.1
"""That of the prior of all other coefficients, so small that it matters only where there is little data."""
GROUPS = 4
"""Groups of documents of one grade that are in neither ranking."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The first 100 documents of runs for one topic, in the order of their hashes, with features and grades."""

    codes: Codes
    features: FloatArray
    grades: IntArray

    @classmethod
    def of(cls, rankings: Iterable[Ranking], topic: int) -> Pool:
        """Features: each run's vote, which falls from 1 at rank 1 to 0 at rank 100, then their mean and maximum."""
        own = [(ranking.codes(topic, POOL), ranking.grades[topic, :POOL]) for ranking in rankings]
        sizes = [codes.size for codes, _ in own]
        codes, where = np.unique(np.concatenate([codes for codes, _ in own]), return_inverse=True)
        grades = np.empty(codes.size, np.int64)
        grades[where] = np.concatenate([grades[: codes.size] for codes, grades in own])
        votes = np.zeros((codes.size, len(own)))
        ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
        votes[where, np.repeat(np.arange(len(own)), sizes)] = 1 - np.log(ranks) / np.log(POOL)
        means, maxima = votes.mean(axis=1, keepdims=True), votes.max(axis=1, keepdims=True)
        return cls(codes, np.concatenate([votes, means, maxima], axis=1), grades)

    @property
    def judged(self) -> IntArray:
        """The indices of the judged documents."""
        return np.flatnonzero(self.grades != UNJUDGED)


@dataclass(frozen=True, eq=False)
class GradeModel:
    """A proportional odds model with a random effect of the topic.

    P(grade >= g) = logistic(coefficients · features + effect of the topic - threshold of g). The topics' effects are
    normal; their spread is estimated, and each has a standard error, ``errors``. ``centres`` are the mean votes,
    coefficients · features, of the judged documents of each grade.
    """

    pools: tuple[Pool, ...]
    thresholds: FloatArray
    coefficients: FloatArray
    covariance: FloatArray
    effects: FloatArray
    errors: FloatArray
    centres: FloatArray

    @classmethod
    def fit(cls, runs: JudgedRuns) -> GradeModel:
        """Fit to the judged documents among those that the runs retrieved, of all topics."""
        pools = tuple(Pool.of(runs.rankings.values(), topic) for topic in range(len(runs.topics)))
        features = np.concatenate([pool.features[pool.judged] for pool in pools])
        grades = np.maximum(np.concatenate([pool.grades[pool.judged] for pool in pools]), 0)
        if not grades.size:
            raise SurefootError(f"no retrieved document is judged in {runs.qrels.path}, so no grade can be expected")
        topics = np.repeat(np.arange(len(pools)), [pool.judged.size for pool in pools])
        fit = _OrdinalFit(features, grades, topics, runs.levels, len(pools))
        thresholds, coefficients, covariance, effects, errors = fit.solve()
        given, votes = np.unique(grades), features @ coefficients
        centres = np.interp(np.arange(runs.levels), given, [votes[grades == grade].mean() for grade in given])
        return cls(pools, thresholds, coefficients, covariance, effects, errors, centres)

    @property
    def runs(self) -> int:
        """The number of runs that vote."""
        return len(self.coefficients) - 2

    def votes(self, topic: int, codes: Codes) -> FloatArray:
        """Coefficients · features of documents of a topic."""
        return np.asarray(self._features(topic, codes) @ self.coefficients)

    def profiles(self, topic: int, codes: Codes) -> FloatArray:
        """Each run's vote for documents of a topic, less its mean vote for the judged ones: documents × runs."""
        pool = self.pools[topic]
        centre = pool.features[pool.judged].sum(axis=0) / max(pool.judged.size, 1)
        return np.asarray((self._features(topic, codes) - centre)[:, :-2])

    def excess(self, topic: int, codes: Codes, grades: IntArray) -> FloatArray:
        """How much higher the votes of documents are than those of documents of their grades on average."""
        return np.asarray(self.votes(topic, codes) - self.centres[np.minimum(grades, len(self.centres) - 1)])

    def draw_coefficients(self, random: np.random.Generator, n: int) -> FloatArray:
        """Coefficients as they may be as well, n × features; one draw holds for all topics."""
        return random.multivariate_normal(self.coefficients, self.covariance, n, method="cholesky")

    def draw(self, topic: int, codes: Codes, coefficients: FloatArray, random: np.random.Generator) -> IntArray:
        """Grades of documents of a topic, n × documents, by drawn coefficients; the topic's effect is drawn here."""
        effect = self.effects[topic] + self.errors[topic] * random.standard_normal((len(coefficients), 1))
        latent = coefficients @ self._features(topic, codes).T + effect
        return np.asarray(np.searchsorted(self.thresholds, latent + random.logistic(size=latent.shape)))

    def _features(self, topic: int, codes: Codes) -> FloatArray:
        """The features of documents; 0 where no run has one among its first 100."""
        pool = self.pools[topic]
        _, rows, found = np.intersect1d(codes, pool.codes, return_indices=True)
        features = np.zeros((codes.size, self.coefficients.size))
        features[rows] = pool.features[found]
        return features

    def rest(self, topic: int, own: TopicPair) -> Iterator[tuple[int, int, float]]:
        """The judged documents that are in neither ranking, in groups of alike ones: grade, number, mean excess."""
        pool = self.pools[topic]
        others = pool.judged[~np.isin(pool.codes[pool.judged], own.codes)]
        grades, votes = np.maximum(pool.grades[others], 0), self.votes(topic, pool.codes[others])
        for grade, number in enumerate(own.rest.tolist()):
            ordered = np.sort(np.append(votes[grades == grade], np.zeros(number))[:number])
            for group in np.array_split(ordered, min(GROUPS, number)) if number else ():
                yield grade, group.size, float(group.mean() - self.centres[grade])

    def probabilities(self, topic: int, codes: Codes) -> FloatArray:
        """The probability of each grade, documents × levels."""
        above = special.expit((self.votes(topic, codes) + self.effects[topic])[:, np.newaxis] - self.thresholds)
        return np.asarray(-np.diff(above, axis=1, prepend=1.0, append=0.0))


class _OrdinalFit:
    """Maximum a posteriori by L-BFGS; parameters are the first threshold, log gaps, coefficients, effects."""

    def __init__(self, features: FloatArray, grades: IntArray, topics: IntArray, levels: int, n_topics: int) -> None:
        self._grades, self._topics, self._n_topics = grades, topics, n_topics
        self._features, self._levels = features, levels
        self._fixed = levels - 1 + features.shape[1]

    def solve(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Thresholds, coefficients with their covariance, effects of topics and their standard errors."""
        variance, parameters = 1.0, np.zeros(self._fixed + self._n_topics)
        for _ in range(ROUNDS):
            parameters = optimize.minimize(self._objective, parameters, args=(variance,), jac=True, method="L-BFGS-B").x
            effects, errors = parameters[self._fixed :], self._errors(parameters, variance)
            variance = max(float(np.mean(effects**2 + errors**2)), 1e-3)
        thresholds, coefficients = self._unpack(parameters)
        return thresholds, coefficients, self._covariance(parameters), effects, errors

    def _information(self, parameters: FloatArray) -> FloatArray:
        """How much each document tells about its linear predictor."""
        at_least, above = self._bounds(parameters)
        return np.asarray(at_least * (1 - at_least) + above * (1 - above))

    def _covariance(self, parameters: FloatArray) -> FloatArray:
        """That of the coefficients, by the curvature of the posterior at its mode."""
        weighted = self._features * self._information(parameters)[:, np.newaxis]
        precision = np.full(self._features.shape[1], SHRINKAGE)
        precision[-2:] = PRECISION
        return np.asarray(np.linalg.inv(self._features.T @ weighted + np.diag(precision)))

    def _unpack(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        gaps = np.exp(parameters[1 : self._levels - 1])
        thresholds = parameters[0] + np.concatenate([[0.0], np.cumsum(gaps)])
        return thresholds, parameters[self._levels - 1 : self._fixed]

    def _bounds(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(grade at least the observed one) and P(grade above it) of each document."""
        thresholds, coefficients = self._unpack(parameters)
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        latent = self._features @ coefficients + parameters[self._fixed :][self._topics]
        return special.expit(latent - ends[self._grades]), special.expit(latent - ends[self._grades + 1])

    def _errors(self, parameters: FloatArray, variance: float) -> FloatArray:
        sums = np.bincount(self._topics, self._information(parameters), self._n_topics)
        return np.asarray((sums + 1 / variance) ** -0.5)

    def _objective(self, parameters: FloatArray, variance: float) -> tuple[float, FloatArray]:
        at_least, above = self._bounds(parameters)
        likelihood = np.maximum(at_least - above, 1e-12)
        slope = 1 - at_least - above
        density = [(p * (1 - p) / likelihood) for p in (at_least, above)]
        by_threshold = np.bincount(self._grades, density[0], self._levels + 1)[1 : self._levels]
        by_threshold -= np.bincount(self._grades + 1, density[1], self._levels + 1)[1 : self._levels]
        gaps = np.exp(parameters[1 : self._levels - 1])
        later = np.cumsum(by_threshold[::-1])[::-1]
        gradient = np.concatenate(
            [
                later[:1],
                later[1:] * gaps,
                -(slope @ self._features),
                -np.bincount(self._topics, slope, self._n_topics),
            ]
        )
        precision = np.full(parameters.size, PRECISION)
        precision[self._levels - 1 : self._fixed - 2] = SHRINKAGE
        precision[self._fixed :] = 1 / variance
        value = -np.log(likelihood).sum() + 0.5 * (precision * parameters**2).sum()
        return float(value), gradient + precision * parameters
