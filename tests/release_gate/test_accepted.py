"""The ratchet file: round trip, the format of version 0.2, damage, and writing whole or not at all."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from surefoot import SurefootError
from surefoot.release_gate.accepted import Accepted, Anchor, First, read_accepted, write_accepted

TOPICS = {"q1": 0.5, "q2": 0.6000000000000001, "q3": 1 / 3}
PLAIN = Accepted("new", "gate|...", {"nDCG@10": TOPICS})
ANCHORED = Accepted(
    "版本 2",
    "gate|...",
    {"RR": {"q1": 0.5, "ü\u2028": 0.6}, "AP": {"q1": 0.5}},
    {"qrels": "0f"},
    ("1a", "2b"),
    1,
    {"RR": Anchor("erste \U0001f600", {"q1": 0.5, "ü\u2028": 0.7})},
    {"RR": First("erste \U0001f600", 0.6), "AP": First("erste \U0001f600", 1 / 3)},
)


@pytest.mark.parametrize("accepted", [PLAIN, ANCHORED, Accepted("", "", {}, asked=("1a",))])
def test_round_trip_keeps_every_digit(accepted: Accepted, tmp_path: Path) -> None:
    write_accepted(tmp_path / "accepted.json", accepted)
    assert read_accepted(tmp_path / "accepted.json") == accepted
    assert json.loads((tmp_path / "accepted.json").read_text("utf-8"))["format"] == "surefoot ratchet 4"


def test_a_file_of_version_2_is_read_and_its_candidate_is_the_anchor(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    content = {"format": "surefoot ratchet 2", "system": "a", "signature": "gate|...", "collection": {"qrels": "0f"}}
    content |= {"asked": ["1a", "2b"], "accepted_by": 1, "figures": {"RR": {"mean": 0.6, "topics": 2}}}
    path.write_text(json.dumps({**content, "scores": {"RR": {"q1": 0.5, "q2": 0.7}}}))
    accepted = read_accepted(path)
    assert accepted == Accepted("a", "gate|...", {"RR": {"q1": 0.5, "q2": 0.7}}, {"qrels": "0f"}, ("1a", "2b"), 1)
    assert (accepted.anchor("RR").system, accepted.first("RR")) == ("a", First("a", 0.6))
    path.write_text(json.dumps({**content, "scores": {"RR": {"q1": 0.5, "q2": 0.8}}}))
    with pytest.raises(SurefootError, match="its mean is not that of its scores"):
        read_accepted(path)


def damaged(accepted: Accepted = PLAIN, **changes: object) -> str:
    content = {"format": "surefoot ratchet 4", **asdict(accepted), "figures": accepted.summary}
    return json.dumps({**content, **changes})


def test_the_files_below_are_refused_for_their_changes(tmp_path: Path) -> None:
    for accepted in (PLAIN, ANCHORED):
        (tmp_path / "accepted.json").write_text(damaged(accepted))
        assert read_accepted(tmp_path / "accepted.json") == accepted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"format": "surefoot ratchet 4", "system": "new", "sco',
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
        damaged(anchors=None),
        damaged(anchors={"nDCG@10": {"system": "a"}}),
        damaged(anchors={"nDCG@10": {"system": "a", "scores": {}}}),
        damaged(anchors={"nDCG@10": {"system": "a", "scores": {"q1": 0.5}}}),
        damaged(anchors={"nDCG@10": {"system": "a", "scores": TOPICS}}),
        damaged(anchors={"RR": {"system": "a", "scores": TOPICS}}),
        damaged(ANCHORED, anchors={"RR": {"system": "a", "scores": {"q1": 0.5, "ü\u2028": 0.8}}}),
        damaged(ANCHORED, anchors={"RR": {"system": "a", "scores": {"q1": 0.5, "q2": 0.7}}}),
        damaged(firsts=[]),
        damaged(firsts={"RR": {"system": "a", "mean": 0.5}}),
        damaged(firsts={"nDCG@10": {"system": "a", "mean": "much"}}),
        damaged(firsts={"nDCG@10": {"system": 1, "mean": 0.5}}),
        damaged(firsts={"nDCG@10": {"mean": 0.5}}),
        damaged(format=["surefoot ratchet 4"]),
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
    assert message.endswith("restore it, or delete it and accept a candidate again")
    assert "\n" not in message


def test_a_binary_file_is_one_clear_line_too(tmp_path: Path) -> None:
    (tmp_path / "accepted.json").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(SurefootError, match="not a ratchet file"):
        read_accepted(tmp_path / "accepted.json")


def test_a_writer_that_dies_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, PLAIN)
    before = path.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_accepted(path, ANCHORED)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
