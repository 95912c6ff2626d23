import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot import risk
from surefoot.errors import SurefootError
from surefoot.stats import inference
from surefoot.stats.inference import correct, critical_value, jackknife, t_inference, topic_inference

RANDOM = np.random.default_rng(20140706)
SYSTEM, BASELINE = RANDOM.random(40), RANDOM.random(40)
MATRIX = RANDOM.random((5, 40))


def test_t_inference_at_alpha_zero_is_scipys_paired_t_test() -> None:
    ours, scipys = t_inference(SYSTEM, BASELINE, 0), stats.ttest_rel(SYSTEM, BASELINE)
    low, high = scipys.confidence_interval(0.95)
    np.testing.assert_allclose(
        [ours.trisk, ours.p, ours.low, ours.high], [scipys.statistic, scipys.pvalue, low, high], rtol=1e-10
    )


@pytest.mark.parametrize("alpha", [1, 5])
def test_t_inference_is_scipys_test_of_the_values(alpha: float) -> None:
    d = SYSTEM - BASELINE
    scipys = stats.ttest_1samp(np.where(d < 0, (1 + alpha) * d, d), 0)
    ours = t_inference(SYSTEM, BASELINE, alpha)
    np.testing.assert_allclose([ours.trisk, ours.p], [scipys.statistic, scipys.pvalue], rtol=1e-10)


@pytest.mark.parametrize(("topics", "level"), [(50, 0.05), (10, 0.01), (2, 0.1)])
def test_critical_values_are_scipys(topics: int, level: float) -> None:
    assert critical_value(topics, level) == pytest.approx(stats.t.ppf(1 - level / 2, topics - 1), rel=1e-10)


def test_one_topic_has_no_test() -> None:
    found = t_inference([0.5], [0.2], 0)
    assert found.urisk == pytest.approx(0.3)
    assert np.isnan([found.trisk, found.p, found.se, found.critical]).all()


def test_topic_inference_by_its_definition() -> None:
    found = topic_inference(SYSTEM, BASELINE, 5)
    d = SYSTEM - BASELINE
    x = np.where(d < 0, 6 * d, d)
    np.testing.assert_allclose(found.tr, x / x.std(ddof=1))
    np.testing.assert_allclose(found.tj, np.sqrt(40 / 39) * (x - x.mean()) / x.std(ddof=1))
    assert found.tj.sum() == pytest.approx(0, abs=1e-9)
    assert np.mean(found.tr) * np.sqrt(40) == pytest.approx(risk.trisk(SYSTEM, BASELINE, 5))


def test_topic_inference_is_the_jackknifes_view_of_a_topic() -> None:
    """T_J is how far leaving the topic out moves the mean, in units of its spread."""
    found = topic_inference(SYSTEM, BASELINE, 5)
    left_out = jackknife(lambda x: x.mean(axis=-1), found.x).leave_one_out
    moved = (found.x.mean() - left_out) * (40 - 1) / found.x.std(ddof=1)
    np.testing.assert_allclose(found.tj, np.sqrt(40 / 39) * moved, atol=1e-12)


@pytest.mark.parametrize("alpha", [0, 1, 10])
def test_jackknife_of_urisk_has_the_parametric_standard_error(alpha: float) -> None:
    pair = np.stack([SYSTEM, BASELINE])
    found = jackknife(lambda x: risk.urisk(x[..., 0, :], x[..., 1, :], alpha), pair)
    assert found.se == pytest.approx(t_inference(SYSTEM, BASELINE, alpha).se, rel=1e-10)
    assert found.bias == pytest.approx(0, abs=1e-12)
    assert found.pseudo_values.mean() == pytest.approx(found.bias_reduced)


def test_jackknife_of_georisk_against_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = np.array([risk.georisk(np.delete(MATRIX, topic, axis=1), 5) for topic in range(40)])
    for chunk in (inference.CHUNK, MATRIX.size * 3):
        monkeypatch.setattr(inference, "CHUNK", chunk)
        found = jackknife(lambda x: risk.georisk(x, 5), MATRIX)
        np.testing.assert_allclose(found.leave_one_out, left_out, rtol=1e-12)
        centre = left_out.mean(axis=0)
        np.testing.assert_allclose(found.bias, 39 * (centre - risk.georisk(MATRIX, 5)), rtol=1e-9)
        np.testing.assert_allclose(found.se, np.sqrt(39 / 40 * ((left_out - centre) ** 2).sum(axis=0)), rtol=1e-12)


def test_jackknife_needs_two_topics() -> None:
    with pytest.raises(SurefootError, match="two topics"):
        jackknife(lambda x: x.mean(axis=-1), [0.3])


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(p_values)
def test_bh_is_scipys(p: list[float]) -> None:
    np.testing.assert_allclose(correct(p, "bh"), stats.false_discovery_control(p, method="bh"), rtol=1e-12)


@given(p_values)
def test_holm_by_its_definition(p: list[float]) -> None:
    order = np.argsort(p, kind="stable")
    expected, running = np.empty(len(p)), 0.0
    for step, index in enumerate(order):
        running = max(running, min(1.0, (len(p) - step) * p[index]))
        expected[index] = running
    np.testing.assert_allclose(correct(p, "holm"), expected)
    assert (correct(p, "holm") <= correct(p, "bonferroni")).all()


def test_what_was_not_tested_does_not_count() -> None:
    np.testing.assert_array_equal(correct([0.01, np.nan, 0.5], "bonferroni"), [0.02, np.nan, 1.0])


def test_p_values_are_between_0_and_1() -> None:
    with pytest.raises(SurefootError, match="p values must lie between 0 and 1"):
        correct([0.5, 1.5], "holm")


def test_unknown_words_are_refused() -> None:
    with pytest.raises(SurefootError, match="holm, bonferroni, bh"):
        correct([0.1], "sidak")
    with pytest.raises(SurefootError, match="level"):
        critical_value(10, 0)
