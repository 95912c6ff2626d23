"""Variance between queries and between trials, and the noise floor: a slow oracle, and the truth by simulation."""

from itertools import combinations
from statistics import mean, variance

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.scores import Scores
from surefoot.stats.repeats import notes_on_repeats, spread_of_trials, standard_errors

QUERIES = st.lists(st.lists(st.integers(0, 20).map(lambda score: score / 20), min_size=1, max_size=5), min_size=2)


def as_trials(queries):
    trials = np.full((max(map(len, queries)), len(queries)), np.nan)
    for column, scores in enumerate(queries):
        trials[: len(scores), column] = scores
    return trials


@given(QUERIES, st.randoms(use_true_random=False))
def test_agrees_with_the_slow_oracle(queries, random):
    repeated = [own for own in queries if len(own) > 1]
    assume(repeated)
    trials = as_trials(queries)
    for column in trials.T:  # neither the order of trials nor the place of gaps matters
        random.shuffle(own := column.tolist())
        column[:] = own
    found = spread_of_trials(trials)
    within = mean(variance(own) for own in repeated)
    noise = mean((variance(own) if len(own) > 1 else within) / len(own) for own in queries)
    assert found.within == pytest.approx(within, abs=1e-12)
    assert found.between == pytest.approx(variance(list(map(mean, queries))) - noise, abs=1e-12)
    pairs = [mean(abs(one - other) for one, other in combinations(own, 2)) for own in repeated]
    assert found.noise_floor == pytest.approx(mean(pairs), abs=1e-12)
    errors = [(variance(own) / len(own)) ** 0.5 if len(own) > 1 else np.nan for own in queries]
    assert standard_errors(trials) == pytest.approx(errors, abs=1e-12, nan_ok=True)


def test_equal_numbers_of_trials_give_the_analysis_of_variance():
    trials = np.random.default_rng(1).random((4, 30))
    means = trials.mean(axis=0)
    msw = ((trials - means) ** 2).sum() / (30 * 3)
    msb = 4 * ((means - means.mean()) ** 2).sum() / 29
    found = spread_of_trials(trials)
    assert found.within == pytest.approx(msw)
    assert found.between == pytest.approx((msb - msw) / 4)


@pytest.mark.parametrize("counts", [[5], [2], [1, 2, 3, 7]], ids=str)
def test_estimates_are_unbiased_where_the_noise_differs_from_query_to_query(counts):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(3000):
        number = np.resize(counts, 40)
        deviation = rng.permutation(np.resize([0.02, 0.1, 0.3], 40))
        scores = rng.normal(0.5, 0.2, 40) + deviation * rng.normal(size=(max(counts), 40))
        spread = spread_of_trials(np.where(np.arange(max(counts))[:, None] < number, scores, np.nan))
        found.append([spread.between, spread.within, spread.noise_floor])
    shares = np.bincount(np.resize([0, 1, 2], 40)) / 40
    truth = [0.04, shares @ np.square([0.02, 0.1, 0.3]), shares @ [0.02, 0.1, 0.3] * 2 / np.sqrt(np.pi)]
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 4 * error)


def test_trials_that_succeed_or_fail():
    rng = np.random.default_rng(3)
    chance = rng.beta(2, 2, 200_000)
    found = spread_of_trials((rng.random((2, 200_000)) < chance).astype(float))
    assert found.noise_floor == pytest.approx(2 * np.mean(chance * (1 - chance)), abs=0.005)
    assert found.within == pytest.approx(0.2, abs=0.005)
    assert found.between == pytest.approx(0.05, abs=0.005)


def test_what_cannot_be_estimated():
    assert np.isnan(spread_of_trials(np.array([[0.1], [0.3]])).between)
    assert np.isnan(spread_of_trials(np.full((2, 3), 0.5)).share_within)
    assert spread_of_trials(np.array([[0.0, 1.0], [1.0, 0.0]])).between == -0.25
    assert spread_of_trials(np.array([[0.0, 1.0], [1.0, 0.0]])).share_within == 1
    with pytest.raises(SurefootError, match="no query has two trials"):
        spread_of_trials(np.array([[0.1, 0.2]]))


def test_notes_name_the_noise_floor_and_topics_with_fewer_trials():
    trials = [[0.0, 1.0, 0.5], [0.4, 1.0, np.nan]]
    scores = Scores([[0.2, 1.0, 0.5], [0.1, 0.2, 0.3]], ["new", "old"], ["q1", "q2", "q3"], trials={"new": trials})
    assert list(notes_on_repeats(scores)) == [
        "new: mean of 1 to 2 trials; it differs from itself by 0.2 per query; "
        "variance of a score: 77 % between queries, 23 % between trials",
        "new: fewer trials on 1 topic: q3",
    ]
    assert scores.all_notes == tuple(notes_on_repeats(scores))
    assert scores.select(["old"]).all_notes == ()
    many = Scores(np.zeros((7, 2)), "abcdefg", ["q1", "q2"], trials={name: np.zeros((2, 2)) for name in "abcdefg"})
    assert list(notes_on_repeats(many))[-1] == "means over trials too: f, g"
