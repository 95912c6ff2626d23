"""Resampled measures against explicit resampling, and the intervals made of them."""

from collections.abc import Iterator

import numpy as np
import pytest

from surefoot import Scores, SurefootError, evaluate, risk
from surefoot._typing import Columns
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import Resampler, difference_intervals, intervals
from surefoot.risk.values import Smooth
from surefoot.stats.bootstrap import (
    bootstrap_weights,
    jackknife_weights,
)

RANDOM = np.random.default_rng(5)
VALUES = RANDOM.beta(0.6, 1.8, size=(5, 30))
VALUES[:, 3] = 0.0
SCORES = Scores(VALUES, ["base", "one", "two", "three", "four"], [f"q{i}" for i in range(30)], "nDCG@10")
ALPHAS = np.array([0.0, 1.0, 5.0])
ALL = ("mean", "gmean", "urisk", "trisk", "frisk", "freward", "zrisk", "georisk", "tail_0.1", "tail_0.25")


def direct(x: np.ndarray, alpha: float) -> dict[str, np.ndarray]:
    """Every measure of an explicit sample of topics, base being the first row."""
    return {
        "mean": x.mean(axis=1),
        "gmean": risk.gmean(x),
        "urisk": risk.urisk(x, x[0], alpha),
        "trisk": risk.trisk(x, x[0], alpha),
        "frisk": risk.frisk(x, x[0]),
        "freward": risk.freward(x, x[0]),
        "zrisk": risk.zrisk(x, alpha),
        "georisk": risk.georisk(x, alpha),
        "tail_0.1": risk.tail(x, x[0], 0.1),
        "tail_0.25": risk.tail(x, x[0], 0.25),
    }


def replicates(design: Design, alphas: np.ndarray, measures: tuple[str, ...], weights: Iterator[np.ndarray]) -> Columns:
    """The measures on each resample: resamples × alphas × systems."""
    resampler = Resampler.of(design, alphas, measures)
    statistics = resampler.statistics(weights)
    systems = [resampler.of_system(statistics, index) for index in range(resampler.systems)]
    return {name: np.moveaxis(np.stack([own[name] for own in systems]), (0, 2), (2, 0)) for name in measures}


