"""The proportional odds model with effects of topics: its derivatives, what it recovers, and its draws."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from surefoot.judgments.mixed_odds import DEGREES, GradedDocuments, MixedOdds, _Newton, draw_student
from tests.judgments.collection import probabilities


def simulated(seed=0, topics=60, size=60, thresholds=(1.5, 3.0)):
    """Grades by three features, of which the first counts most, and two with an effect in each topic."""
    random = np.random.default_rng(seed)
    topic = np.repeat(np.arange(topics), size)
    fixed = random.random((topics * size, 3))
    varying = np.column_stack([np.ones(topics * size), random.standard_normal(topics * size)])
    effects = random.normal(0, [1.0, 0.6], (topics, 2))
    latent = fixed @ [3, 0, 1] + (varying * effects[topic]).sum(axis=1) + random.logistic(size=topics * size)
    grades = np.searchsorted(thresholds, latent)
    starts, groups = np.arange(topics + 1) * size, np.array([0, 1])
    return GradedDocuments(fixed, np.array([0, 0, -1]), varying, groups, grades, starts, 3), effects


def at_random(documents, seed=1):
    fit, random = _Newton(documents, documents.grades), np.random.default_rng(seed)
    fit._shared = fit._shared + random.normal(0, 0.3, fit._shared.size)
    fit._effects = random.normal(0, 0.3, fit._effects.shape)
    return fit


def numeric_slope(fit, parameters):
    """The slope of the objective, shared parameters first."""
    split = fit._shared.size

    def value(x):
        return fit._value(x[:split], x[split:].reshape(fit._effects.shape))

    return approx_fprime(parameters, value, 1e-6)


def test_slopes_and_curvature_are_those_of_the_objective():
    fit = at_random(simulated(topics=3, size=8)[0])
    at, parameters = fit._curvature(), np.concatenate([fit._shared, fit._effects.ravel()])
    np.testing.assert_allclose(
        np.concatenate([at.slope, *at.slopes]), numeric_slope(fit, parameters), atol=1e-4, rtol=1e-4
    )
    curve = np.array(
        [
            (numeric_slope(fit, parameters + 1e-3 * unit) - numeric_slope(fit, parameters - 1e-3 * unit)) / 2e-3
            for unit in np.eye(parameters.size)
        ]
    )
    split = fit._shared.size
    np.testing.assert_allclose(np.linalg.inv(curve)[:split, :split], at.covariance, rtol=0.02, atol=1e-3)
    for topic, (conditional, response) in enumerate(zip(at.conditional, at.response, strict=True)):
        own = slice(split + 2 * topic, split + 2 * topic + 2)
        np.testing.assert_allclose(np.linalg.inv(curve[own, own]), conditional, rtol=0.02, atol=1e-3)
        np.testing.assert_allclose(-conditional @ curve[own, :split], response, rtol=0.02, atol=2e-3)


def test_it_recovers_what_grades_were_made_of():
    documents, effects = simulated()
    found = MixedOdds.fit(documents)
    np.testing.assert_allclose(np.diff(found.thresholds), [1.5], atol=0.2)
    np.testing.assert_allclose(found.coefficients, [3, 0, 1], atol=0.4)
    assert (np.abs(found.coefficients - [3, 0, 1]) < 3 * np.sqrt(np.diag(found.covariance))[2:]).all()
    np.testing.assert_allclose(np.sqrt(found.random_variances), [1.0, 0.6], atol=0.25)
    errors = np.sqrt([np.diag(own) for own in found.conditional])
    assert np.mean(np.abs(found.effects - effects)[:, 1] < 2 * errors[:, 1]) > 0.9


def test_topics_that_copy_their_documents_raise_the_doubt():
    documents, _ = simulated(topics=20, size=20)
    copies = np.concatenate([np.tile(np.arange(20) + 20 * topic, 5) for topic in range(20)])
    again = GradedDocuments(
        documents.fixed[copies],
        documents.fixed_groups,
        documents.random[copies],
        documents.random_groups,
        documents.grades[copies],
        np.arange(21) * 100,
        3,
    )
    fit = _Newton(again, again.grades)
    found = fit.solve(np.arange(2))
    assert np.diag(found.covariance)[-1] > 1.2 * np.diag(fit._curvature().covariance)[-1]


def test_draws_have_the_probabilities_where_nothing_is_in_doubt():
    documents, _ = simulated(topics=5)
    found = MixedOdds.fit(documents)
    sure = MixedOdds(**{**vars(found), "conditional": tuple(1e-12 * own for own in found.conditional)})
    fixed, varying = documents.fixed[60:70], documents.random[60:70]
    drawn = sure.draw_grades(1, fixed, varying, np.zeros((20_000, 5)), np.random.default_rng(0))
    rates = (drawn[..., np.newaxis] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(rates, probabilities(sure, 1, fixed, varying), atol=0.02)


@pytest.mark.parametrize("given", [[0, 3], [1], [0], [0, 1]])
def test_grades_that_nobody_gave_are_never_drawn(given):
    random = np.random.default_rng(0)
    grades = random.choice(given, 40)
    ones, groups = np.ones((40, 1)), np.zeros(1, np.int64)
    found = MixedOdds.fit(
        GradedDocuments(random.random((40, 1)), np.array([-1]), ones, groups, grades, np.array([0, 20, 20, 40]), 5)
    )
    drawn = found.draw_grades(0, np.ones((1, 1)), np.ones((1, 1)), draw_student(found.covariance, random, 500), random)
    assert set(np.unique(drawn).tolist()) <= {0, 1, *given}
    np.testing.assert_allclose(probabilities(found, 1, np.ones((1, 1)), np.ones((1, 1))).sum(), 1)


def test_shared_parameters_are_drawn_with_heavy_tails():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = draw_student(covariance, np.random.default_rng(0), 200_000)
    middle = drawn[np.abs(drawn[:, 0]) < np.inf]
    np.testing.assert_allclose(np.cov(middle.T), covariance * DEGREES / (DEGREES - 2), rtol=0.15)
    np.testing.assert_allclose(np.quantile(drawn[:, 0], 0.95), 2.132 * np.sqrt(2), rtol=0.02)
