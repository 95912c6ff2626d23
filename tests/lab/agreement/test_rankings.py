from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from surefoot_lab.agreement.rankings import ranking, rbo
from surefoot_lab.agreement.systems import baseline_correlations

from surefoot.errors import SurefootError
from surefoot.scores import Scores

RANDOM = np.random.default_rng(2010)
MATRIX = RANDOM.random((6, 15))
FEW = Scores(MATRIX, "abcdef", range(15))

rankings = st.integers(1, 8).flatmap(lambda size: st.permutations(range(9)).map(lambda items: items[:size]))
persistence = st.floats(0.05, 0.95)


@st.composite
def tied_rankings(draw: st.DrawFn) -> list[frozenset[int]]:
    """One to four of five items, cut into groups."""
    items = draw(st.permutations(range(5)))[: draw(st.integers(1, 4))]
    cuts = sorted(draw(st.sets(st.integers(1, len(items)))) | {len(items)})
    return [frozenset(items[start:end]) for start, end in zip([0, *cuts], cuts, strict=False)]


def sum_to_great_depth(first: Sequence[object], second: Sequence[object], p: float) -> float:
    """RBO by its definition, for rankings written out far enough."""
    total, seen_first, seen_second = 0.0, set(), set()
    for depth, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        seen_first.add(one)
        seen_second.add(other)
        total += (1 - p) * p ** (depth - 1) * len(seen_first & seen_second) / depth
    return total


def obvious_rbo(first: Sequence[int], second: Sequence[int], p: float, depth: int = 250) -> tuple[float, float]:
    """The least and the greatest RBO, from how the rankings could go on beyond their ends."""
    unlike = [
        [*one, *(f"{word}{rank}" for rank in range(depth - len(one)))] for one, word in ((first, "x"), (second, "y"))
    ]
    # Each ranking goes on with what the other has and it lacks, and then both with the same.
    missing = [item for item in second if item not in first], [item for item in first if item not in second]
    new = [f"z{rank}" for rank in range(depth)]
    alike = [[*one, *rest, *new][:depth] for one, rest in zip((first, second), missing, strict=True)]
    return sum_to_great_depth(*unlike, p), sum_to_great_depth(*alike, p)


@given(rankings, rankings, st.floats(0.05, 0.9))
def test_rbo_by_its_definition(first: list[int], second: list[int], p: float) -> None:
    least, greatest = obvious_rbo(first, second, p)
    found = rbo(first, second, p)
    assert found.minimum == pytest.approx(least, abs=1e-9)
    assert found.minimum + found.residual == pytest.approx(greatest, abs=1e-9)


@given(st.permutations(range(6)), st.permutations(range(6)), persistence)
def test_rbo_of_even_rankings_extrapolates_the_last_agreement(first: list[int], second: list[int], p: float) -> None:
    agreement = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, 7)]
    expected = (1 - p) * sum(p**d * a for d, a in enumerate(agreement)) + p**6 * agreement[-1]
    assert rbo(first, second, p).extrapolated == pytest.approx(expected)


def test_rbo_extrapolates_uneven_rankings_by_equation_32() -> None:
    first, second, p = "abcd", "badcfeg", 0.8
    s, longer = len(first), len(second)
    x = [0, *(len(set(first[:d]) & set(second[:d])) for d in range(1, longer + 1))]
    head = sum(x[d] / d * p**d for d in range(1, longer + 1))
    tail = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, longer + 1))
    expected = (1 - p) / p * (head + tail) + ((x[longer] - x[s]) / longer + x[s] / s) * p**longer
    assert rbo(first, second, p).extrapolated == pytest.approx(expected)


@given(rankings, rankings, persistence)
def test_rbo_keeps_its_bounds_and_is_symmetric(first: list[int], second: list[int], p: float) -> None:
    found = rbo(first, second, p)
    hair = 1e-12
    assert -hair <= found.minimum <= found.extrapolated + hair
    assert found.extrapolated <= found.minimum + found.residual + hair <= 1 + 2 * hair
    assert rbo(second, first, p) == found


