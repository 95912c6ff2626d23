"""What once went wrong silently, or could: each of these gave a wrong or misleading answer."""

import bz2
import copy
import lzma
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot import Scores, SurefootError, cross, evaluate, explore, risk
from surefoot.cli import main
from surefoot.io.files import read_bytes
from surefoot.io.tables import read_scores
from surefoot.risk import Linear, Smooth
from surefoot.show.tables import render
from surefoot.stats import inference
from surefoot.stats.ranks import friedman

RANDOM = np.random.default_rng(17)
SCORES = Scores(RANDOM.random((5, 12)), ["base", "a", "b", "c", "d"], range(12))


@pytest.mark.parametrize("step", [0.0001, 0.1, 1e-7])
def test_constant_differences_have_no_test(step: float) -> None:
    base = RANDOM.random(50).round(4)
    found = inference.t_inference(base + step, base, [0, 1, 5])
    assert np.isnan(found.trisk).all()
    assert np.isnan(found.low).all()
    assert np.isnan(inference.topic_inference(base + step, base).tj).all()
    assert np.isnan(inference.t_inference(base - step, base, [0, 1, 5]).p).all()


def test_small_but_real_spread_is_tested() -> None:
    base = RANDOM.random(50).round(4)
    better = base.copy()
    better[:25] += 0.0001
    assert inference.t_inference(better, base, 0).p < 0.001


def test_scores_can_not_be_changed() -> None:
    frame = pd.DataFrame(RANDOM.random((2, 3)))
    view = RANDOM.random((2, 3))
    read_only = view[:]
    read_only.flags.writeable = False
    for source in (frame.to_numpy(), frame, read_only, memoryview(RANDOM.random((2, 3)))):
        scores = Scores(source, ["a", "b"], "xyz")
        before = scores.values.copy()
        frame.iloc[0, 0] = 99.0
        view[0, 0] = 99.0
        np.testing.assert_array_equal(scores.values, before)
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            scores.values.flags.writeable = True
        for twin in (pickle.loads(pickle.dumps(scores)), copy.deepcopy(scores), copy.copy(scores)):
            with pytest.raises(ValueError, match="read-only"):
                twin.values[0, 0] = 1.0


def test_a_correction_counts_all_systems_whichever_are_shown() -> None:
    full = {row["system"]: row for row in evaluate(SCORES, "base", correct="bonferroni").rows()}
    shown = evaluate(SCORES, "base", systems=["c", "a"], correct="bonferroni").rows()
    assert [row["system"] for row in shown] == ["c", "a"]
    assert all(row == full[row["system"]] for row in shown)
    assert full["a"]["p_bonferroni"] == pytest.approx(min(1, 4 * full["a"]["p"]))


def test_an_alpha_named_twice_counts_once() -> None:
    assert len(evaluate(SCORES, "base", [1, 1, 5], correct="bonferroni")) == 10


def test_nan_and_infinity_are_refused_by_zrisk() -> None:
    for wrong in (np.nan, np.inf):
        with pytest.raises(SurefootError, match="finite scores of 0 or more"):
            risk.zrisk([[1.0, wrong], [1.0, 2.0]])


def test_tail_of_one_system_against_several_baselines() -> None:
    system, baselines = np.array([0.1, 0.9]), np.array([[0.3, 0.5], [0.1, 0.1]])
    np.testing.assert_allclose(risk.tail(system, baselines, 0.5), [-0.2, 0.0])


def test_ratios_are_infinite_without_losses_and_undefined_without_either() -> None:
    assert risk.win_loss([0.5, 0.5], [0.1, 0.5]) == np.inf
    assert np.isnan(risk.win_loss([0.5], [0.5]))
    assert risk.reward_risk([0.5, 0.2], [0.1, 0.4]) == pytest.approx(2.0)


def test_a_system_called_system_keeps_its_name_in_the_cross_table() -> None:
    scores = SCORES.rename({"a": "system"})
    assert next(iter(cross(scores).readable().columns)) == "system_"
    assert "system" in cross(scores).readable().columns["system_"]


def test_smooth_values_of_cross_are_fitted_to_the_differences_of_pairs() -> None:
    close = Scores(0.4 + 0.1 * RANDOM.random((3, 12)), "abc", range(12))
    pairs = np.array([x - y for x in close.values for y in close.values if x is not y])
    family = Smooth.fitted([d for d in pairs if d.any()])
    np.testing.assert_allclose(
        cross(close, value="smooth").urisk[0, 1], risk.urisk(close["a"], close["b"], 1, family), rtol=1e-12
    )


def test_friedman_of_ties_is_undefined_not_insignificant() -> None:
    same = Scores(np.ones((3, 4)), "abc", range(4))
    assert np.isnan(friedman(np.ones((3, 4))).p)
    assert "undefined" in cross(same).notes[-1]


