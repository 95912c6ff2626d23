"""The verdict over rules and baselines, and what must always hold."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot import Scores, SurefootError, read_scores
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import gate, merge

RANDOM = np.random.default_rng(3)
OLD = RANDOM.random(30)
WORSE = np.clip(OLD - 0.3 - 0.1 * RANDOM.random(30), 0, 1)
TOPICS = [f"q{i:02}" for i in range(30)]
SCORES = Scores([OLD, WORSE, np.minimum(OLD + 0.2, 1)], ["old", "worse", "better"], TOPICS, "nDCG@10", notes=["so"])

rows = arrays(np.float64, st.shared(st.integers(1, 30), key="topics"), elements=st.floats(0, 1, width=32))


def test_the_verdict_is_the_worst_of_the_rules() -> None:
    assert gate(SCORES, "old", candidate="worse").verdict == "fail"
    assert gate(SCORES, "old", candidate="worse").exit_code == 1
    assert gate(SCORES, "old", candidate="better").verdict == "pass"
    assert gate(SCORES, "old", candidate="better").exit_code == 0


def test_several_baselines_give_the_worst_verdict() -> None:
    result = gate(SCORES, ["worse", "better"], candidate="old")
    assert result.baselines == ("worse", "better")
    assert {one.verdict for one in result.against("worse")} == {"pass"}
    assert result.verdict == "fail"
    parts = [gate(SCORES, "worse", candidate="old"), gate(SCORES, "better", candidate="old")]
    assert merge(parts).findings == result.findings
    assert merge(parts).worst == result.worst
    assert merge(parts).notes == ("so",)


def test_virtual_baselines() -> None:
    assert gate(SCORES, "MAX", candidate="better").verdict == "pass"
    assert gate(SCORES, "MEAN", candidate="worse").verdict == "fail"


def test_the_worst_queries_come_with_both_scores() -> None:
    worst = gate(SCORES, "old", candidate="worse").worst
    assert len(worst) == 5
    assert [one.delta for one in worst] == sorted((WORSE - OLD).tolist())[:5]
    place = TOPICS.index(worst[0].topic)
    assert (worst[0].baseline_score, worst[0].candidate_score) == (OLD[place], WORSE[place])


def test_what_changed() -> None:
    (change,) = gate(SCORES, "old", candidate="worse").changes
    assert change.baseline_mean == pytest.approx(OLD.mean())
    assert change.candidate_mean == pytest.approx(WORSE.mean())
    assert (change.wins, change.losses, change.ties) == (0, (WORSE < OLD).sum(), (WORSE == OLD).sum())


def test_the_signature_says_what_was_asked() -> None:
    result = gate(
        SCORES, "old", candidate="worse", rules=Rules(alpha=5, max_losses=0.3, protected=["q01", "q02"], off=["tail"])
    )
    assert result.signature.startswith(
        "gate|measure=nDCG@10|candidate=worse|baseline=old|alpha=5|level=0.05|topics=30|"
        "max_losses=0.3|protected=2|off=tail|surefoot="
    )


def test_segments_count_and_topics_without_one_are_told() -> None:
    result = gate(SCORES, "old", candidate="worse", segments=dict.fromkeys(TOPICS[1:], "a"))
    assert result.findings[-1].rule == "segments"
    assert "topics without a segment count as (none): q00" in result.notes
    assert "segments=2" in result.signature


def test_frames_and_text() -> None:
    result = gate(SCORES, "old", candidate="worse")
    assert result.to_frame().columns == ["baseline", "rule", "verdict", "sentence"]
    assert str(result).startswith("fail  worse, nDCG@10\n")


@pytest.mark.parametrize(
    ("candidate", "baseline", "rules", "message"),
    [
        ("none", "old", Rules(), "no system 'none'; there are old, worse, better"),
        ("worse", "none", Rules(), "no baseline 'none'"),
        ("worse", [], Rules(), "needs a baseline"),
        ("worse", "old", Rules(protected=["q01", "q99"]), "no score for the protected queries q99"),
    ],
)
def test_wrong_use(candidate: str, baseline: str, rules: Rules, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        gate(SCORES, baseline, candidate=candidate, rules=rules)


def test_a_system_compared_with_itself_is_noted() -> None:
    result = gate(SCORES, "old", candidate="old")
    assert result.verdict == "pass"
    assert "old is compared with itself, which always passes" in result.notes


def everything(row: np.ndarray) -> tuple[Rules, dict[str, str]]:
    topics = [str(i) for i in range(len(row))]
    return Rules(protected=topics[:2]), {topic: f"s{int(topic) % 3}" for topic in topics}


@given(rows)
def test_a_candidate_equal_to_its_baseline_passes(row: np.ndarray) -> None:
    rules, segments = everything(row)
    result = gate(
        Scores([row, row], ["old", "new"], range(len(row))), "old", candidate="new", rules=rules, segments=segments
    )
    assert {one.verdict for one in result.findings} == {"pass"}
    assert result.worst == ()


@given(rows, rows)
def test_improving_every_topic_never_fails_nor_warns(row: np.ndarray, gain: np.ndarray) -> None:
    rules, segments = everything(row)
    result = gate(
        Scores([row, row + gain], ["old", "new"], range(len(row))),
        "old",
        candidate="new",
        rules=rules,
        segments=segments,
    )
    assert {one.verdict for one in result.findings} == {"pass"}


@given(rows, rows, st.randoms(use_true_random=False))
def test_the_order_of_topics_plays_no_role(old: np.ndarray, new: np.ndarray, random: object) -> None:
    rules, segments = everything(old)
    scores = Scores([old, new], ["old", "new"], range(len(old)))
    order = list(scores.topics)
    random.shuffle(order)  # type: ignore[attr-defined]
    one = gate(scores, "old", candidate="new", rules=rules, segments=segments)
    other = gate(scores.select(topics=order), "old", candidate="new", rules=rules, segments=segments)
    assert other.worst == one.worst
    for found, again in zip(one.findings, other.findings, strict=True):
        assert again.verdict == found.verdict


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict", "not_passed"),
    [
        ("ICTNET12ADR2", "ICTNET12ADR3", "pass", {}),
        ("ICTNET12ADR2", "ICTNET12ADR1", "warn", {"risk": "warn"}),
        ("ICTNET12ADR3", "ICTNET12ADR2", "fail", {"losses": "fail", "risk": "fail"}),
    ],
)
def test_the_three_pairs_of_the_manual(
    candidate: str, baseline: str, verdict: str, not_passed: dict[str, str], data: Path
) -> None:
    result = gate(read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20"), baseline, candidate=candidate)
    found = {one.rule: one.verdict for one in result.findings}
    assert result.verdict == verdict
    assert {rule: found[rule] for rule in not_passed} == not_passed
