"""Columns asked for by name: ranks, jackknife errors, correlation."""

from pathlib import Path

import numpy as np
import pytest

from surefoot import evaluate, risk
from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.scores import Scores
from surefoot.stats.inference import jackknife
from surefoot.stats.ranks import correlation

SCORES = Scores(np.random.default_rng(5).random((6, 25)), "abcdef", range(25))


def test_extra_columns_follow_the_standard_ones() -> None:
    found = evaluate(SCORES, "a", [0, 5], extra=["rank_urisk", "correlation"], correct="holm")
    assert list(found.columns)[-4:] == ["loss20", "correlation", "rank_urisk", "p_holm"]


def test_the_command_adds_what_its_columns_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("topic,a,b\nq1,0.1,0.3\nq2,0.5,0.2\nq3,0.4,0.3\n")
    columns = "system,rank_urisk,correlation"
    assert main(["evaluate", "--scores", str(table), "--baseline", "a", "--columns", columns, "--format", "csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith(columns)
    assert rows[1].startswith("b,1,")


def test_correlation_is_that_with_the_baseline() -> None:
    found = evaluate(SCORES, "a", extra=["correlation"])
    np.testing.assert_allclose(found["correlation"], correlation(SCORES.values, SCORES["a"]), rtol=1e-10)
    flat = Scores([[0.5] * 4, [0.1, 0.2, 0.3, 0.4]], ["flat", "b"], range(4))
    assert np.isnan(evaluate(flat, "b", extra=["correlation"])["correlation"][0])
    with_interval = evaluate(SCORES, "a", extra=["correlation"], ci="percentile", n_resamples=50)
    assert (with_interval["correlation_low"] <= with_interval["correlation_high"]).all()


@pytest.mark.parametrize("alpha", [0, 5])
def test_ranks_run_over_all_systems_whichever_are_shown(alpha: float) -> None:
    found = evaluate(SCORES, "a", alpha, extra=["urisk", "rank_urisk", "rank_frisk", "rank_georisk"])
    others = found["urisk"][1:]
    assert found["rank_urisk"].tolist() == [None, *(1 + int((others > own).sum()) for own in others)]
    best = np.argmin(evaluate(SCORES, "a", alpha)["frisk"][1:]) + 1
    assert found["rank_frisk"][best] == 1
    few = evaluate(SCORES, "a", alpha, systems=["d", "b"], extra=["rank_urisk"])
    assert few["rank_urisk"].tolist() == [found["rank_urisk"][3], found["rank_urisk"][1]]


@pytest.mark.parametrize("value", ["linear", "monotone"])
def test_jackknife_errors_are_those_of_the_jackknife(value: str) -> None:
    names = ["se", "se_jackknife_urisk", "se_jackknife_georisk"]
    found = evaluate(SCORES, "a", [0, 5], extra=names, value=value)
    np.testing.assert_allclose(found["se_jackknife_urisk"], found["se"], rtol=1e-10)
    if value == "linear":
        slow = jackknife(lambda x: np.moveaxis(risk.georisk(x, [0, 5]), 0, -1), SCORES.values).se
        np.testing.assert_allclose(found["se_jackknife_georisk"], slow.ravel(), rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "said"), [("rank_se", "no better and worse"), ("rank_nonsense", "no measure"), ("urisc", "urisk")]
)
def test_unknown_columns_are_refused(name: str, said: str) -> None:
    with pytest.raises(SurefootError, match=said):
        evaluate(SCORES, "a", extra=[name])


def test_the_effect_does_not_grow_with_the_number_of_topics() -> None:
    """The same topics four times over: T_Risk doubles, the effect stays but for c - 1."""
    many = Scores(np.tile(SCORES.values, 4), SCORES.systems, range(100))
    once, more = (evaluate(scores, "a", 5, extra=["effect"]) for scores in (SCORES, many))
    ratio = np.sqrt((1 - 1 / 100) / (1 - 1 / 25))
    np.testing.assert_allclose(more["effect"][1:], once["effect"][1:] * ratio, rtol=1e-10)
    np.testing.assert_allclose(more["trisk"][1:], 2 * once["trisk"][1:] * ratio, rtol=1e-10)


def test_a_terminal_shows_eight_columns_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    from surefoot import Scores, evaluate
    from surefoot.show import render

    scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5], [0.1, 0.1, 0.9]], ["a", "b", "c"], ["q1", "q2", "q3"])
    result = evaluate(scores, "a", [0, 1])
    header = render(result).splitlines()[0].split()
    assert header == ["system", "alpha", "mean", "urisk", "trisk", "p", "losses", "loss20"]
    assert "with --columns all: baseline, frisk" in render(result, width=1000)
    judged = Scores(scores.values, scores.systems, scores.topics, judged=[[0.5, 1.0, 1.0]] * 3)
    shown = render(evaluate(judged, "a", [0, 1])).splitlines()[0].split()
    assert sorted(shown) == sorted(["judged@k", *(name for name in header if name != "trisk")])
    assert "georisk" in render(result, columns=["all"])
    assert len(render(result, "csv").splitlines()[0].split(",")) == len(result.columns) + 1
    asked = render(evaluate(scores, "a", tail=0.5, ci="jackknife", correct="holm")).splitlines()[0].split()
    assert {"tail_0.5", "zrisk", "zrisk_low", "georisk_high", "p_holm"} <= set(asked)
    without = evaluate(scores)
    assert render(without).splitlines()[0].split() == list(without.columns)
    per_system = evaluate(scores, {"a": "b", "b": "a", "c": "a"})
    assert "baseline" in render(per_system).splitlines()[0]


def test_a_long_table_says_how_to_narrow_it() -> None:
    from surefoot import Scores, evaluate
    from surefoot.show import render

    many = Scores([[i / 40, 0.5, 0.1] for i in range(40)], [f"s{i}" for i in range(40)], ["q1", "q2", "q3"])
    assert "120 rows: show fewer with --systems" in render(evaluate(many, "s0", [0, 1, 5]), width=1000)
    assert "rows: show fewer" not in render(evaluate(many, "s0"), width=1000)