def test_resampled_measures_are_those_of_the_drawn_topics() -> None:
    weights = np.concatenate(list(bootstrap_weights(30, 40, seed=1)))
    found = replicates(Design.of(SCORES, "base"), ALPHAS, ALL, iter([weights]))
    for resample, row in enumerate(weights.astype(int)):
        drawn = np.repeat(VALUES, row, axis=1)
        for place, alpha in enumerate(ALPHAS):
            for name, expected in direct(drawn, alpha).items():
                np.testing.assert_allclose(found[name][resample, place], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_leaving_topics_out_is_a_resample_too() -> None:
    found = replicates(Design.of(SCORES, "base"), ALPHAS, ALL, jackknife_weights(30))
    for topic in (0, 3, 29):
        for name, expected in direct(np.delete(VALUES, topic, axis=1), 5.0).items():
            np.testing.assert_allclose(found[name][topic, 2], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_leaving_out_groups_moves_intervals_by_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred groups of topics instead of three hundred topics, by every method that needs the jackknife.

    The width of the jackknife is its standard error, which g groups give to 1 / sqrt(2 g), here 7 %: two of these. Of
    BCa only the acceleration depends on it.
    """
    scores = Scores(np.random.default_rng(7).beta(0.5, 2.0, (3, 300)), ["base", "one", "two"], range(300))
    for method, tolerance in (("bca", 0.02), ("jackknife", 0.15)):
        whole = intervals(scores, "base", ALPHAS, method=method, n_resamples=1000)
        with monkeypatch.context() as patch:
            patch.setattr("surefoot.stats.bootstrap.MOST_GROUPS", 100)
            groups = intervals(scores, "base", ALPHAS, method=method, n_resamples=1000)
        width = np.asarray(whole["high"]) - np.asarray(whole["low"])
        for side in ("low", "high"):
            moved = np.abs(np.asarray(groups[side]) - np.asarray(whole[side]))
            assert np.nanmax(moved / np.where(width > 0, width, 1.0)) < tolerance, (method, side)


def test_smooth_values_are_resampled_as_well() -> None:
    design = Design.of(SCORES, "base", value=Smooth)
    weights = np.concatenate(list(bootstrap_weights(30, 5, seed=2)))
    found = replicates(design, np.array([1.0]), ("urisk", "trisk", "zrisk", "georisk"), iter([weights]))
    for resample, row in enumerate(weights.astype(int)):
        drawn = np.repeat(VALUES, row, axis=1)
        np.testing.assert_allclose(found["trisk"][resample, 0], risk.trisk(drawn, drawn[0], 1, Smooth), rtol=1e-9)
        np.testing.assert_allclose(found["georisk"][resample, 0], risk.georisk(drawn, 1, Smooth), rtol=1e-9)


@pytest.mark.parametrize("population", [None, "PAIR", ["base", "one", "two"]])
def test_estimates_are_those_of_evaluate(population: object) -> None:
    rows = intervals(SCORES, "base", [0, 5], population=population, n_resamples=10).rows()  # type: ignore[arg-type]
    table = {
        (row["system"], row["alpha"]): row
        for row in evaluate(SCORES, "base", [0, 5], population=population).rows()  # type: ignore[arg-type]
    }
    for row in rows:
        expected = table[row["system"], row["alpha"]][row["measure"]]
        assert row["estimate"] == (pytest.approx(expected) if expected is not None else None)


def test_the_jackknife_interval_of_urisk_is_the_t_interval() -> None:
    ours = evaluate(SCORES, "base", 5, ci="jackknife").rows()
    t = evaluate(SCORES, "base", 5, ci="t").rows()
    for one, other in zip(ours[1:], t[1:], strict=True):
        assert one["urisk_low"] == pytest.approx(other["urisk_low"])
        assert one["urisk_high"] == pytest.approx(other["urisk_high"])


def test_bootstrap_intervals_of_the_mean_are_near_the_t_interval() -> None:
    for method in ("percentile", "bca", "studentised"):
        for row, t in zip(
            evaluate(SCORES, "base", 0, ci=method).rows()[1:],
            evaluate(SCORES, "base", 0, ci="t").rows()[1:],
            strict=True,
        ):
            width = t["urisk_high"] - t["urisk_low"]
            assert abs(row["urisk_low"] - t["urisk_low"]) < 0.12 * width
            assert abs(row["urisk_high"] - t["urisk_high"]) < 0.12 * width


def test_differences_share_the_resampled_topics() -> None:
    found = difference_intervals(SCORES, "one", "two", "base", [1], measures=["mean", "georisk"], method="percentile")
    weights = np.concatenate(list(bootstrap_weights(30, 10_000, seed=0)))
    replicates = weights @ (VALUES[1] - VALUES[2]) / 30
    row = found.rows()[0]
    assert row["system"] == "one - two"
    assert row["estimate"] == pytest.approx((VALUES[1] - VALUES[2]).mean())
    np.testing.assert_allclose([row["low"], row["high"]], np.quantile(replicates, [0.025, 0.975]), rtol=1e-9)


def test_chunks_of_resamples_change_no_figure() -> None:
    weights = np.concatenate(list(bootstrap_weights(30, 50, seed=1)))
    design = Design.of(SCORES, dict.fromkeys(SCORES.systems, "base"))
    whole, parts = (replicates(design, ALPHAS, ALL, iter(rows)) for rows in ([weights], np.split(weights, 5)))
    for name, column in whole.items():
        np.testing.assert_allclose(column, parts[name], rtol=1e-12, err_msg=name)


def test_the_seed_decides() -> None:
    one, same, other = (
        intervals(SCORES, "base", n_resamples=300, seed=seed).columns["low"] for seed in (1, 1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_baselines_own_row_is_certain_or_undefined() -> None:
    row = evaluate(SCORES, "base", ci="bca", n_resamples=200).rows()[0]
    assert (row["urisk_low"], row["urisk_high"]) == (0, 0)
    assert row["trisk_low"] is None


def test_evaluate_states_the_bootstrap_and_adds_columns() -> None:
    result = evaluate(SCORES, "base", ci="bca", tail=[0.1], n_resamples=200, seed=4)
    assert "|interval=bca(0.95)|n_resamples=200|seed=4|" in result.signature
    for name in ("urisk", "trisk", "zrisk", "georisk", "tail_0.1"):
        assert {f"{name}_low", f"{name}_high"} <= set(result.columns)


def test_without_a_baseline_z_and_georisk_have_intervals() -> None:
    columns = evaluate(SCORES, ci="percentile", n_resamples=100).columns
    assert {"zrisk_low", "georisk_high"} <= set(columns)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: evaluate(SCORES, "base", ci="normal"),
            "ci must be one of t, studentised, bca, percentile, jackknife; got 'normal'",
        ),
        (lambda: intervals(SCORES, "base", measures=["ndcg"]), "no measure 'ndcg'; there are mean, urisk"),
        (lambda: intervals(SCORES, measures=["urisk"]), "urisk needs a baseline"),
        (lambda: intervals(SCORES, "base", level=0), "level must be above 0 and at most"),
        (lambda: intervals(SCORES, "base", n_resamples=0), "n_resamples must be at least 1"),
        (lambda: intervals(SCORES.select(topics=["q1"]), "base"), "at least two topics"),
        (lambda: evaluate(SCORES, ci="t"), "need a baseline"),
    ],
)
def test_wrong_words_are_refused(call: object, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_resamples_without_a_figure_are_left_out(method: str) -> None:
    """Few topics differ, so that some resamples have no T_Risk at all."""
    values = np.stack([np.full(30, 0.5), np.full(30, 0.5)])
    values[1, :3] = [0.9, 0.1, 0.8]
    scores = Scores(values, ["old", "new"], range(30))
    weights = np.concatenate(list(bootstrap_weights(30, 4000, seed=0)))
    drawn = [np.repeat(values, row, axis=1) for row in weights.astype(int)]
    t = np.array([risk.trisk(x[1], x[0], 0) for x in drawn])
    assert 0 < np.isnan(t).sum() < 1000
    row = evaluate(scores, "old", 0, ci=method, n_resamples=4000).rows()[1]
    if method == "percentile":
        np.testing.assert_allclose([row["trisk_low"], row["trisk_high"]], np.nanquantile(t, [0.025, 0.975]), rtol=1e-9)
    assert np.nanmin(t) <= row["trisk_low"] < row["trisk_high"] <= np.nanmax(t)
