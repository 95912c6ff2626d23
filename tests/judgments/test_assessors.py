"""Disagreement of assessors: what it recovers, scales of grades."""

import numpy as np
import pytest
from scipy.special import logit

from surefoot.errors import SurefootError
from surefoot.judgments.assessors import Disagreement, DoubleJudgments, Spreads
from tests.judgments.collection import read_random, write_qrels

MATRIX = np.array([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [0.15, 0.25, 0.6]])
LOG_ODDS = logit(1 - MATRIX.cumsum(axis=1)[:, :-1])
TRUTH = Disagreement(LOG_ODDS, 1.0, 0.5, Spreads(1.5, 0.4, 0.8, 1.2), np.zeros((8, 8)), "truth")


def simulated(topics=80, size=60, seed=0, runs=4):
    """Judgments of two assessors who differ as in TRUTH."""
    random = np.random.default_rng(seed)
    other = TRUTH.draw(random, 1, runs)
    for effect in random.normal(0, 1, topics):
        first, excess = random.integers(0, 3, size), random.normal(0, 1, size)
        profiles = random.normal(0, 1, (size, runs))
        tilt = other.on_topic(effect, random).tilt(excess, profiles)
        above = other.probabilities(first[np.newaxis], tilt)[0]
        second = (random.random((size, 1)) < above).sum(axis=1)
        yield DoubleJudgments(first, second, excess, profiles, effect)


def test_it_recovers_how_assessors_differ():
    found = Disagreement.of_judgments(list(simulated()))
    np.testing.assert_allclose(found.matrix, TRUTH.matrix, atol=0.1)
    np.testing.assert_allclose([found.votes, found.ease], [1.0, 0.5], atol=0.25)
    np.testing.assert_allclose(found.spreads[:3], TRUTH.spreads[:3], atol=0.3)
    assert 0.3 < found.spreads.bias < 2.5
    held = np.abs(found.log_odds - TRUTH.log_odds).ravel() < 3 * np.sqrt(np.diag(found.covariance))[:-2]
    assert held.all()


def test_the_doubt_about_the_matrix_is_drawn_once_for_all_topics():
    covariance = np.diag([0.5] * 6 + [0.1, 0.1])
    drawn = Disagreement(LOG_ODDS, 1.0, 0.5, Spreads(), covariance, "x").draw(np.random.default_rng(0), 5000, 2)
    assert (np.diff(drawn.log_odds, axis=2) <= 0).all()
    np.testing.assert_allclose(np.median(drawn.log_odds, axis=0), LOG_ODDS, atol=0.15)
    assert drawn.votes.std() > 0.3


def test_on_coarser_scales_relevant_is_what_the_track_called_so():
    fine, coarse = Disagreement.shipped(4), Disagreement.shipped(2)
    relevant = fine.matrix[:, 2:].sum(axis=1)
    assert relevant[0] < coarse.matrix[0, 1] < relevant[1]
    assert relevant[2] < coarse.matrix[1, 1] < relevant[3]
    assert np.linalg.eigvalsh(coarse.covariance).min() > -1e-6


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
