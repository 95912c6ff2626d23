"""The runs and judgments that scores come from."""

import copy
import io
import os
import pickle
from collections import defaultdict

import polars
import pytest

from surefoot import Scores, SurefootError, score_runs
from surefoot.judgments.judged_runs import JudgedRuns
from tests.judgments.collection import random_collection

RUNS = {
    "old": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}},
    "new": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d3": 1.0}},
    "other": {"q1": {"d3": 1.0}},
}
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2, "d3": 0}, "q3": {"d1": 1, "d9": 0}}


def lines_of(name):
    return "".join(f"{q} Q0 {d} 0 {s} x\n" for q, own in RUNS[name].items() for d, s in own.items())


def read_again(scores, name):
    """The documents of a run as its source gives them, by topic."""
    run = JudgedRuns.of(scores).ranking(name).run
    return {topic: run.of_topic(topic) for topic in run.topics}


def records(name):
    return ((q, d, s) for q, own in RUNS[name].items() for d, s in own.items())


def frame(name):
    return polars.DataFrame(list(records(name)), schema=["query", "document", "score"], orient="row")


@pytest.mark.parametrize("form", ["file", "dictionary", "frame", "records", "pipe", "standard input"])
def test_every_form_of_a_run_can_be_read_again(tmp_path, monkeypatch, form):
    path = tmp_path / "new.run"
    path.write_text(lines_of("new"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())
    os.close(writing)
    forms = {
        "file": "new.run",
        "dictionary": defaultdict(lambda: {}, RUNS["new"]),
        "frame": frame("new"),
        "records": records("new"),
        "pipe": f"/dev/fd/{reading}",
        "standard input": "-",
    }
    scores = score_runs({"new": forms[form], "old": RUNS["old"]}, QRELS, "P@1")
    os.close(reading)
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(scores))
    for one in (scores, again, scores.select(["new"], ["q2"]), scores.by_name(), scores.note("a note")):
        assert read_again(one, "new") == RUNS["new"]
        assert read_again(one, "old") == RUNS["old"]
    assert again.source.measure == "P@1"
    assert again.source.empty["new"] == {"q3"}


def test_the_source_is_a_reference_that_changes_nothing_else(tmp_path):
    files, qrels = random_collection(tmp_path, seed=1)
    scores = score_runs(files, qrels, "nDCG@5")
    assert list(scores.source.runs.values()) == files
    in_memory = score_runs(RUNS, QRELS)
    assert in_memory.source.runs["new"] is RUNS["new"]
    assert in_memory.select(["new"]).source is in_memory.note("more").source is in_memory.source
    assert copy.copy(in_memory).source is in_memory.source
    bare = Scores(scores.values, scores.systems, scores.topics, scores.measure, scores.notes, scores.judged)
    assert bare.source is None
    assert repr(bare) == repr(scores)
    assert bare.to_dict() == scores.to_dict()
    assert bare.to_frame().equals(scores.to_frame())


def test_names_that_are_exchanged_keep_their_runs():
    scores = score_runs(RUNS, QRELS).rename({"old": "new", "new": "old"})
    assert read_again(scores, "new") == RUNS["old"]
    assert read_again(scores, "old") == RUNS["new"]
    assert read_again(scores, "other") == RUNS["other"]


def test_a_run_may_take_the_name_of_one_that_was_left_out():
    scores = score_runs(RUNS, QRELS).select(["new", "old"]).rename({"old": "other"})
    assert read_again(scores, "other") == RUNS["old"]
    assert set(scores.source.runs) == {"other", "new"}


def test_tables_have_no_source():
    table = Scores.from_dict({"old": {"q1": 0.5}, "new": {"q1": 0.25}})
    for scores in (table, table.rename({"old": "older"}), Scores.concat([table])):
        assert scores.source is None
    with pytest.raises(SurefootError, match="a table has only scores"):
        JudgedRuns.of(table)


def test_runs_are_read_once(tmp_path):
    files, qrels = random_collection(tmp_path, seed=1)
    scores = score_runs(files, qrels, "nDCG@5")
    runs = JudgedRuns.of(scores)
    for file in files:
        file.unlink()
    assert JudgedRuns.of(scores.select(topics=["1"])) is runs
    with pytest.raises(SurefootError, match="no such file"):
        JudgedRuns.of(pickle.loads(pickle.dumps(scores)))
