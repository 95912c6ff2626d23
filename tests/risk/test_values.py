import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.analysis.evaluate import evaluate
from surefoot.errors import SurefootError
from surefoot.risk.values import Custom, Linear, Monotone, Smooth, Value, fences, five_points
from surefoot.scores import Scores

differences = st.floats(-1, 1)


@given(differences, differences, st.floats(0, 20))
def test_linear_increases_and_keeps_zero(one: float, two: float, alpha: float) -> None:
    value = Linear(alpha)
    low, high = sorted((one, two))
    assert value(np.array(low)) <= value(np.array(high))
    assert value(np.array(0.0)) == 0


@given(differences)
def test_linear_at_alpha_zero_is_the_difference(d: float) -> None:
    assert Linear(0)(np.array(d)) == d


def test_smooth_has_the_published_coefficients() -> None:
    np.testing.assert_allclose(Smooth(1).coefficients, [1.38426, -0.51659, 0.11578], atol=5e-6)


def test_smooth_increases_on_the_whole_range() -> None:
    values = Smooth(1)(np.linspace(-1, 1, 2001))
    assert (np.diff(values) > 0).all()
    assert values[1000] == 0


@pytest.mark.parametrize("alpha", [1.5, 5])
def test_smooth_refuses_a_fit_that_does_not_increase(alpha: float) -> None:
    with pytest.raises(SurefootError, match="does not increase"):
        Smooth(alpha)


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (-0.2, 0), (0.1, 0.3), (-2, 0.3), (-0.2, 1.5)])
def test_smooth_refuses_fences_that_do_not_hold_zero(lower: float, upper: float) -> None:
    with pytest.raises(SurefootError, match="fences"):
        Smooth(1, lower, upper)


def test_smooth_refuses_differences_beyond_one() -> None:
    with pytest.raises(SurefootError, match=r"differences in \[-1, 1\]; got 2.5"):
        Smooth(1)(np.array([0.1, 2.5]))


@pytest.mark.parametrize("family", [Linear, Smooth])
@pytest.mark.parametrize("alpha", [-1, float("nan"), float("inf")])
def test_alpha_must_be_a_number_of_zero_or_more(family: type, alpha: float) -> None:
    with pytest.raises(SurefootError, match="alpha must be a number of 0 or more"):
        family(alpha)


def test_fences_are_those_of_scipy_and_numpy_quartiles() -> None:
    sample = np.random.default_rng(7).normal(size=1001)
    first, third = np.quantile(sample, [0.25, 0.75])
    assert fences(sample) == (first - 1.5 * (third - first), third + 1.5 * (third - first))


@given(st.floats(0, 100), st.floats(-0.999, -0.001), st.floats(0.001, 0.999))
def test_monotone_increases_through_the_five_points_for_any_alpha_and_fences(
    alpha: float, lower: float, upper: float
) -> None:
    value = Monotone(alpha, lower, upper)
    points, values = np.transpose(five_points(alpha, lower, upper))
    np.testing.assert_allclose(value(points), values, atol=1e-9 * (1 + alpha))
    found = value(np.linspace(-2, 2, 1001))
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(("lower", "upper"), [(-1.3, 1.2), (0.1, 0.5), (-0.5, -0.1), (0.0, 0.0)])
def test_monotone_leaves_out_a_fence_that_marks_nothing(lower: float, upper: float) -> None:
    value = Monotone(3.0, lower, upper)
    np.testing.assert_allclose(value(np.array([-1.0, 0.0, 1.0])), [-4, 0, 1], atol=1e-12)
    assert (np.diff(value(np.linspace(-1, 1, 201))) > 0).all()


def test_monotone_has_no_kink() -> None:
    """The slopes on both sides of 0, of the fences and of the ends are the same."""
    value, step = Monotone(5.0), 1e-6
    for point in (-1.0, -0.241, 0.0, 0.292, 1.0):
        before, at, after = value(np.array([point - step, point, point + step]))
        assert (after - at) / step == pytest.approx((at - before) / step, rel=1e-3)


def test_custom_values_are_weighted_by_alpha() -> None:
    table = Custom.table([-1, -0.1, 0, 1], [-4, -0.1, 0, 1])
    np.testing.assert_allclose(table(0.0)(np.array([-1.5, -1, -0.55, -0.1, 0, 0.3, 2])),
                               [-4 - 0.5 * 13 / 3, -4, -2.05, -0.1, 0, 0.3, 2])  # fmt: skip
    np.testing.assert_allclose(table(2.0)(np.array([-1.0, 0.5])), [-12, 0.5])
    straight = Custom.table([-1, 1], [-1, 1])
    d = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(straight(3.0)(d), Linear(3.0)(d))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: d + 0.1, "must be 0 at 0"),
        (lambda d: -d, "must increase"),
        (lambda d: np.zeros_like(d), "must increase"),
        (lambda d: 1 / d, "finite"),
        (lambda d: 3.0, "a finite number for each"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_no_value_function_is_refused(function: Value, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        Custom(function, "mine")


def test_a_straight_table_evaluates_as_linear_values() -> None:
    scores = Scores(np.random.default_rng(1).uniform(size=(4, 20)), "abcd", range(20))
    for alpha in (0, 2):
        linear = evaluate(scores, "a", alpha)
        custom = evaluate(scores, "a", alpha, value=Custom.table([-1, 1], [-1, 1]))
        for column in ("urisk", "trisk", "zrisk", "georisk"):
            np.testing.assert_allclose(custom[column], linear[column], atol=1e-12)
    assert "value=table(-1:-1;1:1)" in custom.signature
