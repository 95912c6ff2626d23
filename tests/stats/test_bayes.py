"""The Gibbs sampler of the Gaussian model, against simulation and against integration on a grid."""

import itertools

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.stats.bayes import CENTRE, DEGREES, SCALE, SPREAD, posterior


def half_t(rng: np.random.Generator) -> float:
    return float(abs(rng.standard_t(DEGREES)) * SCALE)


def test_ranks_of_the_truth_are_uniform() -> None:
    """Simulation-based calibration (Talts and others 2018): the truth's rank among draws, over tables of the prior."""
    rng = np.random.default_rng(0)
    ranks = []
    for seed in range(300):
        mean = rng.normal(CENTRE, SPREAD)
        topic_sd, system_sd, noise_sd = (half_t(rng) for _ in range(3))
        systems = mean + system_sd * rng.standard_normal(4)
        table = systems[:, None] + topic_sd * rng.standard_normal(6) + noise_sd * rng.standard_normal((4, 6))
        found = posterior(table, 1000, seed)
        truths = [systems[0], systems[1] - systems[0], topic_sd, system_sd, noise_sd]
        drawn = [found.systems[:, 0], found.systems[:, 1] - found.systems[:, 0], found.topic_sd, found.system_sd,
                 found.noise_sd]  # fmt: skip
        ranks.append([(own[::10] < truth).sum() for own, truth in zip(drawn, truths, strict=True)])
    for own in np.transpose(ranks):
        counts = np.histogram(own, bins=10, range=(0, 100.5))[0]
        assert np.square(counts - 30).sum() / 30 < 27.9  # chi-square of 9 df at 0.001


@pytest.mark.parametrize("equal", [False, True])
def test_means_and_deviations_agree_with_integration_on_a_grid(equal: bool) -> None:
    """Scores are jointly normal given the three deviations: integrate over those by brute force."""
    table = np.random.default_rng(5).normal(0.4, 0.2, (3, 4)) + np.array([[0.0], [0.2], [0.5]])
    if equal:  # two topics with the same mean: nothing is left of their effects but chance
        table = np.stack([table[:, 0], table[:, 0].mean() * 2 - table[:, 0]], axis=1)
    count = table.shape[1]
    systems = np.repeat(np.eye(3), count, axis=0)
    topics = np.tile(np.eye(count), (3, 1))
    seen = table.ravel() - CENTRE
    total, means, noise = 0.0, np.zeros(3), 0.0
    grid = np.geomspace(0.004, 12, 34)
    for topic_sd, system_sd, noise_sd in itertools.product(grid, repeat=3):
        covariance = SPREAD**2 + system_sd**2 * systems @ systems.T + topic_sd**2 * topics @ topics.T
        covariance += noise_sd**2 * np.eye(table.size)
        solved = np.linalg.solve(covariance, seen)
        density = np.exp(-0.5 * seen @ solved) / np.sqrt(np.linalg.det(covariance))
        for sd in (topic_sd, system_sd, noise_sd):
            density *= sd * (1 + (sd / SCALE) ** 2 / DEGREES) ** (-(DEGREES + 1) / 2)  # in the logarithm of sd
        total += density
        means += density * (CENTRE + (SPREAD**2 + system_sd**2 * systems.T) @ solved)
        noise += density * noise_sd
    found = posterior(table, 60_000, 1)
    np.testing.assert_allclose(found.systems.mean(axis=0), means / total, atol=0.006)
    assert found.noise_sd.mean() == pytest.approx(noise / total, rel=0.02)


def test_a_table_of_noise_is_shrunk_together() -> None:
    table = np.random.default_rng(2).normal(0.5, 0.2, (20, 30))
    shrunken = posterior(table, 4000).systems.mean(axis=0)
    assert shrunken.std() < 0.5 * table.mean(axis=1).std()


def test_predicted_differences_have_the_noise_of_two_scores() -> None:
    found = posterior(np.random.default_rng(3).normal(0.5, 0.2, (5, 40)), 2000)
    differences = found.differences(2, 40, np.random.default_rng(0))
    assert differences.shape == (2000, 5, 40)
    assert not differences[:, 2].any()
    assert differences[:, 0].std() == pytest.approx(np.sqrt(2) * found.noise_sd.mean(), rel=0.05)


@pytest.mark.parametrize("table", [[[0.1, 0.2]], [[0.1], [0.2]], [[0.1, np.nan], [0.2, 0.3]]])
def test_too_small_tables_are_refused(table: list[list[float]]) -> None:
    with pytest.raises(SurefootError, match="at least two systems and two topics"):
        posterior(table)