@given(rankings, persistence)
def test_rbo_of_a_ranking_with_itself_is_one(items: list[int], p: float) -> None:
    found = rbo(items, items, p)
    assert found.extrapolated == pytest.approx(1)
    assert found.minimum + found.residual == pytest.approx(1)


def test_rbo_of_disjoint_rankings_is_zero() -> None:
    found = rbo("abc", "xyz")
    assert (found.minimum, found.extrapolated) == (0, 0)
    assert 0 < found.residual < 1


@given(rankings, rankings, st.permutations(range(9)))
def test_names_do_not_matter_to_rbo(first: list[int], second: list[int], names: list[int]) -> None:
    assert rbo([names[item] for item in first], [names[item] for item in second]) == rbo(first, second)


def every_order(groups: list[frozenset[int]]) -> list[list[int]]:
    return [[item for group in order for item in group] for order in product(*map(permutations, groups))]


@settings(max_examples=60)
@given(tied_rankings(), tied_rankings(), persistence)
def test_ties_give_the_mean_over_every_way_to_break_them(
    first: list[frozenset[int]], second: list[frozenset[int]], p: float
) -> None:
    broken = [rbo(one, other, p) for one in every_order(first) for other in every_order(second)]
    found = rbo(first, second, p)
    for figure in ("minimum", "residual", "extrapolated"):
        assert getattr(found, figure) == pytest.approx(np.mean([getattr(one, figure) for one in broken]), abs=1e-12)


def test_long_rankings_keep_to_the_definition() -> None:
    items = RANDOM.permutation(2000).tolist()
    found = rbo(items, items[::-1], p=0.99)
    assert found.minimum == pytest.approx(sum_to_great_depth(items, items[::-1], 0.99), abs=1e-6)
    assert rbo(items, items, p=0.5).minimum == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("p", [0, 1, -0.5, float("nan")])
def test_rbo_refuses_a_wrong_p(p: float) -> None:
    with pytest.raises(SurefootError, match="between 0 and 1"):
        rbo("ab", "ba", p)


@pytest.mark.parametrize("wrong", [[], [set(), "a"], ["a", "b", "a"], [{"a", "b"}, "b"]])
def test_rbo_refuses_what_is_no_ranking(wrong: list[object]) -> None:
    with pytest.raises(SurefootError, match=r"at least one item|'[ab]' occurs again"):
        rbo(wrong, "ab")


def test_ranking_puts_the_largest_first_and_says_what_ties() -> None:
    figures = {"a": 1.0, "b": 3.0, "c": 1.0, "d": 2.0}
    assert ranking(figures) == ("b", "d", frozenset("ac"))
    assert ranking(figures, ties="order") == ("b", "d", "a", "c")
    assert ranking([0.1, 0.3]) == (1, 0)
    assert ranking(list(figures.values()), list(figures)) == ranking(figures)


def test_ranking_refuses_what_cannot_be_ranked() -> None:
    with pytest.raises(SurefootError, match="'b' has no value"):
        ranking({"a": 1.0, "b": float("nan")})
    with pytest.raises(SurefootError, match="one value"):
        ranking([1, 2], ["a"])
    with pytest.raises(SurefootError, match="share, order"):
        ranking([1, 2], ties="random")
    with pytest.raises(SurefootError, match="no names"):
        ranking({"a": 1.0}, ["a"])


def test_correlation_with_a_virtual_baseline_is_labelled() -> None:
    found = baseline_correlations(FEW, "MEDIAN", systems=["c", "a"])
    assert found.columns["system"] == ("c", "a")
    np.testing.assert_allclose(
        found.columns["correlation"], [stats.pearsonr(FEW[s], np.median(MATRIX, axis=0)).statistic for s in "ca"]
    )


def test_no_correlation_without_variation() -> None:
    found = baseline_correlations(Scores([[0.1, 0.1, 0.1], [0.1, 0.2, 0.3]], "ab", range(3)), "b")
    assert found.rows()[0]["correlation"] is None
    assert found.notes == ("no correlation where all topics score alike: a",)
