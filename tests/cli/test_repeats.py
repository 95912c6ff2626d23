"""Repeats on the command line: groups of run files, and tables with a column of trials."""

import json
from pathlib import Path

import pytest

from surefoot.cli import main

QRELS = "".join(f"q{topic} 0 d{document} {document % 2}\n" for topic in range(1, 41) for document in range(1, 5))


def ranking(topic: int, shift: int) -> str:
    return "".join(f"q{topic} Q0 d{1 + (rank + shift * topic) % 4} 1 {9 - rank} t\n" for rank in range(4))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    queries = (f"q{topic}\t{'long ' * (topic % 3)}query\n" for topic in range(1, 41))
    (tmp_path / "queries.tsv").write_text("".join(queries))
    for name, trials in (("new", (1, 2, 10)), ("old", (3, 4))):
        for trial in trials:
            text = "".join(ranking(topic, trial) for topic in range(1, 41))
            (tmp_path / f"{name}.{trial}.run").write_text(text)
    return tmp_path


INPUT = ["--repeats", "new=new.*.run", "--repeats", "old=old.*.run", "--qrels", "qrels.txt"]
PAIR = ["--baseline", "old", "--candidate", "new"]


def rows(captured: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(captured)["rows"]
    return found


@pytest.mark.usefixtures("folder")
def test_groups_of_runs_are_systems(capsys):
    assert main(["evaluate", *INPUT, "--baseline", "old", "--format", "json"]) == 0
    captured = capsys.readouterr().out
    assert [row["system"] for row in rows(captured)] == ["new", "old"]
    assert "new: mean of 3 trials; it differs from itself by" in captured
    grouped = {row["system"]: row["mean"] for row in rows(captured)}
    files = ["new.1.run", "new.2.run", "new.10.run", "old.3.run", "old.4.run"]
    assert main(["evaluate", *files, "--qrels", "qrels.txt", "--format", "json"]) == 0
    single = {row["system"]: row["mean"] for row in rows(capsys.readouterr().out)}
    for name in ("new", "old"):
        own = [mean for system, mean in single.items() if system.startswith(name)]
        assert grouped[name] == pytest.approx(sum(own) / len(own))


@pytest.mark.usefixtures("folder")
def test_patterns_of_one_name_are_put_together_beside_single_runs(capsys):
    given = ["--repeats", "new=new.1.run", "--repeats", "new=new.?.run", "old.3.run", "--qrels", "qrels.txt"]
    assert main(["scores", *given]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("system,topic,trial,nDCG@10\nold.3,q1,1,")
    assert "new: mean of 2 trials" in captured.err
    assert "\nnew,q40,2," in captured.out
    assert "\nnew,q40,3," not in captured.out


def test_scores_are_written_as_they_are_read(folder, capsys):
    assert main(["scores", *INPUT, "-o", "scores.csv"]) == 0
    for given in (INPUT, ["--scores", "scores.csv"]):
        assert main(["explore", *given, *PAIR, "--format", "csv"]) == 0
    one, other = capsys.readouterr().out.split("topic,")[1:]
    assert one == other
    assert "system_se,baseline_se" in one


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command",
    [
        ["explore", *PAIR],
        ["explain", *PAIR, "--queries", "queries.tsv"],
        ["cross"],
        ["agreement", "normality", "--baseline", "old", "--system", "new"],
        ["power", *PAIR[:2], "--system", "new", "--topics", "20", "--n-simulations", "50"],
        ["gate", *PAIR, "--undecided", "warn", "--assessors", "off"],
        ["report", *PAIR, "-o", "report.html"],
        ["figure", "topics", *PAIR[:2], "--system", "new", "-o", "figure.svg"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_takes_runs_takes_repeats(command, capsys):
    assert main([*command, *INPUT]) in (0, 1 if command[0] == "gate" else 0), capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--repeats", "new", "--qrels", "qrels.txt"], "--repeats takes NAME=GLOB, such as new='new.*.run'; got 'new'"),
        (["--repeats", "=new.*.run"], "--repeats takes NAME=GLOB"),
        (["--repeats", "new=nothing.*"], "--repeats new=nothing.*: no file matches"),
        (["--repeats", "new=**.run"], "--repeats new=**.run: no file matches"),
        (["--repeats", f"new={'x' * 5000}"], "no file matches"),
        (["--repeats", "new=new.*.run"], "runs need judgments"),
        (["new.1.run", *INPUT], "new.1.run is named as a run and by --repeats; name it once"),
        (["./new.1.run", *INPUT], "new.1.run is named as a run and by --repeats; name it once"),
        (["--scores", "x.csv", "--repeats", "new=new.*.run"], "give runs with --qrels, or --scores; not both"),
        (["--baseline", "old", "--unjudged", "bounds", *INPUT], "need single rankings; leave out --repeats"),
    ],
)
def test_wrong_repeats_give_one_line(given, problem, capsys):
    assert main(["evaluate", *given]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [["explore", "--documents"], ["explore", "--credible"], ["report", "--credible"]])
def test_documents_are_those_of_single_rankings(command, capsys):
    more = ["-o", "report.html"] if command[0] == "report" else []
    assert main([*command, *INPUT, *PAIR, *more]) == 2
    assert "single rankings; leave out --repeats" in capsys.readouterr().err
