"""The words of a verdict: what to do, why, what next, and what so many queries can show."""

import numpy as np
import pytest

from surefoot import GateResult, Scores, gate
from surefoot.release_gate.finding import Finding, Resolution, Verdict
from surefoot.release_gate.rules import RULES, Rules


def result_of(*findings: Finding, **more: object) -> GateResult:
    return GateResult(
        signature="gate", candidate="new", measures=("RR",), findings=findings, **more  # type: ignore[arg-type]
    )  # fmt: skip


def finding(rule: str, verdict: Verdict, **more: object) -> Finding:
    return Finding(rule, "RR", "old", verdict, f"About {rule}.", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "probability", "start"),
    [
        ("pass", 0.99, "ship: new"),
        ("fail", 0.01, "don't ship: new"),
        ("undecided", 0.7, "not enough evidence, leaning towards a pass: new"),
        ("undecided", 0.3, "not enough evidence, leaning against: new"),
        ("undecided", None, "not enough evidence: new"),
    ],
)
def test_the_first_line_is_what_to_do_and_names_the_tier(
    verdict: Verdict, probability: float | None, start: str
) -> None:
    for evidence, tier in (("seen", "(as far as seen)"), ("strict", "(strict)")):
        line = result_of(finding("mean", verdict, probability=probability), rules=Rules(evidence=evidence)).headline()
        assert line.startswith(start)
        assert line.endswith(tier)


def test_the_reason_is_that_of_the_rule_that_decides() -> None:
    mean, tail = finding("mean", "pass", probability=0.9), finding("tail", "undecided", probability=0.6)
    losses = finding("losses", "undecided", probability=0.4)
    assert result_of(mean, tail, losses).deciding == losses
    assert result_of(mean, tail, finding("losses", "fail")).deciding.rule == "losses"
    assert result_of(mean, tail, losses).reason.startswith("About losses.")
    assert "2 rules" in result_of(mean, finding("tail", "pass")).reason
    assert "About mean." in result_of(finding("tail", "pass"), mean).reason
    assert "nothing to compare with" in result_of().reason


@pytest.mark.parametrize("rule", RULES)
def test_a_fail_has_a_next_step(rule: str) -> None:
    step = result_of(finding(rule, "fail", where="q17")).next_step
    assert ("--acknowledge q17" in step) == (rule in ("protected", "no-results", "query-loss"))


def test_the_next_step_of_what_is_undecided() -> None:
    def step(*findings: Finding, **more: object) -> str:
        return result_of(*findings, **more).next_step

    several = [finding("mean", "undecided", probability=0.7, more_queries=one) for one in (30, 1200)]
    assert "1,200 more queries" in step(*several)
    assert "Hold" not in step(*several)
    assert step(finding("mean", "undecided", probability=0.2, more_queries=30)).startswith("Hold it.")
    assert "More than 100,000" in step(*several, finding("tail", "undecided", probability=0.6))
    assert "graded measure" in step(finding("identical", "undecided"))
    judged = step(finding("protected", "undecided", documents=(("q1", "d1"), ("q1", "d2"))), *several)
    assert all(word in judged for word in ("2 unjudged documents", "d1 (q1)", "surefoot judge"))
    assert "several times" in step(*several, needs_repeats=True)
    assert "judge" not in step(*several)
    assert step(finding("mean", "pass")) == "Release it."


def test_what_so_many_queries_can_show() -> None:
    seen = str(Resolution(50, 0.01, 20, 0.0444, 360))
    assert all(word in seen for word in ("50 queries", "0.044", "0.01", "360", "20 queries"))
    strict = str(Resolution(50, 0.01, 299))
    assert "299 queries" in strict


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"off": ["tail", "losses"]}, "The probability that it does not fall by more than 0.02 is 0."),
        ({"off": ["mean", "losses"], "max_tail_loss": 0.04},
         "The probability that this difference is at most 0.04 is 0."),
        ({"off": ["mean", "tail", "losses"], "alpha": 1.0}, "The probability that it is at least -0.02 is 0."),
        ({"off": ["mean", "tail"], "max_losses": 0.6},
         "The probability that at most 60 % do so among queries like these is 0."),
    ],
)  # fmt: skip
def test_an_undecided_rule_says_what_is_how_probable(rules: dict[str, object], sentence: str) -> None:
    difference = 0.3 * np.random.default_rng(1).standard_normal(24)
    old = np.full(24, 0.5)
    scores = Scores([old, old + difference - difference.mean()], ["old", "new"], range(24), "nDCG@10")
    result = gate(scores, "old", candidate="new", rules=rules)
    undecided = [one.sentence for one in result.findings if one.verdict == "undecided"]
    assert any(sentence in one for one in undecided), [one.sentence for one in result.findings]


def test_real_results_have_all_words() -> None:
    random = np.random.default_rng(0)
    for shift in (-0.1, -0.02, 0.1):
        for evidence in ("seen", "strict"):
            old = random.uniform(0.3, 0.6, 60)
            new = old + shift + 0.05 * random.standard_normal(60)
            scores = Scores([old, new], ["old", "new"], range(60), "nDCG@10")
            result = gate(scores, "old", candidate="new", rules={"evidence": evidence})
            lines = [result.headline(), result.reason, result.next_step, str(result.resolution)]
            assert all(lines)
            assert all("  " not in line and "None" not in line for line in lines)
