"""The registry of risk measures: adding one is one line, and everything else has it at once."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars
import pytest
from surefoot_lab import rank_agreement

from surefoot import Scores, SurefootError, evaluate, intervals, risk
from surefoot.analysis import evaluate_parquet
from surefoot.risk import (
    Comparison,
    Expectation,
    Risk,
    get_risk,
    register,
    registered,
    tail_risk,
    unregister,
)
from surefoot.risk.measures import MEAN, added, compute_all, evaluated, monitored, usual
from surefoot.risk.moments import Correlation
from surefoot.risk.values import Linear, Smooth, value_functions
from surefoot.stats.bootstrap import bootstrap_weights

RANDOM = np.random.default_rng(8)
VALUES = RANDOM.beta(0.6, 1.8, size=(4, 30))
SCORES = Scores(VALUES, ["base", "one", "two", "three"], [f"q{i}" for i in range(30)], "nDCG@10")
LOST = (VALUES[0] > VALUES).mean(axis=1)
ALPHAS = np.array([0.0, 1.0, 5.0])


@pytest.fixture
def lost() -> Iterator[Risk]:
    yield register(Risk("lost", needs="baseline", higher_is_better=False, compute=lambda c, _: c.losses.n / c.topics))
    unregister("lost")


def test_a_registered_measure_is_a_column_of_evaluate(lost: Risk) -> None:
    found = evaluate(SCORES, "base", [0, 5])
    assert list(found.columns)[-2:] == ["loss20", "lost"]
    np.testing.assert_allclose(found["lost"], np.repeat(LOST, 2))
    assert "lost" not in evaluate(SCORES).columns
    best = found.highlights().best["lost"]
    assert set(found["system"][best]) == {SCORES.systems[1 + int(np.argmin(LOST[1:]))]}


def test_it_has_intervals(lost: Risk) -> None:
    found = evaluate(SCORES, "base", ci="bca", n_resamples=300)
    assert list(found.columns)[-2:] == ["lost_low", "lost_high"]
    assert (found["lost_low"][1:] < found["lost"][1:]).all()
    assert (found["lost"][1:] < found["lost_high"][1:]).all()
    rows = intervals(SCORES, "base", measures=[lost], method="percentile", n_resamples=200).rows()
    weights = np.concatenate(list(bootstrap_weights(30, 200, seed=0)))
    replicates = weights @ (VALUES[1] < VALUES[0]) / 30
    np.testing.assert_allclose([rows[1]["low"], rows[1]["high"]], np.quantile(replicates, [0.025, 0.975]))


def test_analyses_and_training_take_it_by_default(lost: Risk) -> None:
    assert set(intervals(SCORES, "base", n_resamples=20)["measure"]) == {"urisk", "trisk", "zrisk", "georisk", "lost"}
    assert "lost" in set(rank_agreement(SCORES, "base")["other"])
    assert lost in monitored()
    assert lost not in usual(has_baseline=False)


def test_it_can_be_drawn(lost: Risk) -> None:
    from surefoot.plots import alpha_curves, forest

    axes = forest(SCORES, "base", of="lost", n_resamples=100)
    assert axes.get_xlabel().startswith("lost at")
    assert alpha_curves(SCORES, "base", of="lost").get_ylabel() == "lost"


def test_it_streams(lost: Risk, tmp_path: Path) -> None:
    for part in range(3):
        some = SCORES.select(topics=SCORES.topics[part::3])
        frame = polars.DataFrame({"topic": some.topics, **dict(zip(some.systems, some.values, strict=True))})
        frame.write_parquet(tmp_path / f"{part}.parquet")
    np.testing.assert_allclose(evaluate_parquet(tmp_path, "base")["lost"], LOST)


def test_a_measure_that_needs_all_topics_at_once_is_left_out_of_streaming(tmp_path: Path) -> None:
    frame = polars.DataFrame({"topic": SCORES.topics, **dict(zip(SCORES.systems, VALUES, strict=True))})
    frame.write_parquet(tmp_path / "all.parquet")
    worst = Risk(
        "worst", needs="baseline", higher_is_better=True, statistic=tail_risk(0.1).source, compute=lambda t, _: t.value
    )
    register(worst)
    try:
        assert "worst" in evaluate(SCORES, "base").columns
        found = evaluate_parquet(tmp_path, "base")
    finally:
        unregister("worst")
    assert "worst" not in found.columns
    assert "worst is left out: it needs all topics at once" in found.notes


def test_training_can_stop_on_it(lost: Risk) -> None:
    pytest.importorskip("lightgbm")
    from surefoot.learn.training import train
    from tests.learn.small_rankings import BASELINE, TRAINING, VALIDATION, settings

    wanted = settings(n_estimators=8, stop_on="lost", early_stopping_rounds=8)
    trained = train(TRAINING, BASELINE, wanted, valid=VALIDATION)
    values = [entry["lost"] for entry in trained.history]
    assert all(0 <= value <= 1 for value in values)
    assert trained.best_iteration == int(np.argmin(values)) + 1


def test_the_standard_columns_and_their_order_are_fixed() -> None:
    names = "mean urisk frisk freward trisk se p zrisk georisk wins losses ties loss20".split()
    assert [measure.name for measure in evaluated(has_baseline=True)] == names
    assert [measure.name for measure in evaluated(has_baseline=False)] == ["mean", "zrisk", "georisk"]
    assert added() == ()


def test_names_are_found_or_the_nearest_is_named() -> None:
    assert get_risk("tail_0.1") is tail_risk(0.1)
    assert get_risk(MEAN) is MEAN
    with pytest.raises(SurefootError, match=r"no measure 'geo_risk' \(did you mean georisk\?\); there are mean, urisk"):
        get_risk("geo_risk")
    with pytest.raises(SurefootError, match=r"no measure 'tail_half'; there are mean, urisk.*tail_FRACTION such as"):
        get_risk("tail_half")
    with pytest.raises(SurefootError, match="fraction must lie above 0"):
        get_risk("tail_2")


@pytest.mark.parametrize("name", ["urisk", "system", "tail_0.1", "p_t"])
def test_taken_names_are_refused(name: str) -> None:
    with pytest.raises(SurefootError, match="is taken"):
        register(Risk(name, needs=None, higher_is_better=True, compute=lambda mean, _: mean.value))


def test_built_in_measures_stay() -> None:
    unregister("urisk")
    assert get_risk("urisk") in registered()


@pytest.mark.parametrize("family", [Linear, Smooth])
def test_statistics_of_parts_add_up_to_those_of_the_whole(family: type) -> None:
    alphas = np.array([0.0, 1.0])
    values = value_functions(family, alphas)
    parts = [slice(0, 7), slice(7, 8), slice(8, 30)]
    shares = VALUES.sum(axis=1) / VALUES.sum()
    compared = [Comparison.of(VALUES[:, part], VALUES[0, part], values=values) for part in parts]
    expected = [Expectation.of(VALUES[:, part], shares=shares, values=values) for part in parts]
    whole = {
        Comparison.of: Comparison.of(VALUES, VALUES[0], values=values),
        Expectation.of: Expectation.of(VALUES, values=values),
    }
    added_up = {
        Comparison.of: compared[0] + compared[1] + compared[2],
        Expectation.of: expected[0] + expected[1] + expected[2],
    }
    measures = [one for one in registered() if one.needs is not None and one.is_additive]
    one, other = compute_all(measures, whole, alphas), compute_all(measures, added_up, alphas)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_weights_are_how_often_topics_are_drawn() -> None:
    weights = np.concatenate(list(bootstrap_weights(30, 4, seed=3)))
    measures = [one for one in registered() if one.name not in ("mean", "gmean")]
    weighted = {
        Comparison.of: Comparison.of(VALUES, VALUES[0], weights),
        Expectation.of: Expectation.of(VALUES, weights),
        Correlation.of: Correlation.of(VALUES, VALUES[0], weights),
    }
    found = compute_all(measures, weighted, ALPHAS)
    for resample, row in enumerate(weights.astype(int)):
        drawn = np.repeat(VALUES, row, axis=1)
        statistics = {
            Comparison.of: Comparison.of(drawn, drawn[0]),
            Expectation.of: Expectation.of(drawn),
            Correlation.of: Correlation.of(drawn, drawn[0]),
        }
        direct = compute_all(measures, statistics, ALPHAS)
        for name, expected in direct.items():
            np.testing.assert_allclose(found[name][..., resample], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_scalars_come_back_as_scalars() -> None:
    system, baseline = VALUES[1], VALUES[0]
    for value in (
        risk.urisk(system, baseline, 5),
        risk.urisk(system, baseline, 1, Smooth),
        risk.trisk(system, baseline),
        risk.frisk(system, baseline),
        risk.freward(system, baseline),
        risk.ugain(system, baseline),
        risk.tail(system, baseline, 0.2),
        risk.gmean(system),
        risk.win_loss(system, baseline),
        risk.reward_risk(system, baseline),
    ):
        assert isinstance(value, float)


def test_the_robustness_index_counts_wins_less_losses() -> None:
    scores = Scores(np.random.default_rng(2).integers(0, 3, (4, 25)) / 2, "abcd", range(25))
    for row in evaluate(scores, "a", [0, 5], extra=["robustness"]).rows():
        differences = scores[row["system"]] - scores["a"]
        assert row["robustness"] == ((differences > 0).sum() - (differences < 0).sum()) / 25
