"""Distributions against scipy, and at the ends of their range."""

import math

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st

from surefoot.native import kernel
from surefoot.risk.distributions import (
    beta_quantile,
    binomial_cdf,
    chi_square_p,
    logistic,
    logit,
    normal_cdf,
    normal_quantile,
    probit,
    student_p,
    student_quantile,
)
from tests.native.levels import RUNNABLE


@given(st.floats(-1e6, 1e6), st.integers(1, 1_000_000))
def test_student_agrees_with_scipy(t, df):
    assume(not 0 < abs(t) < 1e-6)  # where scipy itself has fewer digits
    assert student_p(t, df) == pytest.approx(2 * scipy.special.stdtr(df, -abs(t)), rel=1e-9, abs=1e-300)


def test_student_at_the_ends():
    with np.errstate(all="ignore"):
        assert student_p([0.0, np.inf, -np.inf, 1e200], 5).tolist() == [1.0, 0.0, 0.0, 0.0]
        assert np.isnan(student_p(np.nan, 5))


@given(st.floats(-37, 37))
def test_the_normal_distribution_agrees_with_scipy(x):
    assert normal_cdf(x) == pytest.approx(scipy.special.ndtr(x), rel=1e-12)


@given(st.floats(1e-300, 1 - 1e-9))
def test_the_normal_quantile_agrees_with_scipy(p):
    assert normal_quantile(p) == pytest.approx(scipy.special.ndtri(p), rel=1e-13, abs=1e-15)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 10_000))
def test_the_student_quantile_agrees_with_scipy(p, df):
    assume(p < 0.99)  # near 1 scipy has fewer digits
    assert student_quantile(p, df) == pytest.approx(scipy.special.stdtrit(df, 1 - p / 2), rel=1e-9)
    assert student_quantile(p, df) == pytest.approx(-scipy.special.stdtrit(df, p / 2), rel=1e-12)


@given(st.floats(1e-250, 1 - 1e-9), st.integers(1, 1000))
def test_the_student_quantile_is_that_of_its_p(p, df):
    assert student_p(student_quantile(p, df), df) == pytest.approx(p, rel=1e-11)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0.05, 3000), st.floats(0.05, 3000))
def test_the_beta_quantile_agrees_with_scipy(p, a, b):
    expected = scipy.special.betaincinv(a, b, p)
    assume(expected > 1e-280)
    assert beta_quantile(p, a, b) == pytest.approx(expected, rel=2e-12)


def test_beta_quantiles_in_the_tails():
    """I_x(a, 1) = x^a and I_x(1, b) = 1 - (1 - x)^b."""
    p, a = 10.0 ** -np.arange(1, 290.0), np.array([[1.0], [2.0], [50.0], [4000.0]])
    np.testing.assert_allclose(beta_quantile(p, a, 1), p ** (1 / a), rtol=1e-12)
    np.testing.assert_allclose(beta_quantile(p, 1, a), -np.expm1(np.log1p(-p) / a), rtol=1e-12)
    assert beta_quantile([0.0, 1.0], 3, 4).tolist() == [0.0, 1.0]
    assert np.isnan(beta_quantile(np.nan, 3, 4))


@given(st.integers(0, 400), st.integers(1, 400), st.fractions(0, 1, max_denominator=100))
def test_binomial_probabilities_are_those_of_exact_sums(k, n, p):
    exact = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n) + 1))
    assert binomial_cdf(k, n, float(p)) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


@given(st.floats(0, 5000), st.integers(1, 2500))
def test_chi_square_agrees_with_scipy(statistic, df):
    expected = scipy.special.chdtrc(df, statistic)
    assert chi_square_p(statistic, df) == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_probabilities_at_the_ends():
    assert probit([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan(probit([-0.1, 1.1, np.nan])).all()
    assert [chi_square_p(one, 3) for one in (0.0, 1e6)] == [1.0, 0.0]
    assert np.isnan(chi_square_p(np.nan, 3))
    assert [binomial_cdf(2, 2, 0.3), binomial_cdf(0, 5, 0.0), binomial_cdf(4, 5, 1.0)] == [1.0, 1.0, 0.0]


@given(st.floats(-800, 800) | st.sampled_from([np.inf, -np.inf]), st.floats(0, 1))
def test_logistic_and_logit_agree_with_scipy(x, p):
    assert logistic(x) == pytest.approx(scipy.special.expit(x), rel=1e-14)
    assert logit(p) == pytest.approx(scipy.special.logit(p), rel=1e-14)


def test_shapes_are_those_of_the_arguments():
    assert normal_cdf(0.0).shape == ()
    assert logit(np.broadcast_to(0.5, (2, 3))).tolist() == [[0.0] * 3] * 2
    assert student_p(np.zeros((2, 1)), [3.0, 4.0, 5.0]).tolist() == [[1.0] * 3] * 2
    assert student_p(np.zeros((4, 6))[::2, ::3], 5).tolist() == [[1.0] * 2] * 2


def test_every_level_gives_the_same_bits():
    rng = np.random.default_rng(0)
    x, p, df = rng.normal(size=2000) * 5, rng.random(2000), rng.integers(1, 500, 2000).astype(float)
    elementwise = [("normal_cdf", x), ("logistic", x), ("logit", p), ("student_p", x, df)]
    for name, *arguments in (*elementwise, ("beta_cdf", df, df[::-1].copy(), p), ("beta_logit", df, np.abs(x), p)):
        found = set()
        for level in RUNNABLE:
            out = np.empty(2000)
            kernel(name, level)(*arguments, out)
            found.add(out.tobytes())
        assert len(found) == 1
