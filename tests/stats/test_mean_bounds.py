"""Bounds of a mean: Clopper and Pearson's for fractions, the Bayesian bootstrap's quantile, and their coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from surefoot import SurefootError
from surefoot.stats.mean_bounds import lower_mean_bound, upper_mean_bound

RANDOM = np.random.default_rng(5)
samples = arrays(np.float64, st.integers(1, 40), elements=st.floats(-1, 1, width=32))


@pytest.mark.parametrize("level", [0.25, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize(("lost", "topics"), [(0, 1), (0, 25), (1, 25), (5, 25), (25, 50), (3, 2000), (25, 25)])
def test_of_zeros_and_ones_it_is_the_exact_binomial_bound(lost: int, topics: int, level: float) -> None:
    sample = np.repeat([1.0, 0.0], [lost, topics - lost])
    exact = stats.beta.ppf(1 - level, lost + 1, topics - lost) if lost < topics else 1.0
    assert upper_mean_bound(sample, 1, level) == pytest.approx(exact, rel=0.02)
    if lost <= topics / 5:
        assert upper_mean_bound(sample, 1, level) >= exact  # the approximation errs on the safe side


def test_it_is_the_quantile_of_the_bayesian_bootstrap_with_one_more_observation() -> None:
    sample = np.append(RANDOM.normal(0, 0.2, 22).clip(-1, 1), [0.7, 0.7, 0.0])
    drawn = RANDOM.exponential(size=(200_000, 26))
    means = (drawn @ np.append(sample, 1.0)) / drawn.sum(axis=1)
    for level in (0.2, 0.05, 0.01):
        assert upper_mean_bound(sample, 1, level) == pytest.approx(np.quantile(means, 1 - level), abs=0.004)


def test_for_many_topics_it_tends_to_students() -> None:
    sample = RANDOM.normal(0.1, 0.1, 20_000).clip(-1, 1)
    normal = sample.mean() + 1.645 * sample.std() / np.sqrt(20_000)
    assert upper_mean_bound(sample, 1, 0.05) == pytest.approx(normal, abs=1e-4)


@given(samples, st.floats(0.001, 0.4))
@settings(max_examples=40)
def test_bounds_lie_on_their_sides_and_mirror_each_other(sample: np.ndarray, level: float) -> None:
    upper = upper_mean_bound(sample, 1, level)
    assert sample.mean() - 1e-12 <= upper <= 1
    assert lower_mean_bound(-sample, -1, level) == -upper


@given(samples, st.floats(0, 0.5))
@settings(max_examples=40)
def test_a_larger_loss_or_a_wider_range_raises_the_bound(sample: np.ndarray, more: float) -> None:
    bound = upper_mean_bound(sample, 1, 0.05)
    assert upper_mean_bound(np.minimum(sample + more, 1), 1, 0.05) >= bound - 1e-9
    assert upper_mean_bound(sample, 1 + more, 0.05) >= bound - 1e-9
    assert upper_mean_bound(sample, 1, 0.01) >= bound - 1e-9


@pytest.mark.parametrize("topics", [10, 50])
def test_it_covers_where_students_does_not(topics: int) -> None:
    """Rare large losses: 4 % of the queries lose 0.5, the others hardly change."""
    covered, by_t = 0, 0
    for _ in range(200):
        sample = np.where(RANDOM.random(topics) < 0.04, 0.5, RANDOM.normal(0, 0.01, topics))
        covered += upper_mean_bound(sample, 1, 0.05) >= 0.02
        reach = stats.t.ppf(0.95, topics - 1) * sample.std(ddof=1) / np.sqrt(topics)
        by_t += sample.mean() + reach >= 0.02
    assert covered == 200
    assert by_t < 0.92 * 200


def test_wrong_use() -> None:
    with pytest.raises(SurefootError, match=r"highest possible value was given as 1; found 1.5"):
        upper_mean_bound([0.2, 1.5], 1)
    with pytest.raises(SurefootError, match=r"between 0 and 0.5; got 0.7"):
        upper_mean_bound([0.2], 1, 0.7)


def test_no_value_is_one_clear_line() -> None:
    with pytest.raises(SurefootError, match="at least one value"):
        upper_mean_bound([], 1)
