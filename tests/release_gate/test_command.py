"""surefoot gate as users type it: exit codes, options from file and flags, files written, the ratchet."""

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from surefoot.cli import main
from surefoot.release_gate.config import KEYS, read_config
from surefoot.release_gate.rules import LIMITS, Rules

QUERIES = 400
OLD = [0.3 + 0.1 * (i % 5) for i in range(QUERIES)]
ROWS = {
    "old": OLD,
    "good": [score + 0.05 + 0.01 * (i % 2) for i, score in enumerate(OLD)],
    "shaky": [score + (-0.5 if i % 20 == 8 else 0.02 * (i % 2)) for i, score in enumerate(OLD)],
    "bad": [score - 0.2 + 0.01 * (i % 2) for i, score in enumerate(OLD)],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_scores(tmp_path / "scores.csv", list(ROWS))
    return tmp_path


def write_scores(path: Path, systems: list[str], topics: int = QUERIES) -> None:
    lines = [",".join(["topic", *systems])]
    lines += [",".join([f"q{i}", *(str(round(ROWS[one][i], 4)) for one in systems)]) for i in range(topics)]
    path.write_text("\n".join(lines) + "\n")


def gate(*words: str) -> int:
    return main(["gate", "--scores", "scores.csv", "--measure", "nDCG@10", *words])


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    gate("--format", "json", *words)
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("candidate", "code", "word"), [("good", 0, "ship"), ("shaky", 0, "not enough evidence"), ("bad", 1, "don't ship")]
)
def test_exit_codes(candidate: str, code: int, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", candidate, "--baseline", "old") == code
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(word)
    assert f"{candidate} against old, nDCG@10 (as far as seen)" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--candidate", "bad"], "nothing to compare with: name a --baseline, or give a --ratchet FILE"),
        (["--baseline", "old"], "name the --candidate: one of good, shaky, bad"),
        (["--candidate", "new", "--baseline", "old"], "no system 'new'"),
        (["--candidate", "bad", "--baseline", "none"], "no baseline 'none'"),
        (["--candidate", "bad", "--baseline", "old", "--protected", "q777"], "no score for the protected queries q777"),
        (["--candidate", "bad", "--baseline", "old", "--segments", "none.csv"], "none.csv: no such file"),
        (["--candidate", "bad", "--baseline", "old", "--config", "none.toml"], "none.toml: no such file"),
        (["--candidate", "bad", "--baseline", "old", "--off", "tails"], "no rule tails"),
        (["--candidate", "bad", "--baseline", "old", "--max-losses", "2"], "max-losses is a share"),
        (["--candidate", "bad", "--baseline", "old", "--accept"], "--accept needs the ratchet file"),
        (["--candidate", "bad", "--ratchet", "r.json"], "r.json: no such file; the first time, add --accept"),
    ],
)
def test_wrong_use_is_one_line_and_2(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("surefoot gate: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("undecided", "code"), [("pass", 0), ("warn", 0), ("hold", 0), ("fail", 1), ("exit3", 3)])
def test_what_can_not_be_decided(undecided: str, code: int) -> None:
    assert gate("--candidate", "shaky", "--baseline", "old", "--undecided", undecided) == code


def test_the_verdict_survives_a_closed_pipe(folder: Path) -> None:
    words = "gate --scores scores.csv --measure nDCG@10 --candidate bad --baseline old,good,MEAN,MAX,MEDIAN".split()
    command = f"set -o pipefail; {shlex.join([sys.executable, '-m', 'surefoot', *words])} | true"
    found = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (1, "")


def test_several_measures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["query,system,RR,nDCG@10"]
    for system in ("old", "good"):
        lines += [f"q{i},{system},{1 / (1 + i % 3)},{score}" for i, score in enumerate(ROWS[system])]
    (folder / "long.csv").write_text("\n".join(lines) + "\n")
    words = ["gate", "--scores", "long.csv", "--candidate", "good", "--baseline", "old", "--format", "json"]
    assert main([*words, "--measure", "nDCG@10", "--measure", "RR"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert {rule["measure"]: rule["name"] for rule in rules} == {"nDCG@10": "tail", "RR": "identical"}


def test_the_only_other_system_is_the_candidate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_scores(folder / "scores.csv", ["old", "good"])
    assert gate("--baseline", "old") == 0
    assert capsys.readouterr().out.startswith("ship: good")


def test_several_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", "old", "--baseline", "bad") == 0
    assert gate("--candidate", "old", "--baseline", "bad,good") == 1
    out = capsys.readouterr().out
    assert "than bad on average" in out
    assert "than good on average" in out


def test_files_for_machines_and_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--candidate", "bad", "--baseline", "old", "--junit", "gate.xml", "--markdown", "gate.md"]
    assert gate(*words, "--format", "md") == 1
    assert (folder / "gate.md").read_text() == capsys.readouterr().out
    root = ElementTree.parse(folder / "gate.xml").getroot()
    assert "mean" in [case.attrib["name"] for case in root.iter("testcase")]


def test_a_file_that_can_not_be_written_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", "good", "--baseline", "old", "--junit", "scores.csv/gate.xml") == 2
    assert "can't be written" in capsys.readouterr().err


def test_flags_set_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--candidate", "bad", "--baseline", "old"]
    assert gate(*pair, "--off", "mean,risk,losses,large-losses") == 0
    assert gate(*pair, "--off", "mean,risk,losses,large-losses", "--protected", "q3") == 1
    assert gate(*pair, "--off", "mean,losses,large-losses", "--protected", "q3", "--protected-tolerance", "1") == 0
    capsys.readouterr()
    signature = str(json_of(capsys, *pair, "--alpha", "5", "--level", "0.01")["signature"])
    assert {"level=0.01", "topics=400", "alpha=5"} <= set(signature.split("|"))


def test_protected_queries_and_segments_from_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "protected.txt").write_text("# ours\nq8\n")
    (folder / "segments.csv").write_text("topic,intent,size\n" + "".join(f"q{i},a{i % 2},s\n" for i in range(QUERIES)))
    words = ["--protected-file", "protected.txt", "--segments", "segments.csv", "--segment-by", "intent"]
    found = json_of(capsys, "--candidate", "shaky", "--baseline", "old", *words)
    rules = {rule["name"]: rule["verdict"] for rule in found["rules"]}  # type: ignore[attr-defined]
    assert (rules["protected"], rules["segments"]) == ("fail", "undecided")


def test_options_from_the_file_and_flags_that_win(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = 'candidate = "bad"\nbaseline = "old"\n'
    (folder / "surefoot.toml").write_text(
        f'[gate]\n{pair}alpha = 5\nmax-losses = 0.9\noff = ["tail"]\nprotected = [1]\n'
    )
    (folder / "protected.txt").write_text("")
    assert gate("--protected", "q1") == 1
    named = {"level=0.05", "topics=400", "alpha=5", "max_losses=0.9", "off=tail"}
    assert named <= set(capsys.readouterr().out.splitlines()[-1].split("|"))
    assert "alpha=" not in str(json_of(capsys, "--protected", "q1", "--alpha", "0")["signature"])


def test_another_file_of_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ci").mkdir()
    (folder / "ci" / "gate.toml").write_text('[gate]\nprotected_file = "ours.txt"\nbaseline = ["old", "good"]\n')
    (folder / "ci" / "ours.txt").write_text("q2\n")
    assert gate("--config", "ci/gate.toml", "--candidate", "bad") == 1
    assert "2 of" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[gate]\nmax-loses = 1\n",
            "unknown key 'max-loses' in [gate]; the known ones are evidence, level,",
        ),
        ("[gates]\n", "unknown key gates; the only table is [gate]"),
        ("gate = 1\n", "gate should be a table"),
        ("[gate]\nalpha = 'high'\n", "alpha should be a number; got 'high'"),
        ("[gate]\nalpha = true\n", "alpha should be a number; got True"),
        ("[gate]\nseed = 1.5\n", "seed should be a whole number; got 1.5"),
        ("[gate]\nprotected = [1.5]\n", "protected should be a list of names"),
        ("[gate]\nratchet = 5\n", "ratchet should be text"),
        ("[gate\n", "not valid TOML"),
        ("[gate]\nlevel = 7\n", "level must lie between 0 and 0.5"),
        ("[gate]\nundecided = 'maybe'\n", "undecided must be one of pass, warn, hold, fail, exit3"),
    ],
)
def test_files_of_options_that_make_no_sense(
    text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "surefoot.toml").write_text(text)
    assert gate("--candidate", "bad", "--baseline", "old") == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_example_names_every_option_with_its_default() -> None:
    example = Path(__file__).parents[2] / "examples" / "surefoot.toml"
    found, default = read_config(example), Rules()
    for name, value in found.items():
        assert value == (default.limit(name) if name in LIMITS else getattr(default, name)), name
    named = re.findall(r"^(?:# )?([a-z-]+) = ", example.read_text(), re.MULTILINE)
    assert sorted(name.replace("-", "_") for name in named) == sorted(KEYS)


def test_the_ratchet_from_the_first_to_a_refused_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratchet = ["--ratchet", "accepted.json"]
    assert gate("--candidate", "old", *ratchet, "--accept") == 0
    assert "old is the first" in capsys.readouterr().out
    assert gate("--candidate", "good", *ratchet) == 0
    asked = json.loads((folder / "accepted.json").read_text())
    assert (asked["system"], len(asked["asked"])) == ("old", 1)
    assert gate("--candidate", "good", *ratchet, "--accept") == 0
    assert "accepted: good is the new baseline" in capsys.readouterr().err
    before = (folder / "accepted.json").read_text()
    assert json.loads(before)["system"] == "good"
    assert gate("--candidate", "bad", *ratchet, "--accept") == 1
    assert "not accepted: accepted.json keeps its baseline" in capsys.readouterr().err
    after = json.loads((folder / "accepted.json").read_text())
    assert (after["system"], len(after["asked"])) == ("good", 2)
    assert after["scores"] == json.loads(before)["scores"]


def test_what_can_not_be_decided_is_accepted_only_where_it_counts_as_a_pass(folder: Path) -> None:
    pair = ["--candidate", "shaky", "--baseline", "old", "--ratchet", "accepted.json", "--accept"]
    assert gate(*pair) == 0
    assert json.loads((folder / "accepted.json").read_text())["system"] == ""
    assert gate(*pair, "--undecided", "pass") == 0
    assert json.loads((folder / "accepted.json").read_text())["system"] == "shaky"


def test_tries_before_the_first_yes_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--baseline", "old", "--ratchet", "accepted.json", "--off", "tail"]
    assert gate("--candidate", "bad", *pair, "--accept") == 1
    assert gate("--candidate", "shaky", *pair) == 0
    assert len(json.loads((folder / "accepted.json").read_text())["asked"]) == 2
    assert gate("--candidate", "good", *pair, "--accept") == 0
    found = json.loads((folder / "accepted.json").read_text())
    assert (found["system"], found["accepted_by"], "tries=3" in found["signature"]) == ("good", 3, True)


def test_the_ratchet_reports_the_cumulative_change(capsys: pytest.CaptureFixture[str]) -> None:
    for candidate in ("good", "old"):
        gate(
            "--candidate",
            candidate,
            "--ratchet",
            "accepted.json",
            "--accept",
            "--undecided",
            "pass",
            "--format",
            "json",
        )
        found = json.loads(capsys.readouterr().out)
    means = {name: found["changes"][0][f"{name}_mean"] for name in ("candidate", "baseline")}
    (change,) = found["cumulative"]
    assert (change["anchor"], change["first"]) == ("good", "good")
    assert change["since_anchor"] == change["since_first"] == pytest.approx(means["candidate"] - means["baseline"])


def test_a_ratchet_without_anything_accepted_needs_a_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", "bad", "--baseline", "old", "--ratchet", "accepted.json", "--accept") == 1
    assert gate("--candidate", "good", "--ratchet", "accepted.json") == 2
    assert "nothing was accepted yet: name a --baseline, or add --accept" in capsys.readouterr().err


def test_a_ratchet_reads_judgments_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.run").write_text("q1 Q0 d1 1 2.0 new\n")
    ratchet = ["--ratchet", "accepted.json", "--accept"]
    stdin = io.TextIOWrapper(io.BytesIO(b"q1 0 d1 1\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        assert main(["gate", "new.run", "--qrels", "-", *ratchet]) == 2
    assert "standard input can't be read twice, so name a file" in capsys.readouterr().err


def test_the_ratchet_asks_for_more_with_every_try(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", "old", "--ratchet", "accepted.json", "--accept") == 0
    ROWS["tweak"] = [score + 0.12 * (-1) ** i for score, i in zip(OLD, range(QUERIES), strict=True)]
    write_scores(folder / "scores.csv", ["old", "tweak"])
    before = json.loads((folder / "accepted.json").read_text())
    capsys.readouterr()
    assert gate("--candidate", "tweak", "--ratchet", "accepted.json") == 0
    assert capsys.readouterr().out.startswith("ship")
    (folder / "accepted.json").write_text(json.dumps({**before, "asked": [str(number) for number in range(59)]}))
    assert gate("--candidate", "tweak", "--ratchet", "accepted.json") == 0
    out = capsys.readouterr().out
    assert out.startswith("not enough evidence")
    assert "tries=60" in out


def test_the_held_out_queries_say_one_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ROWS["better"] = [score + 0.1 + 0.01 * (i % 2) for i, score in enumerate(OLD)]
    write_scores(folder / "scores.csv", ["old", "better"])
    ratchet = ["--ratchet", "accepted.json", "--holdout", "0.5", "--off", "tail"]
    assert gate("--candidate", "old", *ratchet, "--accept") == 0
    capsys.readouterr()
    found = json_of(capsys, "--candidate", "better", *ratchet)
    (held,) = (rule for rule in found["rules"] if rule["name"] == "held-out")  # type: ignore[attr-defined]
    assert (held["verdict"], held["loss"], held["low"]) == ("pass", None, None)
    assert "held out confirm it; it was their question number 1" in held["sentence"]
    assert found["changes"][0]["topics"] < 220  # type: ignore[index]
    assert "|holdout=0.5|" in str(found["signature"])
    assert gate("--candidate", "old", *ratchet) == 0  # identical, so that those held out are not asked
    assert len(json.loads((folder / "accepted.json").read_text())["asked"]) == 1


def test_another_collection_is_said_and_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(5)))
    (folder / "queries.tsv").write_text("".join(f"q{i}\tquery {i}\n" for i in range(5)))
    (folder / "new.run").write_text("".join(f"q{i} Q0 d{i} 1 2.0 new\n" for i in range(5)))
    (folder / "surefoot.toml").write_text(
        '[gate]\nqrels = "qrels.txt"\nqueries = "queries.tsv"\nmeasure = "RR"\nratchet = "accepted.json"\n'
    )
    assert main(["gate", "new.run", "--accept"]) == 0
    assert set(json.loads((folder / "accepted.json").read_text())["collection"]) == {"qrels", "queries"}
    capsys.readouterr()
    assert main(["gate", "new.run"]) == 0
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 2\n" for i in range(5)))
    capsys.readouterr()
    assert main(["gate", "new.run"]) == 2
    assert "the qrels are not those by which new was accepted" in capsys.readouterr().err


def test_losses_that_judgments_leave_open_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For ten queries the new run ranks a document that nobody judged; the mean falls by 0.115,
    and by about 0.09 with the expected grades.
    """
    grades = [(f"q{i}", f"{kind}{i}", int(kind == "a" or i % 5 != 1)) for i in range(60) for kind in "ab"]
    (folder / "qrels.txt").write_text("".join(f"{topic} 0 {document} {grade}\n" for topic, document, grade in grades))
    for name, first in (("old", "a"), ("new", "c")):
        ranked = [(f"q{i}", f"{first if i % 6 == 0 else 'a'}{i}", f"b{i}") for i in range(60)]
        lines = [f"{topic} Q0 {one} 1 2.0 x\n{topic} Q0 {other} 2 1.0 x\n" for topic, one, other in ranked]
        (folder / f"{name}.run").write_text("".join(lines))
    words = ["gate", "old.run", "new.run", "--qrels", "qrels.txt", "--candidate", "new", "--baseline", "old"]
    words += ["--off", "tail,losses", "--mean-tolerance", "0.1"]
    assert main([*words, "--assessors", "off", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "fail"
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (folder / "surefoot.toml").write_text("[gate]\nassessors = 0.2\n")
    main([*words, "--format", "json"])
    assert "assessors=0.2" in json.loads(capsys.readouterr().out)["signature"]
    assert found["verdict"] == "undecided"
    assert ["q6", "c6"] in [one for rule in found["rules"] for one in rule["documents"]]
    assert "surefoot judge" in found["next_step"]


def test_the_text_of_queries_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "queries.tsv").write_text("".join(f"q{i}\thow to {i}\n" for i in range(QUERIES)))
    assert gate("--candidate", "bad", "--baseline", "old", "--queries", "queries.tsv") == 1
    assert "how to" in capsys.readouterr().out


def test_the_ratchet_joins_the_other_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate("--candidate", "good", "--ratchet", "accepted.json", "--accept") == 0
    assert gate("--candidate", "old", "--baseline", "bad", "--ratchet", "accepted.json") == 1
    out = capsys.readouterr().out
    assert "than bad on average" in out
    assert "than good (accepted) on average" in out


def test_queries_that_vanished_are_refused_unless_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratchet = ["--candidate", "old", "--ratchet", "accepted.json"]
    assert gate(*ratchet, "--accept") == 0
    write_scores(folder / "scores.csv", ["old"], topics=399)
    assert gate(*ratchet) == 2
    assert "no score for topics that were accepted: q399" in capsys.readouterr().err
    assert gate(*ratchet, "--missing", "drop") == 0


def test_a_damaged_ratchet_is_2_and_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "accepted.json").write_text('{"format": "surefoot ratchet 2", "sys')
    assert gate("--candidate", "old", "--ratchet", "accepted.json", "--accept") == 2
    err = capsys.readouterr().err
    assert "accepted.json: not a ratchet file" in err
    assert err.count("\n") == 1
    assert (folder / "accepted.json").read_text().endswith('"sys')


def test_help_tells_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["gate", "--help"])
    assert stopped.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "share of queries that may lose more than 20 % (default: 0.33)" in out


def test_a_ratchet_over_tables_without_a_measure_needs_no_name_of_one(folder: Path) -> None:
    """A table is not named after its release: rel1.csv and rel2.csv hold the same measure."""
    write_scores(folder / "rel1.csv", ["old", "good"])
    write_scores(folder / "rel2.csv", ["good", "bad"])
    ratchet = ["--ratchet", "accepted.json", "--accept"]
    assert main(["gate", "--scores", "rel1.csv", "--baseline", "old", "--candidate", "good", *ratchet]) == 0
    assert main(["gate", "--scores", "rel2.csv", "--candidate", "bad", *ratchet]) == 1
    assert json.loads((folder / "accepted.json").read_text())["system"] == "good"
