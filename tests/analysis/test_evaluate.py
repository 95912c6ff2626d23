import numpy as np
import pytest
from scipy import stats

from surefoot import Result, Scores, SurefootError, evaluate, explore, risk
from surefoot.analysis.cross import cross
from surefoot.analysis.evaluate import Evaluation
from surefoot.risk.values import Linear, Smooth
from surefoot.show.tables import render

RANDOM = np.random.default_rng(11)
SYSTEMS = ["base", "one", "two", "three"]
SCORES = Scores(RANDOM.random((4, 20)), SYSTEMS, [f"q{i}" for i in range(20)], "nDCG@10")
COLUMNS = (
    "system baseline alpha mean urisk frisk freward trisk se p zrisk georisk wins losses ties loss20".split()
)  # fmt: skip


def row(result: Evaluation, system: str, alpha: float = 1.0) -> dict[str, object]:
    return next(row for row in result.rows() if row["system"] == system and row["alpha"] == alpha)


def test_columns_and_order() -> None:
    result = evaluate(SCORES, "base", [0, 5])
    assert list(result.columns) == COLUMNS
    assert [(r["system"], r["alpha"]) for r in result.rows()] == [(s, a) for s in SYSTEMS for a in (0, 5)]


def test_figures_are_those_of_the_measures() -> None:
    found = row(evaluate(SCORES, "base", [0, 1, 5]), "two", 5)
    two, base = SCORES["two"], SCORES["base"]
    assert found["mean"] == pytest.approx(two.mean())
    assert found["urisk"] == pytest.approx(float(risk.urisk(two, base, 5)))
    assert found["trisk"] == pytest.approx(float(risk.trisk(two, base, 5)))
    assert found["zrisk"] == pytest.approx(risk.zrisk(SCORES.values, 5)[2])
    assert found["georisk"] == pytest.approx(risk.georisk(SCORES.values, 5)[2])
    assert found["wins"] == int((two > base).sum())
    assert found["losses"] == int((two < base).sum())
    assert found["ties"] == 0
    assert found["loss20"] == int(((two - base) / base < -0.2).sum())


def test_the_baselines_own_row_has_no_test() -> None:
    own = row(evaluate(SCORES, "base"), "base")
    assert own["urisk"] == 0
    assert own["trisk"] is None
    assert own["p"] is None
    assert own["ties"] == 20


def test_without_a_baseline_its_columns_are_absent() -> None:
    assert list(evaluate(SCORES).columns) == ["system", "alpha", "mean", "zrisk", "georisk"]


def test_permuting_topics_changes_nothing() -> None:
    shuffled = SCORES.select(topics=RANDOM.permutation(SCORES.topics).tolist())
    for name, column in evaluate(SCORES, "base", [0, 5]).columns.items():
        other = evaluate(shuffled, "base", [0, 5]).columns[name]
        if column.dtype.kind == "f":
            np.testing.assert_allclose(column, other, rtol=1e-10)
        else:
            assert list(column) == list(other)


@pytest.mark.parametrize("name", ["MEAN", "MEDIAN", "MAX"])
def test_virtual_baselines(name: str) -> None:
    baseline = getattr(np, name.lower())(SCORES.values, axis=0)
    found = row(evaluate(SCORES, name), "one")
    assert found["baseline"] == name
    assert found["urisk"] == pytest.approx(float(risk.urisk(SCORES["one"], baseline, 1)))


def test_a_population_changes_z_and_the_virtual_baselines() -> None:
    result = evaluate(SCORES, "MEAN", population=["one", "two"])
    mean = (SCORES["one"] + SCORES["two"]) / 2
    assert row(result, "one")["urisk"] == pytest.approx(float(risk.urisk(SCORES["one"], mean, 1)))
    assert row(result, "two")["zrisk"] == pytest.approx(risk.zrisk(SCORES.select(["one", "two"]).values, 1)[1])
    assert row(result, "three")["zrisk"] is None
    assert any("outside the population: base, three" in note for note in result.notes)
    assert "population=one,two" in result.signature


