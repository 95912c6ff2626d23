"""Each rule with strict evidence, on both sides of its limit."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from surefoot.release_gate.comparison import Comparison, Policy
from surefoot.release_gate.finding import Finding, Question, worst_of
from surefoot.release_gate.rules import SAMPLE
from surefoot.release_gate.rules import Rules as AnyRules
from surefoot.release_gate.strict import Interval, Levels, StrictChecker
from surefoot.scores import Scores
from tests.release_gate.pairs import pair_of, spread

Rules = partial(AnyRules, evidence="strict")


def check(rule: str, delta: list[float] | np.ndarray, **rules: object) -> Finding:
    checker = StrictChecker(pair_of(delta), Rules(**rules))
    return checker.finding(rule)


def test_the_one_decision() -> None:
    def verdict(low: float, high: float) -> str:
        return Interval(low, high, np.zeros(1)).decide(0.1)

    assert verdict(-0.5, 0.1) == "pass"
    assert verdict(-0.5, 0.1001) == "undecided"
    assert verdict(0.1, 0.3) == "undecided"
    assert verdict(0.1001, 0.3) == "fail"


@pytest.mark.parametrize(
    ("mean", "size", "topics", "verdict"),
    [
        (-0.05, 0.1, 2000, "fail"),
        (-0.05, 0.1, 20, "undecided"),
        (-0.01, 0.1, 2000, "undecided"),
        (0.0, 0.1, 2000, "pass"),
        (0.0, 0.1, 200, "undecided"),
        (0.05, 0.1, 200, "pass"),
    ],
)
def test_the_mean(mean: float, size: float, topics: int, verdict: str) -> None:
    found = check("mean", spread(mean, size, topics))
    assert (found.rule, found.verdict, found.limit) == ("mean", verdict, 0.01)
    assert found.loss == pytest.approx(-mean)
    assert (found.low or 0.0) < -mean < (found.high or 0.0)


def test_how_many_more_queries_would_tell() -> None:
    found = check("mean", spread(0.0, 0.1, 400))
    assert found.verdict == "undecided"
    again = [
        check("mean", 0.1 * np.random.default_rng(seed).standard_normal(400 + (found.more_queries or 0)))
        for seed in range(40)
    ]
    passed = sum(one.verdict == "pass" for one in again)
    assert 26 <= passed <= 40  # a power of 0.8


def test_risk_weighs_losses_and_is_only_on_with_an_alpha() -> None:
    delta = spread(0.0, 0.1)
    found = check("risk", delta, alpha=1.0)
    assert found.loss == pytest.approx(0.05)
    assert found.verdict == "fail"
    assert "risk" not in StrictChecker(pair_of(delta), Rules()).rules_on
    assert "risk" in StrictChecker(pair_of(delta), Rules(alpha=1)).rules_on


@pytest.mark.parametrize(("lost", "verdict"), [(120, "pass"), (400, "undecided"), (500, "fail")])
def test_losses_are_a_fraction_with_an_exact_interval(lost: int, verdict: str) -> None:
    found = check("losses", [-0.01] * lost + [0.01] * (680 - lost), max_losses=0.6)
    assert found.verdict == verdict
    assert found.low == pytest.approx(stats.beta.ppf(0.05, lost, 681 - lost), rel=1e-3)
    assert found.high == pytest.approx(stats.beta.ppf(0.95, lost + 1, 680 - lost), rel=1e-3)


def test_large_losses_are_those_above_a_fifth_of_the_score() -> None:
    found = check("large-losses", [-0.1] * 50 + [-0.1001] * 10 + [0.1] * 40)
    assert found.loss == pytest.approx(0.1)
    assert found.verdict == "pass"


def test_the_tail_is_the_mean_of_the_worst_tenth() -> None:
    delta = np.concatenate([np.full(40, -0.4), np.full(360, 0.05)])
    found = check("tail", delta)
    assert found.loss == pytest.approx(0.4)
    assert found.verdict == "fail"
    slight = check("tail", np.concatenate([np.full(40, -0.1), np.full(360, 0.05)]))
    assert slight.verdict == "pass"
    assert check("tail", [-0.1, 0.1]).verdict == "undecided"


def test_the_tails_interval_covers_the_tail_of_the_population() -> None:
    random = np.random.default_rng(3)
    population = random.beta(0.4, 4, 100_000)
    truth = np.sort(population)[-10_000:].mean()
    inside = 0
    for _ in range(60):
        pair = pair_of(-random.choice(population, 200))
        found = StrictChecker(pair, Rules(max_tail_loss=truth), advises=False).finding("tail")
        inside += (found.low or 0.0) <= truth <= (found.high or 0.0)
    assert inside >= 56


def segmented(means: dict[str, float], size: float, topics: int = 400) -> Finding:
    pair = pair_of(np.concatenate([spread(mean, size, topics) for mean in means.values()]))
    groups = {name: pair.topics[topics * place : topics * (place + 1)] for place, name in enumerate(means)}
    return StrictChecker(pair, Rules(), groups, n_tests=len(groups)).finding("segments")


def test_segments() -> None:
    good = {"a": 0.1, "b": 0.1}
    passed = segmented(good, 0.1)
    assert passed.verdict == "pass"
    failed = segmented({**good, "bad": -0.1, "worse": -0.2}, 0.1)
    assert (failed.verdict, failed.where) == ("fail", "worse")
    assert failed.sentence.endswith("The same holds for bad.")
    assert segmented({**good, "small": -0.1}, 0.3, topics=20).verdict == "undecided"


def test_a_fail_is_corrected_for_all_tests_and_a_pass_for_all_tries() -> None:
    assert Levels.of(0.05, tests=5) == Levels(0.01, 0.05)
    assert Levels.of(0.05, 1, Question(3)) == Levels(0.05, 0.05 / 2 / 12)
    pair = pair_of(spread(-0.016, 0.1, 3000))
    assert StrictChecker(pair, Rules()).finding("mean").verdict == "fail"
    assert StrictChecker(pair, Rules(), n_tests=100).finding("mean").verdict == "undecided"
    pair = pair_of(spread(0.0, 0.1, 800))
    assert StrictChecker(pair, Rules()).finding("mean").verdict == "pass"
    found = StrictChecker(pair, Rules(), question=Question(37)).finding("mean")
    assert found.verdict == "undecided"
    assert "the best of 37 tries" in found.sentence


def test_the_parts_of_all_questions_add_up_to_one() -> None:
    """Whichever candidate was accepted last, and however many are asked about after it."""
    parts = [Question(last + since, last).part for last in range(1500) for since in range(1, 1500)]
    assert 0.998 < sum(parts) < 1


@pytest.mark.parametrize("delta", [[-0.5], [0.5], [-0.25, -0.2]])
def test_few_queries_can_not_tell(delta: list[float]) -> None:
    findings = StrictChecker(pair_of(delta), Rules()).findings()
    assert {one.verdict for one in findings} == {"undecided"}


def test_rules_that_have_nothing_to_look_at_are_not_reported() -> None:
    pair = pair_of([0.1] * 4)
    assert StrictChecker(pair, Rules()).rules_on == ["mean", "losses", "large-losses", "tail"]
    everything = StrictChecker(pair, Rules(alpha=1, max_churn=0.1), {"a": pair.topics, "b": pair.topics[:2]})
    assert everything.rules_on == [name for name in SAMPLE if name != "churn"]
    assert everything.rules_on == [one.rule for one in everything.findings()]
    scores = Scores([pair.base, pair.own], ["old", "new"], pair.topics)
    policy = Policy(Rules(alpha=1, max_churn=0.1), segments={"q0": "a", "q1": "a", "q2": "b", "q3": "b"})
    assert Comparison(scores, "new", "old", policy).tests == 7
    assert Comparison(scores, "new", "old", Policy(Rules())).tests == 4
    assert StrictChecker(pair, Rules(off=["mean", "tail"])).rules_on == ["losses", "large-losses"]
    assert worst_of([]) == "pass"


@pytest.mark.parametrize("rules", [Rules(), Rules(off=["tail"]), Rules(level=0.1, max_tail_loss=0.4)])
def test_the_fewest_queries_at_which_a_pass_is_possible(rules: AnyRules) -> None:
    fewest = StrictChecker(pair_of([0.1, -0.1]), rules).fewest_queries()

    def verdict(queries: int) -> str:
        return worst_of(one.verdict for one in StrictChecker(pair_of(np.zeros(queries)), rules).findings())

    assert (verdict(fewest), verdict(fewest - 1)) == ("pass", "undecided")
