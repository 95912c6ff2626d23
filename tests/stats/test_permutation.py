import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot import risk
from surefoot.errors import SurefootError
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray
from surefoot.stats import permutation as significance
from surefoot.stats.bootstrap import bootstrap_test
from surefoot.stats.inference import correct
from surefoot.stats.permutation import flip_test, swap_test, t_test
from surefoot.stats.ranks import wilcoxon_test
from surefoot.stats.simulator import Simulator

RANDOM = np.random.default_rng(20140706)
MATRIX = RANDOM.random((4, 9))
SYSTEM, BASELINE = RANDOM.random(40), RANDOM.random(40)
SIDES = {"two-sided": "two-sided", "worse": "less"}


def all_signs(topics: int) -> FloatArray:
    return np.array([[1 - 2 * (code >> bit & 1) for bit in range(topics)] for code in range(2**topics)], dtype=float)


@pytest.mark.parametrize("alternative", SIDES)
def test_the_t_test_is_scipys(alternative: str) -> None:
    expected = stats.ttest_rel(SYSTEM, BASELINE, alternative=SIDES[alternative]).pvalue
    assert t_test(SYSTEM, BASELINE, alternative=alternative) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alternative", SIDES)
def test_wilcoxon_is_scipys_exact_test_without_ties(alternative: str) -> None:
    expected = stats.wilcoxon(SYSTEM - BASELINE, method="exact", alternative=SIDES[alternative]).pvalue
    assert wilcoxon_test(SYSTEM, BASELINE, alternative) == pytest.approx(expected, rel=1e-10)


def test_wilcoxon_leaves_out_zeros_and_lets_ties_share_ranks() -> None:
    system = np.array([0.3, 0.1, 0.5, 0.7, 0.2, 0.9, 0.4, 0.6])
    baseline = np.array([0.3, 0.2, 0.4, 0.5, 0.1, 0.6, 0.5, 0.6])
    whole = np.array([-1, 1, 2, 1, 3, -1])  # the differences in tenths, which rounding would pull apart
    expected = stats.wilcoxon(whole, method="approx").pvalue
    assert wilcoxon_test(system, baseline) == pytest.approx(expected, rel=1e-10)


def test_wilcoxon_takes_each_row_on_its_own() -> None:
    rows = np.stack([SYSTEM, SYSTEM.round(1), BASELINE])
    each = [wilcoxon_test(row, BASELINE) for row in rows]
    np.testing.assert_array_equal(wilcoxon_test(rows, BASELINE), each)
    assert np.isnan(each[-1])


@pytest.mark.parametrize(("family", "alpha"), [(Linear, 0.0), (Linear, 1.0), (Linear, 5.0), (Smooth, 1.0)])
def test_flips_by_enumeration(family: type[Linear] | type[Smooth], alpha: float) -> None:
    d = MATRIX[1] - MATRIX[0]
    values = family(alpha)(all_signs(9) * d).mean(axis=1)
    observed = family(alpha)(d).mean()
    found = flip_test(MATRIX[1], MATRIX[0], alpha, family)
    assert found.exact
    assert found.urisk == pytest.approx(observed)
    assert found.centre == pytest.approx(values.mean())
    assert found.p == np.mean(np.abs(values - values.mean()) >= abs(observed - values.mean()) - 1e-12)
    assert flip_test(MATRIX[1], MATRIX[0], alpha, family, alternative="worse").p == np.mean(values <= observed + 1e-12)


@pytest.mark.parametrize("alternative", SIDES)
def test_exact_flips_are_scipys_permutation_test(alternative: str) -> None:
    expected = stats.permutation_test(
        (MATRIX[2], MATRIX[3]),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative=SIDES[alternative],
    ).pvalue
    assert flip_test(MATRIX[2], MATRIX[3], 0, alternative=alternative).p == pytest.approx(expected)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=10).filter(any), st.floats(0, 20))
def test_flips_of_linear_values_are_the_same_test_at_every_alpha(percents: list[int], alpha: float) -> None:
    """Not by our shortcut: U_Risk of each flip, counted."""
    d = np.array(percents) / 100
    at_alpha = Linear(alpha)(all_signs(len(d)) * d).mean(axis=1)
    worse = np.mean(at_alpha <= Linear(alpha)(d).mean() + 1e-12)
    assert flip_test(d, np.zeros(len(d)), 0, alternative="worse").p == pytest.approx(worse)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12), st.permutations(range(12)))
