from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.agreement.normality import bootstrap_means, normality

from surefoot.io.tables import read_scores
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import Scores

RANDOM = np.random.default_rng(1975)
SCORES = Scores(RANDOM.random((3, 30)) ** 2, ["old", "new", "other"], range(30), measure="nDCG@10")


def test_the_three_values_share_their_draws() -> None:
    found = normality(SCORES, "new", "old", alpha=0.5, n_resamples=500, seed=9, smooth=Smooth)
    d = SCORES["new"] - SCORES["old"]
    for kind, x in {"none": d, "linear": Linear(0.5)(d), "smooth": Smooth(0.5)(d)}.items():
        np.testing.assert_allclose(found.plots[kind].ordered, np.sort(bootstrap_means(x, 500, seed=9)))
        assert dict(zip(found.columns["value"], found.columns["urisk"], strict=True))[kind] == pytest.approx(x.mean())


def test_the_result_can_be_computed_again() -> None:
    found = normality(SCORES, "new", "MEDIAN", n_resamples=200, seed=3, smooth=Smooth)
    assert found.signature.startswith(
        "normality|measure=nDCG@10|system=new|baseline=MEDIAN|alpha=1|value=smooth(-0.24100,0.29200)|"
    )
    assert "|n_resamples=200|seed=3|" in found.signature
    again, other = (normality(SCORES, "new", "MEDIAN", n_resamples=200, seed=seed, smooth=Smooth) for seed in (3, 4))
    assert again.rows() == found.rows() != other.rows()


def test_frames_hold_the_figures_and_the_points() -> None:
    found = normality(SCORES, "new", "old", n_resamples=100, smooth=Smooth)
    assert found.to_frame()["value"].to_list() == ["none", "linear", "smooth"]
    assert found.points().to_frame().columns == ["theoretical", "none", "linear", "smooth"]
    assert len(found.points()) == 100


def test_smooth_values_that_cannot_be_fitted_are_left_out_and_said() -> None:
    found = normality(Scores(SCORES.values * 10, SCORES.systems, SCORES.topics), "new", "old", n_resamples=100)
    assert list(found.holds) == ["none", "linear"]
    assert any("smooth values are left out" in note for note in found.notes)


def test_the_verdict_follows_from_the_figures() -> None:
    found = normality(SCORES, "new", "old", n_resamples=2000, smooth=Smooth)
    for (kind, holds), note in zip(found.holds.items(), found.notes[-3:], strict=True):
        assert note.startswith(f"{kind}: the mean is {'close' if holds else 'not close'} to normal")
    one_topic_counts = np.zeros(30)
    one_topic_counts[0] = 1.0
    risky = Scores([np.zeros(30), -one_topic_counts + 1], ["old", "new"], range(30))
    skewed = normality(risky, "new", "old", n_resamples=2000)
    assert skewed.holds["none"] is False
    assert "beyond ±0.35" in skewed.notes[-1]


def test_a_system_against_itself_leaves_nothing_to_test() -> None:
    found = normality(SCORES, "old", "old", n_resamples=50, smooth=Smooth)
    assert set(found.holds.values()) == {None}
    assert "nothing to test" in found.notes[-1]


def test_ecir2020_figure3(data: Path) -> None:
    """The plain mean is straight on the plot; weighing losses bends it, the smooth values most."""
    scores = read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")
    found = normality(scores, "ICTNET12ADR3", "indriCASP")
    none, linear, smooth = found.plots.values()
    assert none.ordered.size == 10_000
    assert none.ppcc > linear.ppcc > smooth.ppcc > 0.99
    assert found.holds == {"none": True, "linear": True, "smooth": False}
    assert smooth.skewness < linear.skewness < 0
