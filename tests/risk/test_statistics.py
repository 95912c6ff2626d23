"""The statistics that are computed by compiled loops, against the formulas in numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.risk.statistics import Comparison, Expectation

SHAPES = [
    ((7,), (7,)),
    ((3, 5000), (5000,)),
    ((3, 40), (3, 40)),
    ((40,), (3, 40)),
    ((2, 3, 40), (3, 40)),
    ((2, 1, 40), (2, 3, 40)),
]


def scores(shape, seed=0):
    """With zeros and ties, as real scores have them."""
    random = np.random.default_rng([seed, *shape])
    return np.maximum(random.random(shape).round(2) - 0.2, 0)


def moments(d, chosen):
    n = chosen.sum(axis=-1)
    mean = np.where(chosen, d, 0).sum(axis=-1) / np.maximum(n, 1)
    return n, mean, (np.where(chosen, d - mean[..., np.newaxis], 0) ** 2).sum(axis=-1)


@pytest.mark.parametrize(("system", "baseline"), SHAPES)
def test_a_comparison_is_that_of_the_formulas(system, baseline):
    x, b = scores(system), scores(baseline, 1)
    found, d = Comparison.of(x, b), x - b
    for name, chosen in (("gains", d >= 0), ("losses", d < 0)):
        own = getattr(found, name)
        for value, expected in zip((own.n, own.mean, own.m2), moments(d, chosen), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(found.wins, (d > 0).sum(axis=-1))
    np.testing.assert_array_equal(found.loss20, ((d < -(0.2 + 1e-9) * b) & (b > 0)).sum(axis=-1))


def test_memory_layout_changes_nothing():
    x, b = scores((4, 3000)), scores((3000,), 1)
    compared = Comparison.of(x, b)
    weights = np.random.default_rng(0).integers(0, 3, (5, 3000)).astype(float)
    expected, weighted = Expectation.of(x), Expectation.of(x, weights)
    for same in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1]):
        assert Comparison.of(same, b).losses.m2.tobytes() == compared.losses.m2.tobytes()
        np.testing.assert_allclose(Expectation.of(same).losses, expected.losses, rtol=1e-13)
        np.testing.assert_allclose(Expectation.of(same, weights.T.copy().T).losses, weighted.losses, rtol=1e-13)


@settings(max_examples=50)
@given(st.integers(0, 1000), st.sampled_from([(2, 3), (5, 2500), (3, 2, 7)]), st.sampled_from([0.0, -0.3, -2.0]))
def test_an_expectation_is_that_of_the_formulas(seed, shape, shift):
    x = scores(shape, seed) + shift
    x[..., 0, :] *= seed % 3 > 0
    x[..., :, 1] *= seed % 2
    total = x.sum(axis=-1, keepdims=True)
    grand = total.sum(axis=-2, keepdims=True)
    e = total / np.where(grand > 0, grand, 1.0) * x.sum(axis=-2, keepdims=True)
    z = np.where(e > 0, (x - e) / np.sqrt(np.where(e > 0, e, 1.0)), 0.0)
    found = Expectation.of(x)
    rounding = 1e-12 * np.abs(z).sum()
    np.testing.assert_allclose(found.gains, np.maximum(z, 0).sum(axis=-1), rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(found.losses, np.minimum(z, 0).sum(axis=-1), rtol=1e-12, atol=rounding)
