"""surefoot tradeoff, as users type it."""

import csv
import json
from pathlib import Path

import pytest

from surefoot.cli import main
from surefoot.io.tables import read_scores

SMALL = ["--baseline", "feature:1", "--trees", "3", "--leaves", "4", "--docs-per-leaf", "5", "--threads", "1",
         "--n-resamples", "50"]  # fmt: skip


def test_a_curve_with_its_folder(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "tradeoff",
        *files,
        *SMALL,
        "--alpha",
        "2",
        "--select",
        "max:1",
        "-o",
        str(tmp_path / "out"),
        "--format",
        "json",
    ]
    assert main(words) == 0
    first = capsys.readouterr()
    result = json.loads(first.out)
    assert [row["alpha"] for row in result["rows"]] == [0, 2]
    assert first.err == "training alpha-0\ntraining alpha-2\n"
    kept = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert kept == [
        "alpha-0",
        "alpha-2",
        "churn-bins.csv",
        "churn.csv",
        "disagreement.csv",
        "feature.csv",
        "scores.csv",
        "selector.csv",
        "thresholds.csv",
        "tradeoff.csv",
        "tradeoff.json",
        "train-scores.csv",
        "valid-disagreement.csv",
        "valid-feature.csv",
        "valid-scores.csv",
    ]
    scores = read_scores(tmp_path / "out" / "scores.csv")
    assert scores.systems == ("feature:1", "alpha=0", "alpha=2")
    assert scores["alpha=2"].mean() == pytest.approx(result["rows"][1]["mean"])
    history = list(csv.DictReader((tmp_path / "out" / "alpha-2" / "history.csv").read_text().splitlines()))
    assert [row["iteration"] for row in history] == ["1", "2", "3"]
    assert main(words) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert second.err == ""


def test_a_table_without_a_folder(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tradeoff", *files, *SMALL, "--alpha", "1"]) == 0
    assert "ugain 95 %" in capsys.readouterr().out
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".txt"] * 3


def test_a_search(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "tradeoff",
        *files,
        *SMALL,
        "--alpha",
        "2",
        "--search",
        "3",
        "--give-up",
        "20",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main([*words, "--format", "md"]) == 0
    shown = capsys.readouterr().out
    assert "- validation: " in shown
    assert "- test: " in shown
    assert "give_up=0.2" in shown
    assert (tmp_path / "out" / "search.json").exists()
    assert main(["figure", "front", str(tmp_path / "out"), "-o", str(tmp_path / "front.svg")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--alpha", "1"], "give them with --test FILE"),
        (["--search", "3"], "give them with --valid FILE"),
        (["--search", "3", "--select", "max:1"], "leave it out of a search"),
        (["--objective", "lambdamart"], "lambdamart has no alpha"),
        (["--select", "best:1"], "max, min, mean"),
    ],
)
def test_mistakes_are_said_in_one_line(
    words: list[str], said: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if "--test FILE" in said:
        files = files[:4]
    if "--valid FILE" in said:
        files = [*files[:2], *files[4:]]
    assert main(["tradeoff", *files, *SMALL, *words]) == 2
    error = capsys.readouterr().err.splitlines()
    assert said in error[-1]
    assert error[-1].startswith("surefoot tradeoff: ")


def test_a_baseline_must_be_named(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["tradeoff", *files])
    assert stopped.value.code == 2
    assert "--baseline" in capsys.readouterr().err


def test_a_file_of_scores_belongs_to_one_set(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All sets have as many documents here, which must not be enough to take one file for all of them."""
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.scores").write_text("\n".join(str(i % 5) for i in range(320)) + "\n")
    typed = ["tradeoff", *files, *SMALL[2:], "--alpha", "2", "--format", "csv"]
    typed += ["--baseline", f"scores:{tmp_path / 'train.scores'}"]
    for more, queries in (
        ([], "test"), (["--test-baseline", f"scores:{tmp_path / 'test.scores'}"], "validation"),
    ):  # fmt: skip
        assert main([*typed, *more]) == 2
        assert f"give that of the {queries} queries too" in capsys.readouterr().err
    own = [f"--{name}-baseline=scores:{tmp_path / name}.scores" for name in ("valid", "test")]
    assert main([*typed, *own]) == 0
    assert "baseline=train.scores" not in capsys.readouterr().out
