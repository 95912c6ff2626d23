"""Document moves: both rankings, and contributions that add up to the scores' change."""

import json
from pathlib import Path

import numpy as np
import pytest

from surefoot import SurefootError, read_qrels, read_run, score_runs
from surefoot.analysis import document_moves
from surefoot.cli import main
from surefoot.effectiveness.scoring import Unjudged

QRELS = "q1 0 a 3\nq1 0 b 1\nq1 0 c 0\nq2 0 a 1\n"
OLD = "q1 Q0 a 1 9 o\nq1 Q0 b 2 8 o\nq1 Q0 c 3 7 o\nq2 Q0 a 1 1 o\n"
NEW = "q1 Q0 x 1 9 n\nq1 Q0 b 2 8 n\nq1 Q0 c 3 7 n\nq1 Q0 a 4 6 n\nq2 Q0 a 1 1 n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in {"qrels.txt": QRELS, "old.run": OLD, "new.run": NEW}.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_every_kind_of_move(folder: Path) -> None:
    moves = document_moves(folder / "new.run", folder / "old.run", folder / "qrels.txt", "nDCG@3")
    rows = [tuple(row.values()) for row in moves.rows() if row["topic"] == "q1"]
    loss = -3 / (3 + 1 / np.log2(3))
    assert rows == [
        ("q1", "x", None, 1, "in", None, 0.0),
        ("q1", "b", 2, 2, "same", 1, 0.0),
        ("q1", "c", 3, 3, "same", 0, 0.0),
        ("q1", "a", 1, 4, "out", 3, pytest.approx(loss)),
    ]
    assert [one.topic for one in moves.topics] == ["q1", "q2"], "the worst first"
    assert moves.topics[0].delta == pytest.approx(loss)
    assert moves.topics[0].largest(-1)[0].document == "a"
    assert moves.notes == ("1 unjudged document counted as not relevant",)
    assert moves.signature.startswith("documents|measure=nDCG@3|system=new|baseline=old|depth=3|topics=2|")


def test_beyond_the_cutoff_is_out_even_if_listed(folder: Path) -> None:
    moves = document_moves(folder / "new.run", folder / "old.run", folder / "qrels.txt", "P@3", depth=10)
    assert {row["document"]: row["change"] for row in moves.rows() if row["topic"] == "q1"}["a"] == "out"
    deep = document_moves(folder / "new.run", folder / "old.run", folder / "qrels.txt", "AP", depth=1, topics=["q1"])
    assert [(move.document, move.change) for move in deep.topics[0].moves] == [("x", "in"), ("a", "out")]


def test_texts_become_columns(folder: Path) -> None:
    moves = document_moves(
        folder / "new.run", folder / "old.run", folder / "qrels.txt", queries={"q1": "what"}, texts={"a": "an answer"}
    )
    row = next(row for row in moves.rows() if row["document"] == "a")
    assert (row["query"], row["text"]) == ("what", "an answer")


@pytest.mark.parametrize("unjudged", ["zero", "skip"])
@pytest.mark.parametrize("measure", ["nDCG@10", "ERR@20", "AP(rel=2)", "RR@10", "P@10", "R@50", "RBP(p=0.8)"])
def test_real_runs_add_up_to_their_scores(data: Path, measure: str, unjudged: Unjudged) -> None:
    folder = data / "trec-dl-2019"
    names = ["maik-froebe-colbert", "colbert_rankgpt4."]
    paths = [next((folder / "runs").glob(f"{name}*")) for name in names]
    qrels = read_qrels(folder / "qrels.txt")
    scores = score_runs(paths, qrels, measure, unjudged=unjudged)
    old, new = map(read_run, paths)
    moves = document_moves(new, old, qrels, measure, unjudged=unjudged)
    assert ("skip" in moves.signature) == (unjudged == "skip") == (None not in moves["grade"])
    for one in moves.topics:
        column = scores.topics.index(one.topic)
        delta = scores.values[1, column] - scores.values[0, column]
        assert sum(move.contribution for move in one.moves) == pytest.approx(delta, abs=1e-12)
        assert one.system_score == pytest.approx(scores.values[1, column], abs=1e-12)
        assert one.delta == pytest.approx(delta, abs=1e-12)


