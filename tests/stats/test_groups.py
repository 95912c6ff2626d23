"""Welch's t and its permutation test, against scipy and against all permutations."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from surefoot.stats import group_test
from surefoot.stats.permutation import welch_t


def test_t_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    values, groups = random.exponential(size=60), random.random((5, 60)) < 0.3
    theirs = [ttest_ind(values[own], values[~own], equal_var=False).statistic for own in groups]
    np.testing.assert_allclose(welch_t(values, groups), theirs)
    np.testing.assert_allclose(welch_t(np.stack([values, values**2]), groups)[0], theirs)


def test_t_where_nothing_varies() -> None:
    groups = np.array([[True, True, False, False]])
    assert welch_t(np.array([1.0, 1, 0, 0]), groups) == np.inf
    assert welch_t(np.array([0.0, 0, 1, 1]), groups) == -np.inf
    assert welch_t(np.full(4, 0.3), groups) == 0


def test_p_is_near_that_of_all_permutations() -> None:
    values = np.array([0.9, 0.5, 0.4, 0.0, 0.1, 0.7, 0.0, 0.2, 0.3])
    group = np.arange(9) < 3
    every = np.array([np.isin(np.arange(9), chosen) for chosen in combinations(range(9), 3)])
    exact = float((welch_t(values, every) >= welch_t(values, group[np.newaxis]) - 1e-9).mean())
    found = group_test(values, group[np.newaxis], 20_000, seed=3)[0]
    assert found == pytest.approx(exact, abs=0.01)


def test_p_is_uniform_where_nothing_differs() -> None:
    random = np.random.default_rng(2)
    group = (np.arange(40) < 8)[np.newaxis]
    p = [group_test(np.maximum(random.normal(size=40), 0), group, 99, seed)[0] for seed in range(300)]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.06)
