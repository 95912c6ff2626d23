"""Intervals of known replicates against scipy's."""

import numpy as np
import pytest
from scipy import stats

from surefoot import Scores, evaluate, intervals
from surefoot._typing import FloatArray
from surefoot.stats.bootstrap import (
    bca_interval,
    bootstrap_test,
    bootstrap_weights,
    jackknife_error,
    jackknife_groups,
    jackknife_interval,
    jackknife_weights,
    percentile_interval,
)

RANDOM = np.random.default_rng(5)
VALUES = RANDOM.beta(0.6, 1.8, size=(5, 30))
VALUES[:, 3] = 0.0


def test_bca_of_scipys_own_replicates_is_scipys_interval() -> None:
    d = VALUES[1] - VALUES[0]
    theirs = stats.bootstrap((d,), lambda x, axis: x.mean(axis=axis), n_resamples=3000, method="BCa", rng=3)
    left_out = (d.sum() - d) / 29
    low, high = bca_interval(theirs.bootstrap_distribution, d.mean(), left_out)
    np.testing.assert_allclose([low, high], theirs.confidence_interval, atol=1e-4)


def test_percentile_of_scipys_own_replicates_is_scipys_interval() -> None:
    d = VALUES[1] - VALUES[0]
    theirs = stats.bootstrap((d,), lambda x, axis: x.mean(axis=axis), n_resamples=3000, method="percentile", rng=3)
    np.testing.assert_allclose(
        percentile_interval(theirs.bootstrap_distribution), theirs.confidence_interval, rtol=1e-12
    )


@pytest.mark.parametrize(("topics", "resamples"), [(1, 3), (7, 40), (1 << 20, 5)])
def test_weights_count_the_draws(topics: int, resamples: int) -> None:
    drawn = np.random.default_rng(4).integers(0, topics, (resamples, topics))
    weights = np.concatenate(list(bootstrap_weights(topics, resamples, seed=4)))
    np.testing.assert_array_equal(weights, [np.bincount(row, minlength=topics) for row in drawn])


def test_jackknife_interval_of_a_mean() -> None:
    sample = VALUES[1]
    low, high = jackknife_interval(sample.mean(), (sample.sum() - sample) / 29)
    expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    np.testing.assert_allclose([low, high], [expected.low, expected.high], rtol=1e-9)


@pytest.mark.parametrize("topics", [2, 5000, 5001, 12_345])
def test_the_jackknife_leaves_out_groups_of_one_size(topics: int) -> None:
    groups = jackknife_groups(topics)
    size = groups.shape[1]
    assert size == (1 if topics <= 5000 else -(-topics // 5000))
    assert np.unique(groups).size == groups.size > topics - size
    rows = next(jackknife_weights(topics))
    np.testing.assert_array_equal(rows.sum(axis=1), topics - size)
    np.testing.assert_array_equal(np.nonzero(rows == 0)[1].reshape(-1, size), np.sort(groups[: len(rows)], axis=1))


@pytest.mark.parametrize("topics", [5001, 30_000])
def test_groups_have_the_spread_and_the_skewness_of_topics(topics: int) -> None:
    x = np.random.default_rng(topics).beta(0.3, 3.0, topics)
    groups = jackknife_groups(topics)
    alone, together = (x.sum() - x) / (topics - 1), (x.sum() - x[groups].sum(axis=1)) / (topics - groups.shape[1])
    assert jackknife_error(together) == pytest.approx(x.std(ddof=1) / np.sqrt(topics), rel=0.03)
    a, b = (stats.skew(-left_out) / 6 / np.sqrt(left_out.size) for left_out in (alone, together))
    assert a > 0.001
    assert a == pytest.approx(b, abs=0.0005)


def test_studentised_intervals_are_those_of_the_textbook() -> None:
    """Of U_Risk and of a tail: t in each resample, written out topic by topic."""
    scores = Scores(VALUES, list("abcde"), range(30))
    found = intervals(scores, "a", [5.0], measures=["urisk", "tail_0.1"], systems=["b"], n_resamples=400, seed=3)
    d = VALUES[1] - VALUES[0]
    drawn = np.stack([np.repeat(d, row.astype(int)) for row in np.concatenate(list(bootstrap_weights(30, 400, 3)))])

    def risk(x: FloatArray) -> tuple[float, float]:
        values = np.where(x < 0, 6 * x, x)
        return values.mean(), values.std(ddof=1) / np.sqrt(30)

    def tail(x: FloatArray) -> tuple[float, float]:
        last = np.sort(x)[2]
        values = last + np.minimum(x - last, 0) * 10
        return values.mean(), values.std(ddof=1) / np.sqrt(30)

    for row, statistic in zip(found.rows(), (risk, tail), strict=True):
        estimate, error = statistic(d)
        pairs = np.array([statistic(resample) for resample in drawn])
        pairs = pairs[pairs[:, 1] > 1e-12]  # a resample that does not vary has no t
        high, low = np.quantile((pairs[:, 0] - estimate) / pairs[:, 1], [0.025, 0.975])
        assert row["estimate"] == pytest.approx(estimate)
        assert (row["low"], row["high"]) == pytest.approx((estimate - low * error, estimate - high * error))


def test_the_bootstrap_test_counts_resamples_of_recentred_values() -> None:
    p = bootstrap_test(VALUES[1:3], VALUES[0], [0.0, 5.0], n_resamples=300, seed=2)
    weights = np.concatenate(list(bootstrap_weights(30, 300, 2)))
    for (row, column), own in np.ndenumerate(p):
        d = VALUES[1 + column] - VALUES[0]
        x = np.where(d < 0, (1 + [0.0, 5.0][row]) * d, d)
        observed = stats.ttest_1samp(x, 0).statistic
        t = np.array([stats.ttest_1samp(np.repeat(x - x.mean(), w.astype(int)), 0).statistic for w in weights])
        assert own == pytest.approx(2 * min((t <= observed).sum() + 1, (t >= observed).sum() + 1) / 301)
    worse = bootstrap_test(VALUES[1] - 0.5, VALUES[0], 1.0, alternative="worse", n_resamples=99)
    assert worse == pytest.approx(0.01)
    assert np.isnan(bootstrap_test(VALUES[0], VALUES[0]))


def test_what_does_not_vary_has_no_width() -> None:
    row = evaluate(Scores(VALUES[[0, 0]], ["a", "b"], range(30)), "a", ci="bca", tail=[0.1]).rows()[1]
    assert (row["urisk_low"], row["urisk_high"], row["tail_0.1_low"], row["tail_0.1_high"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(("changed", "has_urisk", "has_tail"), [(0, 0, 0), (9, 0, 0), (10, 1, 0), (20, 1, 1)])
def test_few_changed_queries_have_no_default_interval(changed: int, has_urisk: int, has_tail: int) -> None:
    values = VALUES[[0, 0]].copy()
    values[1, :changed] = np.random.default_rng(1).random(changed)
    scores = Scores(values, ["a", "b"], range(30))
    found = evaluate(scores, "a", ci="studentised", tail=[0.1], n_resamples=200)
    assert np.isfinite(found["urisk_low"]).tolist() == [True, bool(has_urisk)]
    assert np.isfinite(found["tail_0.1_high"]).tolist() == [True, bool(has_tail)]
    assert np.isfinite(found["georisk_low"]).all()
    assert any("fewer than ten queries changed" in note for note in found.notes) != has_urisk
    assert np.isfinite(evaluate(scores, "a", ci="bca", n_resamples=200)["urisk_low"]).all()
