"""Tests by betting: valid, adaptive, and refused for what is not in 0..1."""

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.stats.betting import LARGEST_STAKE, betting_p_value


def slow_p_value(values, mean, error):
    """Value by value, as the gambler plays."""
    capital, best, total, squares = 1.0, 1.0, mean, mean / 4
    variance = mean / 4
    for step, value in enumerate(values, start=2):
        stake = min(np.sqrt(2 * np.log(1 / error) / (len(values) * variance)), LARGEST_STAKE / (1 - mean))
        capital *= 1 + stake * (mean - value)
        best = max(best, capital)
        total += value
        squares += (value - total / step) ** 2
        variance = squares / step
    return 1 / best


@pytest.mark.parametrize("seed", range(3))
def test_the_game_played_value_by_value(seed):
    values = np.random.default_rng(seed).beta(0.3, 5, 80)
    for mean in (0.02, 0.1, 0.5):
        assert float(betting_p_value(values, mean)) == pytest.approx(slow_p_value(values, mean, 0.1))
    assert betting_p_value(values, [0.1, 0.5]).shape == (2,)


@pytest.mark.parametrize("draw", ["rare", "even", "ones"])
def test_a_true_mean_is_seldom_rejected(draw):
    """Of 600 samples whose mean is the hypothetical one, at most the error and what chance adds with 99.9 %."""
    rng = np.random.default_rng(0)
    draws = {
        "rare": lambda: (rng.random(200) < 0.1) * rng.random(200),
        "even": lambda: rng.random(200) * 0.1,
        "ones": lambda: (rng.random(200) < 0.05).astype(float),
    }
    rejected = sum(float(betting_p_value(draws[draw](), 0.05)) <= 0.1 for _ in range(600))
    assert rejected <= 60 + 3.1 * np.sqrt(600 * 0.09)


def test_extremes():
    assert float(betting_p_value(np.ones(50), 0.5)) == 1.0
    assert float(betting_p_value(np.zeros(10_000), 0.0003)) <= 0.1


@pytest.mark.parametrize("values", [[], [0.5, np.nan], [1.2], [-0.1], [[0.1]]])
def test_values_outside_are_refused(values):
    with pytest.raises(SurefootError, match="from 0 to 1"):
        betting_p_value(values, 0.5)


@pytest.mark.parametrize("mean", [0, 1, -1, np.nan])
def test_means_outside_are_refused(mean):
    with pytest.raises(SurefootError, match="between 0 and 1"):
        betting_p_value([0.5], mean)