def test_flips_do_not_care_for_order_or_sides(pairs: list[tuple[float, float]], order: list[int]) -> None:
    system, baseline = np.array(pairs).T
    p = flip_test(system, baseline).p
    shuffled = [topic for topic in order if topic < len(pairs)]
    np.testing.assert_equal(flip_test(system[shuffled], baseline[shuffled]).p, p)
    np.testing.assert_equal(flip_test(baseline, system).p, p)


def test_random_flips_come_near_the_exact_p_and_count_the_data_itself() -> None:
    exact = flip_test(MATRIX[1], MATRIX[0]).p
    few = flip_test(MATRIX[1], MATRIX[0], n_resamples=500, seed=3)
    assert not few.exact
    assert few.p * 501 == pytest.approx(round(few.p * 501))
    assert few.p == pytest.approx(exact, abs=0.1)
    one_sided = flip_test(np.zeros(40), np.ones(40), n_resamples=99, alternative="worse")
    assert one_sided.p == 0.01


@pytest.mark.parametrize("alternative", SIDES)
def test_the_max_statistic_by_enumeration(alternative: str) -> None:
    d = MATRIX[1:] - MATRIX[0]
    t = np.einsum("nq,sq->ns", all_signs(9), d) / np.sqrt((d**2).sum(axis=1))
    t = np.abs(t) if alternative == "two-sided" else -t
    expected = (t.max(axis=1)[:, np.newaxis] >= t[0] - 1e-12).mean(axis=0)
    found = flip_test(MATRIX[1:], MATRIX[0], 5, alternative=alternative)
    np.testing.assert_allclose(found.p_max, expected)
    assert (found.p_max >= found.p).all()


def test_the_max_statistic_orders_flips_as_the_largest_t_does() -> None:
    """Sum d² stays under flips, so |sum d| / sqrt(sum d²) grows with the paired |t|."""
    d = MATRIX[1:] - MATRIX[0]
    flipped = all_signs(9)[:, np.newaxis] * d
    t = np.abs(flipped.mean(axis=-1) / (flipped.std(axis=-1, ddof=1) / 3))
    expected = (t.max(axis=1)[:, np.newaxis] >= t[0] - 1e-9).mean(axis=0)
    np.testing.assert_allclose(flip_test(MATRIX[1:], MATRIX[0], 0).p_max, expected)


def test_one_system_needs_no_adjustment() -> None:
    found = flip_test(SYSTEM, BASELINE, [0, 5], n_resamples=999)
    np.testing.assert_array_equal(found.p_max, found.p)
    assert found.p[0] == found.p[1]


@pytest.mark.parametrize("family", [Linear, Smooth])
@pytest.mark.parametrize("alternative", SIDES)
def test_swaps_by_enumeration(family: type[Linear] | type[Smooth], alternative: str) -> None:
    alphas = [0.0, 1.0, 5.0] if family is Linear else [0.5, 1.0]
    differences = []
    for signs in all_signs(9):
        swapped = MATRIX.copy()
        swapped[1:3] = np.where(signs > 0, swapped[1:3], swapped[2:0:-1])
        geo = risk.georisk(swapped, alphas, family)
        differences.append(geo[:, 1] - geo[:, 2])
    all_differences = np.array(differences)
    if alternative == "two-sided":
        expected = (np.abs(all_differences) >= np.abs(all_differences[0]) - 1e-12).mean(axis=0)
    else:
        expected = (all_differences <= all_differences[0] + 1e-12).mean(axis=0)
    found = swap_test(MATRIX, 1, 2, alphas, family, alternative=alternative)
    np.testing.assert_allclose(found.difference, all_differences[0])
    np.testing.assert_allclose(found.p, expected)


