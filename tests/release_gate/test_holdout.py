"""Which queries are held out, and that they tell nothing but one bit."""

import numpy as np
import pytest

from surefoot import Scores, SurefootError, gate
from surefoot.release_gate.ratchet import confirm, split_topics

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
    found = confirm(result, gate(SCORES, "old", candidate=candidate), 7)
    assert found.findings[:-1] == result.findings
    assert found.findings[-1].verdict == verdict == found.verdict
    assert found.findings[-1].sentence.endswith("it; it was their question number 7.")
    assert len(found.to_frame()) == len(found.findings)


def test_what_is_not_confirmed_is_the_reason() -> None:
    found = confirm(gate(SCORES, "old", candidate="better"), gate(SCORES, "old", candidate="worse"), 7)
    assert found.sentence().endswith(
        "not enough to ship: the 1,000 queries held out do not confirm it; it was their question number 7."
    )
    assert found.next_step == "Score more queries, so that more are held out, or change the candidate."
