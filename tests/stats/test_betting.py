"""Tests by betting: valid, adaptive, and refused for what is not in 0..1."""

from itertools import pairwise, product

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.stats.mean_bounds import (
    CELLS,
    GAPS,
    LARGEST_STAKE,
    betting_capital,
    betting_p_value,
    tail_capital,
)


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


def slow_capital(values, mean, highest, gap):
    """The capital of the three gamblers, value by value; ``highest`` is one for each value."""
    capitals = [1.0] * len(GAPS)
    path = []
    for step, value in enumerate(values):
        before, room = np.array(values[:step]), highest[step] - mean
        spread = float(((before - before.mean()) ** 2).sum()) if step else 0.0
        variance = (spread + gap * room) / (step + 1)
        for number, expected in enumerate(np.multiply(GAPS, gap)):
            stake = min(expected / (variance + expected**2), LARGEST_STAKE / room)
            capitals[number] *= 1 + stake * (mean - value)
        path.append(float(np.log(np.mean(capitals))))
    return path


def slow_tail_capital(loss, limit, share, largest):
    """The capital of the poorest gambler, item by item, with sorted lists for the worst losses before."""
    edges = [(number / CELLS) ** 2 * largest for number in range(CELLS + 1)]
    thresholds = [0.0]
    for step in range(1, len(loss)):
        worst = sorted(loss[:step], reverse=True)
        thresholds.append(max(worst[min(int(step * share), step - 1)], 0.0))
    paths = []
    for start, end in pairwise(edges):
        values = [c - start + (max(x - c, 0) - max(-x - end, 0)) / share for c, x in zip(thresholds, loss, strict=True)]
        highest = [c - start + (largest - c) / share for c in thresholds]
        paths.append(slow_capital(values, limit, highest, abs(limit)))
    return np.min(paths, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_capital_is_that_of_the_game_played_item_by_item(seed):
    loss = np.clip(np.random.default_rng(seed).normal(0.02, 0.3, 60), -1, 1)
    assert betting_capital(loss, 0.02, 1.0, 0.02) == pytest.approx(slow_capital(loss.tolist(), 0.02, [1.0] * 60, 0.02))
    for limit in (0.25, -0.25):
        expected = slow_tail_capital(loss.tolist(), limit, 0.1, 1.0)
        assert tail_capital(loss, limit, 0.1, 1.0) == pytest.approx(expected)
    both = np.stack([loss, -loss])
    assert tail_capital(both, 0.25, 0.1, 1.0)[1] == pytest.approx(tail_capital(-loss, 0.25, 0.1, 1.0))


def expected_capital(points, probabilities, items, capital):
    """The exact expectation of the capital after each item, over all streams."""
    streams = np.array(list(product(range(len(points)), repeat=items)))
    weights = np.array(probabilities)[streams].prod(axis=1)
    return weights @ np.exp(capital(np.array(points)[streams]))


def test_the_expected_capital_is_exactly_one_at_the_limit():
    for points, probabilities in (([0.0, 1.0], [0.98, 0.02]), ([-1.0, 0.0, 1.0], [0.05, 0.88, 0.07])):
        found = expected_capital(points, probabilities, 7, lambda x: betting_capital(x, 0.02, 1.0, 0.02))
        assert found == pytest.approx(np.ones(7))
        found = expected_capital(points, probabilities, 7, lambda x: betting_capital(-x, -0.02, 1.0, 0.02))
        assert found == pytest.approx(np.ones(7))


@pytest.mark.parametrize(
    ("points", "probabilities"),
    [
        ([0.0, 1.0], [0.975, 0.025]),  # the worst tenth loses 0.25, the best gains nothing
        ([-0.15, 1.0], [0.96, 0.04]),  # 0.4 less 0.15
        ([-0.5, 0.25, 0.75], [0.1, 0.8, 0.1]),  # 0.75 less 0.5
    ],
)
def test_the_expected_capital_of_the_tail_is_at_most_one_at_the_limit(points, probabilities):
    passing = expected_capital(points, probabilities, 7, lambda x: tail_capital(x, 0.25, 0.1, 1.0))
    failing = expected_capital(points, probabilities, 7, lambda x: tail_capital(-x, -0.25, 0.1, 1.0))
    assert max(passing.max(), failing.max()) <= 1 + 1e-9


@pytest.mark.parametrize("capital", [betting_capital, tail_capital])
def test_looking_after_every_item_is_seldom_wrong(capital):
    """300 streams of 300 items exactly at the limit: at most 5 % reach 20, and what chance adds with 99.9 %."""
    random = np.random.default_rng(4)
    if capital is betting_capital:
        paths = betting_capital((random.random((300, 300)) < 0.02).astype(float), 0.02, 1.0, 0.02)
    else:
        paths = tail_capital(np.where(random.random((300, 300)) < 0.04, 1.0, -0.15), 0.25, 0.1, 1.0)
    assert np.mean(paths.max(axis=1) >= np.log(20)) <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / 300)
