"""Letters of significance against scipy, and measures side by side."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from surefoot import Scores, SurefootError, evaluate
from surefoot.analysis import compare_pairs, side_by_side, with_letters


@pytest.fixture
def scores():
    random = np.random.default_rng(3)
    topic, shift = random.beta(2, 4, 40), [[0.0], [0.02], [0.1], [0.11]]
    return Scores(np.clip(topic + shift + random.normal(0, 0.06, (4, 40)), 0, 1), "abcd", range(40), "AP")


def holm(p):
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def test_pairs_are_the_t_test_of_scipy_corrected_by_hand(scores):
    found = {frozenset((row["system"], row["other"])): row for row in compare_pairs(scores)}
    pairs = list(combinations(scores.systems, 2))
    p = np.array([ttest_rel(scores[one], scores[other]).pvalue for one, other in pairs])
    for pair, plain, adjusted in zip(pairs, p, holm(p), strict=True):
        row = found[frozenset(pair)]
        assert row["p"] == pytest.approx(plain, rel=1e-9)
        assert row["p_holm"] == pytest.approx(adjusted, rel=1e-9)
        assert row["significant"] == (adjusted < 0.05)
        assert row["difference"] >= 0
    assert any(row["significant"] for row in found.values())
    assert not all(row["significant"] for row in found.values())


def test_letters_name_the_systems_that_are_worse(scores):
    pairs = compare_pairs(scores)
    result = with_letters(evaluate(scores, "a"), pairs)
    assert result["letter"].tolist() == ["a", "b", "c", "d"]
    for row in result:
        assert set(row["better_than"]) == pairs.better_than(row["system"])
    assert "letters: the systems with a significantly lower mean" in result.notes[-1]
    table = result.to_latex(["letter", "system", "mean", "better_than", "urisk"])
    assert "better" not in table
    assert "$^{ab}$" in table
    assert r"$U_{\mathrm{Risk}}$" in table


def test_measures_side_by_side(scores):
    reversed_scores = Scores(1 - scores.values, scores.systems, scores.topics, "RR")
    both = evaluate([scores, reversed_scores], "a", [0, 1])
    table = side_by_side(both, ["system", "alpha", "mean", "urisk"])
    assert list(table.columns) == ["system", "alpha", "mean (AP)", "urisk (AP)", "mean (RR)", "urisk (RR)"]
    assert len(table) == 8
    for row in table:
        for measure in ("AP", "RR"):
            (same,) = (
                one
                for one in both
                if (one["measure"], one["system"], one["alpha"]) == (measure, row["system"], row["alpha"])
            )
            assert row[f"urisk ({measure})"] == same["urisk"]
    latex = table.to_latex()
    assert r"\multicolumn{2}{c}{AP} & \multicolumn{2}{c}{RR}" in latex
    assert r"\cmidrule(lr){3-4} \cmidrule(lr){5-6}" in latex
    assert latex.count("textbf") >= 8


def test_the_level_decides_what_is_marked_and_how_wide_intervals_are(scores):
    strict, loose = (evaluate(scores, "a", 0, ci="t", level=level) for level in (1e-6, 0.5))
    assert strict.highlights().significant["trisk"].sum() < loose.highlights().significant["trisk"].sum()
    assert np.all((strict["urisk_high"] - strict["urisk_low"] >= loose["urisk_high"] - loose["urisk_low"])[1:])
    assert "p < 0.5" in str(loose)
    with pytest.raises(SurefootError, match="level must be between 0 and 1; got 2"):
        evaluate(scores, "a", level=2)


def test_one_system_has_no_pairs():
    with pytest.raises(SurefootError, match="pairs need at least two systems"):
        compare_pairs(Scores([[0.5]], ["a"], ["q"]))
