import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot.analysis.design import Design
from surefoot.analysis.intervals import interval_columns
from surefoot.errors import SurefootError
from surefoot.risk import get_risk
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot.stats.simulator import TYPICAL, EmpiricalMargin, Simulator, ZeroInflatedBeta, normal_scores, shrunk

RANDOM = np.random.default_rng(7)
HARDNESS = RANDOM.normal(size=300)
ROWS = np.clip(0.3 + 0.2 * HARDNESS + 0.15 * RANDOM.normal(size=(6, 300)) + np.arange(6)[:, np.newaxis] / 40, 0, 1)
SCORES = Scores(ROWS, list("abcdef"), range(300), "nDCG@10")


def test_the_beta_margin_has_its_atoms_and_its_quantiles() -> None:
    margin = ZeroInflatedBeta(zero=0.2, one=0.05, a=2.0, b=3.0)
    u = np.linspace(0.0005, 0.9995, 2001)
    scores = margin.quantile(u)
    assert np.mean(scores == 0) == pytest.approx(0.2, abs=0.001)
    assert np.mean(scores == 1) == pytest.approx(0.05, abs=0.001)
    inside = (u >= 0.2) & (u < 0.95)
    np.testing.assert_allclose(scores[inside], stats.beta(2, 3).ppf((u[inside] - 0.2) / 0.75), atol=1e-3)


@given(st.lists(st.integers(0, 10).map(lambda tenth: tenth / 10), min_size=1, max_size=30))
def test_the_empirical_margin_keeps_atoms_range_and_order(sample: list[float]) -> None:
    margin = EmpiricalMargin.of(np.array(sample))
    u = (np.arange(1000) + 0.5) / 1000
    drawn = margin.quantile(u)
    assert (np.diff(drawn) >= 0).all()
    assert set(drawn[[0, -1]]) <= set(sample)
    for atom in (0.0, 1.0):
        assert np.mean(drawn == atom) == pytest.approx(np.mean(np.array(sample) == atom), abs=0.002)
    assert drawn.mean() == pytest.approx(np.mean(sample), abs=0.002)


def test_a_fitted_simulator_draws_scores_like_those_it_saw() -> None:
    simulator = Simulator.fit(SCORES)
    drawn = simulator.draw(20_000, seed=1)
    assert drawn.systems == SCORES.systems
    assert drawn.measure == "nDCG@10"
    np.testing.assert_allclose(drawn.values.mean(axis=1), ROWS.mean(axis=1), atol=0.01)
    np.testing.assert_allclose(drawn.values.std(axis=1), ROWS.std(axis=1), atol=0.01)
    np.testing.assert_allclose((drawn.values == 0).mean(axis=1), (ROWS == 0).mean(axis=1), atol=0.015)
    there, here = np.corrcoef(ROWS), np.corrcoef(drawn.values)
    np.testing.assert_allclose(here, there, atol=0.12)  # shrunk towards each other
    assert here.mean() == pytest.approx(there.mean(), abs=0.02)


def test_seeds_decide_and_topics_have_names() -> None:
    simulator = Simulator.standard(["a", "b"])
    one, again, other = (simulator.draw(12, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.values, again.values)
    assert (one.values != other.values).any()
    assert one.topics[0] == "q01"
    assert one.topics[-1] == "q12"


def test_the_standard_systems_are_exchangeable() -> None:
    drawn = Simulator.standard(["a", "b", "c"]).values(200_000, seed=3)
    np.testing.assert_allclose(drawn.mean(axis=1), 0.83 * 0.34 / 1.42, atol=0.003)
    np.testing.assert_allclose((drawn == 0).mean(axis=1), 0.17, atol=0.004)
    d = drawn[1] - drawn[0]
    np.testing.assert_allclose(np.quantile(d, [0.1, 0.3]), -np.quantile(d, [0.9, 0.7]), atol=0.01)


def test_a_null_makes_systems_exchangeable_and_keeps_their_dependence() -> None:
    simulator = Simulator.fit(SCORES)
    null = simulator.null("b", "a")
    assert null.margins[1] is null.margins[0] is simulator.margins[0]
    assert null.margins[2] is simulator.margins[2]
    assert null.correlation[0, 1] == pytest.approx(simulator.correlation[0, 1])
    np.testing.assert_allclose(null.correlation[0, 2:], null.correlation[1, 2:])
    np.testing.assert_allclose(null.correlation[0, 2:], simulator.correlation[:2, 2:].mean(axis=0))
    np.testing.assert_allclose(null.correlation, null.correlation.T)
    everything = simulator.null()
    pairs = simulator.correlation[np.triu_indices(6, 1)]
    np.testing.assert_allclose(everything.correlation[np.triu_indices(6, 1)], pairs.mean())
    assert np.linalg.eigvalsh(everything.correlation).min() > 0


def test_changes_are_planted_and_a_null_takes_them_away() -> None:
    plain = Simulator.standard(["a", "b"], ZeroInflatedBeta(0.0, 0.0, 5.0, 5.0))
    planted = plain.change("b", amount=-0.1, fraction=0.25)
    before, after = plain.values(10_000, seed=4), planted.values(10_000, seed=4)
    np.testing.assert_array_equal(before[0], after[0])
    lost = before[1] - after[1]
    assert np.mean(lost > 0) == pytest.approx(0.25, abs=0.02)
    np.testing.assert_allclose(lost[lost > 0], np.minimum(0.1, before[1][lost > 0]), atol=1e-12)
    np.testing.assert_array_equal(planted.null().values(10, seed=4), plain.values(10, seed=4))
    shifted = plain.change("b", amount=0.9).values(100, seed=4)
    assert shifted[1].max() == 1.0


def test_scores_beyond_one_keep_their_scale() -> None:
    simulator = Simulator.fit(Scores(ROWS * 30, list("abcdef"), range(300), "DCG"))
    assert simulator.change("a", 5.0).values(2000, seed=1)[0].max() > 20


def test_normal_scores_are_those_of_ranks() -> None:
    found = normal_scores(ROWS)
    np.testing.assert_allclose(found, stats.norm.ppf((stats.rankdata(ROWS, axis=1) - 0.5) / 300))


@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 1000))
def test_shrunk_correlations_are_correlations(rows: int, topics: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 3, (rows, topics)).astype(float)
    found = shrunk(values)
    np.testing.assert_array_equal(np.diag(found), 1)
    np.testing.assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-9


