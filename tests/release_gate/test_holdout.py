"""Which queries are held out, and that they tell nothing but one bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import GateResult, Scores, SurefootError, gate
from surefoot.release_gate.comparison import Policy
from surefoot.release_gate.config import GateOptions
from surefoot.release_gate.finding import Question
from surefoot.release_gate.gate import gate_all
from surefoot.release_gate.ratchet import confirm, split_comparisons, split_topics
from surefoot.release_gate.rules import Rules

TOPICS = [f"q{i}" for i in range(1000)]
OLD = np.linspace(0.2, 0.7, 1000)
SCORES = Scores([OLD, OLD + 0.1, OLD - 0.1], ["old", "better", "worse"], TOPICS, "RR")


def test_the_split_depends_on_names_alone() -> None:
    open_part, held = split_topics(SCORES, 0.3)
    assert set(open_part.topics) | set(held.topics) == set(TOPICS)
    assert 250 < len(held.topics) < 350
    again = split_topics(SCORES.select(topics=TOPICS[500:]), 0.3)[1]
    assert set(again.topics) == set(held.topics) & set(TOPICS[500:])
    assert set(split_topics(SCORES, 0.2)[1].topics) < set(held.topics)


def test_some_queries_stay_open() -> None:
    protected = split_topics(SCORES, 0.5)[1].topics[:3]
    assert set(protected) <= set(split_topics(SCORES, 0.5, protected)[0].topics)


@pytest.mark.parametrize(("topics", "fraction"), [(1000, 0.0), (1000, 1.0), (1, 0.5)])
def test_what_can_not_be_split(topics: int, fraction: float) -> None:
    with pytest.raises(SurefootError):
        split_topics(SCORES.select(topics=TOPICS[:topics]), fraction)


@pytest.mark.parametrize(("candidate", "verdict"), [("better", "pass"), ("worse", "undecided")])
def test_one_bit(candidate: str, verdict: str) -> None:
    result = gate(SCORES, "old", candidate="better")
    found = confirm(result, gate(SCORES, "old", candidate=candidate), Question(7, accepted=2))
    assert found.findings[:-1] == result.findings
    assert found.findings[-1].verdict == verdict == found.verdict
    assert found.findings[-1].sentence.endswith("it; it was their question number 7.")
    assert len(found.to_frame()) == len(found.findings)
    kind, version = result.signature.rsplit("|", 1)
    assert found.signature == f"{kind}|tries=7|accepted=2|{version}"


def test_what_is_not_confirmed_is_the_reason() -> None:
    found = confirm(gate(SCORES, "old", candidate="better"), gate(SCORES, "old", candidate="worse"), Question(7))
    assert found.sentence().endswith(
        "not enough to ship: the 1,000 queries held out do not confirm it; it was their question number 7."
    )
    assert found.next_step == "Score more queries, so that more are held out, or change the candidate."


HELD = split_topics(SCORES, 0.5)[1].topics
FITTED = Scores([OLD, OLD + np.where(np.isin(TOPICS, HELD), -0.045, 0.1)], ["old", "new"], TOPICS, "RR")
"""A candidate that was fitted to the queries that are not held out."""


def held_out(folder: Path, *, pin: bool = False, accept: bool = False, **rules: Any) -> GateResult:
    """The result of a gate with half of the queries held out."""
    candidate = "old" if accept else "new"
    options = GateOptions(Rules(**rules), candidate=candidate, ratchet=str(folder / "a.json"), holdout=0.5)
    return options.run([FITTED], pin=pin, accept=accept).result


def test_pinned_held_out_queries_can_not_be_opened_by_protecting_them(tmp_path: Path) -> None:
    held_out(tmp_path, accept=True, pin=True, protected=TOPICS[:1])
    expected = held_out(tmp_path)
    assert (expected.verdict, expected.findings[-1].rule) == ("undecided", "held-out")
    result = held_out(tmp_path, protected=(TOPICS[0], *HELD[:-2]))
    assert result.findings[-1] == expected.findings[-1]
    assert result.changes == expected.changes
    assert not result.loosened
    with pytest.raises(SurefootError, match=r"by looser or other ones: protected .*; add --loosen"):
        held_out(tmp_path, pin=True, protected=(TOPICS[0], *HELD[:-2]))


def test_queries_that_are_protected_and_held_out_must_not_lose(tmp_path: Path) -> None:
    """One query decides the word on all that are held out; the others did not change."""
    rows = [OLD, OLD + np.where(np.array(TOPICS) == HELD[0], -0.2, 0.0)]
    comparisons = [(Scores(rows, ["old", "new"], TOPICS, "RR"), "old")]
    (held,) = split_comparisons(comparisons, 0.5)[1]
    for protected, verdict in ((), "pass"), ((HELD[0],), "fail"):
        result = gate_all([held], candidate="new", policy=Policy(Rules(protected=protected)))
        assert result.verdict == verdict
    (shown,) = split_comparisons(comparisons, 0.5)[0]
    found = gate_all([shown], candidate="new", policy=Policy(Rules(protected=(HELD[0],), off=["mean"])))
    assert "protected" not in {one.rule for one in found.findings}


def test_without_a_pin_newly_protected_queries_are_named(tmp_path: Path) -> None:
    held_out(tmp_path, accept=True)
    result = held_out(tmp_path, protected=HELD[:-2])
    assert result.loosened[0].startswith("protected ")


def test_a_smaller_holdout_is_named_without_a_pin_too(tmp_path: Path) -> None:
    held_out(tmp_path, accept=True)
    options = GateOptions(Rules(), candidate="new", ratchet=str(tmp_path / "a.json"), assessors=["off"])
    result = options.run([FITTED], missing="drop").result
    assert result.loosened == (
        "assessors off (before: none)",
        "missing drop (before: error)",
        "holdout 0 (before: 0.5)",
    )
