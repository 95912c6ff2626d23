"""The measures against obvious, slow references, and the properties they must have."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from surefoot import risk
from surefoot.errors import SurefootError
from surefoot.risk import moments
from surefoot.risk.values import Linear, Smooth

RANDOM = np.random.default_rng(20160717)
SYSTEM, BASELINE = RANDOM.random(50), RANDOM.random(50)
MATRIX = RANDOM.random((6, 50))
ALPHAS = [0.0, 0.5, 1.0, 5.0, 10.0]

scores = st.floats(0, 1, allow_subnormal=False)
pairs = st.integers(2, 30).flatmap(lambda c: st.tuples(*[arrays(float, c, elements=scores)] * 2))
matrices = st.tuples(st.integers(2, 6), st.integers(2, 12)).flatmap(lambda shape: arrays(float, shape, elements=scores))
alphas = st.floats(0, 20)


def slow_values(system: np.ndarray, baseline: np.ndarray, alpha: float) -> list[float]:
    return [d if d >= 0 else (1 + alpha) * d for d in (s - b for s, b in zip(system, baseline, strict=True))]


def slow_zrisk(matrix: np.ndarray, alpha: float) -> list[float]:
    total = matrix.sum()
    result = []
    for row in matrix:
        z = 0.0
        for j, x in enumerate(row):
            e = row.sum() * matrix[:, j].sum() / total if total else 0.0
            z += 0.0 if e == 0 else (x - e) / math.sqrt(e) * (1 + alpha if x < e else 1)
        result.append(z)
    return result


@given(pairs, alphas)
def test_urisk_is_the_mean_value(pair: tuple[np.ndarray, np.ndarray], alpha: float) -> None:
    expected = np.mean(slow_values(*pair, alpha))
    assert risk.urisk(*pair, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(pairs, alphas)
def test_urisk_is_gain_less_alpha_times_risk(pair: tuple[np.ndarray, np.ndarray], alpha: float) -> None:
    gain = risk.freward(*pair) - risk.frisk(*pair)
    assert risk.urisk(*pair, alpha) == pytest.approx(gain - alpha * risk.frisk(*pair), abs=1e-12)
    assert risk.ugain(*pair) == pytest.approx(np.mean(pair[0] - pair[1]), abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_trisk_is_the_one_sample_t_of_the_values(alpha: float) -> None:
    expected = stats.ttest_1samp(slow_values(SYSTEM, BASELINE, alpha), 0).statistic
    assert risk.trisk(SYSTEM, BASELINE, alpha) == pytest.approx(expected, rel=1e-12)


def test_trisk_at_alpha_zero_is_the_paired_t() -> None:
    assert risk.trisk(SYSTEM, BASELINE, 0) == pytest.approx(stats.ttest_rel(SYSTEM, BASELINE).statistic, rel=1e-12)


@pytest.mark.parametrize(
    ("system", "baseline"), [([0.1], [0.2]), ([0.3] * 7, [0.2] * 7), ([0.2, 0.4], [0.2, 0.4]), ([0.1] * 50, [0.0] * 50)]
)
def test_trisk_is_undefined_without_spread(system: list[float], baseline: list[float]) -> None:
    assert np.isnan(risk.trisk(system, baseline, ALPHAS)).all()


@pytest.mark.parametrize("family", [Linear, Smooth])
def test_a_sweep_is_each_alpha_in_turn(family: type) -> None:
    sweep = [0.0, 0.5, 1.0]
    for measure in (risk.urisk, risk.trisk):
        together = measure(MATRIX, BASELINE, sweep, family)
        np.testing.assert_allclose(together, [measure(MATRIX, BASELINE, a, family) for a in sweep], rtol=1e-12)
    for measure in (risk.zrisk, risk.georisk, risk.geominus_published):
        together = measure(MATRIX, sweep, family)
        np.testing.assert_allclose(together, [measure(MATRIX, a, family) for a in sweep], rtol=1e-12)


def test_smooth_urisk_is_the_mean_of_the_cubic() -> None:
    d = SYSTEM - BASELINE
    cubic, square, linear = Smooth(1).coefficients
    expected = np.mean(cubic * d**3 + square * d**2 + linear * d)
    assert risk.urisk(SYSTEM, BASELINE, 1, Smooth) == pytest.approx(expected, rel=1e-12)


@given(matrices, alphas)
def test_zrisk_is_the_sum_of_weighted_z(matrix: np.ndarray, alpha: float) -> None:
    np.testing.assert_allclose(risk.zrisk(matrix, alpha), slow_zrisk(matrix, alpha), rtol=1e-7, atol=1e-7)


@given(matrices)
def test_z_of_a_topic_that_nobody_answers_is_zero(matrix: np.ndarray) -> None:
    with_empty = np.hstack([matrix, np.zeros((len(matrix), 1))])
    assert (risk.zscores(with_empty)[:, -1] == 0).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_georisk_by_its_definition(alpha: float) -> None:
    z = np.array(slow_zrisk(MATRIX, alpha))
    expected = np.sqrt(MATRIX.sum(axis=1) / 50 * stats.norm.cdf(z / 50))
    np.testing.assert_allclose(risk.georisk(MATRIX, alpha), expected, rtol=1e-12)
    np.testing.assert_allclose(
        risk.geominus_published(MATRIX, alpha), -np.sqrt(MATRIX.mean(axis=1) * stats.norm.cdf(-z / 50)), rtol=1e-12
    )


def test_g_squared_is_the_chi_square_statistic() -> None:
    expected = stats.chi2_contingency(MATRIX, correction=False)
    statistic, df = risk.g_squared(MATRIX)
    assert statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert df == expected.dof


def test_raising_a_score_raises_georisk_up_to_alpha_two_but_not_always_beyond() -> None:
    random = np.random.default_rng(3)
    lowered = {2.0: 0, 10.0: 0}
    for _ in range(200):
        matrix = random.beta(0.6, 2, size=(8, 30))
        better = matrix.copy()
        better[0, random.integers(30)] += 0.05
        for alpha in lowered:
            lowered[alpha] += bool(risk.georisk(better, alpha)[0] < risk.georisk(matrix, alpha)[0])
    assert lowered[2.0] == 0
    assert lowered[10.0] > 0


@given(pairs, alphas, st.randoms(use_true_random=False))
def test_permuting_topics_changes_nothing(pair: tuple[np.ndarray, np.ndarray], alpha: float, random: object) -> None:
    order = list(range(len(pair[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = pair[0][order], pair[1][order]
    assert risk.urisk(*shuffled, alpha) == pytest.approx(risk.urisk(*pair, alpha), rel=1e-9, abs=1e-12)
    assert risk.tail(*shuffled, 0.3) == pytest.approx(risk.tail(*pair, 0.3), rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(risk.zrisk(np.stack(shuffled), alpha), risk.zrisk(np.stack(pair), alpha), atol=1e-7)


@given(pairs, alphas, st.data())
def test_improving_a_topic_never_lowers_urisk(
    pair: tuple[np.ndarray, np.ndarray], alpha: float, data: st.DataObject
) -> None:
    better = pair[0].copy()
    better[data.draw(st.integers(0, len(better) - 1))] += data.draw(st.floats(0, 1))
    assert risk.urisk(better, pair[1], alpha) >= risk.urisk(*pair, alpha) - 1e-12


@pytest.mark.parametrize(("fraction", "count"), [(0.05, 3), (0.10, 5), (0.25, 13), (1, 50), (0.001, 1)])
def test_tail_is_the_mean_of_the_worst(fraction: float, count: int) -> None:
    expected = np.sort(SYSTEM - BASELINE)[:count].mean()
    assert risk.tail(SYSTEM, BASELINE, fraction) == pytest.approx(expected, rel=1e-12)


def test_tail_counts_exact_shares_exactly() -> None:
    d = np.arange(100.0)
    assert risk.tail(d, np.zeros(100), 0.07) == d[:7].mean()  # 0.07 × 100 is a hair above 7 in floating point


def test_tail_of_many_systems() -> None:
    together = risk.tail(MATRIX, BASELINE, 0.1)
    np.testing.assert_allclose(together, [risk.tail(row, BASELINE, 0.1) for row in MATRIX])


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, float("nan")])
def test_tail_refuses_other_fractions(fraction: float) -> None:
    with pytest.raises(SurefootError, match="fraction"):
        risk.tail(SYSTEM, BASELINE, fraction)


def test_gmean_is_scipys_with_a_floor() -> None:
    assert risk.gmean(SYSTEM) == pytest.approx(stats.gmean(np.maximum(SYSTEM, 1e-5)))
    assert risk.gmean([0.0, 0.0]) == pytest.approx(1e-5)


def test_wins_losses_ties_and_large_losses() -> None:
    compared = risk.compare([0.5, 0.08, 0.3, 0.0, 0.2], [0.4, 0.1, 0.3, 0.0, 0.4])
    assert (compared.wins, compared.losses.n, compared.topics) == (1, 2, 5)
    assert compared.loss20 == 1  # 0.08 of 0.1 is a loss of exactly 20 %, which is not more than 20 %


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [risk.trisk(MATRIX, BASELINE, ALPHAS), risk.zrisk(MATRIX, ALPHAS), risk.g_squared(MATRIX)[0]]
    smooth = risk.trisk(MATRIX, BASELINE, 1, Smooth)
    monkeypatch.setattr(moments, "PIECE", 40)
    parts = [risk.trisk(MATRIX, BASELINE, ALPHAS), risk.zrisk(MATRIX, ALPHAS), risk.g_squared(MATRIX)[0]]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(smooth, risk.trisk(MATRIX, BASELINE, 1, Smooth), rtol=1e-12)


def test_leading_axes_are_separate_problems() -> None:
    two = np.stack([MATRIX, MATRIX[::-1]])
    np.testing.assert_allclose(risk.georisk(two, 1)[0], risk.georisk(MATRIX, 1))
    np.testing.assert_allclose(risk.georisk(two, 1)[1], risk.georisk(MATRIX[::-1], 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk.urisk([0.1, 0.2], [0.1]), "same topics"),
        (lambda: risk.urisk([], []), "same topics"),
        (lambda: risk.urisk([0.1], [0.1], alpha=-1), "alpha must be"),
        (lambda: risk.zrisk([0.1, 0.2]), "matrix of systems × topics"),
        (lambda: risk.zrisk([[0.1, -0.2], [0.1, 0.2]]), "0 or more; got -0.2"),
        (lambda: risk.g_squared(np.ones((2, 2, 2))), "one matrix"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(SurefootError, match=f"the scores of the system must be finite; got {bad}"):
        risk.urisk([bad, 0.5], [0.4, 0.1])
    with pytest.raises(SurefootError, match=f"the scores of the baseline must be finite; got {bad}"):
        risk.tail([0.2, 0.5], [0.4, bad])