def test_shrinking_makes_few_topics_positive_definite_and_leaves_many_alone() -> None:
    few, many = RANDOM.normal(size=(20, 15)), ROWS
    assert np.linalg.eigvalsh(np.corrcoef(few)).min() < 1e-9 < np.linalg.eigvalsh(shrunk(few)).min()
    np.testing.assert_allclose(shrunk(many[:2]), np.corrcoef(many[:2]))
    distinct = np.concatenate([HARDNESS + RANDOM.normal(size=(2, 300)) / 3, RANDOM.normal(size=(2, 300))])
    np.testing.assert_allclose(shrunk(distinct), np.corrcoef(distinct), atol=0.03)


def test_equal_and_constant_systems_can_be_simulated() -> None:
    row = ROWS[0]
    equal = Simulator.fit(Scores([row, row], ["a", "b"], range(300))).values(50, seed=1)
    np.testing.assert_allclose(equal[0], equal[1], atol=1e-6)
    drawn = Simulator.fit(Scores([row, row, np.zeros(300)], list("abc"), range(300))).values(50, seed=1)
    assert np.corrcoef(drawn[:2])[0, 1] > 0.95
    np.testing.assert_array_equal(drawn[2], 0)


@pytest.mark.parametrize("method", ["bca", "jackknife"])
def test_intervals_hold_the_simulated_truth(method: str) -> None:
    """Bounds that a true rate of 95 % passes but once in 10,000 times; `studies` has the full table."""
    simulator = Simulator.standard(["old", "new", "other"]).change("new", -0.2, fraction=0.2)
    alphas, measures, count = np.array([1.0]), ("urisk", "georisk"), 150
    large = Design.of(simulator.draw(200_000, seed=8), "old", ["new"])
    truth = large.values(map(get_risk, measures), alphas)
    held = dict.fromkeys(measures, 0)
    for matrix in np.moveaxis(simulator.values(80 * count, seed=9).reshape(3, count, 80), 1, 0):
        setting = Design.of(Scores(matrix, simulator.systems, range(80)), "old", ["new"])
        bounds = interval_columns(setting, alphas, measures, BootstrapMethod(method, n_resamples=300))
        for name in measures:
            held[name] += bool(bounds[f"{name}_low"] <= truth[name] <= bounds[f"{name}_high"])
    assert min(held.values()) >= stats.binom.ppf(1e-4, count, 0.95)


def test_wrong_use_is_refused() -> None:
    for wrong in (
        lambda: ZeroInflatedBeta(0.7, 0.7, 1, 1),
        lambda: Simulator.standard(["a", "b", "c"], TYPICAL, correlation=-0.6),
        lambda: Simulator.standard([]),
        lambda: Simulator.standard(["a"]).change("a", -0.1, fraction=2),
        lambda: Simulator.standard(["a"]).change("a", float("nan")),
        lambda: Simulator.standard(["a"]).null("x"),
        lambda: Simulator.standard(["a"]).draw(0),
    ):
        with pytest.raises(SurefootError):
            wrong()
