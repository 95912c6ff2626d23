"""Churn, changes, the best alpha and convergence, against slow and obvious code."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau
from surefoot_lab.tradeoff.churn import churn_bins, churn_counts, kendall_distance, reward_by_churn
from surefoot_lab.tradeoff.sweep import gains, iterations_to, iterations_to_fraction
from surefoot_lab.tradeoff.tables import best_fractions

from surefoot.analysis.explore import change_counts, change_labels, score_changes
from surefoot.errors import SurefootError
from surefoot.plots import helped_hurt
from surefoot.scores import Scores

LISTS = st.integers(1, 20).flatmap(lambda n: st.tuples(*[arrays(float, n, elements=st.integers(0, 6))] * 2))


def slow_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Pairs counted one by one; a tie is won by the earlier row."""
    pairs = list(combinations(range(len(first)), 2))
    above = [(first[i] >= first[j]) != (second[i] >= second[j]) for i, j in pairs]
    return sum(above) / max(1, len(pairs))


@settings(max_examples=40)
@given(st.lists(LISTS, min_size=1, max_size=4))
def test_distances_count_pairs(queries: list[tuple[np.ndarray, np.ndarray]]) -> None:
    bounds = np.cumsum([0, *(len(first) for first, _ in queries)])
    found = kendall_distance(*(np.concatenate(side) for side in zip(*queries, strict=True)), bounds)
    np.testing.assert_allclose(found, [slow_distance(*query) for query in queries], atol=1e-15)


def test_without_ties_it_is_scipys_tau() -> None:
    random = np.random.default_rng(5)
    first, second = random.permutation(137).astype(float), random.permutation(137).astype(float)
    tau = kendalltau(first, second).statistic
    assert kendall_distance(first, second, [0, 137])[0] == pytest.approx((1 - tau) / 2)


def test_the_same_and_the_reverse() -> None:
    scores = np.arange(9.0)
    np.testing.assert_array_equal(kendall_distance(scores, 2 * scores, [0, 4, 9]), [0, 0])
    np.testing.assert_array_equal(kendall_distance(scores, -scores, [0, 4, 9]), [1, 1])


@pytest.mark.parametrize(("second", "said"), [([1.0], "as many scores"), ([1.0, np.nan], "NaN")])
def test_rankings_that_do_not_fit(second: list[float], said: str) -> None:
    with pytest.raises(SurefootError, match=said):
        kendall_distance([1.0, 2.0], second, [0, 2])


def test_bins_hold_their_lower_end() -> None:
    np.testing.assert_array_equal(churn_bins(np.arange(11) / 10), [*range(10), 9])
    with pytest.raises(SurefootError, match="between 0 and 1"):
        churn_bins([1.1])


@settings(max_examples=30)
@given(arrays(float, 12, elements=st.floats(0, 1)), arrays(float, 12, elements=st.floats(-1, 1)))
def test_reward_by_churn_is_bin_by_bin(distances: np.ndarray, d: np.ndarray) -> None:
    baseline = np.ones(12)
    found = reward_by_churn(distances, baseline + d, baseline)
    np.testing.assert_array_equal(found.queries, churn_counts(distances))
    assert found.queries.sum() == 12
    for place in range(10):
        own = ((baseline + d) - baseline)[churn_bins(distances) == place]
        expected = (np.maximum(own, 0).mean(), np.maximum(-own, 0).mean()) if own.size else (np.nan, np.nan)
        np.testing.assert_allclose((found.reward[place], found.risk[place]), expected, atol=1e-12)


@settings(max_examples=15)
@given(arrays(float, 15, elements=st.floats(0, 1)), arrays(float, 15, elements=st.sampled_from([0, 0.2, 0.5, 1])))
def test_changes_are_those_of_the_figure_of_one_system(system: np.ndarray, baseline: np.ndarray) -> None:
    scores = Scores([baseline, system], ["old", "new"], range(15))
    drawn = [int(bar.get_height()) for bar in helped_hurt(scores, "new", "old").patches]
    counts = change_counts(system, baseline)
    assert counts.tolist() == drawn
    assert counts.sum() == 15
    assert len(change_labels()) == len(counts)


def test_whole_steps_fall_into_the_bin_that_ends_there() -> None:
    baseline = np.full(9, 0.4)
    counts = change_counts(baseline * np.array([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]), baseline)
    np.testing.assert_array_equal(counts, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0])


def test_scores_below_zero_have_no_score_changes() -> None:
    with pytest.raises(SurefootError, match="below 0"):
        score_changes([0.1], [-0.1])


@given(arrays(float, (3, 8), elements=st.sampled_from([0, 0.5, 1])))
def test_best_fractions_are_votes(values: np.ndarray) -> None:
    votes = np.zeros(3)
    for column in values.T:
        winners = np.flatnonzero(column == max(column))
        votes[winners] += 1 / len(winners)
    np.testing.assert_allclose(best_fractions(values), votes / 8)


def test_convergence() -> None:
    curve = [0.2, 0.37, 0.39, 0.41, 0.4]
    assert iterations_to_fraction(curve) == 3
    assert iterations_to_fraction(curve, fraction=1.0) == 4
    assert iterations_to(curve, 0.41) == 4
    assert iterations_to(curve, 0.5) is None
    assert iterations_to_fraction([0.1, -0.2]) is None
    assert gains([{"mean": 0.4, "freward": 0.3, "frisk": 0.1}]) == pytest.approx([0.2])
    assert gains([{"mean": 0.4}]) is None
    for wrong in ([], [0.1, np.nan]):
        with pytest.raises(SurefootError, match="convergence"):
            iterations_to_fraction(wrong)
