"""Bias of the baseline, agreement of measures, G²: against scipy and slow references, and on TREC 2012."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from surefoot_lab import baseline_bias, independence, partial_correlation, rank_agreement
from surefoot_lab.cli.agreement import COMMANDS

from surefoot import evaluate
from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores

RANDOM = np.random.default_rng(8)
SCORES = Scores(RANDOM.random((7, 30)), "abcdefg", range(30))


def test_partial_correlation_is_that_of_residuals() -> None:
    x, y, z = RANDOM.random((3, 20))
    left = [one - np.polyval(np.polyfit(z, one, 1), z) for one in (x, y)]
    assert partial_correlation(x, y, z) == pytest.approx(scipy.stats.pearsonr(*left).statistic)
    assert np.isnan(partial_correlation(x, z, z))
    with pytest.raises(SurefootError, match="3 or more"):
        partial_correlation([1, 2], [1, 2], [1, 2])


def test_taus_are_scipys_and_the_baseline_is_left_out() -> None:
    found = rank_agreement(SCORES, "a", 5, measures=["mean", "frisk"])
    table = evaluate(SCORES, "a", 5)
    expected = scipy.stats.kendalltau(table["mean"][1:], -table["frisk"][1:])
    assert found["tau"][0] == pytest.approx(expected.statistic)
    assert "systems=6" in found.signature
    with pytest.raises(SurefootError, match="one value is better"):
        rank_agreement(SCORES, "a", measures=["mean", "se"])


def test_g2_is_the_chi_square_statistic() -> None:
    statistic, p, df, _ = scipy.stats.chi2_contingency(SCORES.values, correction=False)
    found = independence(SCORES)
    assert found["g2"].sum() == pytest.approx(statistic)
    assert found["share"].sum() == pytest.approx(1)
    assert found.notes[-1] == f"G² = {statistic:.4f}, {df} degrees of freedom, p = {p:.3g}"


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


@pytest.mark.parametrize("alpha", [1, 10])
def test_ecir2014_runs_like_the_baseline_look_safe(err20: Scores, alpha: float) -> None:
    """The partial correlation of U_Risk and the correlation with the baseline, given the mean: 0.92 on 48 runs."""
    found = baseline_bias(err20, "indriCASP", alpha)
    assert len(found) == 48
    assert round(partial_correlation(found["correlation"], found["urisk"], found["mean"]), 2) == 0.92
    assert found.notes[-1].endswith("over 48 systems: 0.92")


@pytest.mark.parametrize("kind", ["pca", *(name.partition(" ")[2] for name in COMMANDS)])
def test_each_kind_prints_numbers(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [",".join(map(str, [topic, *row])) for topic, row in zip(SCORES.topics, SCORES.values.T / 3, strict=True)]
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(["topic,a,b,c,d,e,f,g", *rows]) + "\n")
    needed = {"pca": [], "g2": [], "normality": ["--baseline", "a", "--system", "b", "--n-resamples", "100"],
              "values": ["--baseline", "a", "--value", "monotone"]}  # fmt: skip
    words = ["agreement", kind, "--scores", str(table), *needed.get(kind, ["--baseline", "a"]), "--format", "csv"]
    assert main(words) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.endswith(",signature")
    assert lines
