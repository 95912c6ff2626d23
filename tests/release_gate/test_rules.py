"""The options of the gate: defaults of the tiers, and values that make no sense."""

import pytest

from surefoot import SurefootError
from surefoot.release_gate.rules import LIMITS, TWO_SIDED, Rules, resolve_rules


def test_limits_are_those_given_or_those_of_the_tier() -> None:
    for name, (seen, strict) in LIMITS.items():
        for tier, limit in (("seen", seen), ("sequential", seen), ("strict", strict)):
            assert Rules(evidence=tier).limit(name) == limit
            assert Rules(evidence=tier, **{name: 0.123}).limit(name) == 0.123
    assert not Rules().is_given("max_losses")
    assert Rules(max_losses=0.8).is_given("max_losses")


def test_the_loss_budget_is_twice_the_tolerance() -> None:
    assert Rules().budget == 2 * Rules().limit("mean_tolerance")
    assert Rules(mean_tolerance=0.1).budget == 0.2
    assert Rules(loss_budget=0.0).budget == 0


def test_rules_that_have_nothing_to_look_at_are_off() -> None:
    assert Rules().sample_rules(False) == ["mean", "losses", "large-losses", "tail"]
    everything = Rules(alpha=1, max_churn=0.5, off=["tail"]).sample_rules(True)
    assert everything == ["mean", "risk", "losses", "large-losses", "segments", "churn"]
    assert "churn" not in Rules(evidence="strict", max_churn=0.5).sample_rules(True)


def test_the_signature_has_what_differs_from_the_defaults() -> None:
    assert Rules(level=0.1, evidence="strict").changed() == {}
    changed = Rules(protected=["a", "b"], max_losses=0.8).changed()
    assert changed["max_losses"] == 0.8
    assert changed["protected"] == Rules(protected=["b", "a"]).changed()["protected"]
    assert changed["protected"] != Rules(protected=["a", "c"]).changed()["protected"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be a number of 0 or more; got -1"),
        ({"mean_tolerance": float("nan")}, "mean-tolerance must be a number of 0 or more; got nan"),
        ({"max_losses": 1.5}, "max-losses is a share"),
        ({"max_churn": 1.5}, "max-churn is a share"),
        ({"level": 0}, "level must lie between 0 and 0.5; got 0"),
        ({"level": 0.5}, "level must lie between 0 and 0.5; got 0.5"),
        ({"decide": 0.4}, "decide is a probability of at least 0.5"),
        ({"decide": 0.8, "evidence": "strict"}, "decide needs evidence 'seen'"),
        ({"evidence": "loose"}, "evidence must be one of seen, strict, sequential; got 'loose'"),
        ({"undecided": "maybe"}, "undecided must be one of pass, warn, hold, fail, exit3; got 'maybe'"),
        ({"tail_share": 0}, "tail-share must lie above 0"),
        ({"largest_change": 0}, "largest-change must be above 0"),
        ({"off": ["tails"]}, "no rule tails to leave out"),
    ],
)
def test_rules_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        resolve_rules(options)


@pytest.mark.parametrize(
    ("options", "before", "looser"),
    [
        ({}, {}, []),
        ({"mean_tolerance": 0.02}, {}, []),
        ({"mean_tolerance": 0.01}, {"mean_tolerance": 0.05}, []),
        ({"mean_tolerance": 0.05}, {"loss_budget": 0.04}, ["mean_tolerance", "loss_budget"]),
        ({}, {"evidence": "strict"}, ["evidence"]),
        ({"evidence": "strict", "mean_tolerance": 0.03}, {}, ["evidence", "mean_tolerance"]),
        ({"level": 0.01}, {}, ["level"]),
        ({"alpha": 2.0, "tail_share": 0.2, "largest_change": 0.5}, {}, ["alpha", "tail_share", "largest_change"]),
        ({}, {"off": ["tail"]}, ["off"]),
        ({}, {"max_churn": 0.5, "max_query_loss": 1.0}, ["max_churn", "max_query_loss"]),
        ({}, {"max_losses": 0.9}, ["max_losses"]),
        ({"undecided": "warn"}, {"undecided": "hold"}, ["undecided"]),
        ({"decide": 0.8}, {}, ["decide"]),
        ({"level": 0.1, "alpha": 0.0}, {"alpha": 1.0}, ["level", "alpha"]),
        ({"protected": ["q1", "q2"]}, {"protected": ["q3"]}, ["protected"]),
        ({"off": ["tail"]}, {"off": ["mean", "losses"]}, ["off"]),
    ],
)  # fmt: skip
def test_options_that_are_looser_than_others(
    options: dict[str, object], before: dict[str, object], looser: list[str]
) -> None:
    now, then = resolve_rules(options), resolve_rules(before)
    assert now.looser_than(then) == looser
    pinned = now.pinned_to(then)
    assert not pinned.looser_than(then)
    assert set(pinned.looser_than(now)) <= set(TWO_SIDED)
