"""Ranks and the tests on them against scipy.stats."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.risk.distributions import chi_square_p
from surefoot.stats.ranks import average_ranks, friedman_statistic, signed_rank_p

COARSE = st.integers(-6, 6).map(float)
FINE = st.floats(-1, 1, allow_subnormal=False)


@given(arrays(np.float64, (3, 7), elements=COARSE))
def test_ranks(values):
    assert average_ranks(values).tolist() == scipy.stats.rankdata(values, axis=-1).tolist()


@given(arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(2, 9)), elements=COARSE))
def test_friedman(matrix):
    assume((np.ptp(matrix, axis=0) > 0).any())
    expected = scipy.stats.friedmanchisquare(*matrix)
    found = friedman_statistic(matrix)
    assert found == pytest.approx(expected.statistic, abs=1e-9)
    assert chi_square_p(expected.statistic, len(matrix) - 1) == pytest.approx(expected.pvalue, rel=1e-9)


def test_friedman_of_ties_alone_is_undefined():
    assert np.isnan(friedman_statistic(np.ones((3, 4))))


@given(st.one_of(st.lists(COARSE, min_size=1, max_size=80), st.lists(FINE, min_size=1, max_size=60)), st.booleans())
def test_wilcoxon(values, worse):
    some = np.array([value for value in values if value != 0])
    assume(some.size)
    exact = some.size <= 50 and np.unique(np.abs(some)).size == some.size
    expected = scipy.stats.wilcoxon(
        some, alternative="less" if worse else "two-sided", method="exact" if exact else "approx"
    ).pvalue
    assert signed_rank_p(some, worse) == pytest.approx(expected, rel=1e-9)