def test_mistakes_are_said(folder: Path) -> None:
    paths = folder / "new.run", folder / "old.run", folder / "qrels.txt"
    for options, message in (({"topics": ["q9"]}, "no judgments of topic q9"), ({"depth": 0}, "at least 1")):
        with pytest.raises(SurefootError, match=message):
            document_moves(*paths, **options)  # type: ignore[arg-type]
    with pytest.raises(SurefootError, match="Bpref is computed by ir_measures"):
        document_moves(*paths, "Bpref")


def explored(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    runs = [str(folder / "old.run"), str(folder / "new.run")]
    words = ["explore", *runs, "--qrels", str(folder / "qrels.txt"), "--system", "new", *options]
    code = main(words if "--baseline" in options else [*words, "--baseline", "old"])
    found = capsys.readouterr()
    return found.out if code == 0 else f"{code} {found.err}"


def test_the_command_prints_both_rankings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "queries.tsv").write_text("q1\twhat is a tie\n")
    (folder / "docs.tsv").write_text("a\tA tie is\x1b[31m worn.\nz\tOther\n")
    texts = "--queries", str(folder / "queries.tsv"), "--documents-text", str(folder / "docs.tsv")
    shown = explored(folder, capsys, "--documents", "--top", "1", "--measure", "nDCG@3", *texts)
    lines = shown.splitlines()
    assert lines[0] == "q1  what is a tie"
    assert lines[1] == "  nDCG@3 1.0000 -> 0.1738 (-0.8262)"
    assert lines[3] == "  cost    a (grade 3) went out from 1 to 4: -0.8262"
    assert lines[4] == "          A tie is\ufffd[31m worn."
    assert lines[6].split() == ["rank", "old", "grade", "now", "new", "grade", "was"]
    assert lines[7].split() == ["1", "a", "3", "↓4", "-0.8262", "x", "?", "new"]
    assert "q2" not in shown.split("grade ?:")[0]


def test_the_command_writes_rankings_and_rows_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--documents", "--top", "1", "--measure", "nDCG@3"
    shown = explored(folder, capsys, *words)
    assert explored(folder, capsys, *words, "-o", str(folder / "moves.txt")) == ""
    assert (folder / "moves.txt").read_text() == shown
    assert explored(folder, capsys, *words, "-o", str(folder / "moves.json")) == ""
    assert json.loads((folder / "moves.json").read_text())["rows"][0]["topic"] == "q1"


def test_the_command_gives_rows_and_picks_topics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(explored(folder, capsys, "--documents", "--topics", "q2", "--format", "json"))
    assert [(row["topic"], row["document"], row["change"]) for row in found["rows"]] == [("q2", "a", "same")]
    assert explored(folder, capsys, "--top", "1", "--format", "csv").splitlines()[1].startswith("q1,")
    assert len(explored(folder, capsys, "--topics", "q2,q1", "--format", "csv").splitlines()) == 3


def test_documents_come_with_the_doubts_about_their_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = "--documents", "--credible", "--unjudged", "bounds", "--topics", "q1"
    lines = explored(folder, capsys, *asked).splitlines()
    assert lines[2].startswith("  p_loss ")
    assert "for another assessor" in lines[2]
    assert lines[3].startswith("  over all grades of unjudged documents ")
    rows = json.loads(explored(folder, capsys, *asked, "--format", "json"))["rows"]
    alone = json.loads(
        explored(folder, capsys, "--credible", "--unjudged", "bounds", "--topics", "q1", "--format", "json")
    )["rows"][0]
    names = ("p_loss", "low", "high", "credible", "delta_low", "delta_high")
    assert {tuple(row[name] for name in names) for row in rows} == {tuple(alone[name] for name in names)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--documents", "--baseline", "MEAN"], "no run of MEAN; name two of the runs, such as"),
        (["--documents", "--topics", "q9"], "no topic q9; there are q1, q2"),
        (["--topics", "q9"], "no topic q9; there are q1, q2"),
        (["--topics", "q1", "--top", "3"], "give --top or --topics, not both"),
        (["--top", "0"], "--top must be at least 1"),
        (["--documents", "--documents-text", "nowhere.tsv"], "nowhere.tsv: no such file"),
        (["--documents", "--measure", "Bpref"], "Bpref is computed by ir_measures"),
        (["--documents", "--credible", "--unjudged", "skip"], "leave out --unjudged skip"),
    ],
)
def test_the_command_says_mistakes(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    found = explored(folder, capsys, *options)
    assert found.startswith("2 ")
    assert message in found
