"""Commands that say what the judgments can't tell."""

import csv
import io
import json

import ir_measures
import numpy as np
import pytest

from surefoot import credibility, score_runs
from surefoot.cli import main
from surefoot.judgments import delta_bounds
from surefoot.judgments.judged_runs import JudgedRuns
from tests.judgments.collection import random_collection


@pytest.fixture
def collection(tmp_path):
    files, qrels = random_collection(tmp_path, seed=5)
    return [*map(str, files), "--qrels", str(qrels), "--measure", "nDCG@5"], files, qrels


def rows(capsys):
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_judged_is_beside_every_mean_of_runs(collection, capsys):
    arguments, files, qrels = collection
    assert main(["evaluate", *arguments, "--baseline", "r0", "--format", "csv"]) == 0
    found = {row["system"]: float(row["judged@k"]) for row in rows(capsys)}
    known = list(ir_measures.read_trec_qrels(str(qrels)))
    for file in files:
        theirs = ir_measures.calc_aggregate([ir_measures.Judged @ 5], known, ir_measures.read_trec_run(str(file)))
        assert found[file.stem] == pytest.approx(theirs[ir_measures.Judged @ 5])
    assert main(["evaluate", *arguments, "--baseline", "r0"]) == 0
    out = capsys.readouterr().out
    assert out.split("mean", 1)[1].split()[0] == "judged@k"
    assert "judged@k differs from the baseline's" in out


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "P@3", "Rprec", "nDCG(dcg='exp-log2')@4"])
def test_skip_is_scoring_of_condensed_lists(tmp_path, measure):
    files, qrels = random_collection(tmp_path, seed=6)
    known = {line.split()[0]: set() for line in qrels.read_text().splitlines()}
    for line in qrels.read_text().splitlines():
        known[line.split()[0]].add(line.split()[2])
    condensed = tmp_path / "condensed"
    condensed.mkdir()
    for file in files:
        lines = [line for line in file.read_text().splitlines(True) if line.split()[2] in known[line.split()[0]]]
        (condensed / file.name).write_text("".join(lines))
    skipped = score_runs(files, qrels, measure, unjudged="skip")
    np.testing.assert_allclose(skipped.values, score_runs(sorted(condensed.iterdir()), qrels, measure).values)
    np.testing.assert_array_equal(skipped.judged, score_runs(files, qrels, measure).judged)


def test_judgments_of_relevant_documents_alone_do_not_tell_what_was_looked_at(collection, capsys):
    arguments, files, qrels = collection
    lines = [line for line in qrels.read_text().splitlines(True) if int(line.split()[3]) > 0]
    qrels.write_text("".join(lines))
    assert score_runs(files, qrels, "nDCG@5").judged is None
    assert "only relevant documents" in score_runs(files, qrels, "nDCG@5", unjudged="skip").notes[-1]
    assert main(["evaluate", *arguments, "--baseline", "r0", "--format", "csv"]) == 0
    assert "judged@k" not in rows(capsys)[0]
    for command in (["explore", "--system", "r1", "--credible"], ["judge", "--candidate", "r1"]):
        assert main([command[0], *arguments, *command[1:], "--baseline", "r0"]) == 2
        assert "judges only relevant documents" in capsys.readouterr().err
    assert main(["gate", *arguments, "--candidate", "r1", "--baseline", "r0"]) in (0, 1)
    assert "relevant documents" not in capsys.readouterr().err


def test_bounds_enclose_urisk_and_deltas(collection, capsys):
    arguments, files, qrels = collection
    assert main(["evaluate", *arguments, "--baseline", "r0", "--unjudged", "bounds", "--format", "csv"]) == 0
    for row in rows(capsys):
        if row["system"] != "r0":
            assert float(row["urisk_least"]) <= float(row["urisk"]) <= float(row["urisk_most"])
    told = [*arguments, "--system", "r1", "--baseline", "r0", "--format", "json"]
    assert main(["explore", *told, "--unjudged", "bounds"]) == 0
    found = json.loads(capsys.readouterr().out)
    bounds = delta_bounds(JudgedRuns.read(files, qrels, "nDCG@5").pair("r1", "r0"))
    low = dict(zip(bounds["topic"].tolist(), bounds.low.tolist(), strict=True))
    assert {row["topic"]: row["delta_low"] for row in found["rows"]} == pytest.approx(low)
    assert any("could be an artefact of unjudged documents" in note for note in found["notes"])