def test_the_population_pair_is_system_and_baseline() -> None:
    result = evaluate(SCORES, "base", population="PAIR")
    pair = np.stack([SCORES["one"], SCORES["base"]])
    assert row(result, "one")["zrisk"] == pytest.approx(risk.zrisk(pair, 1)[0])
    assert row(result, "one")["georisk"] == pytest.approx(risk.georisk(pair, 1)[0])
    assert row(result, "base")["zrisk"] is None


def test_systems_only_picks_the_rows() -> None:
    full, some = evaluate(SCORES, "base"), evaluate(SCORES, "base", systems=["three", "one"])
    assert [r["system"] for r in some.rows()] == ["three", "one"]
    assert row(some, "one") == row(full, "one")


def test_each_system_may_have_its_own_baseline() -> None:
    baseline = {"base": "MEAN", "one": "base", "two": "one", "three": "MAX"}
    result = evaluate(SCORES, baseline)
    assert row(result, "two")["baseline"] == "one"
    assert row(result, "two")["urisk"] == pytest.approx(float(risk.urisk(SCORES["two"], SCORES["one"], 1)))
    assert row(result, "three")["losses"] == int((SCORES["three"] < SCORES.values.max(axis=0)).sum())
    with pytest.raises(SurefootError, match="no line for three, two"):
        evaluate(SCORES, {"base": "MEAN", "one": "base"})


def test_extra_columns() -> None:
    result = evaluate(SCORES, "base", tail=[0.05, 0.1], geometric=True, minus=True, ci="t", correct="holm")
    found = row(result, "one")
    scipys = stats.ttest_1samp(Linear(1)(SCORES["one"] - SCORES["base"]), 0).confidence_interval(0.95)
    assert found["urisk_low"] == pytest.approx(scipys.low)
    assert found["urisk_high"] == pytest.approx(scipys.high)
    assert found["tail_0.05"] == pytest.approx((SCORES["one"] - SCORES["base"]).min())
    assert found["gmean"] == pytest.approx(stats.gmean(SCORES["one"]))
    assert found["uminus"] == -found["urisk"]
    assert found["geominus"] == -found["georisk"]
    assert found["geominus_published"] == pytest.approx(risk.geominus_published(SCORES.values, 1)[1])
    np.testing.assert_allclose(
        sorted(r["p_holm"] for r in result.rows() if r["p"] is not None),
        np.maximum.accumulate(np.sort([r["p"] for r in result.rows() if r["p"] is not None]) * [3, 2, 1]).clip(max=1),
    )


def test_several_measures_are_corrected_together() -> None:
    other = Scores(RANDOM.random((4, 20)), SYSTEMS, SCORES.topics, "ERR@20")
    result = evaluate([SCORES, other], "base", correct="bonferroni")
    assert next(iter(result.columns)) == "measure"
    tested = [r for r in result.rows() if r["p"] is not None]
    assert len(tested) == 6
    assert all(r["p_bonferroni"] == pytest.approx(min(1, 6 * r["p"])) for r in tested)
    assert "measure=nDCG@10,ERR@20" in result.signature


def test_readable_is_by_alpha_and_mean() -> None:
    ranked = evaluate(SCORES, "base", [5, 0]).readable().rows()
    assert [r["alpha"] for r in ranked] == [0] * 4 + [5] * 4
    assert [r["mean"] for r in ranked[:4]] == sorted((r["mean"] for r in ranked[:4]), reverse=True)


def test_smooth_values_are_fitted_to_the_differences() -> None:
    close = Scores(0.4 + 0.2 * RANDOM.random((4, 20)), SYSTEMS, SCORES.topics)
    result = evaluate(close, "base", value="smooth")
    family = Smooth.fitted(close.values[1:] - close["base"])
    assert row(result, "one")["urisk"] == pytest.approx(float(risk.urisk(close["one"], close["base"], 1, family)))
    assert "value=smooth(" in result.signature
    assert "value=smooth(" in evaluate(close, value="smooth").signature


def few_topics(result: Result) -> list[str]:
    return [" ".join(note.split()[:4]) for note in result.notes if "few topics" in note]


