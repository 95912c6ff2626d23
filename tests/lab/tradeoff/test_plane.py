"""Points, lines, hulls and areas in the plane of risk and gain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from surefoot_lab.tradeoff.plane import (
    ORIGIN,
    Points,
    alpha_limit,
    area_between,
    break_even,
    concatenate,
    near_optimal,
    nearest_alpha,
    points,
    proportional_reduction,
    selective_curve,
    upper_hull,
)

from surefoot import risk
from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.queries import query_feature

FEW = settings(max_examples=40)
UNIT = st.floats(0, 1, width=32)
PAIR = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        arrays(float, n, elements=UNIT), arrays(float, n, elements=UNIT), arrays(float, n, elements=UNIT)
    )
)
CURVE = st.lists(st.tuples(UNIT, st.floats(-1, 1, width=32)), min_size=1, max_size=8).map(
    lambda found: Points(*np.array(found).T)
)


def curve(*found: tuple[float, float]) -> Points:
    return Points(*np.array(found, dtype=float).T)


@FEW
@given(PAIR)
def test_points_are_the_measures(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    system, baseline, _ = rows
    found = points(system, baseline)
    assert found.risk[0] == pytest.approx(risk.frisk(system, baseline), abs=1e-12)
    assert found.gain[0] == pytest.approx(risk.ugain(system, baseline), abs=1e-12)


@FEW
@given(PAIR, st.floats(0, 50))
def test_break_even_is_where_urisk_is_zero(rows: tuple[np.ndarray, np.ndarray, np.ndarray], alpha: float) -> None:
    system, baseline, _ = rows
    found = points(system, baseline)
    above = found.gain[0] - break_even(found.risk, alpha)[0]
    assert above == pytest.approx(float(risk.urisk(system, baseline, alpha)), abs=1e-9)


@FEW
@given(PAIR, st.integers(0, 10))
def test_a_coin_flip_reduces_in_proportion(rows: tuple[np.ndarray, np.ndarray, np.ndarray], tenths: int) -> None:
    """The expectation over coins: each query is re-ranked with the same probability, whatever the others do."""
    system, baseline, _ = rows
    share = tenths / 10
    reduced = proportional_reduction(points(system, baseline), share)
    d = system - baseline
    assert reduced.risk[0] == pytest.approx(np.mean(share * np.maximum(-d, 0) + (1 - share) * 0), abs=1e-12)
    assert reduced.gain[0] == pytest.approx(np.mean(share * d), abs=1e-12)


@FEW
@given(PAIR)
def test_at_its_limit_the_gain_only_model_breaks_even(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    system, baseline, _ = rows
    limit = alpha_limit(system, baseline)
    assert limit >= 0
    if 0 < limit < 1e5:
        assert float(risk.urisk(system, baseline, limit)) == pytest.approx(0, abs=1e-9)


def test_limits_without_loss_or_without_gain() -> None:
    assert alpha_limit([0.5, 0.5], [0.1, 0.5]) == np.inf
    assert alpha_limit([0.1, 0.1], [0.5, 0.1]) == 0
    assert alpha_limit([0.1], [0.1]) == 0


@FEW
@given(PAIR)
def test_selective_re_ranks_what_lies_below_each_threshold(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    system, baseline, feature = rows
    found = selective_curve(system, baseline, feature)
    for place, threshold in enumerate(found.thresholds):
        mixed = np.where(feature < threshold, system, baseline)
        expected = points(mixed, baseline)
        assert found.points.risk[place] == pytest.approx(expected.risk[0], abs=1e-12)
        assert found.points.gain[place] == pytest.approx(expected.gain[0], abs=1e-12)
        assert found.fraction[place] == np.mean(feature < threshold)
    assert found.fraction[0] == 0
    assert found.fraction[-1] == 1


def test_a_constant_feature_selects_all_or_none() -> None:
    found = selective_curve([0.2, 0.5], [0.4, 0.1], [1, 1])
    np.testing.assert_allclose(found.points.gain, [0, 0.1])


@pytest.mark.parametrize(
    ("feature", "said"), [([1.0], "for each query"), ([np.nan, 1], "finite"), ([[1.0, 2.0]], "for each query")]
)
def test_selecting_features_must_fit(feature: list[float], said: str) -> None:
    with pytest.raises(SurefootError, match=said):
        selective_curve([0.2, 0.5], [0.4, 0.1], feature)


def test_query_features() -> None:
    data = RankingData.of([[1.0, -1.0], [2.0, -3.0], [6.0, 0.5]], [0, 1, 0], ["a", "a", "b"], feature_names=["x", "y"])
    np.testing.assert_array_equal(query_feature(data, "max:x"), [2, 6])
    np.testing.assert_array_equal(query_feature(data, "min:1"), [-3, 0.5])
    np.testing.assert_array_equal(query_feature(data, "mean:y"), [-2, 0.5])
    for word, said in (("x", "max:N"), ("sum:x", "max, min, mean"), ("max:z", "no feature z")):
        with pytest.raises(SurefootError, match=said):
            query_feature(data, word)
    gap = RankingData.of([[np.nan], [2.0]], [0, 1], ["a", "a"])
    with pytest.raises(SurefootError, match="missing for some documents"):
        query_feature(gap, "max:0")


def test_the_hull_goes_home_from_the_nearest_alpha() -> None:
    """As SIGIR 2012 does: alpha 30 for a limit of 27.9, though that lies outside."""
    assert [nearest_alpha([0, 1, 10, 30], limit) for limit in (27.9, 0.4, 0.5, 5.5, np.inf)] == [30, 0, 0, 1, 30]
    found = near_optimal(curve((0.05, 0.1), (0.03, 0.09), (0.01, 0.04)), [0, 20, 30], limit=27.9)
    np.testing.assert_array_equal(found.risk, [0.05, 0.03, 0.01, 0])


def test_the_hull_goes_home_from_the_last_alpha_inside() -> None:
    found = near_optimal(curve((0.01, 0.02), (0.05, 0.1), (0.03, 0.09)), [9, 0, 2], limit=2.0)
    np.testing.assert_array_equal(found.risk, [0.05, 0.03, 0])
    np.testing.assert_array_equal(found.gain, [0.1, 0.09, 0])


def test_a_hull_needs_an_alpha_for_each_point() -> None:
    with pytest.raises(SurefootError, match="as many alphas"):
        near_optimal(curve((0.01, 0.02)), [0, 3], limit=2.0)


@FEW
@given(CURVE)
def test_the_upper_hull_rises_bends_down_and_covers_all(found: Points) -> None:
    hull = upper_hull(found)
    assert (np.diff(hull.risk) > 0).all()
    assert (np.diff(hull.gain) > 0).all()
    slopes = np.diff(hull.gain) / np.diff(hull.risk)
    assert (np.diff(slopes) <= 1e-9 * np.abs(slopes[:-1])).all()
    everything = concatenate(ORIGIN, found)
    covered = np.interp(everything.risk, hull.risk, hull.gain)  # beyond its end the hull is flat
    assert (covered >= everything.gain - 1e-9).all()
    corners = set(zip(everything.risk.tolist(), everything.gain.tolist(), strict=True))
    assert set(zip(hull.risk.tolist(), hull.gain.tolist(), strict=True)) <= corners


def test_areas_by_hand() -> None:
    line = curve((0, 0), (1, 1))
    assert area_between(curve((0, 1), (1, 1)), line).area == pytest.approx(0.5)
    assert area_between(line, curve((0, 1), (1, 1))).area == pytest.approx(-0.5)
    crossing = area_between(curve((0, 0.5), (1, 0.5)), line)
    assert crossing.area == pytest.approx(0)
    part = area_between(curve((0.25, 1), (0.5, 1)), line)
    assert (part.low, part.high, part.height) == (0.25, 0.5, pytest.approx(0.625))


def test_of_points_with_the_same_risk_the_highest_counts() -> None:
    assert area_between(curve((0, 0), (1, 0.2), (1, 1)), curve((0, 0), (1, 0))).area == pytest.approx(0.5)


def test_curves_that_share_no_risk_have_no_area() -> None:
    with pytest.raises(SurefootError, match="no range"):
        area_between(curve((0, 0), (1, 1)), curve((2, 0), (3, 1)))
    assert area_between(curve((1, 1)), curve((0, 0), (2, 0))).height == 0


@FEW
@given(CURVE, CURVE, CURVE)
def test_areas_add_up(first: Points, second: Points, third: Points) -> None:
    ends = curve((0, 0), (1, 0))  # all over the same range
    first, second, third = (concatenate(one, ends) for one in (first, second, third))
    direct = area_between(first, third).area
    assert direct == pytest.approx(area_between(first, second).area + area_between(second, third).area, abs=1e-9)
    assert area_between(first, first).area == 0


def test_fractions_lie_between_0_and_1() -> None:
    for share in (-0.1, 1.1):
        with pytest.raises(SurefootError, match="fractions from 0 to 1"):
            proportional_reduction(curve((0.1, 0.2)), share)
