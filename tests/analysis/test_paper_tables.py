"""Letters of significance against scipy, and measures side by side."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from surefoot import Scores, SurefootError, evaluate
from surefoot.analysis import compare_pairs, side_by_side, with_letters
from surefoot.show.tables import render


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
    result = with_letters(evaluate(scores, "a"))
    assert result.readable()["letter"].tolist() == ["a", "b", "c", "d"]
    letters = dict(zip(result["system"], result["letter"], strict=True))
    for row in result:
        assert set(row["better_than"]) == {letters[name] for name in pairs.better_than(row["system"])}
    assert "letters: the systems with a significantly lower mean" in result.notes[-1]
    table = result.to_latex(["letter", "system", "mean", "better_than", "urisk"])
    assert "better" not in table
    assert "$^{cd}$" in table
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


def test_tables_of_measures_side_by_side_are_short(scores):
    other = Scores(1 - scores.values, scores.systems, scores.topics, "RR")
    table = side_by_side(evaluate([scores, other], "a", 1))
    assert {"p (AP)", "frisk (RR)", "georisk (RR)"} < {*table.columns}
    for text in (str(table).partition("note:")[0], table.to_latex()):
        assert "georisk" not in text.lower()
        assert text.count("losses") == 2
    assert "0.0000" not in render(table, "md", columns=["system", "p (AP)", "p (RR)"])
    assert "0.001" in render(table, "md", columns=["system", "p (AP)", "p (RR)"])


def test_the_level_decides_what_is_marked_and_how_wide_intervals_are(scores):
    strict, loose = (evaluate(scores, "a", 0, ci="t", level=level) for level in (1e-6, 0.5))
    assert strict.highlights().significant["trisk"].sum() < loose.highlights().significant["trisk"].sum()
    assert np.all((strict["urisk_high"] - strict["urisk_low"] >= loose["urisk_high"] - loose["urisk_low"])[1:])
    assert "p < 0.5" in str(loose)
    with pytest.raises(SurefootError, match=r"at most 0\.5; got 2$"):
        evaluate(scores, "a", level=2)
    with pytest.raises(SurefootError, match=r"got 0\.95; for intervals of 95 % give 0\.05"):
        evaluate(scores, "a", ci="t", level=0.95)


def test_one_system_has_no_pairs():
    with pytest.raises(SurefootError, match="pairs need at least two systems"):
        compare_pairs(Scores([[0.5]], ["a"], ["q"]))


def test_several_baselines_in_one_table(scores):
    found = evaluate(scores, ["a", "b"], [0, 1], correct="holm", tests=["t", "flip"], n_resamples=200)
    parts = [evaluate(scores, one, [0, 1], tests=["t", "flip"], n_resamples=200) for one in ("a", "b")]
    assert found["baseline"].tolist() == ["a"] * 8 + ["b"] * 8
    for name in parts[0].columns:
        assert found[name].tolist() == pytest.approx(np.concatenate([one[name] for one in parts]).tolist(), nan_ok=True)
    for raw, adjusted in (("p", "p_holm"), ("p_t", "p_t_holm")):
        rows = slice(None) if raw == "p" else slice(0, None, 2)  # t is one test for all alphas
        p = found[raw][rows]
        known = np.isfinite(p)
        assert found[adjusted][rows][known] == pytest.approx(holm(p[known]), rel=1e-9)
    assert found["p_t_holm"][::2].tolist() == pytest.approx(found["p_t_holm"][1::2].tolist(), nan_ok=True)
    assert "baseline=a,b|" in found.signature
    shown = found.readable()
    assert shown["baseline"].tolist() == ["a"] * 8 + ["b"] * 8
    assert (np.diff(shown["mean"][:4]) <= 0).all()
    narrowed = evaluate(scores, ["a", "b"], [0, 1], correct="holm", systems=["d"])
    kept = found["system"] == "d"
    assert narrowed["p_holm"].tolist() == found["p_holm"][kept].tolist()
    with pytest.raises(SurefootError, match="names no system"):
        evaluate(scores, [])


def test_letters_from_evaluate_and_latex(scores):
    result = evaluate(scores, "a", letters=True)
    means = dict(zip(result["system"], result["mean"], strict=True))
    by_mean = sorted(means, key=lambda name: -means[name])
    assert dict(zip(result["system"], result["letter"], strict=True)) == dict(zip(by_mean, "abcd", strict=True))
    latex = evaluate(scores, "a").to_latex(["system", "mean"], "Means.", letters=True)
    assert evaluate(scores, "a", letters=True).to_latex(["system", "mean"], "Means.") == latex
    caption = next(line for line in latex.splitlines() if line.startswith(r"\caption"))
    for words in ("Means.", "Letters: the systems", "paired t test", "holm", "p $<$ 0.05"):
        assert words in caption
    assert "% letters" not in latex
    assert latex.index(f"a & {by_mean[0]}") < latex.index(f"d & {by_mean[3]}")
    assert evaluate(scores, "a", letters=True, correct="bh").to_latex().count("bh over all pairs") == 1
    assert "\\caption" not in evaluate(scores, "a").to_latex()


def test_more_letters_than_the_alphabet_are_parted_by_commas():
    random = np.random.default_rng(0)
    values = np.linspace(0.9, 0.1, 28)[:, None] + random.normal(0, 0.001, (28, 20))
    many = Scores(values, [f"s{number:02}" for number in range(28)], range(20))
    found = evaluate(many, letters=True)
    assert found["better_than"][0] == ",".join([*"bcdefghijklmnopqrstuvwxyz", "aa", "ab"])
    assert "$^{ab}$" in found.to_latex()
    assert evaluate(many.select(many.systems[:26]), letters=True)["better_than"][0] == "bcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("format", ["md", "latex"])
def test_tables_to_paste_have_the_main_columns(scores, format):
    found = evaluate(scores, "a")
    assert "georisk" not in render(found, format).lower()
    assert "georisk" in render(found, format, columns=["all"]).lower()
    assert "georisk" in render(found, "csv")


def test_letters_are_corrected_without_a_baseline(scores):
    found = evaluate(scores, letters=True, correct="bh")
    assert found["better_than"].tolist() == evaluate(scores, "a", letters=True, correct="bh")["better_than"].tolist()
    assert "correct=bh" in found.signature
    assert "p_bh" not in found.columns
    with pytest.raises(SurefootError, match="need a baseline"):
        evaluate(scores, correct="bh")


def test_a_caption_without_latex_is_refused(tmp_path, capsys):
    from surefoot.cli import main

    table = tmp_path / "s.csv"
    table.write_text("topic,a,b\n1,0.1,0.2\n2,0.3,0.5\n3,0.2,0.1\n")
    words = ["evaluate", "--scores", str(table), "--caption", "My_table"]
    assert main(words) == 2
    assert "--format latex" in capsys.readouterr().err
    assert main([*words, "-o", str(tmp_path / "t.tex")]) == 0
    assert r"\caption{My\_table}" in (tmp_path / "t.tex").read_text()


def test_the_command_takes_several_baselines(tmp_path, capsys, scores):
    import json

    from surefoot.cli import main

    lines = [",".join([topic, *map(str, column)]) for topic, column in zip(scores.topics, scores.values.T, strict=True)]
    (tmp_path / "s.csv").write_text("\n".join(["topic,a,b,c,d", *lines]) + "\n")
    words = ["evaluate", "--scores", str(tmp_path / "s.csv"), "--format", "json"]
    found = []
    for baselines in (["--baseline", "a,b"], ["--baseline", "a", "--baseline", "b"]):
        assert main([*words, *baselines, "--correct", "holm"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert {row["baseline"] for row in found[0]["rows"]} == {"a", "b"}
    assert main([*words, "--baseline", "a,b", "--segments", "x.csv"]) == 2
    assert "one --baseline" in capsys.readouterr().err
