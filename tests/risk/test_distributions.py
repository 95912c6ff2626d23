"""Distributions against scipy, and at the ends of their range."""

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st

from surefoot.native import kernel
from surefoot.risk.distributions import logistic, logit, normal_cdf, normal_quantile, student_p
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
    for name, *arguments in (("normal_cdf", x), ("logistic", x), ("logit", p), ("student_p", x, df)):
        found = set()
        for level in RUNNABLE:
            out = np.empty(2000)
            kernel(name, level)(*arguments, out)
            found.add(out.tobytes())
        assert len(found) == 1
