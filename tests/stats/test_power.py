import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.scores import FloatArray, Scores
from surefoot.stats import power as module
from surefoot.stats.power import bar, binomial_interval, fitted_pair, planted_pair, power, topics_needed
from surefoot.stats.simulator import Simulator

SCORES = Scores(np.random.default_rng(5).beta(1, 3, (3, 60)), ["old", "new", "BM25"], range(60), "AP")


class Normal:
    """A margin whose differences are normal, so that the power is known."""

    def quantile(self, u: FloatArray) -> FloatArray:
        return np.asarray(stats.norm.ppf(u, loc=0.5, scale=0.1))


def test_the_power_of_normal_differences_is_that_of_the_t_test() -> None:
    simulator = Simulator.standard(["old", "new"], Normal(), correlation=0.5).change("new", amount=-0.04)
    result = power(simulator, "new", "old", alpha=0, topics=[20, 60], n_simulations=3000)
    for topics, low, high in zip(
        *(result.columns[name] for name in ("topics", "power_low", "power_high")), strict=True
    ):
        reach = stats.t.ppf(0.975, topics - 1)
        expected = stats.nct.sf(reach, topics - 1, 0.04 / 0.1 * np.sqrt(topics))
        assert low - 0.02 < expected < high + 0.02
    np.testing.assert_allclose(result.columns["no_effect"], 0.025, atol=0.012)
    np.testing.assert_array_equal(result.columns["power"], result.columns["power_mean"])
    np.testing.assert_allclose(result.columns["urisk"], -0.04, atol=0.001)


def test_a_fitted_power_is_as_doubtful_as_the_fit() -> None:
    """Normal differences: the ratio of mean and spread has the variance (1 + d² / 2) / n, and shifts the power."""
    simulator = Simulator.standard(["old", "new"], Normal(), correlation=0.5).change("new", amount=-0.04)
    options = {"alpha": 0, "topics": [60], "n_simulations": 3000}
    plain = power(simulator, "new", "old", **options)
    fitted = power(replace(simulator, fitted=50), "new", "old", **options)
    reach = stats.norm.ppf(0.95) * np.sqrt(60 * (1 + 0.4**2 / 2) / 50)
    for name, sign in (("power_low", -1), ("power_high", 1)):
        expected = stats.norm.cdf(stats.norm.ppf(plain.columns[name]) + sign * reach)
        np.testing.assert_allclose(fitted.columns[name], expected, atol=0.01)
    np.testing.assert_array_equal(plain.columns["power"], fitted.columns["power"])


def test_an_effect_on_the_better_side_is_sought_there() -> None:
    simulator = Simulator.standard(["old", "new"], Normal(), correlation=0.5).change("new", amount=0.04)
    result = power(simulator, "new", "old", alpha=0, topics=[60], n_simulations=500)
    assert result.columns["power"][0] > 0.7


def test_chunks_of_collections_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 100)
    result = power(planted_pair(0.2), "copy", "baseline", topics=[30], n_simulations=7)
    assert result.columns["power"][0] * 7 == pytest.approx(round(result.columns["power"][0] * 7))


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 20), (20, 20), (500, 2000)])
def test_binomial_intervals_are_scipys(count: int, n: int) -> None:
    expected = stats.binomtest(count, n).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(binomial_interval(count, n), (expected.low, expected.high), rtol=1e-8)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_topics_needed_lie_where_the_power_passes(rates: list[float]) -> None:
    sizes = [25 * 2**place for place in range(len(rates))]
    needed = topics_needed(sizes, rates)
    if max(rates) < 0.8:
        assert needed is None
        return
    first = next(place for place, rate in enumerate(rates) if rate >= 0.8)
    assert needed is not None
    assert sizes[max(first - 1, 0)] <= needed <= sizes[first]


def test_the_topics_needed_are_exact_for_a_normal_mean() -> None:
    def rate(topics: int) -> float:
        return float(stats.norm.sf(1.96 - 0.3 * np.sqrt(topics)))

    exact = ((1.96 + stats.norm.ppf(0.8)) / 0.3) ** 2
    assert topics_needed([50, 200], [rate(50), rate(200)]) == np.ceil(exact)


def test_a_measured_pair_is_simulated_as_it_is() -> None:
    simulator = fitted_pair(SCORES, "new", "old")
    assert simulator.systems == ("new", "old")
    drawn = simulator.values(50_000, seed=1)
    np.testing.assert_allclose(drawn.mean(axis=1), [SCORES["new"].mean(), SCORES["old"].mean()], atol=0.01)
    assert fitted_pair(SCORES, "new", "MEAN").systems == ("new", "MEAN of all")
    with pytest.raises(SurefootError, match="its own baseline"):
        fitted_pair(SCORES, "old", "old")


def test_a_planted_pair_copies_the_baseline() -> None:
    simulator = planted_pair(0.1, 0.5, SCORES, "BM25")
    assert simulator.systems == ("copy of BM25", "BM25")
    assert simulator.margins[0] is simulator.margins[1]
    assert planted_pair(0.1, 1.0, SCORES.select(["old"]), "old").correlation[0, 1] == 0.54


def test_wrong_numbers_are_refused() -> None:
    pair = planted_pair(0.1)
    with pytest.raises(SurefootError, match="2 or more"):
        power(pair, "copy", "baseline", topics=[1])
    with pytest.raises(SurefootError, match="n_simulations"):
        power(pair, "copy", "baseline", n_simulations=0)
    with pytest.raises(SurefootError, match="level"):
        power(pair, "copy", "baseline", level=1.0, n_simulations=5)


def test_bars() -> None:
    assert [bar(share).count("█") for share in (0, 0.5, 1)] == [0, 10, 20]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    rows = "\n".join(f"q{topic},{old:.3f},{new:.3f}" for topic, (old, new) in enumerate(SCORES.values[:2].T))
    path.write_text(f"topic,old,new\n{rows}\n")
    return str(path)


QUICK = ["--topics", "20,40", "--n-simulations", "50"]


def test_the_command_on_a_measured_pair(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scores", table, "--system", "new", "--baseline", "old", "--alpha", "0,5", "--format", "csv"]
    assert main(["power", *words, *QUICK]) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["alpha"], row["topics"]) for row in rows] == [("0", "20"), ("0", "40"), ("5", "20"), ("5", "40")]
    assert list(rows[0]) == ("alpha topics urisk power power_low power_high no_effect power_mean signature".split())
    assert "null hypothesis of T_Risk" in err
    assert "fitted to new, old on 60 topics" in err


def test_the_command_on_a_planted_loss(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "--scores", table, "--baseline", "old", "--loss", "0.2", "--share", "0.5", *QUICK]) == 0
    assert "█" in capsys.readouterr().out
    assert main(["power", "--loss", "0.2", "--format", "json", *QUICK]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wanted"] == 0.8
    assert list(found["needed"]) == ["1"]
    assert "change=-0.2:1" in found["signature"]


def test_the_command_says_what_is_missing(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in (
        ([], "--loss"),
        (["--system", "new", "--loss", "0.1"], "not both"),
        (["--scores", table, "--system", "new"], "--baseline"),
        (["--scores", table, "--loss", "0.1"], "--baseline"),
        (["--system", "new", "--baseline", "old"], "nothing to read"),
        (["--loss", "0.1", "--share", "3"], "share"),
    ):
        assert main(["power", *words, *QUICK]) == 2
        assert expected in capsys.readouterr().err