@pytest.mark.parametrize(
    "assessors", [[], ["--assessors"], *(["--assessors", word] for word in ("0.2", "none", "QRELS"))]
)
def test_credible_adds_its_columns(collection, capsys, assessors):
    arguments, _, qrels = collection
    given = [str(qrels) if word == "QRELS" else word for word in assessors]
    told = [*arguments, "--system", "r1", "--baseline", "r0", "--format", "csv", "--credible", *given]
    assert main(["explore", *told]) == 0
    found = rows(capsys)
    assert set(found[0]) >= {"p_loss", "low", "high", "credible"}
    assert ("confirmed" in found[0]) == ("QRELS" in assessors)
    assert {row["credible"] for row in found} <= {"win", "loss", "unclear"}


def explored(arguments, capsys, *more):
    assert main(["explore", *arguments, "--system", "r1", "--baseline", "r0", "--format", "json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_values_of_assessors(collection, capsys):
    """A bare option means dl2019, which is also the default of --credible; off adds nothing."""
    arguments, *_ = collection
    usual = explored(arguments, capsys, "--credible")
    for more in (["--assessors"], ["--assessors", "dl2019"], ["--credible", "--assessors"]):
        assert explored(arguments, capsys, *more) == usual
    assert explored(arguments, capsys, "--assessors", "none") != usual
    assert explored(arguments, capsys, "--assessors", "off") == explored(arguments, capsys)
    told = ["--system", "r1", "--baseline", "r0", "--credible", "--assessors", "off"]
    assert main(["explore", *arguments, *told]) == 2
    assert "--assessors off does not" in capsys.readouterr().err


def test_the_losses_that_are_real_together_are_counted(collection, capsys):
    arguments, files, qrels = collection
    found = credibility(JudgedRuns.read(files, qrels, "nDCG@5"), "r1", "r0")
    lost = found["delta"] < 0
    still = sorted((found.draws[:, lost] < -1e-9).sum(axis=1).tolist())
    expected = f"at least {still[len(still) // 20 - 1]} of {lost.sum()} losses are real (95 %)"
    assert expected in explored(arguments, capsys, "--credible")["notes"]
    assert "at least" not in str(explored(arguments, capsys)["notes"])


def test_runs_of_standard_input_are_doubted_too(collection, capsys, monkeypatch):
    arguments, files, _ = collection
    usual = explored(arguments, capsys, "--assessors", "none")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(files[3].read_bytes())))
    given = ["-" if word == str(files[3]) else word for word in arguments]
    assert explored(given, capsys, "--assessors", "none")["rows"] == usual["rows"]


def test_what_makes_no_sense_gets_one_line(collection, capsys, tmp_path):
    arguments, *_ = collection
    (tmp_path / "scores.csv").write_text("topic,a,b\n1,0.1,0.2\n2,0.3,0.1\n")
    table = ["--scores", str(tmp_path / "scores.csv"), "--system", "a", "--baseline", "b"]
    for command, told in (
        (["explore", *table, "--credible"], "need run files"),
        (
            ["explore", *arguments, "--system", "r1", "--baseline", "r0", "--credible", "--unjudged", "skip"],
            "leave out",
        ),
        (["explore", *arguments, "--system", "r1", "--baseline", "MEAN", "--unjudged", "bounds"], "MEAN is made of"),
        (["explore", *arguments, "--system", "r1", "--baseline", "r0", "--assessors", "no.qrels"], "no such file"),
        (["evaluate", *arguments, "--unjudged", "bounds"], "needs a run as the --baseline"),
    ):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("option", [["--credible"], ["--assessors", "0.2"]])
def test_a_report_on_doubts_asks_for_its_baseline(option, collection, tmp_path, capsys):
    words = ["report", *collection[0], *option, "-o", str(tmp_path / "report.html")]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "--credible compares two runs: name the --baseline, one of r0, r1" in error
    assert main([*words, "--baseline", "r0"]) == 0
