"""Analyses and plots take whatever scores can be made of."""

from collections.abc import Callable
from typing import Any

import pytest
import surefoot_lab

import surefoot
from surefoot import Scores

SCORES = Scores(
    [[0.2, 0.4, 0.1, 0.5], [0.3, 0.1, 0.2, 0.6], [0.1, 0.5, 0.3, 0.2]], ["a", "b", "c"], "q1 q2 q3 q4".split()
)

CALLS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda scores: surefoot.evaluate(scores, "a"),
    "intervals": lambda scores: surefoot.intervals(scores, "a", n_resamples=50),
    "run_tests": lambda scores: surefoot.run_tests(scores, "a", tests=["t"]),
    "evaluate_segments": lambda scores: surefoot.analysis.evaluate_segments(scores, {"q1": "x", "q2": "x"}, "a"),
    "independence": surefoot_lab.independence,
    "rank_agreement": lambda scores: surefoot_lab.rank_agreement(scores, "a"),
    "cross": surefoot.cross,
    "pca": surefoot.stats.pca,
    "baseline_correlations": lambda scores: surefoot_lab.baseline_correlations(scores, "a"),
}


@pytest.mark.parametrize("name", CALLS)
def test_analyses_of_a_dictionary(name: str) -> None:
    call = CALLS[name]
    assert call(SCORES.to_dict()).rows() == call(SCORES).rows()


def test_plots_of_a_dictionary() -> None:
    own = SCORES.to_dict()
    for axes in (
        surefoot.plots.risk_reward(own, "a", n_resamples=50),
        surefoot.plots.forest(own, "a", of="urisk", n_resamples=50),
        surefoot.plots.topic_bars(own, "b", "a"),
        surefoot.plots.profile(own),
        surefoot.plots.alpha_curves(own, "a"),
        surefoot.plots.cross_map(own),
    ):
        assert axes.get_figure() is not None
