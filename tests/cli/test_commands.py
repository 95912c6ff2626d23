"""The commands as users type them: words, formats, exit codes, one clear line for what is wrong."""

import argparse
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.cli import COMMANDS, GROUPS, build_parser, installed_commands, main
from surefoot.cli.options import Once

COLUMNS = "system baseline alpha mean urisk frisk freward trisk se p zrisk georisk wins losses ties loss20".split()
TABLE = "topic,old,new,other\nq1,0.2,0.3,0.25\nq2,0.4,0.1,0.40\nq3,0.4,0.5,0.35\nq4,0.1,0.1,0.30\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 1\n"


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "old.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq2 Q0 d3 1 9 t\nq2 Q0 d1 2 8 t\n")
    (tmp_path / "new.run").write_text("q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 d1 1 9 t\n")
    return [str(tmp_path / "old.run"), str(tmp_path / "new.run"), "--qrels", str(tmp_path / "qrels.txt")]


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_evaluate_csv_has_the_promised_columns(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scores", table, "--baseline", "old", "--alpha", "0,5", "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    rows = csv_rows(out)
    assert list(rows[0]) == [*COLUMNS, "signature"]
    assert [(row["system"], row["alpha"]) for row in rows[:4]] == [
        ("old", "0"),
        ("old", "5"),
        ("new", "0"),
        ("new", "5"),
    ]
    assert (rows[0]["trisk"], rows[0]["p"]) == ("", "")
    assert float(rows[2]["urisk"]) == pytest.approx(-0.025)
    assert "not consistent" in err


def test_evaluate_json_is_one_object(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", "--scores", table, "--baseline", "MEAN", "--measure", "nDCG@10", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["signature"].startswith("evaluate|measure=nDCG@10|baseline=MEAN|alpha=1|")
    assert list(found["rows"][0]) == COLUMNS
    measure, few = found["notes"]
    assert measure == "scores does not name its measure; it is taken to be nDCG@10, as requested"
    assert few.startswith("p at alpha below 5 is too small on few topics")


@pytest.mark.parametrize("layout", ["table", "md", "latex"])
def test_evaluate_for_readers_is_sorted_and_signed(table: str, layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", "--scores", table, "--baseline", "old", "--format", layout])
    out = capsys.readouterr().out
    assert out.index("other") < out.index("new ")
    assert "evaluate|measure=score|baseline=old|alpha=1|population=all(3)|topics=4|surefoot=" in out


def test_evaluate_options_add_columns(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tail", "0.25,0.5", "--geometric", "--minus", "--ci", "t", "--correct", "bh", "--systems", "new"]
    assert main(["evaluate", "--scores", table, "--baseline", "old", "--format", "csv", *words]) == 0
    (row,) = csv_rows(capsys.readouterr().out)
    extra = (
        "tail_0.25 tail_0.5 gmean urisk_low urisk_high uminus tminus zminus geominus geominus_published p_bh".split()
    )
    assert list(row) == [*COLUMNS, *extra, "signature"]
    assert float(row["tail_0.25"]) == pytest.approx(-0.3)


def test_evaluate_by_segments_shows_the_hidden_one_first(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "segments.csv").write_text("topic,segment,language\nq1,head,en\nq2,tail,de\nq3,head,en\nq4,tail,de\n")
    words = ["--scores", table, "--baseline", "old", "--segments", str(tmp_path / "segments.csv"), "--format", "csv"]
    assert main(["evaluate", *words, "--segment-by", "language", "--systems", "new"]) == 0
    rows = csv_rows(capsys.readouterr().out)
    assert [(row["segment"], row["topics"]) for row in rows] == [("de", "2"), ("en", "2")]
    assert "p_holm" in rows[0]


def test_evaluate_takes_a_baseline_for_each_system(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.csv").write_text("system,baseline\nnew,old\nother,new\nold,MAX\n")
    assert main(["evaluate", "--scores", table, "--baseline-map", str(tmp_path / "map.csv"), "--format", "csv"]) == 0
    assert [row["baseline"] for row in csv_rows(capsys.readouterr().out)] == ["MAX", "old", "new"]


def test_evaluate_runs_with_several_measures(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--measure", "RR", "--measure", "P@2", "--baseline", "old", "--format", "csv"]
    assert main(["evaluate", *runs, *words]) == 0
    rows = csv_rows(capsys.readouterr().out)
    found = {(row["measure"], row["system"]): float(row["mean"]) for row in rows}
    assert found == {("RR", "old"): 1.0, ("RR", "new"): 0.75, ("P@2", "old"): 0.75, ("P@2", "new"): 0.5}


@pytest.mark.parametrize(
    ("mode", "refused"),
    [
        ("--segments segments.csv", ["--letters", "--side-by-side", "--unjudged bounds", "--loses-on 0"]),
        ("--bayes", ["--tests flip", "--llm-qrels llm.qrels", "--n-resamples 10", "--baseline new", "--letters"]),
        ("--stream", ["--bayes", "--letters", "--value smooth", "--systems new", "--qrels qrels.txt"]),
    ],
)
def test_what_a_mode_of_evaluate_would_ignore_is_refused(
    mode: str, refused: list[str], table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in refused:
        assert main(["evaluate", "--scores", table, "--baseline", "old", *mode.split(), *option.split()]) == 2
        flag = mode.split()[0]
        expected = f"{flag} takes one --baseline" if "baseline" in option else f"{flag} can't be combined with {option}"
        message = capsys.readouterr().err.strip().removeprefix("surefoot evaluate: ")
        assert message in (expected, expected.rpartition(" ")[0])


def test_an_option_of_a_mode_is_refused_without_it(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    for option, mode in (("--loses-on 40", "--bayes"), ("--segment-by kind", "--segments")):
        assert main(["evaluate", "--scores", table, "--baseline", "old", *option.split()]) == 2
        assert capsys.readouterr().err == f"surefoot evaluate: {option.split()[0]} belongs to {mode}: add it\n"


def test_runs_default_to_ndcg_at_ten(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", *runs, "--format", "json"])
    assert "measure=nDCG@10" in json.loads(capsys.readouterr().out)["signature"]


def test_a_run_may_come_from_standard_input(runs: list[str]) -> None:
    text = Path(runs[1]).read_bytes()
    command = [sys.executable, "-m", "surefoot", "evaluate", "-", *runs[2:], "--measure", "RR", "--format", "csv"]
    found = subprocess.run(command, input=text, capture_output=True, check=True)
    assert [row["system"] for row in csv_rows(found.stdout.decode())] == ["stdin"]


def test_explore_prints_the_promised_columns(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--system", "new", "--baseline", "old", "--alpha", "5", "--format", "csv"]
    assert main(["explore", "--scores", table, *words]) == 0
    out, err = capsys.readouterr()
    rows = csv_rows(out)
    assert list(rows[0]) == "topic system_score baseline_score delta x z tr tj significant signature".split()
    assert rows[0]["topic"] == "q2"
    assert "T_Risk" in err


def test_cross_prints_pairs_and_a_matrix(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cross", "--scores", table, "--alpha", "10", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["rows"][0]) == ["system", "baseline", "alpha", "urisk", "rank"]
    assert set(found["friedman"]) == {"statistic", "df", "p", "w"}
    assert main(["cross", "--scores", table, "--alpha", "10"]) == 0
    assert "(1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate"], "nothing to read: give run files with --qrels, or a table with --scores"),
        (["evaluate", "a.run"], "runs need judgments: give them with --qrels FILE"),
        (["evaluate", "a.run", "--scores", "b.csv"], "give runs with --qrels, or --scores; not both"),
        (["evaluate", "--scores", "nowhere.csv"], "nowhere.csv: no such file"),
        (["evaluate", "a.run", "--qrels", "q", "--missing", "drop"], "--missing is for --scores; a query that a run"),
        (["evaluate", "--scores", "TABLE", "--ties", "trec_eval"], "--ties is for runs; leave it out with --scores"),
        (["explore", "--scores", "TABLE", "--system", "new", "--baseline", "old", "--unjudged", "skip"], "is for runs"),
        (["evaluate", "--scores", "TABLE", "--baseline", "x"], "no baseline 'x'; there are new, old, other, and MEAN"),
        (["evaluate", "--scores", "TABLE", "--baseline", "old", "--baseline-map", "m"], "not both"),
        (["evaluate", "--scores", "TABLE", "--correct", "holm"], "need a baseline"),
        (["explore", "--scores", "TABLE", "--system", "x", "--baseline", "old"], "no system x; there are old, new"),
        (["cross", "--scores", "TABLE", "--measure", "A", "--measure", "B"], "cross shows one measure; got A, B"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: list[str], message: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([table if word == "TABLE" else word for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"surefoot {words[0]}: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["evaluate", "--alpha", "x"], ["evaluate", "--alpha", "-1"], ["evaluate", "--format", "xml"], ["nothing"]]
)
def test_wrong_use_exits_with_two(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("surefoot")
    assert err.endswith("--help\n")
    assert err.count("\n") == 1


def test_an_error_of_the_program_is_no_refused_release(
    table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("surefoot.cli.gate.inputs.load", broken)
    assert main(["gate", "--scores", table, "--baseline", "old", "--candidate", "new"]) == 70
    assert "ZeroDivisionError: a bug\nsurefoot gate: an error of Surefoot itself" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert f"surefoot {command}" in shown.split("examples:")[1]
    assert "%%" not in shown


def test_no_words_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert all(command in capsys.readouterr().out for command in ["surefoot"])


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, surefoot.cli\ntry: surefoot.cli.main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "surefoot.cli" in loaded
    assert not loaded & {"numpy", "scipy", "polars", "rich", "ir_measures"}


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    topics = "".join(f"q{i},{i % 7 / 7},{i % 5 / 5}\n" for i in range(20_000))
    (tmp_path / "big.csv").write_text("topic,a,b\n" + topics)
    command = f"{sys.executable} -m surefoot explore --scores big.csv --system a --baseline b | head -1"
    found = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("topic")
    assert "Traceback" not in found.stderr
    assert "BrokenPipe" not in found.stderr


def test_colour_only_on_terminals_and_never_with_no_color(table: str) -> None:
    pty = pytest.importorskip("pty")
    for no_color, coloured in (("", True), ("1", False)):
        environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm-256color", "COLUMNS": "200"}
        main_end, command_end = pty.openpty()
        command = [sys.executable, "-m", "surefoot", "evaluate", "--scores", table, "--baseline", "old"]
        subprocess.run(command, stdout=command_end, env=environment, check=True)
        os.close(command_end)
        assert (b"\x1b[" in os.read(main_end, 100_000)) is coloured
        os.close(main_end)


def test_narrow_terminals_keep_every_digit(table: str, monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["evaluate", "--scores", table, "--baseline", "old"]) == 0
    out = capsys.readouterr().out  # type: ignore[attr-defined]
    lines = [line for line in out.splitlines() if "|" not in line]
    assert max(map(len, lines)) <= 60
    assert "…" not in out
    assert f"{np.mean([0.3, 0.1, 0.5, 0.1]):.4f}" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluat"], "surefoot: argument COMMAND: 'evaluat' is unknown (did you mean evaluate?)"),
        (["evaluate", "--basline", "x"], "surefoot evaluate: unknown option --basline (did you mean --baseline?)"),
        (["evaluate", "--base", "x"], "surefoot evaluate: unknown option --base (did you mean --baseline?)"),
        (["evaluate", "--candidate", "x"], "surefoot evaluate: unknown option --candidate; see"),
        (["evaluate", "--format", "tabel"], "argument --format: 'tabel' is unknown (did you mean table?); choose from"),
        (["figure", "topcs"], "argument KIND: 'topcs' is unknown (did you mean topics?)"),
        (
            ["figure", "profile", "--sytems=x", "-o", "a.png"],
            "surefoot figure profile: unknown option --sytems (did you",
        ),
        (["completion", "bash", "more"], "surefoot completion: unknown argument more"),
    ],
)
def test_wrong_words_name_the_nearest(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_table_given_as_a_run_is_recognised(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", table, "--baseline", "old"]) == 2
    assert f"is a table of scores, not a run: give it with --scores {table}" in capsys.readouterr().err


def test_a_file_does_not_get_the_ending_of_another_format(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scores", table, "--baseline", "old", "-o", "table.parquet"]) == 2
    assert "table.parquet: .parquet is not written; name it .csv, .json, .md, .tex or .txt" in capsys.readouterr().err


def test_commands_that_write_csv_refuse_the_ending_of_another_format(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ["--candidate", "new", "--baseline", "old"]
    for words in (["scores", *runs], ["judge", *runs, *pair]):
        assert main([*words, "-o", str(tmp_path / "out.json")]) == 2
        assert "out.json: .json is not written; name it .csv or .txt" in capsys.readouterr().err
    assert list(tmp_path.glob("out.*")) == []


def test_nothing_is_overwritten_unasked(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "table.tex": ["evaluate", "--scores", table],
        "page.html": ["report", "--scores", table],
        "a.svg": ["figure", "profile", "--scores", table],
    }
    for name, words in files.items():
        path = tmp_path / name
        path.write_text("mine")
        assert main([*words, "-o", str(path)]) == 2
        assert f"{name} exists; name another, or overwrite it with --force" in capsys.readouterr().err
        assert path.read_text() == "mine"
        assert main([*words, "-o", str(path), "--force"]) == 0
        assert path.read_text() != "mine"
    assert (tmp_path / "table.tex").read_text().startswith(r"\begin{tabular}")
    assert main(["evaluate", "--scores", table, "-o", os.devnull]) == 0


def test_scores_writes_what_evaluate_reads(runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scores.csv"
    assert main(["scores", *runs, "--measure", "RR", "--measure", "AP", "-o", str(out)]) == 0
    assert out.read_text().splitlines()[0] == "system,topic,RR,AP"
    capsys.readouterr()
    assert main(["evaluate", "--scores", str(out), "--measure", "AP", "--baseline", "old", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert main(["evaluate", *runs, "--measure", "AP", "--baseline", "old", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [{name: row[name] for name in row if name != "judged@k"} for row in rows] == found
    assert main(["scores", *runs, "--measure", "RR"]) == 0
    assert capsys.readouterr().out == "# measure: RR\ntopic,old,new\nq1,1.0,0.5\nq2,1.0,1.0\n"


def test_columns_letters_and_measures_side_by_side(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--measure", "RR", "--measure", "AP", "--columns", "system,mean,urisk", "--baseline", "old"]
    assert main(["evaluate", *runs, *words, "--letters", "--side-by-side", "--format", "csv"]) == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert header == (
        "letter,system,mean (RR),better_than (RR),urisk (RR),mean (AP),better_than (AP),urisk (AP),signature"
    )
    assert main(["evaluate", *runs, "--columns", "system,mean", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "system,mean,signature"
    assert main(["evaluate", *runs, "--side-by-side"]) == 2
    assert "give --measure more than once" in capsys.readouterr().err
    assert main(["evaluate", *runs, "--columns", "system,meen"]) == 2
    assert "no column 'meen' (did you mean mean?)" in capsys.readouterr().err


def test_a_document_twice(tmp_path: Path, runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.run").write_text("q1 Q0 d2 1 3 t\nq1 Q0 d2 2 1 t\nq1 Q0 d1 3 2 t\nq2 Q0 d1 1 1 t\n")
    assert main(["scores", *runs]) == 2
    assert "or say which counts (duplicates: first, best)" in capsys.readouterr().err
    assert main(["scores", *runs, "--duplicates", "best"]) == 0
    assert "old: 1 repeated document left out, the best of each kept" in capsys.readouterr().err


def test_resampling_many_topics_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("surefoot.cli.inputs.LOG_INTERVAL", 0.0)
    path = tmp_path / "scores.csv"
    path.write_text("topic,a,b\n1,0.1,0.2\n2,0.3,0.2\n3,0.5,0.1\n")
    intervals = ["--ci", "--n-resamples", "20"], "jackknife samples: 3 of 3\nresamples: 20 of 20\n"
    tests = ["--tests", "bootstrap", "--n-resamples", "5"], "resamples: 5 of 5\n"
    for extra, told in (([], ""), intervals, tests):
        assert main(["evaluate", "--scores", str(path), "--baseline", "a", *extra]) == 0
        assert capsys.readouterr().err == told


def leaves(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parsers that have no kinds, by the words that lead to them."""
    kinds = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not kinds:
        yield " ".join(words), parser
    for name, kind in kinds[0].choices.items() if kinds else ():
        yield from leaves(kind, (*words, name))


def test_candidate_and_system_are_aliases_everywhere() -> None:
    found = {
        name: {flag for flag in ("--candidate", "--system") if flag in parser._option_string_actions}
        for name, parser in leaves(build_parser(installed_commands()))
    }
    assert {len(flags) for flags in found.values()} == {0, 2}
    assert sum(map(bool, found.values())) > 10


def test_a_second_baseline_is_never_dropped() -> None:
    """Either the command takes several, or it refuses the second."""
    for name, parser in leaves(build_parser(installed_commands())):
        action = parser._option_string_actions.get("--baseline")
        if action is None:
            continue
        space = argparse.Namespace()
        action(parser, space, ["a"] if name == "gate" else "a", "--baseline")
        if isinstance(action, Once):
            with pytest.raises(argparse.ArgumentError, match="is given twice"):
                action(parser, space, "b", "--baseline")
        else:
            action(parser, space, ["b"] if name == "gate" else "b", "--baseline")
            assert space.baseline == ["a", "b"], name


def test_a_second_baseline_is_refused_in_one_line(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["explore", "--scores", table, "--candidate", "new", "--baseline", "old", "--baseline", "new"])
    assert stopped.value.code == 2
    assert "argument --baseline: is given twice; this command takes one" in capsys.readouterr().err


def test_help_has_four_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    found = capsys.readouterr().out
    places = [found.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    assert found.index("\n  gate ") > places[1] > found.index("\n  evaluate ")


def test_explore_shows_the_texts_of_queries(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", "--scores", table, "--candidate", "new", "--baseline", "old", "--format", "json"]
    assert main(words) == 0
    topic = json.loads(capsys.readouterr().out)["rows"][0]["topic"]
    (tmp_path / "queries.tsv").write_text(f"{topic}\thow to tie a tie\n")
    assert main([*words, "--queries", str(tmp_path / "queries.tsv")]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["query"] == "how to tie a tie"


def test_a_share_beyond_1_is_refused_by_its_flag(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--scores", table, "--candidate", "new", "--baseline", "old", "--max-losses", "50"]) == 2
    error = capsys.readouterr().err
    assert "max-losses" in error
    assert "max_losses" not in error


def test_compare_of_one_file_with_two_systems(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    topics = [f"red shoes {number}" for number in range(30)]
    rows = [("before", topic, "a", 1) for topic in topics] + [("before", topic, "b", 2) for topic in topics]
    rows += [("after", topic, "b", 1) for topic in topics] + [("after", topic, "a", 2) for topic in topics]
    header = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\n"
    lines = (f"{name},2026-11-01,7,{topic},{document},{place}\n" for name, topic, document, place in rows)
    Path("snapshots.csv").write_text(header + "".join(lines))
    Path("case.csv").write_text("query,docid,rating\n" + "".join(f"{topic},a,3\n{topic},b,0\n" for topic in topics))
    assert main(["compare", "snapshots.csv", "--qrels", "case.csv"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("after is worse than before on average")
    assert "surefoot explore snapshots.csv --qrels case.csv --baseline before --candidate after" in printed
    assert (
        main(["compare", "snapshots.csv", "--qrels", "case.csv", "--baseline", "after", "--candidate", "before"]) == 0
    )
    assert capsys.readouterr().out.startswith("before is better than after on average")
    assert main(["compare", "snapshots.csv", "--qrels", "case.csv", "--baseline", "after"]) == 2
    assert "it has before, after" in capsys.readouterr().err
