from itertools import product

import numpy as np
import pytest
from scipy import stats
from surefoot_lab.agreement import normality as module
from surefoot_lab.agreement.normality import bootstrap_means, normal_quantiles, qq

from surefoot.errors import SurefootError

RANDOM = np.random.default_rng(1975)


@pytest.mark.parametrize("n", [3, 10, 1001])
def test_qq_points_are_scipys_probability_plot(n: int) -> None:
    sample = RANDOM.gamma(2.0, size=n)
    (theoretical, ordered), (_, _, r) = stats.probplot(sample)
    found = qq(sample)
    np.testing.assert_allclose(found.theoretical, theoretical)
    np.testing.assert_array_equal(found.ordered, ordered)
    assert found.ppcc == pytest.approx(r)
    assert found.skewness == pytest.approx(stats.skew(sample))
    assert found.kurtosis == pytest.approx(stats.kurtosis(sample))


def test_normal_quantiles_lie_on_their_own_line() -> None:
    found = qq(3 + 2 * normal_quantiles(1000))
    assert found.ppcc == pytest.approx(1)
    assert found.skewness == pytest.approx(0, abs=1e-10)
    assert found.close


def test_a_skewed_sample_is_not_close() -> None:
    assert qq(RANDOM.exponential(size=1000)).close is False


def test_a_sample_that_does_not_vary_is_not_judged() -> None:
    found = qq([0.1] * 10)
    assert np.isnan([found.ppcc, found.skewness, found.kurtosis]).all()
    assert found.close is None


@pytest.mark.parametrize("wrong", [[0.1, 0.2], [0.1, 0.2, np.nan], [[0.1, 0.2, 0.3]]])
def test_qq_refuses_what_it_cannot_plot(wrong: list[object]) -> None:
    with pytest.raises(SurefootError, match="3 or more finite"):
        qq(wrong)  # type: ignore[arg-type]


def test_the_bounds_keep_the_tails_as_stated() -> None:
    """Edgeworth's expansion at every corner of the bounds: each tail beyond 1.96 has 1.1 to 3.6 %."""
    z = stats.norm.ppf(0.025)
    for skewness, kurtosis in product(
        (-module.MOST_SKEWNESS, 0, module.MOST_SKEWNESS), (-module.MOST_KURTOSIS, module.MOST_KURTOSIS)
    ):
        terms = (
            skewness / 6 * (z**2 - 1) + kurtosis / 24 * (z**3 - 3 * z) + skewness**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
        )
        assert 0.011 <= 0.025 - stats.norm.pdf(z) * terms <= 0.036


def test_replicates_are_means_of_resampled_topics_by_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    x = RANDOM.random((2, 7))
    random = np.random.default_rng(5)
    drawn = [random.integers(0, 7, 7) for _ in range(50)]
    expected = np.array([[row[topics].mean() for topics in drawn] for row in x])
    for chunk in (module.CHUNK, x.size * 3):
        monkeypatch.setattr(module, "CHUNK", chunk)
        np.testing.assert_allclose(bootstrap_means(x, 50, seed=5), expected)


def test_replicates_have_the_moments_that_theory_gives() -> None:
    """The mean of c draws has the variance, skewness and kurtosis of the topics over c, sqrt(c) and c."""
    x = RANDOM.exponential(size=20)
    found = qq(bootstrap_means(x, 40_000, seed=1))
    assert found.ordered.mean() == pytest.approx(x.mean(), abs=0.01)
    assert found.ordered.std() == pytest.approx(x.std() / np.sqrt(20), rel=0.02)
    assert found.skewness == pytest.approx(stats.skew(x) / np.sqrt(20), abs=0.05)
    assert found.kurtosis == pytest.approx(stats.kurtosis(x) / 20, abs=0.1)


def test_bootstrap_refuses_nothing_to_draw() -> None:
    with pytest.raises(SurefootError, match="1 or more resamples"):
        bootstrap_means([0.1, 0.2], 0)
    with pytest.raises(SurefootError, match="topics"):
        bootstrap_means([])
