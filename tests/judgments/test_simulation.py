"""Differences under drawn judgments that are scored as any judgments."""

import numpy as np
import pytest

from surefoot import credibility, score_runs
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.credibility import draw_deltas, simulated_values
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from tests.judgments.collection import random_collection, read_random


@pytest.mark.parametrize("assessors", [None, 0.2, "dl2019"])
def test_it_agrees_with_the_fast_path(tmp_path, assessors):
    runs = read_random(tmp_path, seed=5, measure="nDCG@5", topics=4)
    model, n = GradeModel.fit(runs), 400
    other = {None: None, 0.2: Disagreement.of_rate(0.2, runs.grade_counts), "dl2019": Disagreement.shipped(4)}[
        assessors
    ]
    fast = draw_deltas(runs.pair("r0", "r1"), model, other, 4000)
    slow = np.subtract(*simulated_values(runs, "r0", "r1", model, other, n))
    errors = 4 * np.sqrt(fast.var(axis=0) / n) + 0.01
    np.testing.assert_array_less(np.abs(slow.mean(axis=0) - fast.mean(axis=0)), errors)
    np.testing.assert_allclose(slow.std(axis=0), fast.std(axis=0), atol=0.04)


def test_measures_of_ir_measures_have_probabilities(tmp_path):
    files, qrels = random_collection(tmp_path, seed=7)
    found = credibility(JudgedRuns.read(files, qrels, "Rprec"), "r0", "r1", n_draws=20)
    scores = score_runs(files, qrels, "Rprec")
    np.testing.assert_allclose(found["delta"], scores["r0"] - scores["r1"])
    assert ((found["p_loss"] + found["p_win"]) <= 1).all()
    assert found.draws.std() > 0
    again = credibility(JudgedRuns.read(files, qrels, "Rprec"), "r0", "r1", assessors=[qrels], n_draws=20)
    assert again["confirmed"].tolist() == [1] * len(again)


def test_the_mean_of_all_runs_is_a_baseline(tmp_path):
    files, qrels = random_collection(tmp_path, seed=8, holes=0)
    runs = JudgedRuns.read(files, qrels, "nDCG@5")
    found = credibility(runs, "r0", "MEAN", assessors=None, n_draws=5)
    scores = score_runs(files, qrels, "nDCG@5")
    expected = scores["r0"] - scores.values.mean(axis=0)
    np.testing.assert_allclose(found["delta"], expected)
    np.testing.assert_allclose(found.draws, np.tile(expected, (5, 1)), atol=1e-12)
    assert "baseline_judged" not in found.columns
