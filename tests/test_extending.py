"""CONTRIBUTING's promise: one more value of each table, and the rest of Surefoot has it."""

import argparse
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import surefoot as sf
from surefoot import cli
from surefoot.cli.options import Command, option
from surefoot.effectiveness import Measure, measures
from surefoot.errors import SurefootError
from surefoot.io import formats
from surefoot.risk import Risk, register, unregister

SCORES = sf.Scores([[0.2, 0.5, 0.4, 0.1], [0.3, 0.1, 0.4, 0.6]], ["old", "new"], ["q1", "q2", "q3", "q4"])
QRELS = {"q1": {"a": 1, "b": 0, "c": 2}}
RUNS = {"old": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}, "new": {"q1": {"c": 3.0, "b": 2.0, "a": 1.0}}}


def test_a_risk_measure_is_a_column_with_an_interval() -> None:
    share = Risk(
        "share_lost",
        needs="baseline",
        higher_is_better=False,
        uses_alpha=False,
        compute=lambda compared, alpha: compared.losses.n / compared.topics,
    )
    register(share)
    try:
        found = sf.evaluate(SCORES, "old", ci="percentile", n_resamples=100)
        assert dict(zip(found["system"], found["share_lost"], strict=True))["new"] == 0.25
        assert {"share_lost_low", "share_lost_high"} <= set(found.columns)
    finally:
        unregister("share_lost")


def test_an_effectiveness_measure_scores_and_explains_rankings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discounted gain without a norm: 2 + 0 / log2(3) + 1 / log2(4) for the ideal order."""
    toy = Measure("ToyDCG", "sum", "linear", "log2")
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, toy))
    scores = sf.score_runs(RUNS, QRELS, "ToyDCG")
    assert scores["new"].tolist() == [2.5]
    assert scores["old"].tolist() == [2.0]
    moves = sf.analysis.document_moves(RUNS["new"], RUNS["old"], QRELS, "ToyDCG")
    assert sum(moves["contribution"]) == pytest.approx(0.5)


def test_a_measure_without_a_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, Measure("Formless")))
    with pytest.raises(SurefootError, match="Formless is computed by ir_measures"):
        sf.analysis.document_moves(RUNS["new"], RUNS["old"], QRELS, "Formless")


def test_a_format_is_read_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(source: formats.Source) -> formats.Content:
        return formats.Content({"q1": dict.fromkeys(source.data.decode().split()[1:], 1.0)})

    toy = formats.Format("toy run", "run", lambda source: source.first.startswith(b"TOY"), read)
    monkeypatch.setattr(formats, "FORMATS", [toy, *formats.FORMATS])
    (tmp_path / "toy.run").write_text("TOY a b c")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    assert (
        cli.main(["scores", str(tmp_path / "toy.run"), "--qrels", str(tmp_path / "qrels.txt"), "--measure", "P@1"]) == 0
    )
    assert "toy" in capsys.readouterr().out


def test_a_command_is_one_declaration(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(arguments: argparse.Namespace) -> int:
        print(json.dumps(arguments.word))
        return 0

    module = SimpleNamespace(COMMANDS={"toy": Command(run, (option("--word", help="a word"),))})
    monkeypatch.setitem(cli.COMMANDS, "toy", (cli.COMPARE, "toy", "say a word"))
    monkeypatch.setitem(sys.modules, "surefoot.cli.toy", module)
    assert cli.main(["toy", "--word", "hello"]) == 0
    assert capsys.readouterr().out == '"hello"\n'
    assert "say a word" in cli.build_parser([]).format_help()
