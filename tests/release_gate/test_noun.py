"""The word for queries in every sentence: that of the format, or the one that was asked for."""

import json

import pytest

from surefoot import Scores, SequentialGate, compare, gate, read_scores
from surefoot.cli import main
from surefoot.release_gate.verdict import with_noun

ITEMS = 40


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Two logs of lm-eval; the new model loses on every third item."""
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        rows = [
            {"doc_id": f"query {item}", "doc": {}, "filtered_resps": [], "filter": "none", "metrics": ["acc"],
             "acc": 0.5 - 0.2 * (name == "new" and item % 3 == 0)}
            for item in range(ITEMS)
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["--scores", "old.jsonl", "new.jsonl"]


@pytest.mark.parametrize("command", [["compare", "old", "new"], ["gate", "--candidate", "new", "--baseline", "old"]])
@pytest.mark.parametrize("format", ["table", "md", "json"])
@pytest.mark.parametrize("noun", [None, "tasks"])
def test_logs_of_evaluations_speak_of_items(logs, capsys, command, format, noun):
    main([*command, *logs, "--format", format, *([] if noun is None else ["--noun", noun])])
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{ITEMS} {noun or 'items'}" in printed
    assert "query 21" in printed, "the name of an item is no sentence"
    assert "queries" not in printed.replace("more_queries", "").replace('"queries":', "")


def test_runs_and_tables_speak_of_queries():
    scores = Scores([[0.5] * ITEMS, [0.4] * ITEMS], ["old", "new"], range(ITEMS))
    assert f"{ITEMS} queries" in compare("old", "new", scores=scores).sentence
    assert (
        f"{ITEMS} items"
        in gate(Scores(scores.values, scores.systems, scores.topics, noun="items"), "old", candidate="new").sentence()
    )


@pytest.mark.parametrize(("column", "noun"), [("item", "items"), ("Example", "items"), ("query", "queries")])
def test_tables_of_items_say_so(tmp_path, column, noun):
    for name, table in (("long", f"model,{column},score\nold,a,1\n"), ("wide", f"{column},old\na,1\n")):
        (tmp_path / name).write_text(table)
        assert read_scores(tmp_path / name).noun == noun


def test_the_noun_survives_what_makes_scores_of_scores():
    scores = Scores([[0.5, 0.1], [0.4, 0.2]], ["old", "new"], ["a", "b"], noun="items")
    for made in (scores.select(["old"]), scores.rename({"old": "x"}), scores.note("n"), scores.by_name(),
                 scores.standardise(), Scores.concat([scores.select(["old"]), scores.select(["new"])])):  # fmt: skip
        assert made.noun == "items"


def test_a_word_that_is_no_plural_is_refused(logs, capsys):
    with pytest.raises(SystemExit):
        main(["compare", "old", "new", *logs, "--noun", "Item!"])
    assert "expected a plural such as items" in capsys.readouterr().err


def test_names_with_the_word_are_kept():
    assert (
        with_noun("query lost on a query, query-loss", "items", {"query lost"}) == "query lost on an item, query-loss"
    )


@pytest.mark.parametrize("noun", ["queries", "items"])
def test_a_sequential_gate_counts_in_the_same_word(noun):
    scores = Scores([[0.1, 0.2], [0.3, 0.4]], ["old", "new"], ["a", "b"], noun=noun)
    assert f"2 new {noun}, 2 so far" in SequentialGate(None, "old", candidate="new").add(scores).notes