def test_notes_on_few_topics_stand_beside_their_columns() -> None:
    found = evaluate(SCORES, "base", [0, 1, 5], ci="t")
    below, above, intervals = "p at alpha below", "p at alpha 5", "on few topics intervals"
    assert few_topics(found) == [below, above, intervals]
    assert few_topics(found.only(["system", "p"])) == [below, above]
    assert few_topics(found.only(["system", "urisk_low", "urisk_high"])) == [intervals]
    assert few_topics(evaluate(SCORES, "base", 0)) == []
    assert few_topics(explore(SCORES, "one", "base", alpha=5)) == [above]
    many = Scores(RANDOM.random((2, 201)), ["base", "one"], range(201))
    assert few_topics(evaluate(many, "base", [1, 5], ci="t")) == []


def test_notes_say_what_a_reader_must_know() -> None:
    assert any("not consistent" in note for note in evaluate(SCORES, "base", 5).notes)
    assert "not consistent" in str(evaluate(SCORES, "base", 5).only(["system", "georisk"]))
    assert "not consistent" not in str(evaluate(SCORES, "base", 5).only(["system", "urisk"]))
    assert "not consistent" not in render(evaluate(SCORES, "base", 5), "table")
    assert not any("not consistent" in note for note in evaluate(SCORES, "base", 2).notes)
    shifted = Scores(np.stack([SCORES["base"], SCORES["base"] + 0.1]), ["base", "up"], SCORES.topics)
    assert any("all values are alike: up" in note for note in evaluate(shifted, "base").notes)
    below = Scores(SCORES.values - 0.5, SYSTEMS, SCORES.topics)
    result = evaluate(below, "base")
    assert any("below 0" in note for note in result.notes)
    assert row(result, "one")["georisk"] is None
    single = SCORES.select(topics=["q1"])
    assert any("only one topic" in note for note in evaluate(single, "base").notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "nobody"}, "no baseline 'nobody'; there are base, one, three, two, and MEAN, MEDIAN, MAX"),
        ({"baseline": "base", "systems": ["nobody"]}, "no system nobody"),
        ({"population": "PAIR"}, "PAIR needs a baseline"),
        ({"correct": "holm"}, "need a baseline"),
        ({"tail": [0.1]}, "need a baseline"),
        ({"baseline": "base", "alpha": -1}, "alpha must be a number of 0 or more"),
        ({"baseline": "base", "value": "cubic"}, "value must be one of linear, smooth, monotone; got 'cubic'"),
    ],
)
def test_wrong_words_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        evaluate(SCORES, **options)  # type: ignore[arg-type]


def test_explore_starts_with_the_worst() -> None:
    result = explore(SCORES, "one", "base", alpha=5)
    rows = result.rows()
    assert list(rows[0]) == "topic system_score baseline_score delta x z tr tj significant".split()
    assert [r["x"] for r in rows] == sorted(r["x"] for r in rows)
    by_topic = {r["topic"]: r for r in rows}
    z = risk.zscores(SCORES.values)[1]
    for topic, expected, own in zip(SCORES.topics, z, SCORES["one"], strict=True):
        assert by_topic[topic]["z"] == pytest.approx(expected)
        assert by_topic[topic]["system_score"] == own
    assert {r["significant"] for r in rows} <= {"win", "loss", ""}
    assert result.extra()["urisk"] == pytest.approx(float(risk.urisk(SCORES["one"], SCORES["base"], 5)))


def test_explore_finds_a_planted_loss() -> None:
    values = np.stack([np.full(20, 0.5), np.full(20, 0.5) + RANDOM.normal(0, 0.01, 20)])
    values[1, 7] = 0.1
    planted = Scores(values, ["base", "new"], SCORES.topics)
    result = explore(planted, "new", "base")
    assert result.rows()[0]["topic"] == "q7"
    assert [r["topic"] for r in result.rows() if r["significant"] == "loss"] == ["q7"]
    assert any(note.startswith("1 significant loss: q7") for note in result.notes)


