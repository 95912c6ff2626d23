"""A proportional odds model of grades with random effects of topics, and its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.risk.distributions import logistic

MOST_STEPS = 30
"""Newton steps; the variances are estimated again after each."""
DEGREES = 4
"""Degrees of freedom of drawn shared parameters: variances are estimates, and the form is an assumption."""
WEAK = 0.1
"""The prior precision of coefficients without a variance of their own."""
FIXED = 1e9
"""The weight of a prior that no data can move."""


class Prior(NamedTuple):
    """The expected variance of a group of coefficients, and the number of observations that it counts as."""

    variance: float = 1.0
    weight: float = 0.0


@dataclass(frozen=True, eq=False)
class GradedDocuments:
    """Documents with grades, those of one topic after the other.

    ``fixed`` are features whose coefficients all topics share, ``random`` those with a coefficient in each topic.
    Coefficients of one group have one variance; the groups of ``fixed`` and ``random`` are numbered from 0 on, and -1
    in ``fixed_groups`` is a coefficient of its own. ``starts`` holds the index of each topic's first document, and the
    number of documents. Grades go from 0 to ``levels`` - 1. A group's variance is estimated, shrunk to its prior; an
    observation is a coefficient in ``fixed_priors``, a topic in ``random_priors``.
    """

    fixed: FloatArray
    fixed_groups: IntArray
    random: FloatArray
    random_groups: IntArray
    grades: IntArray
    starts: IntArray
    levels: int
    fixed_priors: Sequence[Prior] = ()
    random_priors: Sequence[Prior] = ()

    @property
    def topics(self) -> list[slice]:
        """The documents of each topic."""
        return [slice(begin, end) for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True)]


@dataclass(frozen=True, eq=False)
class MixedOdds:
    """P(grade >= g) = logistic(fixed · coefficients + random · effects of the topic - threshold of g), as estimated.

    ``cuts`` holds the index of the threshold of each grade from 1 on; one past the last is never reached.
    ``covariance`` is that of thresholds and coefficients together. ``conditional`` are the covariances of each topic's
    effects where these are known, ``response`` says how the effects move with them. ``fixed_variances`` and
    ``random_variances`` are those of the groups.
    """

    thresholds: FloatArray
    cuts: IntArray
    coefficients: FloatArray
    effects: FloatArray
    covariance: FloatArray
    conditional: FloatArray
    response: FloatArray
    fixed_variances: FloatArray
    random_variances: FloatArray

    @classmethod
    def fit(cls, documents: GradedDocuments) -> MixedOdds:
        """By Newton's method, with variances by expectation maximisation, and Laplace's approximation of uncertainty.

        A grade that nobody gave has the threshold of the next higher one that somebody gave: it is never drawn.
        """
        given = np.union1d(documents.grades, [0])
        given = given if given.size > 1 else np.array([0, 1])
        cuts = np.searchsorted(given, np.arange(1, documents.levels)) - 1
        return _Newton(documents, np.searchsorted(given, documents.grades)).solve(cuts)

    def draw_grades(
        self, topic: int, fixed: FloatArray, varying: FloatArray, shared: FloatArray, random: np.random.Generator
    ) -> IntArray:
        """Grades of documents of a topic, n × documents, by drawn shared parameters; its effects are drawn here."""
        spread = np.linalg.cholesky(self.conditional[topic])
        effects = self.effects[topic] + shared @ self.response[topic].T
        effects += random.standard_normal(effects.shape) @ spread.T
        latent = self.drawn_coefficients(shared) @ fixed.T + effects @ varying.T
        latent += random.logistic(size=latent.shape)
        grades = np.zeros(latent.shape, np.int64)
        for threshold in self.drawn_thresholds(shared).T:
            grades += latent >= threshold[:, np.newaxis]
        return grades

    def drawn_coefficients(self, shared: FloatArray) -> FloatArray:
        """The coefficients by drawn shared parameters, n × features."""
        return np.asarray(self.coefficients + shared[:, self.thresholds.size :])

    def drawn_thresholds(self, shared: FloatArray) -> FloatArray:
        """The thresholds of all grades by drawn shared parameters, in order, n × grades."""
        moved = np.sort(self.thresholds + shared[:, : self.thresholds.size], axis=1)
        return np.append(moved, np.full((len(moved), 1), np.inf), axis=1)[:, self.cuts]


def draw_student(covariance: FloatArray, random: np.random.Generator, n: int) -> FloatArray:
    """Deviations of Student's t with few degrees of freedom, n × parameters.

    The symmetric root of the covariance is unique; eigenvectors are not, and differ between processors.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    normal = random.standard_normal((n, len(covariance))) @ root
    return np.asarray(normal * np.sqrt(DEGREES / random.chisquare(DEGREES, (n, 1))))


