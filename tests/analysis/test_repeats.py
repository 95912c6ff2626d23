"""Repeats in every analysis: the numbers are those of the means over trials, and a note says so."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot
from surefoot.scores import Scores
from surefoot.show.report import report

TOPICS = [f"q{number}" for number in range(1, 21)]


@pytest.fixture
def scores():
    rng = np.random.default_rng(5)
    rows = [(name, TOPICS, rng.random((3, 20))) for name in ("new", "old")]
    return Scores.align([*rows, ("third", TOPICS, rng.random(20))], "AP")


ANALYSES = {
    "evaluate": lambda scores: surefoot.evaluate(scores, "old", [0, 5], ci="bca", tests=["flip"], n_resamples=100),
    "explore": lambda scores: surefoot.explore(scores, "new", "old"),
    "intervals": lambda scores: surefoot.intervals(scores, "old", n_resamples=100),
    "tests": lambda scores: surefoot.run_tests(scores, "old", n_resamples=100),
    "cross": surefoot.cross,
    "pairs": surefoot.analysis.compare_pairs,
    "segments": lambda scores: surefoot.analysis.evaluate_segments(
        scores, {topic: topic[-1] in "02468" for topic in TOPICS}, "old"
    ),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_analyses_use_the_means_over_trials_and_say_so(scores, name):
    found, of_means = ANALYSES[name](scores), ANALYSES[name](replace(scores, trials={}))
    for column in of_means.columns:
        np.testing.assert_array_equal(found[column], of_means[column])
    noise = [note for note in found.notes if "differs from itself" in note]
    assert [note.partition(":")[0] for note in noise] == ["new", "old"]
    assert set(found.notes) - set(of_means.notes) == set(noise)


def test_signatures_say_how_many_trials(scores):
    assert "|topics=20|trials=3|" in surefoot.evaluate(scores, "old").signature
    assert "trials" not in surefoot.evaluate(replace(scores, trials={}), "old").signature


def test_explore_shows_the_standard_errors_of_systems_with_repeats(scores):
    found = surefoot.explore(scores, "new", "old")
    expected = dict(zip(TOPICS, np.std(scores.trials["new"], axis=0, ddof=1) / np.sqrt(3), strict=True))
    assert found["system_se"] == pytest.approx([expected[topic] for topic in found["topic"]])
    assert "baseline_se" in found.columns
    assert "baseline_se" not in surefoot.explore(scores, "new", "third").columns
    assert not {"system_se", "baseline_se"} & set(surefoot.explore(scores, "third", "MEAN").columns)


def test_intervals_over_queries_contain_the_noise_of_trials():
    """The mean of new queries and new trials is in 95 % of the intervals."""
    rng, inside = np.random.default_rng(6), 0
    for _ in range(400):
        chance = rng.beta(2, 2, (2, 40))
        trials = (rng.random((3, 2, 40)) < chance).astype(float)
        rows = [(name, range(40), trials[:, index]) for index, name in enumerate(("old", "new"))]
        found = surefoot.evaluate(Scores.align(rows), "old", 0, ci="t", systems=["new"])
        inside += bool(found["urisk_low"][0] <= 0 <= found["urisk_high"][0])
    assert 0.95 * 400 - 3 * np.sqrt(400 * 0.95 * 0.05) <= inside <= 400 * 0.95 + 3 * np.sqrt(400 * 0.95 * 0.05)


def test_the_report_says_it(scores):
    assert report(scores, "old").count("differs from itself") == 2
