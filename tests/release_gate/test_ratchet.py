"""The ratchet file: round trip, topics that come and go, damage, and writing whole or not at all."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surefoot import Scores, SurefootError
from surefoot.release_gate.intervals import Question
from surefoot.release_gate.ratchet import (
    Accepted,
    accept,
    first_result,
    gate_accepted,
    read_accepted,
    refuse_other_collection,
    write_accepted,
)
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import gate

TOPICS = [f"q{i}" for i in range(400)]
OLD = np.linspace(0.31, 0.77, 400)
SCORES = Scores([OLD, OLD + 0.1, OLD - 0.2], ["old", "new", "bad"], TOPICS, "nDCG@10")


def accepted_of(system: str = "new") -> Accepted:
    return accept(SCORES, gate(SCORES, "bad" if system == "old" else "old", candidate=system))


def test_round_trip_keeps_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, accepted_of())
    again = read_accepted(path)
    assert again == accepted_of()
    assert list(again.scores["nDCG@10"].values()) == SCORES["new"].tolist()
    assert again.summary == {"nDCG@10": {"mean": pytest.approx(SCORES["new"].mean()), "topics": 400}}
    assert again.signature.startswith("gate|measure=nDCG@10|candidate=new|baseline=old")


def test_a_candidate_is_gated_against_what_was_accepted() -> None:
    assert gate_accepted(SCORES, accepted_of("old"), candidate="new").verdict == "pass"
    assert gate_accepted(SCORES, accepted_of(), candidate="new").findings[0].rule == "identical"
    result = gate_accepted(SCORES, accepted_of(), candidate="bad")
    assert result.verdict == "fail"
    assert result.baselines == ("new (accepted)",)
    assert result.changes[0].baseline_mean == pytest.approx(SCORES["new"].mean())


def test_topics_are_matched_by_name() -> None:
    shuffled = SCORES.select(topics=TOPICS[::-1])
    result = gate_accepted(shuffled, accepted_of(), candidate="new")
    assert result.changes[0].ties == 400


def test_accepted_topics_that_vanished() -> None:
    fewer = SCORES.select(topics=TOPICS[2:])
    with pytest.raises(SurefootError, match="no score for topics that were accepted: q0, q1; choose missing='zero'"):
        gate_accepted(fewer, accepted_of(), candidate="new")
    zero = gate_accepted(fewer, accepted_of(), candidate="new", missing="zero")
    assert (zero.changes[0].topics, zero.changes[0].losses) == (400, 2)
    assert "accepted topics without a score now, counted 0: q0, q1" in zero.notes
    drop = gate_accepted(fewer, accepted_of(), candidate="new", missing="drop")
    assert (drop.changes[0].topics, drop.changes[0].losses) == (398, 0)
    assert "accepted topics without a score now, left out: q0, q1" in drop.notes


def test_new_topics_have_nothing_to_lose() -> None:
    more = Scores([[*OLD + 0.1, 0.0]], ["new"], [*TOPICS, "q400"], "nDCG@10")
    result = gate_accepted(more, accepted_of("old"), candidate="new", rules=Rules(protected=["q1", "q400"]))
    assert result.changes[0].topics == 400
    assert "new topics, not compared with the accepted scores: q400" in result.notes
    assert result.verdict == "pass"


def test_what_can_not_be_compared() -> None:
    with pytest.raises(SurefootError, match=r"accepted scores are of nDCG@10, these of RR; use one measure"):
        gate_accepted(Scores([OLD], ["new"], TOPICS, "RR"), accepted_of(), candidate="new")
    with pytest.raises(SurefootError, match="share no topic"):
        gate_accepted(Scores([[0.5]], ["new"], ["x"], "nDCG@10"), accepted_of(), candidate="new", missing="drop")


def test_another_collection_is_said_and_not_compared() -> None:
    accepted = replace(accepted_of(), collection={"qrels": "a", "queries": "b"})
    refuse_other_collection(accepted, {"qrels": "a"})
    refuse_other_collection(accepted_of(), {"qrels": "c"})
    with pytest.raises(SurefootError, match="the qrels are not those by which new was accepted"):
        refuse_other_collection(accepted, {"qrels": "c"})


def test_tries_are_counted_once_each() -> None:
    accepted = accepted_of("old")
    accepted, first = accepted.ask([SCORES], "new")
    accepted, second = accepted.ask([SCORES], "bad")
    accepted, again = accepted.ask([SCORES.select(topics=TOPICS[::-1])], "new")
    assert (first, second, again, len(accepted.asked)) == (Question(1), Question(2), Question(1), 2)
    assert accepted.ask([SCORES], "old")[0] == accepted, "the accepted one is no question"
    after = accept(SCORES, gate(SCORES, "old", candidate="new"), accepted)
    assert (after.asked, after.accepted_by) == (accepted.asked, 2)
    assert after.ask([SCORES], "bad")[1] == Question(3, accepted=2), "against another baseline it is a new question"
    result = gate_accepted(SCORES, replace(accepted, asked=tuple(map(str, range(36)))), candidate="new")
    assert "tries=37" in result.signature


def test_a_candidate_that_comes_back_after_a_rollback_is_asked_anew() -> None:
    accepted = accepted_of("old")
    for candidate, before in (("new", "old"), ("old", "new")):
        accepted, _ = accepted.ask([SCORES], candidate)
        accepted = accept(SCORES, gate(SCORES, before, candidate=candidate), accepted)
    accepted, question = accepted.ask([SCORES], "new")
    assert question == Question(3, accepted=2)
    assert question.part == 1 / 12 / 2
    assert accepted.ask([SCORES], "new") == (accepted, question)


def test_tries_are_counted_before_anything_is_accepted(tmp_path: Path) -> None:
    account, _ = Accepted("", "", {}).ask([SCORES], "bad")
    write_accepted(tmp_path / "accepted.json", account)
    assert read_accepted(tmp_path / "accepted.json") == account
    with pytest.raises(SurefootError, match="nothing was accepted yet"):
        gate_accepted(SCORES, account, candidate="new")


def test_several_measures_are_remembered(tmp_path: Path) -> None:
    both = [SCORES, Scores(SCORES.values / 2, SCORES.systems, TOPICS, "RR")]
    accepted = accept(both, gate(both, "bad", candidate="old"))
    write_accepted(tmp_path / "accepted.json", accepted)
    assert read_accepted(tmp_path / "accepted.json") == accepted
    assert gate_accepted(both, accepted, candidate="bad").measures == ("nDCG@10", "RR")


def test_the_first_candidate_passes_and_says_so() -> None:
    result = first_result([SCORES], candidate="new")
    assert (result.verdict, result.findings) == ("pass", ())
    assert "new is the first" in result.notes[-1]
    with pytest.raises(SurefootError, match="no system"):
        first_result([SCORES], candidate="none")


def damaged(**changes: object) -> str:
    accepted = accepted_of()
    content = {"format": "surefoot ratchet 2", **vars(accepted), "figures": accepted.summary}
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"format": "surefoot ratchet 2", "system": "new", "sco',
        "[]",
        "{}",
        "[" * 100_000,
        '{"format": "surefoot ratchet 1"}',
        damaged(scores={}),
        damaged(scores={}, figures={}),
        damaged(system=""),
        damaged(accepted_by=1),
        damaged(accepted_by="1"),
        damaged(scores={"nDCG@10": 1}),
        damaged(scores={"nDCG@10": {"q0": "much"}}),
        damaged(scores={"nDCG@10": {"q0": True}}),
        damaged(scores={"nDCG@10": {"q0": float("nan")}}),
        damaged(scores={"nDCG@10": {"q0": 10**400}}),
        damaged(figures=[1]),
        damaged(figures={"RR": {"mean": 1}}),
        damaged(system=None),
        damaged(collection={"qrels": 1}),
        damaged(asked="abc"),
    ],
)
def test_a_damaged_file_is_one_clear_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    path.write_text(text)
    with pytest.raises(SurefootError) as caught:
        read_accepted(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "ratchet file" in message
    assert message.endswith("restore it, or delete it and accept a candidate anew")
    assert "\n" not in message


def test_a_binary_file_is_one_clear_line_too(tmp_path: Path) -> None:
    (tmp_path / "accepted.json").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(SurefootError, match="not a ratchet file"):
        read_accepted(tmp_path / "accepted.json")


def test_a_writer_that_dies_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, accepted_of())
    before = path.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_accepted(path, accepted_of("old"))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
