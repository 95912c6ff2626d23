from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import decomposition

from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores
from surefoot.stats.principal_axes import pca, principal_axes
from surefoot.stats.ranks import correlation, friedman, kendall

RANDOM = np.random.default_rng(2010)
MATRIX = RANDOM.random((6, 15))
FEW = Scores(MATRIX, "abcdef", range(15))


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


def test_correlation_needs_two_topics() -> None:
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
