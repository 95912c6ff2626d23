"""The verdict over rules and baselines, and what must always hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot import GateResult, Scores, SurefootError, read_scores, score_runs
from surefoot.release_gate.arrivals import SequentialGate
from surefoot.release_gate.finding import Finding
from surefoot.release_gate.gate import gate
from surefoot.release_gate.rules import RULES, Rules

RANDOM = np.random.default_rng(3)
OLD = RANDOM.uniform(0.2, 0.8, 400)
WORSE = np.clip(OLD - 0.15 - 0.1 * RANDOM.random(400), 0, 1)
TOPICS = [f"q{i:03}" for i in range(400)]
SCORES = Scores([OLD, WORSE, np.minimum(OLD + 0.1, 1)], ["old", "worse", "better"], TOPICS, "nDCG@10", notes=["so"])

rows = arrays(np.float64, st.shared(st.integers(1, 30), key="topics"), elements=st.floats(0, 1, width=32))
few = settings(max_examples=15, deadline=None)


def test_the_verdict_is_the_worst_of_the_rules() -> None:
    assert gate(SCORES, "old", candidate="worse").verdict == "fail"
    assert gate(SCORES, "old", candidate="worse").exit_code == 1
    assert gate(SCORES, "old", candidate="better").verdict == "pass"
    assert gate(SCORES, "old", candidate="better").exit_code == 0


@pytest.mark.parametrize(
    ("undecided", "code", "acceptable"),
    [("pass", 0, True), ("warn", 0, False), ("hold", 0, False), ("fail", 1, False), ("exit3", 3, False)],
)
def test_what_can_not_be_decided_counts_as_asked(undecided: str, code: int, acceptable: bool) -> None:
    result = gate(SCORES.select(topics=TOPICS[:10]), "old", candidate="better", rules=Rules(undecided=undecided))
    assert (result.verdict, result.exit_code, result.acceptable) == ("undecided", code, acceptable)


def shifted(shift: float, topics: int = 30) -> Scores:
    """A candidate that moves by a shift on average, and by at most 14 % on each query."""
    old = np.full(topics, 0.9)
    return Scores([old, old + shift + np.tile([0.1, -0.1], topics // 2)], ["old", "new"], range(topics), "nDCG@10")


@pytest.mark.parametrize(("shift", "leans", "code"), [(-0.025, "against", 1), (-0.015, "for", 0)])
def test_hold_stops_what_leans_against_the_candidate(shift: float, leans: str, code: int) -> None:
    result = gate(shifted(shift), "old", candidate="new", rules=Rules(undecided="hold"))
    assert (result.verdict, result.leans, result.exit_code) == ("undecided", leans, code)


@pytest.mark.parametrize(
    ("shift", "decide", "verdict"),
    [
        (-0.012, None, "undecided"),
        (-0.012, 0.6, "pass"),
        (-0.012, 0.99, "undecided"),
        (-0.028, None, "undecided"),
        (-0.028, 0.55, "fail"),
    ],
)
def test_decide_turns_a_probability_into_a_verdict(shift: float, decide: float | None, verdict: str) -> None:
    assert gate(shifted(shift), "old", candidate="new", rules=Rules(decide=decide)).verdict == verdict


def test_several_baselines_give_the_worst_verdict() -> None:
    result = gate(SCORES, ["worse", "better"], candidate="old")
    assert result.baselines == ("worse", "better")
    assert {one.verdict for one in result.against(result.changes[0])} == {"pass"}
    assert result.verdict == "fail"


def test_several_measures_give_the_worst_verdict() -> None:
    other = Scores([OLD, OLD + 0.1 * (OLD < 0.7)], ["old", "worse"], TOPICS, "RR")
    result = gate([SCORES, other], "old", candidate="worse")
    assert result.measures == ("nDCG@10", "RR")
    assert [one.measure for one in result.changes] == ["nDCG@10", "RR"]
    assert {one.verdict for one in result.findings if one.measure == "RR"} == {"pass"}
    assert result.verdict == "fail"
    assert {one.measure for one in result.worst} == {"nDCG@10"}


def test_a_fail_needs_more_evidence_where_more_is_asked() -> None:
    worse = shifted(-0.05, 20)
    others = [Scores(worse.values, worse.systems, worse.topics, f"m{number}") for number in range(20)]
    assert gate(worse, "old", candidate="new").verdict == "fail"
    assert gate(others, "old", candidate="new").verdict == "undecided"


def test_virtual_baselines() -> None:
    assert gate(SCORES, "MEAN", candidate="better").verdict == "pass"
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
        SCORES, "old", candidate="worse", rules=Rules(alpha=5, max_losses=0.3, protected=["q001", "q002"], off=["tail"])
    )
    assert result.signature.startswith("gate|measure=nDCG@10|candidate=worse|baseline=old|evidence=seen|level=0.05|")
    named = ("topics=400", "assessors=unknown", "seed=0", "alpha=5", "max_losses=0.3", "off=tail")
    assert {*named} <= {*result.signature.split("|")}


def test_rules_by_their_options() -> None:
    options = {"max_losses": 0.3, "off": ["tail"]}
    chosen, by_name = (gate(SCORES, "old", candidate="worse", rules=one) for one in (Rules(**options), options))
    assert chosen.signature == by_name.signature
    assert chosen.findings == by_name.findings


def test_segments_count_and_topics_without_one_are_told() -> None:
    result = gate(SCORES, "old", candidate="worse", segments=dict.fromkeys(TOPICS[1:], "a"))
    assert result.findings[-1].rule == "segments"
    assert "topics without a segment count as (none): q000" in result.notes
    assert "segments=2" in result.signature


def test_frames_and_text() -> None:
    result = gate(SCORES, "old", candidate="worse")
    names = ["measure", "baseline", "rule", "verdict", "loss", "low", "high", "limit", "probability", "sentence"]
    assert result.to_frame().columns == names
    assert str(result).startswith("don't ship: worse against old, nDCG@10")


@pytest.mark.parametrize(
    ("candidate", "baseline", "rules", "message"),
    [
        ("none", "old", Rules(), "no system 'none'; there are old, worse, better"),
        ("worse", "none", Rules(), "no baseline 'none'"),
        ("worse", [], Rules(), "needs a baseline"),
        ("worse", "old", ["alpha"], r"rules should be Rules\(...\) or their options in a dict; got list"),
        ("worse", "old", {"mean_tolerence": 0.1}, r"no option 'mean_tolerence' \(did you mean mean_tolerance\?\)"),
        ("worse", ["old", "worse"], Rules(), "worse is its own baseline, so there is nothing to compare"),
        ("worse", "old", Rules(off=list(RULES)), "all rules are off"),
        (
            "worse",
            "old",
            Rules(largest_change=0.1),
            r"a query changed by 0.2\d+ in nDCG@10, but the gate assumes changes of at most 0.1",
        ),
        ("worse", "old", Rules(protected=["q001", "q999"]), "no score for the protected queries q999"),
    ],
)
def test_wrong_use(candidate: str, baseline: str, rules: Rules, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        gate(SCORES, baseline, candidate=candidate, rules=rules)


def test_a_candidate_identical_to_its_baseline_is_said() -> None:
    scores = Scores([OLD, OLD], ["old", "new"], TOPICS)
    result = gate(scores, "old", candidate="new", rules=Rules(undecided="exit3"))
    assert [one.rule for one in result.findings] == ["identical"]
    assert (result.verdict, result.exit_code) == ("pass", 0)
    assert "Nothing changed" in str(result)
    strict = gate(scores, "old", candidate="new", rules=Rules(undecided="exit3", evidence="strict"))
    assert (strict.verdict, strict.exit_code) == ("undecided", 3)


def test_a_measure_that_did_not_move_is_no_obstacle() -> None:
    other = Scores([OLD, OLD], ["old", "better"], TOPICS, "RR")
    result = gate([SCORES, other], "old", candidate="better")
    assert {one.rule for one in result.findings if one.measure == "RR"} == {"identical"}
    assert result.verdict == "pass"


def test_strict_evidence_takes_judgments_as_facts() -> None:
    for assessors in ("none", "dl2019"):
        with pytest.raises(SurefootError, match="strict evidence takes the judgments as facts"):
            gate(SCORES, "old", candidate="worse", rules={"evidence": "strict"}, assessors=assessors)
    assert gate(SCORES, "old", candidate="worse", rules={"evidence": "strict"}, assessors="off").verdict == "fail"


def test_the_texts_of_queries() -> None:
    result = gate(SCORES, "old", candidate="worse")
    first = result.worst[0].topic
    assert result.with_texts({first: "how to"}).worst[0].text == "how to"


def everything(row: np.ndarray) -> tuple[Rules, dict[str, str]]:
    topics = [str(i) for i in range(len(row))]
    return Rules(protected=topics[:2]), {topic: f"s{int(topic) % 3}" for topic in topics}


@given(rows, rows)
@few
def test_improving_every_topic_never_fails(row: np.ndarray, gain: np.ndarray) -> None:
    rules, segments = everything(row)
    result = gate(
        Scores([row, row + gain], ["old", "new"], range(len(row))),
        "old",
        candidate="new",
        rules=rules,
        segments=segments,
    )
    assert result.verdict != "fail"


@given(rows, rows, st.randoms(use_true_random=False))
@few
def test_the_order_of_topics_plays_no_role(old: np.ndarray, new: np.ndarray, random: object) -> None:
    rules, segments = everything(old)
    scores = Scores([old, new], ["old", "new"], range(len(old)))
    order = list(scores.topics)
    random.shuffle(order)  # type: ignore[attr-defined]
    one = gate(scores, "old", candidate="new", rules=rules, segments=segments)
    assert gate(scores, "old", candidate="new", rules=rules, segments=segments).findings == one.findings
    other = gate(scores.select(topics=order), "old", candidate="new", rules=rules, segments=segments)
    assert other.worst == one.worst
    for found, again in zip(one.findings, other.findings, strict=True):
        assert again.verdict == found.verdict


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict"),
    [("ICTNET12ADR2", "ICTNET12ADR3", "pass"), ("indriCASP", "uogTrA44xi", "fail")],
)
def test_pairs_of_trec_runs(candidate: str, baseline: str, verdict: str, data: Path) -> None:
    scores = read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")
    assert gate(scores, baseline, candidate=candidate).verdict == verdict


def finding(rule: str, more: int | None, **fields: Any) -> Finding:
    return Finding(rule, "nDCG@10", "old", "undecided", f"About {rule}.", more_queries=more, **fields)


@pytest.mark.parametrize(
    ("findings", "step"),
    [
        ([finding("mean", 40, probability=0.7), finding("tail", 900, probability=0.6)],
         "About 900 more queries like these would decide."),
        ([finding("mean", 40, probability=0.1), finding("tail", 900, probability=0.6)],
         "Hold it. About 40 more queries like these would decide, more likely against it."),
        ([finding("mean", 70, probability=0.1), finding("tail", 50, probability=0.2)],
         "Hold it. About 50 more queries like these would decide, more likely against it."),
        ([finding("mean", 40, loss=0.05, limit=0.02), finding("tail", None, loss=0.1, limit=0.2)],
         "About 40 more queries like these would decide, more likely against it."),
        ([finding("mean", 40, loss=0.01, limit=0.02), finding("tail", None, loss=0.1, limit=0.2)],
         "More than 100,000 queries like these would be needed: widen the limit, or decide by hand."),
    ],
)  # fmt: skip
def test_advice_on_more_queries_promises_no_pass_where_a_rule_is_about_to_fail(
    findings: list[Finding], step: str
) -> None:
    result = GateResult("gate", candidate="new", measures=("nDCG@10",), findings=tuple(findings))
    assert result.next_step == step


def test_the_signature_has_draws_only_where_something_is_in_doubt() -> None:
    runs = {name: {f"q{i}": {"d1": 1.0 + i % 2 * sign, "d2": 1.5} for i in range(30)} for name, sign in RUNS.items()}
    judged = {f"q{i}": {"d1": 1, "d2": 0} for i in range(30)}
    assert "draws" not in gate(score_runs(runs, judged), "old", candidate="new").signature
    unjudged = judged | {"q1": {"d1": 1}}
    assert "|draws=2000|" in gate(score_runs(runs, unjudged), "old", candidate="new").signature


RUNS = {"old": 1.0, "new": -1.0}


@pytest.mark.parametrize(("evidence", "limit"), [("seen", 0.29), ("strict", 0.4), ("sequential", 0.29)])
def test_the_sentence_has_the_numbers_of_the_rule_that_decides(evidence: str, limit: float) -> None:
    """Here the tail does; the mean rises."""
    delta = np.full(400, 0.15)
    delta[:29] = -0.6
    delta = np.random.default_rng(1).permutation(delta)
    scores = Scores([np.full(400, 0.7), 0.7 + delta], ["old", "new"], TOPICS, "RR")
    if evidence == "sequential":
        result = SequentialGate(None, "old", candidate="new", rules={"max_tail_loss": limit}).add(scores)
    else:
        result = gate(scores, "old", candidate="new", rules={"evidence": evidence, "max_tail_loss": limit})
    assert (result.verdict, result.deciding.rule) == ("undecided", "tail")
    reason = result.sentence().partition("the evidence is not enough to ship: ")[2]
    assert reason.startswith(("the worst 10 % of the queries lost", "the 40 worst queries lost"))
    assert reason[1:] == result.reason[1:]
