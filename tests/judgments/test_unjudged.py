"""The model of unjudged grades: its gradient, what it recovers, and its draws."""

import numpy as np
from scipy.optimize import check_grad

from surefoot.judgments.unjudged import GradeModel, _OrdinalFit
from tests.judgments.collection import read_random


def simulated(seed=0, topics=30, size=60):
    """Grades of documents by three votes of which the first counts most."""
    random = np.random.default_rng(seed)
    topic = np.repeat(np.arange(topics), size)
    features = random.random((topics * size, 3))
    effects = random.normal(0, 1, topics)
    latent = features @ [3, 0, 1] + effects[topic] + random.logistic(size=topics * size)
    return features, np.searchsorted([1.5, 3.0], latent), topic, effects


def test_the_gradient_is_that_of_the_objective():
    features, grades, topics, _ = simulated(topics=3, size=8)
    fit = _OrdinalFit(features, grades, topics, 3, 3)
    at = np.random.default_rng(1).normal(0, 0.5, 2 + 3 + 3)
    assert check_grad(lambda x: fit._objective(x, 0.7)[0], lambda x: fit._objective(x, 0.7)[1], at) < 1e-4


def test_it_recovers_what_grades_were_made_of():
    features, grades, topics, effects = simulated(topics=60)
    fit = _OrdinalFit(features, grades, topics, 3, 60)
    thresholds, coefficients, covariance, found, errors = fit.solve()
    np.testing.assert_allclose(thresholds[1] - thresholds[0], 1.5, atol=0.2)
    np.testing.assert_allclose(coefficients, [3, 0, 1], atol=0.5)
    assert (np.abs(coefficients - [3, 0, 1]) < 3 * np.sqrt(np.diag(covariance))).all()
    assert np.mean(np.abs(found - found.mean() - effects + effects.mean()) < 2 * errors) > 0.9


def test_draws_have_the_probabilities_but_for_the_doubt_about_the_topic(tmp_path):
    runs = read_random(tmp_path, seed=4)
    model = GradeModel.fit(runs)
    codes = model.pools[2].codes
    probabilities = model.probabilities(2, codes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    sure = GradeModel(**{**vars(model), "errors": np.zeros_like(model.errors)})
    coefficients = np.repeat(sure.coefficients[np.newaxis], 20_000, axis=0)
    drawn = sure.draw(2, codes, coefficients, np.random.default_rng(0))
    rates = (drawn[..., np.newaxis] == np.arange(runs.levels)).mean(axis=0)
    np.testing.assert_allclose(rates, probabilities, atol=0.02)


def test_documents_that_no_run_has_among_its_first_100_get_no_votes(tmp_path):
    model = GradeModel.fit(read_random(tmp_path, seed=4))
    assert model.votes(0, np.array([12345], np.uint64)).tolist() == [0]


def test_the_rest_is_counted_whole(tmp_path):
    runs = read_random(tmp_path, seed=5)
    model, pair = GradeModel.fit(runs), runs.pair("r0", "r1")
    for topic, own in enumerate(pair.topics):
        counts = np.zeros(runs.levels, np.int64)
        for grade, number, _ in model.rest(topic, own):
            counts[grade] += number
        assert counts.tolist() == own.rest.tolist()


def test_coefficients_are_drawn_around_the_fitted_ones(tmp_path):
    model = GradeModel.fit(read_random(tmp_path, seed=4))
    drawn = model.draw_coefficients(np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), model.coefficients, atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), model.covariance, atol=0.5)
