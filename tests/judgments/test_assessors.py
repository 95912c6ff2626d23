"""Disagreement of assessors: its gradient, what it recovers, scales of grades."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from surefoot.errors import SurefootError
from surefoot.judgments.assessors import Disagreement, DoubleJudgments, _Fit
from tests.judgments.collection import read_random, write_qrels

TRUTH = Disagreement(np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]), 1.0, 0.5, (1.5, 0.4, 0.8), "truth")


def simulated(topics=80, size=60, seed=0, runs=4):
    """Judgments of two assessors who differ as in TRUTH."""
    random = np.random.default_rng(seed)
    parts = []
    for effect in random.normal(0, 1, topics):
        first, excess = random.integers(0, 3, size), random.normal(0, 1, size)
        profiles = random.normal(0, 1, (size, runs))
        tilt = TRUTH.draw_traits(effect, runs, random, 1).tilt(excess, profiles)[0]
        ends = TRUTH.probabilities(first, tilt).cumsum(axis=1)[:, :-1]
        second = (random.random((size, 1)) > ends).sum(axis=1)
        parts.append((first, second, np.stack([excess, np.full(size, effect)], axis=1), profiles))
    return DoubleJudgments.of(parts)


def test_the_gradient_is_that_of_the_objective():
    fit = _Fit(simulated(topics=3, size=10))
    at = np.random.default_rng(1).normal(0, 0.5, 9 + 2 + 6)
    spread = np.array([0.5, 2.0])
    assert check_grad(lambda x: fit._objective(x, spread)[0], lambda x: fit._objective(x, spread)[1], at) < 1e-4


def test_it_recovers_how_assessors_differ():
    found = _Fit(simulated()).solve("fit")
    np.testing.assert_allclose(found.matrix, TRUTH.matrix, atol=0.07)
    np.testing.assert_allclose([found.votes, found.ease], [1.0, 0.5], atol=0.25)
    np.testing.assert_allclose(found.spreads, TRUTH.spreads, atol=0.3)


@pytest.mark.parametrize("levels", [2, 3, 4, 5, 6])
def test_the_shipped_one_fits_every_scale(levels):
    shipped = Disagreement.shipped(levels)
    np.testing.assert_allclose(shipped.matrix.sum(axis=1), 1)
    assert shipped.matrix.shape == (levels, levels)
    assert (np.diff(shipped.matrix @ np.arange(levels)) > 0).all()


def test_one_number_is_the_rate_of_other_grades():
    found = Disagreement.of_rate(0.3, [50, 30, 20])
    np.testing.assert_allclose(1 - np.diag(found.matrix), 0.3)
    np.testing.assert_allclose(found.matrix.sum(axis=1), 1)
    with pytest.raises(SurefootError, match="a probability in"):
        Disagreement.of_rate(1.5, [1, 1])


def test_it_is_fitted_to_double_judgments_of_files(tmp_path):
    runs = read_random(tmp_path, seed=6, holes=0.1)
    same = tmp_path / "qrels.txt"
    found = Disagreement.fit(runs, [same, same])
    assert found.source.startswith("fit(")
    assert np.argmax(found.matrix, axis=1).tolist() == list(range(runs.levels))
    other = write_qrels(tmp_path / "other.txt", {"elsewhere": {"d1": 1}})
    with pytest.raises(SurefootError, match="judged twice"):
        Disagreement.fit(runs, [other])
