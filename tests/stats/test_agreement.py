from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import decomposition

from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores
from surefoot.stats.agreement import (
    baseline_correlations,
    correlation,
    friedman,
    kendall,
    pca,
    principal_axes,
    ranking,
    rbo,
)

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


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_kendall_by_its_definition(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs).T
    above = np.triu_indices(len(x), 1)
    signs = [np.sign(np.subtract.outer(values, values))[above] for values in (x, y)]
    untied = np.sqrt((signs[0] != 0).sum() * (signs[1] != 0).sum())
    found = kendall(x, y)
    if untied == 0:
        assert np.isnan([found.tau, found.p, found.weighted]).all()
    else:
        assert found.tau == pytest.approx((signs[0] * signs[1]).sum() / untied)
        assert found.weighted == pytest.approx(stats.weightedtau(x, y).statistic)
        assert found.p == pytest.approx(stats.kendalltau(x, y).pvalue)


def test_kendall_matches_by_name() -> None:
    names = "abcde"
    x, y = RANDOM.random(5), RANDOM.random(5)
    shuffled = dict(reversed(list(zip(names, y, strict=True))))
    assert kendall(dict(zip(names, x, strict=True)), shuffled) == kendall(x, y)
    with pytest.raises(SurefootError, match="lacks b"):
        kendall({"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3})
    with pytest.raises(SurefootError, match="both as arrays"):
        kendall({"a": 1, "b": 2}, [1, 2])
    with pytest.raises(SurefootError, match="2 or more items"):
        kendall([1], [2])


def test_weighted_kendall_minds_the_top() -> None:
    order = [5, 4, 3, 2, 1]
    top, bottom = kendall(order, [4, 5, 3, 2, 1]), kendall(order, [5, 4, 3, 1, 2])
    assert top.tau == bottom.tau
    assert top.weighted < bottom.weighted


@pytest.mark.parametrize(("method", "reference"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr)])
def test_correlation_is_scipys(method: str, reference: object) -> None:
    rows = MATRIX.round(1)
    expected = [reference(row, rows[0]).statistic for row in rows]  # type: ignore[operator]
    np.testing.assert_allclose(correlation(rows, rows[0], method), expected)


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
    with pytest.raises(SurefootError, match="2 or more topics"):
        correlation([0.1], [0.2])


def test_friedman_is_scipys_and_w_is_kendalls() -> None:
    found = friedman(MATRIX)
    expected = stats.friedmanchisquare(*MATRIX)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    totals = stats.rankdata(MATRIX, axis=0).sum(axis=1)
    assert found.w == pytest.approx(12 * totals.var() * 6 / (15**2 * (6**3 - 6)))
    with pytest.raises(SurefootError, match="3 treatments"):
        friedman(MATRIX[:2])


def test_centred_axes_are_scikit_learns() -> None:
    ours, theirs = principal_axes(MATRIX, centred=True), decomposition.PCA(n_components=3).fit(MATRIX)
    np.testing.assert_allclose(ours.shares[:3], theirs.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(ours.loadings[:3]), np.abs(theirs.components_), atol=1e-10)
    np.testing.assert_allclose(np.abs(ours.coordinates[:, :3]), np.abs(theirs.transform(MATRIX)), atol=1e-10)


@pytest.mark.parametrize("least", [1.0, 1e-5, 0.0])
def test_axes_of_many_topics_are_those_of_the_singular_values(least) -> None:
    x = np.random.default_rng(3).random((6, 200))
    x[5] = x[4] + least * x[5]
    axes = principal_axes(x)
    _, s, v = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(axes.shares, s**2 / (s**2).sum(), rtol=1e-9, atol=1e-25)
    np.testing.assert_allclose(np.abs(axes.loadings[:5]), np.abs(v[:5]), atol=1e-9)
    np.testing.assert_allclose(axes.coordinates @ axes.loadings, x, atol=1e-12)


@pytest.mark.parametrize("centred", [False, True])
def test_axes_give_back_the_matrix_and_their_signs_are_settled(centred: bool) -> None:
    axes = principal_axes(MATRIX, centred=centred)
    np.testing.assert_allclose(axes.coordinates @ axes.loadings + axes.centre, MATRIX)
    np.testing.assert_allclose(axes.project(MATRIX), axes.coordinates, atol=1e-12)
    assert (axes.loadings.max(axis=1) >= -axes.loadings.min(axis=1)).all()
    assert axes.shares.sum() == pytest.approx(1)
    deviation = MATRIX - MATRIX.mean(axis=0) * centred
    variances = np.linalg.eigvalsh(deviation @ deviation.T)[::-1]
    np.testing.assert_allclose(axes.shares, variances / variances.sum(), atol=1e-12)


def test_virtual_runs_are_projected_or_included() -> None:
    alone, projected, included = pca(FEW, virtual=()), pca(FEW), pca(FEW, include=True)
    np.testing.assert_array_equal(alone.shares, projected.shares)
    assert projected.names == (*"abcdef", "MEAN", "MEDIAN", "MAX")
    np.testing.assert_allclose(projected.coordinates[6], projected.coordinates[:6].mean(axis=0))
    everything = np.vstack([MATRIX, MATRIX.mean(axis=0), np.median(MATRIX, axis=0), MATRIX.max(axis=0)])
    np.testing.assert_allclose(included.shares, principal_axes(everything).shares)
    assert projected.to_frame().columns == ["system", "virtual", "axis1", "axis2"]
    assert projected.extra()["shares"] == projected.shares.tolist()


def test_the_mean_is_the_origin_of_centred_axes() -> None:
    np.testing.assert_allclose(pca(FEW, virtual=["MEAN"], centred=True).coordinates[-1], 0, atol=1e-12)


def test_pca_refuses_what_it_cannot_use() -> None:
    with pytest.raises(SurefootError, match="MEAN, MEDIAN, MAX"):
        pca(FEW, virtual=["MIN"])
    with pytest.raises(SurefootError, match="nothing to explain"):
        principal_axes(np.full((3, 4), 0.1), centred=True)
    with pytest.raises(SurefootError, match="finite"):
        principal_axes([[0.1, np.nan]])


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


def test_ecir2014_principal_axes(err20: Scores) -> None:
    """Published 73.61 and 6.77 %: the papers' copies of DFalah121A and irra12c differ from the public ones."""
    nine = "uogTrA44xi srchvrs12c09 DFalah121A QUTparaBline utw2012fc1 ICTNET12ADR2 indriCASP irra12c qutwb".split()
    shares = pca(err20, systems=nine).shares[:2]
    assert [f"{100 * share:.2f} %" for share in shares] == ["73.58 %", "6.72 %"]
    np.testing.assert_allclose(shares, [0.7361, 0.0677], atol=6e-4)