def test_expectations_beyond_one_do_not_stop_smooth_values() -> None:
    values = np.full((3, 8), 0.05)
    values[:2, 0], values[2], values[2, 0] = 1.0, 0.9, 0.0
    assert risk.expected(values)[2, 0] > 1
    assert np.isfinite(risk.zrisk(values, 1, Smooth)).all()


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_damage_in_a_second_stream_is_noticed(pack: object, tmp_path: Path) -> None:
    one, two = pack(b"first\n" * 50), bytearray(pack(b"second\n" * 50))  # type: ignore[operator]
    path = tmp_path / "two"
    path.write_bytes(one + two)
    assert read_bytes(path) == b"first\n" * 50 + b"second\n" * 50
    two[len(two) // 2] ^= 0xFF
    path.write_bytes(one + two)
    with pytest.raises(SurefootError, match="truncated or damaged"):
        read_bytes(path)
    path.write_bytes(one + b"junk")
    with pytest.raises(SurefootError, match="truncated or damaged"):
        read_bytes(path)


def test_blank_lines_after_the_header_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a\n\n\nq1,0.5\n\nq2,x\n")
    with pytest.raises(SurefootError, match=r"s\.csv:6: "):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("topic,a\n\n\nq1,0.5\n\nq2,0.25\n")
    assert read_scores(tmp_path / "s.csv")["a"].tolist() == [0.5, 0.25]


def test_a_wide_table_may_have_a_system_called_run(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,bm25,run\nq1,0.5,0.25\n")
    assert read_scores(tmp_path / "s.csv").systems == ("bm25", "run")


def test_hostile_names_do_not_break_markdown_or_latex() -> None:
    scores = SCORES.rename({"a": "p|q", "b": "[x]", "c": "<b>*"})
    header = render(cross(scores).readable(), "md").splitlines()[0]
    assert header.count("|") == 7
    assert "&#60;b&#62;" in header
    assert "\n{[}x]" in render(evaluate(scores, "base"), "latex")


def test_results_compare_by_identity() -> None:
    result = evaluate(SCORES, "base")
    assert result != evaluate(SCORES, "base")
    assert len({result}) == 1
    with pytest.raises(ValueError, match="read-only"):
        result["urisk"][0] = 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(SCORES, "base", value=Smooth(alpha=1)), "value takes a family of functions"),
        (lambda: evaluate(SCORES, "base", value=Linear(1)), "value takes a family of functions"),
        (lambda: evaluate(SCORES, "base", alpha=[]), "alpha must be"),
        (lambda: evaluate(SCORES, "base", alpha="x"), "alpha must be"),
        (lambda: evaluate(SCORES, "base", alpha=[[1, 2]]), "alpha must be"),
        (lambda: evaluate(SCORES, "base", alpha=1e300), "alpha must be"),
        (lambda: evaluate([]), "no scores to evaluate"),
        (lambda: explore(SCORES, "a", "base", alpha=[1, 2]), "one alpha is needed"),
        (lambda: cross(SCORES, alpha=[1, 2]), "one alpha is needed"),
        (lambda: SCORES.baseline("MEAN", over=[]), "at least one system"),
        (lambda: Scores([["x"]], ["a"], ["q"]), "scores must be numbers"),
        (lambda: Scores([[1.0], [1.0, 2.0]], ["a", "b"], ["q"]), "scores must be numbers"),
        (lambda: Scores([[1e300]], ["a"], ["q"]), "at most 1e\\+100"),
        (lambda: Scores.from_dict({"a": {"q": "x"}}), "scores of system 'a' must be numbers"),
        (lambda: inference.topic_inference([[0.1]], [0.1]), "one system and one baseline"),
    ],
)
def test_misuse_is_said_in_one_line(call: object, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        call()  # type: ignore[operator]


def test_a_single_name_is_not_taken_letter_by_letter() -> None:
    assert evaluate(SCORES, "base", systems="a").columns["system"].tolist() == ["a"]
    assert "population=base" in evaluate(SCORES, "base", population="base").signature
    assert evaluate(SCORES, "base", tail=0.25).columns["tail_0.25"].size == 5


def test_a_full_disk_and_a_plain_terminal_are_no_tracebacks(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b\nq1,0.5,0.25\n")
    command = [sys.executable, "-m", "surefoot", "evaluate", "--scores", "s.csv", "--baseline", "a"]
    plain = subprocess.run(
        command, cwd=tmp_path, capture_output=True, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, check=True
    )
    assert plain.stderr == b""
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            found = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
        assert found.returncode == 2
        assert found.stderr.count(b"\n") == 1


def test_names_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scores", "\x1b[31mred.csv"]) == 2
    assert "\x1b" not in capsys.readouterr().err
