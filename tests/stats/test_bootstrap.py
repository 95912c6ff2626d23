"""Intervals of known replicates against scipy's."""

import numpy as np
from scipy import stats

from surefoot.stats.bootstrap import (
    bca_interval,
    jackknife_interval,
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


def test_jackknife_interval_of_a_mean() -> None:
    sample = VALUES[1]
    low, high = jackknife_interval(sample.mean(), (sample.sum() - sample) / 29)
    expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    np.testing.assert_allclose([low, high], [expected.low, expected.high], rtol=1e-9)