def test_swaps_in_chunks_are_the_same_test(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = swap_test(MATRIX, 0, 3, [0, 5]).p
    flips = flip_test(MATRIX[1:], MATRIX[0]).p_max
    monkeypatch.setattr(significance, "CHUNK", 100)
    np.testing.assert_array_equal(swap_test(MATRIX, 0, 3, [0, 5]).p, whole)
    np.testing.assert_array_equal(flip_test(MATRIX[1:], MATRIX[0]).p_max, flips)


def test_topics_on_which_nobody_scores_do_no_harm() -> None:
    padded = np.concatenate([MATRIX, np.zeros((4, 2))], axis=1)
    assert np.isfinite(swap_test(padded, 0, 1, 5).p)
    assert flip_test(padded[0], padded[1]).p == flip_test(MATRIX[0], MATRIX[1]).p


def test_where_nothing_differs_there_is_no_test() -> None:
    same = flip_test(np.stack([SYSTEM, BASELINE]), BASELINE, n_resamples=99)
    assert np.isnan(same.p[1])
    assert np.isnan(same.p_max[1])
    assert same.p_max[0] == same.p[0]
    assert np.isnan(swap_test(np.stack([SYSTEM, SYSTEM]), 0, 1).p)
    assert np.isnan(flip_test([0.5, 0.2], [0.5, 0.2]).p)


def test_seeds_decide() -> None:
    def p(seed: int) -> list[float]:
        pair = np.stack([SYSTEM, BASELINE])
        return [
            flip_test(*pair, n_resamples=99, seed=seed).p.item(),
            swap_test(pair, 0, 1, n_resamples=99, seed=seed).p.item(),
        ]

    assert p(1) == p(1) != p(2)


def test_wrong_words_are_refused() -> None:
    with pytest.raises(SurefootError, match="two-sided, worse"):
        flip_test(SYSTEM, BASELINE, alternative="better")
    with pytest.raises(SurefootError, match="n_resamples"):
        flip_test(SYSTEM, BASELINE, n_resamples=0)
    with pytest.raises(SurefootError, match="same topics"):
        flip_test(SYSTEM, BASELINE[:5])
    with pytest.raises(SurefootError, match="0 or more"):
        swap_test(-MATRIX, 0, 1)


class TestFalseAlarms:
    """Small and seeded, with bounds that a true rate of 5 % passes but once in 10,000 times; `studies` is full-size."""

    COUNT = 400
    DRAWN = Simulator.standard(list("abcdef")).values(30 * COUNT, seed=11).reshape(6, COUNT, 30)

    def check(self, p: FloatArray) -> None:
        alarms = int(np.sum(p <= 0.05))
        assert stats.binom.ppf(5e-5, self.COUNT, 0.05) <= alarms <= stats.binom.ppf(1 - 5e-5, self.COUNT, 0.05)

    def test_of_t_and_wilcoxon(self) -> None:
        self.check(t_test(self.DRAWN[1], self.DRAWN[0]))
        self.check(wilcoxon_test(self.DRAWN[1], self.DRAWN[0]))

    @pytest.mark.parametrize("alternative", SIDES)
    def test_of_flips_and_the_max_statistic(self, alternative: str) -> None:
        found = [
            flip_test(matrix[1:], matrix[0], 5, alternative=alternative, n_resamples=199, seed=seed)
            for seed, matrix in enumerate(np.moveaxis(self.DRAWN, 1, 0))
        ]
        self.check(np.array([test.p[0] for test in found]))
        self.check(np.array([test.p_max.min() for test in found]))

    def test_of_swaps(self) -> None:
        found = [
            swap_test(matrix, 1, 0, [0, 1, 5], n_resamples=199, seed=seed).p
            for seed, matrix in enumerate(np.moveaxis(self.DRAWN, 1, 0))
        ]
        for p in np.array(found).T:
            self.check(p)

    def test_holm_keeps_the_family_wise_rate(self) -> None:
        p = t_test(self.DRAWN[1:], self.DRAWN[0])
        smallest = np.array([correct(one, "holm").min() for one in p.T])
        assert np.sum(smallest <= 0.05) <= stats.binom.ppf(1 - 5e-5, self.COUNT, 0.05)
        assert np.mean(p.min(axis=0) <= 0.05) > 0.1

    def test_trisk_on_recentred_values_but_not_against_zero(self) -> None:
        large = Simulator.standard(list("ab")).values(200_000, seed=12)
        for alpha in (1.0, 5.0):
            x = Linear(alpha)(self.DRAWN[1] - self.DRAWN[0])
            rate = np.mean(t_test(x - risk.urisk(large[1], large[0], alpha), np.zeros(30)) <= 0.05)
            assert rate < 0.12  # skewed values: a little above 5 % at alpha = 5
            assert np.mean(t_test(x, np.zeros(30)) <= 0.05) > 2 * rate


def test_wrong_input_is_refused() -> None:
    with pytest.raises(SurefootError, match="finite scores of 0 or more"):
        swap_test([[0.1, np.nan], [0.2, 0.3]], 0, 1)
    with pytest.raises(SurefootError, match="needs a population; got urisk"):
        swap_test([[0.1, 0.2], [0.2, 0.3]], 0, 1, measure=risk.get_risk("urisk"))
    with pytest.raises(SurefootError, match=r"same topics; got shapes \(2,\) and \(3,\)"):
        bootstrap_test([0.1, 0.2], [0.1, 0.2, 0.3])