class _Curvature(NamedTuple):
    """The posterior around the present parameters.

    ``scores`` are the slopes of each topic's likelihood along the shared parameters, ``slope`` that of the posterior
    along them, ``slopes`` those along each topic's effects; for the others see `MixedOdds`.
    """

    scores: FloatArray
    slope: FloatArray
    slopes: FloatArray
    covariance: FloatArray
    conditional: FloatArray
    response: FloatArray


class _Newton:
    """Maximum a posteriori: ``_shared`` are thresholds and coefficients, ``_effects`` those of topics."""

    def __init__(self, documents: GradedDocuments, grades: IntArray) -> None:
        self._documents, self._grades, self._cuts = documents, grades, max(int(grades.max()), 1)
        above = np.array([np.mean(grades > cut) for cut in range(self._cuts)])
        above = np.clip(above, 0.5 / grades.size, 1 - 0.5 / grades.size)
        thresholds = np.maximum.accumulate(np.log(1 / above - 1)) + 1e-3 * np.arange(self._cuts)
        self._shared = np.concatenate([thresholds, np.zeros(documents.fixed.shape[1])])
        self._effects = np.zeros((len(documents.topics), documents.random.shape[1]))
        self._fixed_priors = _priors(documents.fixed_priors, documents.fixed_groups)
        self._random_priors = _priors(documents.random_priors, documents.random_groups)
        self._fixed_variances, self._random_variances = self._fixed_priors[:, 0], self._random_priors[:, 0]

    def solve(self, cuts: IntArray) -> MixedOdds:
        """The parameters; the covariance of the shared ones allows for topics that vary more than assumed."""
        for _ in range(MOST_STEPS):
            curvature = self._curvature()
            if max(self._step(curvature) / 1e-3, self._estimate_variances(curvature) / 0.02) < 1:
                break
        found = self._curvature()
        covariance = found.covariance * self._design_effect(found)
        thresholds, coefficients = np.split(self._shared, [self._cuts])
        variances = self._fixed_variances, self._random_variances
        return MixedOdds(
            thresholds, cuts, coefficients, self._effects, covariance, found.conditional, found.response, *variances
        )

    def _precisions(self) -> tuple[FloatArray, FloatArray]:
        """The precisions of the priors of the shared parameters, and of a topic's effects."""
        groups = self._documents.fixed_groups
        coefficients = np.where(groups < 0, WEAK, 1 / np.append(self._fixed_variances, np.inf)[groups])
        thresholds = np.full(self._cuts, WEAK / 10)
        return np.append(thresholds, coefficients), 1 / self._random_variances[self._documents.random_groups]

    def _ends(self, shared: FloatArray, effects: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(grade at least the observed one) and P(grade above it) of each document."""
        documents = self._documents
        ends = np.concatenate([[-np.inf], shared[: self._cuts], [np.inf]])
        latent = documents.fixed @ shared[self._cuts :]
        for own, effect in zip(documents.topics, effects, strict=True):
            latent[own] += documents.random[own] @ effect
        return logistic(latent - ends[self._grades]), logistic(latent - ends[self._grades + 1])

    def _value(self, shared: FloatArray, effects: FloatArray) -> float:
        at_least, above = self._ends(shared, effects)
        priors = self._precisions()
        penalty = 0.5 * ((priors[0] * shared**2).sum() + (priors[1] * effects**2).sum())
        return float(penalty - np.log(np.maximum(at_least - above, 1e-300)).sum())

    def _curvature(self) -> _Curvature:
        documents, cuts, priors = self._documents, self._cuts, self._precisions()
        at_least, above = self._ends(self._shared, self._effects)
        density, weight, own = _by_threshold(self._grades, at_least, above, cuts)
        pull = at_least + above - 1
        scores = np.concatenate([density, pull[:, np.newaxis] * documents.fixed], axis=1)
        bent = np.concatenate([-weight, weight.sum(axis=1, keepdims=True) * documents.fixed], axis=1)
        curve = np.zeros((self._shared.size, self._shared.size))
        curve[cuts:] = documents.fixed.T @ bent
        curve[:cuts, cuts:], curve[:cuts, :cuts] = curve[cuts:, :cuts].T, own
        curve += np.diag(priors[0])
        topics, along = documents.topics, documents.random * weight.sum(axis=1, keepdims=True)
        varying = [documents.random[rows].T for rows in topics]
        within = np.stack([own @ along[rows] for own, rows in zip(varying, topics, strict=True)])
        conditional = np.linalg.inv(within + np.diag(priors[1]))
        mixed = np.stack([own @ bent[rows] for own, rows in zip(varying, topics, strict=True)])
        slopes = np.stack([own @ pull[rows] for own, rows in zip(varying, topics, strict=True)])
        slopes += priors[1] * self._effects
        response = -conditional @ mixed
        for own in mixed.transpose(0, 2, 1) @ response:
            curve += own
        by_topic = np.stack([scores[rows].sum(axis=0) for rows in topics])
        slope = by_topic.sum(axis=0) + priors[0] * self._shared
        return _Curvature(by_topic, slope, slopes, np.asarray(np.linalg.inv(curve)), conditional, response)

    def _step(self, at: _Curvature) -> float:
        """A Newton step, halved until the posterior rises and the thresholds are in order; how far it went."""
        reduced = at.slope + sum(move.T @ slope for move, slope in zip(at.response, at.slopes, strict=True))
        shared = -at.covariance @ reduced
        effects = at.response @ shared - (at.conditional @ at.slopes[:, :, np.newaxis])[:, :, 0]
        value = self._value(self._shared, self._effects)
        for size in 0.5 ** np.arange(12):
            moved = self._shared + size * shared, self._effects + size * effects
            if (np.diff(moved[0][: self._cuts]) > 0).all() and self._value(*moved) <= value + 1e-9:
                self._shared, self._effects = moved
                return float(np.abs(shared).max())
        return 0.0

    def _estimate_variances(self, at: _Curvature) -> float:
        """The variances by the parameters and their errors; the largest change of a logarithm."""
        errors = np.diagonal(at.conditional, axis1=1, axis2=2) + (at.response @ at.covariance * at.response).sum(axis=2)
        own = (self._shared**2 + np.diag(at.covariance))[self._cuts :]
        before = np.append(self._fixed_variances, self._random_variances)
        groups = self._documents.fixed_groups
        self._fixed_variances = _shrunk(own, groups, self._fixed_priors, np.bincount(groups[groups >= 0]))
        squares, topics = (self._effects**2 + errors).mean(axis=0), len(self._effects)
        self._random_variances = _shrunk(squares, self._documents.random_groups, self._random_priors, topics)
        now = np.append(self._fixed_variances, self._random_variances)
        return float(np.abs(np.log(now / before)).max())

    def _design_effect(self, at: _Curvature) -> float:
        """By how much the topics' scores vary more than they should if the model were right; at least 1."""
        expected = len(at.covariance) - (np.diag(at.covariance) * self._precisions()[0]).sum()
        return max(1.0, float(((at.scores @ at.covariance) * at.scores).sum() / expected))


def _by_threshold(
    grades: IntArray, at_least: FloatArray, above: FloatArray, cuts: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of the negative logarithm of the likelihood.

    Along thresholds, along these and the linear predictor with the sign changed (each documents × thresholds), and
    along two thresholds (thresholds × thresholds).
    """
    rows, likelihood = np.arange(grades.size), np.maximum(at_least - above, 1e-12)
    lower, upper = at_least * (1 - at_least), above * (1 - above)
    slope, weight = np.zeros((2, grades.size, cuts + 2))
    weight[rows, grades], weight[rows, grades + 1] = lower, upper
    slope[rows, grades], slope[rows, grades + 1] = lower / likelihood, -upper / likelihood
    product = lower * upper / likelihood**2
    twice = np.bincount(np.append(grades, grades + 1), np.tile(product, 2), cuts + 2)
    own = np.diag(weight.sum(axis=0) + twice)
    np.add.at(own, (grades, grades + 1), -product)
    np.add.at(own, (grades + 1, grades), -product)
    inner = slice(1, cuts + 1)
    return slope[:, inner], weight[:, inner], own[inner, inner]


def _priors(given: Sequence[Prior], groups: IntArray) -> FloatArray:
    """The prior of each group, groups × 2; one without weight where none is given."""
    return np.array([*given, *[Prior()] * (int(groups.max()) + 1 - len(given))]).reshape(-1, 2)


def _shrunk(values: FloatArray, groups: IntArray, priors: FloatArray, n: IntArray | int) -> FloatArray:
    """The mean of each group's values and of its prior, weighted by their numbers of observations."""
    means = np.array([max(values[groups == group].mean(), 1e-4) for group in range(len(priors))])
    return np.asarray((n * means + priors[:, 0] * priors[:, 1]) / (n + priors[:, 1]))
