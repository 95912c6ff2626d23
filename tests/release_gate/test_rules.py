"""Each rule of the gate on its own, at its border."""

import numpy as np
import pytest
from scipy import stats

from surefoot import SurefootError, risk
from surefoot.release_gate.checks import (
    Finding,
    Pair,
    check_all,
    check_large_losses,
    check_losses,
    check_mean,
    check_protected,
    check_risk,
    check_segments,
    check_tail,
    tail_se,
    worst_of,
)
from surefoot.release_gate.rules import RULES, Rules
from surefoot.stats.inference import critical_value, jackknife, t_inference


def pair_of(delta: list[float] | np.ndarray, base: float = 0.5) -> Pair:
    baseline = np.full(len(delta), base)
    topics = tuple(f"q{i}" for i in range(len(delta)))
    return Pair("new", "old", "nDCG@10", topics, baseline + np.asarray(delta), baseline)


def spread(mean: float, size: float, topics: int = 20) -> np.ndarray:
    """Differences with a mean, half of them above it and half below by a size."""
    return mean + size * np.tile([1.0, -1.0], topics // 2)


@pytest.mark.parametrize(
    ("mean", "size", "verdict", "words"),
    [
        (-0.05, 0.01, "fail", "beyond the tolerance of 0.01, and more than noise"),
        (-0.05, 0.40, "warn", "beyond the tolerance of 0.01, but noise could do it"),
        (-0.005, 0.001, "warn", "more than noise, but within the tolerance of 0.01"),
        (-0.005, 0.10, "pass", "within the tolerance of 0.01"),
        (0.05, 0.01, "pass", "no loss"),
    ],
)
def test_the_mean_fails_on_both_and_warns_on_one(mean: float, size: float, verdict: str, words: str) -> None:
    found = check_mean(pair_of(spread(mean, size)), Rules())
    assert (found.rule, found.verdict) == ("mean", verdict)
    assert found.sentence.endswith(f"{words}.")
    assert found.measured["difference"] == pytest.approx(mean)
    assert found.limit == {"difference": -0.01, "p": 0.05}


def test_the_means_p_is_the_paired_t_test() -> None:
    pair = pair_of(spread(-0.05, 0.1))
    assert check_mean(pair, Rules()).measured["p"] == pytest.approx(stats.ttest_rel(pair.own, pair.base).pvalue)


def test_a_loss_of_exactly_the_tolerance_is_tolerated() -> None:
    assert check_mean(pair_of(spread(-0.01, 0.3)), Rules()).verdict == "pass"
    assert check_mean(pair_of(spread(-0.0101, 0.3)), Rules()).verdict == "warn"


@pytest.mark.parametrize(("factor", "verdict"), [(1.001, "fail"), (0.999, "warn")])
def test_risk_fails_where_t_passes_the_critical_value(factor: float, verdict: str) -> None:
    pair = pair_of(spread(-0.1, 0.2))
    level = float(t_inference(pair.own, pair.base, 1).p) * factor
    found = check_risk(pair, Rules(level=level))
    assert found.verdict == verdict
    assert found.limit["trisk"] == pytest.approx(-critical_value(20, level))
    assert found.measured["trisk"] == pytest.approx(float(risk.trisk(pair.own, pair.base, 1)))
    assert (found.measured["trisk"] < found.limit["trisk"]) == (verdict == "fail")


def test_risk_within_its_tolerance_only_warns() -> None:
    assert check_risk(pair_of(spread(-0.004, 0.001)), Rules()).verdict == "warn"
    assert check_risk(pair_of(spread(-0.004, 0.001)), Rules(risk_tolerance=0.005)).verdict == "fail"


def test_alpha_weighs_the_losses() -> None:
    pair = pair_of(spread(0.1, 0.3))
    assert check_risk(pair, Rules(alpha=0)).verdict == "pass"
    assert check_risk(pair, Rules(alpha=5)).verdict == "fail"
    assert "Losses weighing 6 times" in check_risk(pair, Rules(alpha=5)).sentence


@pytest.mark.parametrize(("lost", "verdict"), [(10, "pass"), (11, "warn"), (14, "warn"), (15, "fail")])
def test_losses_warn_above_the_limit_and_fail_beyond_noise(lost: int, verdict: str) -> None:
    found = check_losses(pair_of([-0.01] * lost + [0.01] * (20 - lost)), Rules())
    p = stats.binomtest(lost, 20, 0.5, alternative="greater").pvalue
    assert found.verdict == verdict
    assert found.measured == {"share": lost / 20, "p": pytest.approx(p)}
    assert (verdict == "fail") == (p < 0.025)
    assert f"{lost} of 20 queries lost ({5 * lost} %)" in found.sentence


@pytest.mark.parametrize(("lost", "verdict"), [(5, "pass"), (6, "warn"), (9, "warn"), (10, "fail")])
def test_large_losses_count_only_those_beyond_a_fifth(lost: int, verdict: str) -> None:
    small = [-0.1] * (20 - lost)  # exactly 20 % of 0.5
    assert check_large_losses(pair_of([-0.11] * lost + small), Rules()).verdict == verdict


def test_no_loss_is_tolerated_where_the_limit_is_0() -> None:
    assert check_losses(pair_of([0.0] * 20), Rules(max_losses=0)).verdict == "pass"
    assert check_losses(pair_of([-0.1] + [0.0] * 19), Rules(max_losses=0)).verdict == "fail"
    assert check_losses(pair_of([-0.1] * 20), Rules(max_losses=1)).verdict == "pass"


def test_the_tail_warns_beyond_the_limit_and_fails_beyond_noise() -> None:
    at_the_limit = [-0.25, -0.25] + [0.0] * 18
    assert check_tail(pair_of(at_the_limit), Rules()).verdict == "pass"
    beyond = [-0.27, -0.25] + [0.0] * 18
    assert check_tail(pair_of(beyond), Rules()).verdict == "warn"
    surely = [-0.4, -0.4, -0.4, -0.4] + [0.0] * 16
    found = check_tail(pair_of(surely), Rules())
    assert found.verdict == "fail"
    assert found.measured["tail"] == pytest.approx(-0.4)
    assert "The 2 worst queries lost 0.4000 on average" in found.sentence


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("topics", [2, 10, 11, 50, 51])
def test_the_tails_error_is_the_jackknifes(share: float, topics: int) -> None:
    delta = np.random.default_rng(topics).normal(size=topics)
    general = jackknife(lambda x: risk.tail(x, np.zeros(x.shape[-1]), share), delta)
    assert tail_se(delta, share) == pytest.approx(float(general.se))


def test_protected_queries_fail_beyond_their_tolerance_and_need_no_test() -> None:
    pair = pair_of([-0.05, -0.051, 0.3, -0.4])
    assert check_protected(pair, Rules(protected=["q0", "q2"])).verdict == "pass"
    found = check_protected(pair, Rules(protected=["q0", "q1", "q3"]))
    assert found.verdict == "fail"
    assert found.sentence == "2 of 3 protected queries lost more than 0.05: q3 (-0.4000), q1 (-0.0510)."
    assert found.measured == {"delta": pytest.approx(-0.4), "topic": "q3", "regressed": 2}


def segmented(means: dict[str, float], size: float) -> Finding:
    delta = np.concatenate([spread(mean, size, 10) for mean in means.values()])
    pair = pair_of(delta)
    groups = {name: pair.topics[10 * place : 10 * place + 10] for place, name in enumerate(means)}
    return check_segments(pair, Rules(), groups)


def test_a_segment_fails_on_both_and_warns_on_one() -> None:
    good = {"a": 0.1, "b": 0.1}
    assert segmented({**good, "bad": -0.1}, 0.01).verdict == "fail"
    assert segmented({**good, "bad": -0.1}, 0.40).verdict == "warn"
    assert segmented({**good, "bad": -0.04}, 0.01).verdict == "warn"
    assert segmented({**good, "bad": -0.04}, 0.40).verdict == "pass"


def test_a_segments_p_is_corrected_for_all_segments() -> None:
    size = 0.13
    alone = segmented({"bad": -0.1}, size)
    among = segmented({"bad": -0.1, **{f"s{i}": 0.0 for i in range(9)}}, size)
    assert (alone.verdict, among.verdict) == ("fail", "warn")
    assert among.measured["p_holm"] == pytest.approx(10 * alone.measured["p_holm"])
    assert among.measured["segment"] == "bad"


def test_the_segments_sentence_names_those_of_one_reason() -> None:
    found = segmented({"good": 0.1, "worse": -0.1, "worst": -0.2, "slight": -0.04}, 0.01)
    assert found.sentence.startswith("worst (-0.2000, p < 0.001 after Holm), worse (-0.1000")
    assert "slight" not in found.sentence
    assert found.sentence.endswith("beyond the tolerance of 0.05, and more than noise.")


def test_a_segment_of_one_topic_only_warns() -> None:
    pair = pair_of([-0.5, 0.1, 0.2])
    found = check_segments(pair, Rules(), {"one": ("q0",), "two": ("q1", "q2")})
    assert found.verdict == "warn"
    assert found.sentence == "one (-0.5000): beyond the tolerance of 0.05, but noise could do it."


@pytest.mark.parametrize(("topics", "verdict"), [(1, "warn"), (2, "warn"), (5, "warn"), (6, "fail")])
def test_the_same_loss_everywhere_is_judged_by_the_sign_test(topics: int, verdict: str) -> None:
    found = check_mean(pair_of([-0.25] * topics), Rules())
    assert found.verdict == verdict
    assert check_risk(pair_of([-0.25] * topics), Rules()).measured["trisk"] is None


def test_one_topic_can_only_warn() -> None:
    findings = check_all(pair_of([-0.5]), Rules(), {"a": ("q0",)})
    assert worst_of(one.verdict for one in findings) == "warn"


def test_rules_that_have_nothing_to_look_at_are_not_reported() -> None:
    pair = pair_of([0.0] * 4)
    assert [one.rule for one in check_all(pair, Rules(), None)] == ["mean", "risk", "losses", "large-losses", "tail"]
    everything = check_all(pair, Rules(protected=["q0"]), {"a": pair.topics})
    assert [one.rule for one in everything] == list(RULES)
    assert [one.rule for one in check_all(pair, Rules(off=["mean", "tail"]), None)] == [
        "risk",
        "losses",
        "large-losses",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be a number of 0 or more; got -1"),
        ({"mean_tolerance": float("nan")}, "mean_tolerance must be a number of 0 or more; got nan"),
        ({"max_losses": 1.5}, "max_losses is a share"),
        ({"level": 0}, "level must lie between 0 and 1"),
        ({"tail_share": 0}, "tail_share must lie above 0"),
        ({"off": ["tails"]}, "no rule tails to leave out; there are mean, risk"),
    ],
)
def test_rules_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        Rules(**options)