def test_explore_without_spread_says_so() -> None:
    result = explore(SCORES, "base", "base")
    assert {r["tj"] for r in result.rows()} == {None}
    assert any("undefined" in note for note in result.notes)
    assert result.extra()["trisk"] is None


def test_cross_is_urisk_of_all_pairs() -> None:
    result = cross(SCORES, alpha=2)
    for r in result.rows():
        expected = float(risk.urisk(SCORES[r["system"]], SCORES[r["baseline"]], 2))
        assert r["urisk"] == pytest.approx(expected, abs=1e-12)
    for baseline in SYSTEMS:
        ranked = sorted((r for r in result.rows() if r["baseline"] == baseline != r["system"]), key=lambda r: r["rank"])
        assert [r["rank"] for r in ranked] == [1, 2, 3]
        assert [r["urisk"] for r in ranked] == sorted((r["urisk"] for r in ranked), reverse=True)
    assert result.friedman is not None
    scipys = stats.friedmanchisquare(*result.urisk)
    assert (result.friedman.statistic, result.friedman.p) == pytest.approx((scipys.statistic, scipys.pvalue), rel=1e-12)
    assert result.extra()["friedman"]["df"] == 3  # type: ignore[index]


def test_cross_of_two_systems_has_no_friedman() -> None:
    result = cross(SCORES, systems=["one", "two"])
    assert result.friedman is None
    assert result.extra() == {"friedman": None}
    assert list(result.readable().columns) == ["system", "one", "two"]


def test_every_result_becomes_a_frame() -> None:
    for result in (evaluate(SCORES, "base"), explore(SCORES, "one", "base"), cross(SCORES)):
        frame = result.to_frame()
        assert frame.columns == list(result.columns)
        assert len(frame) == len(result)


def test_other_tests_come_as_columns_and_count_all_systems() -> None:
    full = {
        (r["system"], r["alpha"]): r
        for r in evaluate(SCORES, "base", [0, 5], tests=["t", "flip", "max"], correct="holm", n_resamples=99).rows()
    }
    shown = evaluate(
        SCORES, "base", [0, 5], tests=["t", "flip", "max"], correct="holm", n_resamples=99, systems=["two", "one"]
    )
    assert [r["system"] for r in shown.rows()] == ["two", "two", "one", "one"]
    for r in shown.rows():
        assert r == full[r["system"], r["alpha"]]
    assert full["one", 0]["p_t"] == pytest.approx(full["one", 0]["p"])
    assert {"centre", "p_flip", "p_max", "p_flip_holm", "p_holm"} <= set(shown.columns)
    assert "|tests=t,flip,max|n_resamples=99|seed=0|" in shown.signature


def test_highlights_finds_the_best_of_each_alpha_and_what_is_significant() -> None:
    result = evaluate(SCORES, "base", [0, 5], correct="holm")
    highlights = result.highlights()
    for alpha in (0, 5):
        rows = np.flatnonzero(result["alpha"] == alpha)
        others = rows[result["system"][rows] != "base"]
        assert result["mean"][highlights.best["mean"] & (result["alpha"] == alpha)].max() == result["mean"][rows].max()
        assert np.flatnonzero(highlights.best["urisk"] & (result["alpha"] == alpha)).tolist() == [
            others[np.argmax(result["urisk"][others])]
        ]
        assert result["losses"][highlights.best["losses"] & (result["alpha"] == alpha)].min() == min(
            result["losses"][others]
        )
    np.testing.assert_array_equal(highlights.significant["trisk"], result["p_holm"] < 0.05)
    assert highlights.legend == "p < 0.05, holm"
    assert evaluate(SCORES).highlights().significant == {}


def test_papers_get_bold_and_daggers() -> None:
    worse = Scores(np.stack([np.linspace(0.5, 0.9, 20), np.linspace(0.1, 0.6, 20)]), ["base", "worse"], range(20))
    result = evaluate(worse, "base")
    assert "**0.7000**" in render(result, "md")
    assert "†" in render(result, "md")
    assert "\\textbf{0.7000}" in render(result, "latex")
    assert "$^{\\dagger}$" in render(result, "latex")
    assert "† p < 0.05, not corrected" in render(result, "table")
