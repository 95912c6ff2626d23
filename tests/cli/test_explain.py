"""The command explain."""

import json
from pathlib import Path

import pytest

from surefoot.cli import main
from surefoot.io import read_segments
from tests.analysis.test_explain import planted


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    scores, queries = planted()
    scores.to_frame().write_csv(tmp_path / "scores.csv")
    (tmp_path / "queries.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in queries.items()))
    (tmp_path / "documents.tsv").write_text("d1\tsky and stone\nd2\tsky 42\n")
    pair = ["--candidate", "new", "--baseline", "old"]
    return ["explain", "--scores", str(tmp_path / "scores.csv"), *pair, "--queries", str(tmp_path / "queries.tsv")]


def test_words_and_segments(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "segments.csv"
    assert main([*files, "--n-resamples", "499", "-o", str(output)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "queries with a number" in out
    assert "% of queries," in out
    segments = read_segments(output)
    assert len(segments) == 240
    assert set(segments.values()) >= {"queries with a number", "all other queries"}
    rest = [word for word in files[1:] if word not in ("--queries", files[-1])]
    assert main(["gate", *rest, "--segments", str(output)]) in (0, 1)
    assert main([*files, "-o", str(output)]) == 2
    assert "exists; name another" in capsys.readouterr().err


def test_json_and_rare_words_of_documents(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--documents-text", str(tmp_path / "documents.tsv")]
    assert main([*files, *texts, "--n-resamples", "499", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["group"] == "queries with a number"
    assert found["rows"][0]["confirmed"] is True
    assert main([*[word for word in files if word not in files[-2:]], *texts]) == 2
    assert "add the queries with --queries" in capsys.readouterr().err


def test_runs_give_features_of_rankings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The candidate puts the relevant document last where its ranking has nothing in common with the baseline's."""
    old, new, judged = [], [], []
    for topic in range(60):
        judged.append(f"q{topic} 0 d0 1\nq{topic} 0 z 0\n")
        other = topic % 4 == 0
        for rank in range(12):
            old.append(f"q{topic} Q0 d{rank} {rank} {20 - rank + topic / 100} x\n")
            document = f"d{rank}" if not other or rank == 11 else f"e{rank}"
            new.append(f"q{topic} Q0 {'d0' if other and rank == 11 else document} {rank} {20 - rank} x\n")
    for name, lines in (("old.run", old), ("new.run", new), ("qrels.txt", judged)):
        (tmp_path / name).write_text("".join(lines))
    runs = [str(tmp_path / "old.run"), str(tmp_path / "new.run"), "--qrels", str(tmp_path / "qrels.txt")]
    assert main(["explain", *runs, "--candidate", "new", "--baseline", "old", "--n-resamples", "199"]) == 0
    assert "queries whose rankings share none of the first 10 documents" in capsys.readouterr().out
    assert main(["explain", *runs, "--candidate", "new", "--baseline", "MEAN", "--n-resamples", "199"]) == 0
