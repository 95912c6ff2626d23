"""Each rule on evidence as far as seen, what must always hold, and advice against simulation."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surefoot._typing import FloatArray
from surefoot.release_gate.checker import NET_SHARE
from surefoot.release_gate.finding import Finding, Groups, Question, ScoredPair
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.seen import FEWEST_QUERIES, MEAN_SHARE, SeenChecker
from tests.release_gate.pairs import pair_of, spread

deltas = st.lists(st.floats(-0.5, 0.5, width=16), min_size=1, max_size=45)
few = settings(max_examples=40)
PERMUTATIONS = 300


def findings(
    delta: list[float] | FloatArray, groups: Groups | None = None, base: float = 0.5, **rules: object
) -> dict[str, Finding]:
    checker = SeenChecker(pair_of(delta, base), Rules(**rules), groups, n_permutations=PERMUTATIONS)  # type: ignore[arg-type]
    return {one.rule: one for one in checker.findings()}


@pytest.mark.parametrize(
    ("mean", "size", "topics", "verdict"),
    [
        (-0.05, 0.1, 100, "fail"),
        (-0.05, 0.1, 6, "undecided"),
        (-0.02, 0.1, 2000, "undecided"),
        (-0.015, 0.1, 2000, "pass"),
        (0.0, 0.1, 100, "pass"),
        (0.0, 0.2, 30, "undecided"),
        (0.05, 0.1, 50, "pass"),
    ],
)
def test_the_mean(mean: float, size: float, topics: int, verdict: str) -> None:
    found = findings(spread(mean, size, topics))["mean"]
    assert (found.verdict, found.limit) == (verdict, 0.02)
    assert found.loss == pytest.approx(-mean)
    assert (found.low or 0.0) < -mean < (found.high or 0.0)
    assert found.probability is not None
    assert (found.more_queries is None) == (verdict != "undecided")


def test_a_loss_beyond_the_limit_that_chance_explains_is_undecided() -> None:
    """One query lost everything: half of all signs give a mean loss as large."""
    found = findings([-1.0] + [0.0] * 29, base=1.0)
    assert (found["mean"].verdict, found["tail"].verdict) == ("undecided", "undecided")


def test_below_twenty_queries_nothing_passes() -> None:
    assert findings([0.1] * (FEWEST_QUERIES - 1))["mean"].verdict == "undecided"
    assert {one.verdict for one in findings([0.1] * FEWEST_QUERIES).values()} == {"pass"}


@pytest.mark.parametrize(
    ("lost", "won", "verdict"), [(10, 90, "pass"), (85, 15, "fail"), (80, 20, "pass"), (9, 1, "pass")]
)
def test_losses_count_among_the_queries_that_changed(lost: int, won: int, verdict: str) -> None:
    """Nine of ten changed queries lost, but these are few of all 110."""
    delta = [-0.1] * lost + [0.1] * won + [0.0] * (10 if lost + won > 10 else 190)
    found = findings(delta)["losses"]
    assert (found.verdict, found.loss) == (verdict, pytest.approx(lost / (lost + won)))
    assert ((lost - won) / len(delta) > NET_SHARE and lost / (lost + won) > 0.8) == (verdict == "fail")


@pytest.mark.parametrize("size", [1e-16, 1e-12, 1e-6, 0.005])
def test_many_small_losses_do_not_fail(size: float) -> None:
    assert findings([-size] * 50)["losses"].verdict == "pass"


def test_shares_only_refuse_unless_their_limit_is_given() -> None:
    delta = [-0.2] * 15 + [0.2] * 15
    assert findings(delta)["losses"].verdict == findings(delta)["large-losses"].verdict == "pass"
    assert findings(delta, max_losses=0.52)["losses"].verdict == "undecided"
    assert findings(delta, max_losses=0.9)["losses"].verdict == "pass"
    assert findings(delta, max_large_losses=0.52)["large-losses"].verdict == "undecided"


def test_large_losses_are_reported_and_weighed_against_gains_where_a_limit_is_given() -> None:
    lost = [-0.3] * 40 + [0.01] * 60
    found = findings(lost)["large-losses"]
    assert (found.verdict, found.loss) == ("pass", pytest.approx(0.4))
    assert findings(lost, max_large_losses=0.33)["large-losses"].verdict == "fail"
    churned = [-0.3] * 40 + [0.3] * 40 + [0.0] * 20
    assert findings(churned, max_large_losses=0.33)["large-losses"].verdict == "undecided"


def test_the_tail_is_what_the_worst_lost_more_than_the_best_won() -> None:
    lost = np.concatenate([np.full(10, -0.45), np.full(90, 0.05)])
    assert findings(lost)["tail"].verdict == "fail"
    assert findings(lost)["tail"].loss == pytest.approx(0.4)
    churned = np.concatenate([np.full(10, -0.45), np.full(10, 0.45), np.zeros(80)])
    assert findings(churned)["tail"].loss == pytest.approx(0)
    assert findings(churned, max_tail_loss=0.3)["tail"].verdict == "pass"


def test_risk_weighs_losses() -> None:
    delta = spread(0.0, 0.1, 200)
    found = findings(delta, alpha=2.0)["risk"]
    assert (found.verdict, found.loss) == ("fail", pytest.approx(0.1))
    assert "risk" not in findings(delta)
    assert findings([-0.1] * 40, alpha=5.0)["risk"].verdict == "fail", "the same loss on every query"


def test_churn_is_a_fact_and_off_by_default() -> None:
    delta = [0.01, -0.01] + [0.0] * 98
    assert "churn" not in findings(delta)
    assert findings(delta, max_churn=0.02)["churn"].verdict == "pass"
    assert findings(delta, max_churn=0.01)["churn"].verdict == "fail"


def test_the_worst_segment_decides() -> None:
    delta = np.concatenate([spread(mean, 0.1, 100) for mean in (0.1, -0.1, -0.2)])
    topics = pair_of(delta).topics
    groups = {name: topics[100 * place : 100 * (place + 1)] for place, name in enumerate(("good", "bad", "worse"))}
    found = findings(delta, groups)["segments"]
    assert (found.verdict, found.where, found.loss) == ("fail", "worse", pytest.approx(0.2))
    assert "bad" in found.sentence
    assert findings(delta, {"good": groups["good"]})["segments"].verdict == "pass"
    checker = SeenChecker(pair_of(delta), Rules(), groups)
    assert [one.parts for one in checker.statistics("segments")] == [3, 3, 3]


def test_company_tightens_the_levels() -> None:
    checker = SeenChecker(pair_of([0.1] * 30), Rules(level=0.04), n_tests=4, question=Question(3))
    assert checker.fail_level() == pytest.approx(0.8 * 0.04 / 4)
    assert checker.pass_level() == pytest.approx(3 * 0.04 * Question(3).part)
    assert checker.pass_level(2) == pytest.approx(2 * 0.04 * Question(3).part)
    worse = spread(-0.05, 0.15, 40)
    pair = pair_of(worse)
    assert SeenChecker(pair, Rules()).findings()[0].verdict == "fail"
    assert SeenChecker(pair, Rules(), n_tests=20).findings()[0].verdict == "undecided"
    pair = pair_of(spread(0.01, 0.1, 60))
    assert SeenChecker(pair, Rules()).findings()[0].verdict == "pass"
    assert SeenChecker(pair, Rules(), question=Question(9)).findings()[0].verdict == "undecided"


def test_draws_of_grades_spread_the_evidence() -> None:
    delta = spread(-0.05, 0.1, 100)
    checker = SeenChecker(pair_of(delta), Rules())
    fact = replace(checker, draws=np.tile(delta, (5, 1))).finding("mean")
    assert (fact.verdict, fact.loss) == ("fail", pytest.approx(0.05))
    doubtful = replace(checker, draws=np.stack([delta, delta + 0.1])).finding("mean")
    assert doubtful.verdict == "undecided"
    assert doubtful.loss == pytest.approx(0.0)
    assert "The mean fell by 0.0500 as judged, a loss of 0.0000 on average over the drawn grades" in doubtful.sentence
    better = replace(checker, draws=np.stack([delta, delta + 0.2])).finding("mean")
    assert "The mean fell by 0.0500 as judged, a gain of 0.0500 on average over the drawn grades" in better.sentence
    assert (doubtful.high or 0) > (fact.high or 0) - 0.05


@given(deltas)
@few
def test_a_fail_has_a_loss_beyond_its_limit(delta: list[float]) -> None:
    for rule, found in findings(delta, alpha=1.0, max_churn=0.5).items():
        if found.verdict == "fail":
            assert found.loss is not None
            assert found.limit is not None
            assert found.loss > found.limit, rule
        if found.verdict == "pass" and rule in ("mean", "tail", "risk"):
            assert (found.loss or 0) <= (found.limit or 0) + 1e-9


@given(deltas)
@few
def test_two_opposite_changes_do_not_both_fail(delta: list[float]) -> None:
    one, other = findings(delta), findings([-x for x in delta])
    for rule in ("mean", "tail", "losses"):
        assert not one[rule].verdict == other[rule].verdict == "fail"


@given(deltas, st.integers(0, 100), st.floats(0, 0.5))
@few
def test_improving_a_query_never_turns_a_pass_of_the_mean_into_a_fail(
    delta: list[float], place: int, gain: float
) -> None:
    before = findings(delta)["mean"].verdict
    better = list(delta)
    better[place % len(delta)] += gain
    after = findings(better)["mean"].verdict
    assert (before, after) != ("pass", "fail")
    assert not (before == "undecided" and after == "fail" and sum(better) >= 0)


@given(deltas, st.randoms(use_true_random=False))
@few
def test_the_order_of_topics_plays_no_role(delta: list[float], random: object) -> None:
    order = list(delta)
    random.shuffle(order)  # type: ignore[attr-defined]
    for one, other in zip(findings(delta).values(), findings(order).values(), strict=True):
        assert (one.verdict, one.sentence) == (other.verdict, other.sentence)
        assert one.probability == pytest.approx(other.probability, abs=1e-9)


@given(st.lists(st.floats(-0.25, 0.25, width=16), min_size=FEWEST_QUERIES, max_size=45), st.floats(0.001, 0.1))
@few
def test_a_wider_limit_keeps_a_pass(delta: list[float], tolerance: float) -> None:
    narrow, wide = (findings(delta, mean_tolerance=one)["mean"].verdict for one in (tolerance, 2 * tolerance))
    assert narrow != "pass" or wide == "pass"
    assert wide != "fail" or narrow == "fail"


SHAPES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda random, n: 0.1 * random.standard_normal(n),
    "sparse": lambda random, n: np.where(random.random(n) < 0.3, random.uniform(-0.4, 0.4, n), 0.0),
    "skew": lambda random, n: np.where(random.random(n) < 0.1, -0.5, 0.05),
}


@pytest.mark.parametrize(("rule", "lowest", "highest"), [("mean", 0.7, 0.92), ("tail", 0.75, 1.0)])
def test_so_many_more_queries_decide_in_four_of_five_gates(rule: str, lowest: float, highest: float) -> None:
    """Where 40 queries leave a rule undecided, a new sample of the size that is advised is drawn."""
    off = [name for name in ("mean", "losses", "large-losses", "tail") if name != rule]
    decided = []
    for shape in SHAPES.values():
        for mean in (-0.03, 0.0, 0.02):
            random = np.random.default_rng(3)
            for _ in range(40):
                found = findings(mean + shape(random, 40), off=off)[rule]
                if found.verdict == "undecided" and found.more_queries is not None and found.more_queries < 5000:
                    again = findings(mean + shape(random, 40 + found.more_queries), off=off)[rule]
                    decided.append(again.verdict != "undecided")
    assert len(decided) > 100
    assert lowest <= np.mean(decided) <= highest


def test_what_so_many_queries_can_show() -> None:
    """The smallest loss that is found, and the queries at which no effect passes, each in 80 % of gates."""
    random = np.random.default_rng(5)
    found = SeenChecker(pair_of(spread(0.0, 0.1, 60)), Rules()).resolution()
    smallest, needed = found.smallest_loss, found.needed
    off = ["tail", "losses", "large-losses"]
    failed = [findings(-smallest + 0.1 * random.standard_normal(60), off=off)["mean"].verdict for _ in range(200)]
    passed = [findings(0.1 * random.standard_normal(needed), off=off)["mean"].verdict for _ in range(200)]
    assert 0.7 <= failed.count("fail") / 200 <= 0.9
    assert 0.68 <= passed.count("pass") / 200 <= 0.92


def test_the_probability_of_the_mean_is_calibrated_on_normal_changes() -> None:
    """True means of normal changes are drawn as the prior says; stated and observed shares agree within 0.1."""
    random, limit = np.random.default_rng(9), 0.02
    truth = random.normal(0, 3 * limit, 1500)
    off = ["tail", "losses", "large-losses"]
    stated = np.array(
        [findings(-loss + 0.15 * random.standard_normal(40), off=off)["mean"].probability for loss in truth]
    )
    for low in (0.1, 0.3, 0.5, 0.7):
        chosen = (stated >= low) & (stated < low + 0.2)
        assert chosen.sum() > 60
        assert (truth[chosen] <= limit).mean() == pytest.approx(stated[chosen].mean(), abs=0.1)


def test_a_change_without_effect_fails_the_mean_at_most_at_the_level() -> None:
    random, level = np.random.default_rng(4), 0.1
    off = ["tail", "losses", "large-losses"]
    failed = sum(
        findings(0.2 * random.standard_t(3, 40).clip(-2, 2), off=off, level=level)["mean"].verdict == "fail"
        for _ in range(400)
    )
    assert stats.binom.ppf(0.01, 400, MEAN_SHARE * level) <= failed <= stats.binom.ppf(0.99, 400, MEAN_SHARE * level)


def test_repeats_say_what_chance_explains() -> None:
    own, base = np.zeros((3, 40)), np.ones((3, 40))
    pair = replace(pair_of(np.full(40, -1.0), base=1.0), own_trials=own, base_trials=base)
    assert isinstance(pair, ScoredPair)
    found = {one.rule: one for one in SeenChecker(pair, Rules(), n_permutations=PERMUTATIONS).findings()}
    assert found["mean"].verdict == "fail"
    assert "chance explains" in found["tail"].sentence
