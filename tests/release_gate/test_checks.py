"""Each rule of the gate on its own, on both sides of its limit."""

import numpy as np
import pytest
from scipy import stats

from surefoot import SurefootError
from surefoot.release_gate.checks import Checker, Finding, ScoredPair, decide, worst_of
from surefoot.release_gate.intervals import Interval, Levels, Question
from surefoot.release_gate.rules import RULES, Rules


def pair_of(delta: list[float] | np.ndarray, base: float = 0.5, p_loss: float = 1.0) -> ScoredPair:
    baseline = np.full(len(delta), base)
    topics = tuple(f"q{i}" for i in range(len(delta)))
    known = np.full(len(delta), p_loss)
    return ScoredPair("new", "old", "nDCG@10", topics, baseline + np.asarray(delta), baseline, known)


def spread(mean: float, size: float, topics: int = 2000) -> np.ndarray:
    """Differences with a mean, half of them above it and half below by a size."""
    return mean + size * np.tile([1.0, -1.0], topics // 2)


def check(rule: str, delta: list[float] | np.ndarray, p_loss: float = 1.0, **rules: object) -> Finding:
    checker = Checker(pair_of(delta, p_loss=p_loss), Rules(**rules))
    found: Finding = getattr(checker, rule.replace("-", "_"))()
    return found


def test_the_one_decision() -> None:
    def verdict(low: float, high: float) -> str:
        return decide(Interval(low, high, np.zeros(1), -1, 1), 0.1)

    assert verdict(-0.5, 0.1) == "pass"
    assert verdict(-0.5, 0.1001) == "undecided"
    assert verdict(0.1, 0.3) == "undecided"
    assert verdict(0.1001, 0.3) == "fail"


@pytest.mark.parametrize(
    ("mean", "size", "topics", "verdict", "words"),
    [
        (-0.05, 0.1, 2000, "fail", "shown to be beyond the limit of 0.01"),
        (-0.05, 0.1, 20, "undecided", "more queries like these would"),
        (-0.01, 0.1, 2000, "undecided", "can't tell whether it is within the limit of 0.01; nor would 100,000 queries"),
        (0.0, 0.1, 2000, "pass", "shown to be within the limit of 0.01"),
        (0.0, 0.1, 200, "undecided", "can't tell whether it is within the limit of 0.01; about"),
        (0.05, 0.1, 200, "pass", "shown to be within the limit of 0.01"),
    ],
)
def test_the_mean(mean: float, size: float, topics: int, verdict: str, words: str) -> None:
    found = check("mean", spread(mean, size, topics))
    assert (found.rule, found.verdict, found.limit) == ("mean", verdict, 0.01)
    assert words in found.sentence
    assert found.loss == pytest.approx(-mean)
    assert (found.low or 0.0) < -mean < (found.high or 0.0)


def test_the_sentence_of_the_mean() -> None:
    found = check("mean", spread(0.0, 0.1))
    assert found.sentence.startswith("Mean nDCG@10 is 0.5000, equal to the baseline's 0.5000 (-0.00")
    assert "0.0200 below the baseline's 0.5000" in check("mean", spread(-0.02, 0.1)).sentence


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
    assert "Losses weighing 2 times, the mean change (U_Risk) is -0.0500" in found.sentence
    assert "risk" not in Checker(pair_of(delta), Rules()).rules_on
    assert "risk" in Checker(pair_of(delta), Rules(alpha=1)).rules_on


@pytest.mark.parametrize(("lost", "verdict"), [(120, "pass"), (400, "undecided"), (500, "fail")])
def test_losses_are_a_fraction_with_an_exact_interval(lost: int, verdict: str) -> None:
    found = check("losses", [-0.01] * lost + [0.01] * (680 - lost), max_losses=0.6)
    assert found.verdict == verdict
    assert found.low == pytest.approx(stats.beta.ppf(0.05, lost, 681 - lost), rel=1e-3)
    assert found.high == pytest.approx(stats.beta.ppf(0.95, lost + 1, 680 - lost), rel=1e-3)
    assert found.sentence.startswith(f"{lost} of 680 queries lost, ")


def test_large_losses_are_those_above_a_fifth_of_the_score() -> None:
    found = check("large-losses", [-0.1] * 50 + [-0.1001] * 10 + [0.1] * 40)
    assert found.loss == pytest.approx(0.1)
    assert found.verdict == "pass"


def test_the_tail_is_the_mean_of_the_worst_tenth() -> None:
    delta = np.concatenate([np.full(40, -0.4), np.full(360, 0.05)])
    found = check("tail", delta)
    assert found.loss == pytest.approx(0.4)
    assert found.verdict == "fail"
    assert found.sentence.startswith("The 40 worst queries lost 0.4000 on average (0.")
    slight = check("tail", np.concatenate([np.full(40, -0.1), np.full(360, 0.05)]))
    assert slight.verdict == "pass"
    assert check("tail", [-0.1, 0.1]).verdict == "undecided"
    assert check("tail", [-0.1, 0.1]).sentence.startswith("The worst query lost 0.1000 (0.")


def test_the_tails_interval_covers_the_tail_of_the_population() -> None:
    random = np.random.default_rng(3)
    population = random.beta(0.4, 4, 100_000)
    truth = np.sort(population)[-10_000:].mean()
    inside = 0
    for _ in range(60):
        found = check("tail", -random.choice(population, 200), max_tail_loss=truth)
        inside += (found.low or 0.0) <= truth <= (found.high or 0.0)
    assert inside >= 56


def test_protected_queries_are_no_sample() -> None:
    delta = [-0.05, -0.051, 0.3, -0.4]
    assert check("protected", delta, protected=["q0", "q2"]).verdict == "pass"
    found = check("protected", delta, protected=["q0", "q1", "q3"])
    assert found.verdict == "fail"
    assert found.sentence == "2 of 3 protected queries lost more than 0.05: q3 (-0.4000), q1 (-0.0510)."
    assert (found.where, found.loss) == ("q3", pytest.approx(0.4))


def test_losses_that_the_judgments_leave_open_refuse_nothing_and_pass_nothing() -> None:
    delta = [-0.3] * 400
    for rule in ("losses", "large-losses", "tail"):
        assert check(rule, delta).verdict == check(rule, delta, p_loss=0.95).verdict == "fail"
        doubtful = check(rule, delta, p_loss=0.9)
        assert (doubtful.verdict, doubtful.low, doubtful.high) == ("undecided", 0.0, check(rule, delta).high)
        assert doubtful.sentence.endswith("if all losses are real; more judgments would tell (surefoot judge).")
    assert "400 of 400 queries lost, 100 %, 400 of them not credibly" in check("losses", delta, p_loss=0.9).sentence
    assert check("mean", delta, p_loss=0.9).verdict == "fail"
    protected = check("protected", delta, p_loss=0.9, protected=["q1"])
    assert protected.verdict == "undecided"
    assert "by these judgments it may not be real: q1 (-0.3000)" in protected.sentence


def segmented(means: dict[str, float], size: float, topics: int = 400) -> Finding:
    pair = pair_of(np.concatenate([spread(mean, size, topics) for mean in means.values()]))
    groups = {name: pair.topics[topics * place : topics * (place + 1)] for place, name in enumerate(means)}
    return Checker(pair, Rules(), groups, tests=len(groups)).segments()


def test_segments() -> None:
    good = {"a": 0.1, "b": 0.1}
    passed = segmented(good, 0.1)
    assert passed.verdict == "pass"
    assert passed.sentence == "The mean of each of 2 segments is shown to fall by no more than 0.05."
    failed = segmented({**good, "bad": -0.1, "worse": -0.2}, 0.1)
    assert (failed.verdict, failed.where) == ("fail", "worse")
    assert failed.sentence.startswith("The mean of worse changed by -0.2000 (")
    assert failed.sentence.endswith("shown to be beyond the limit of 0.05. The same holds for bad.")
    assert segmented({**good, "small": -0.1}, 0.3, topics=20).verdict == "undecided"


def test_a_fail_is_corrected_for_all_tests_and_a_pass_for_all_tries() -> None:
    assert Levels.of(0.05, tests=5) == Levels(0.01, 0.05)
    assert Levels.of(0.05, 1, Question(3)) == Levels(0.05, 0.05 / 2 / 12)
    pair = pair_of(spread(-0.016, 0.1, 3000))
    assert Checker(pair, Rules()).mean().verdict == "fail"
    assert Checker(pair, Rules(), tests=100).mean().verdict == "undecided"
    pair = pair_of(spread(0.0, 0.1, 800))
    assert Checker(pair, Rules()).mean().verdict == "pass"
    found = Checker(pair, Rules(), question=Question(37)).mean()
    assert found.verdict == "undecided"
    assert "within the limit of 0.01, but not distinguishable from the best of 37 tries; about" in found.sentence


def test_the_parts_of_all_questions_add_up_to_one() -> None:
    """Whichever candidate was accepted last, and however many are asked about after it."""
    parts = [Question(last + since, last).part for last in range(1500) for since in range(1, 1500)]
    assert 0.998 < sum(parts) < 1


@pytest.mark.parametrize("delta", [[-0.5], [0.5], [-0.25, -0.2]])
def test_few_queries_can_not_tell(delta: list[float]) -> None:
    findings = Checker(pair_of(delta), Rules()).findings()
    assert {one.verdict for one in findings} == {"undecided"}


def test_a_candidate_that_scores_as_its_baseline_is_said_to_be_identical() -> None:
    found = Checker(pair_of([0.0] * 5000), Rules(protected=["q1"])).identical()
    assert (found.rule, found.verdict) == ("identical", "undecided")
    assert found.sentence.startswith("new scores exactly as old on all of 5,000 queries: nothing changed")


def test_rules_that_have_nothing_to_look_at_are_not_reported() -> None:
    pair = pair_of([0.1] * 4)
    assert Checker(pair, Rules()).rules_on == ["mean", "losses", "large-losses", "tail"]
    everything = Checker(pair, Rules(alpha=1, protected=["q0"]), {"a": pair.topics})
    assert everything.rules_on == list(RULES) == [one.rule for one in everything.findings()]
    assert everything.own_tests == 6
    assert Checker(pair, Rules(off=["mean", "tail"])).rules_on == ["losses", "large-losses"]
    assert worst_of([]) == "pass"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be a number of 0 or more; got -1"),
        ({"mean_tolerance": float("nan")}, "mean_tolerance must be a number of 0 or more; got nan"),
        ({"max_losses": 1.5}, "max_losses is a share"),
        ({"level": 0}, "level must lie between 0 and 0.5; got 0"),
        ({"level": 0.5}, "level must lie between 0 and 0.5; got 0.5"),
        ({"undecided": "maybe"}, "undecided must be one of pass, warn, fail, exit3; got 'maybe'"),
        ({"tail_share": 0}, "tail_share must lie above 0"),
        ({"largest_change": 0}, "largest_change must be above 0"),
        ({"off": ["tails"]}, "no rule tails to leave out; there are mean, risk"),
    ],
)
def test_rules_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        Rules(**options)  # type: ignore[arg-type]
