"""The model of unjudged grades: votes, draws, and the rest."""

import numpy as np

from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from tests.judgments.collection import read_random


def test_probabilities_add_up_and_follow_the_votes(tmp_path):
    runs = read_random(tmp_path, seed=4, topics=30)
    model = GradeModel.fit(runs)
    codes = model.pools[2].codes
    probabilities = model.probabilities(2, codes)
    assert probabilities.shape == (codes.size, runs.levels)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    drawn = model.draw(2, codes, model.draw_shared(np.random.default_rng(0), 4000), np.random.default_rng(1))
    means = probabilities @ np.arange(runs.levels)
    assert np.corrcoef(drawn.mean(axis=0), means)[0, 1] > 0.95


def test_runs_that_find_nothing_are_not_believed(tmp_path):
    """Documents that only a bad run has get lower grades than those that only a good run has."""
    random = np.random.default_rng(0)
    topics = [f"t{number}" for number in range(40)]
    runs = {
        "good": {t: {f"g{n}": 9.0 - n for n in range(8)} for t in topics},
        "bad": {t: {f"b{n}": 9.0 - n for n in range(8)} for t in topics},
    }
    qrels = {
        t: {f"{k}{n}": int(k == "g" and random.random() < 0.8) for k in "gb" for n in range(0, 8, 2)} for t in topics
    }
    model = GradeModel.fit(JudgedRuns.read(runs, qrels, "nDCG@5"))
    relevant = {}
    for name in ("good", "bad"):
        codes = JudgedRuns.read({name: runs[name]}, qrels, "nDCG@5").ranking(name).codes(0, 8)
        relevant[name] = model.probabilities(0, np.sort(codes))[:, 1]
    assert relevant["good"].min() > 0.6
    assert relevant["bad"].max() < 0.1


def test_documents_that_no_run_has_among_its_first_100_get_no_votes(tmp_path):
    model = GradeModel.fit(read_random(tmp_path, seed=4))
    assert model.votes(0, np.array([12345], np.uint64)).tolist() == [0]


def test_the_rest_is_counted_whole(tmp_path):
    runs = read_random(tmp_path, seed=5)
    model, pair = GradeModel.fit(runs), runs.pair("r0", "r1")
    for topic, own in enumerate(pair.topics):
        counts = np.zeros(runs.levels, np.int64)
        for grade, number, _ in model.rest(topic, own):
            counts[grade] += number
        assert counts.tolist() == own.rest.tolist()


def test_votes_of_drawn_parameters_are_those_of_the_estimates_where_nothing_moved(tmp_path):
    model = GradeModel.fit(read_random(tmp_path, seed=4))
    codes = model.pools[1].codes
    grades = np.random.default_rng(0).integers(0, 4, (3, codes.size))
    still = np.zeros((3, len(model.odds.covariance)))
    drawn = model.excess(1, codes, grades, still)
    np.testing.assert_allclose(drawn, [model.excess(1, codes, row) for row in grades], atol=1e-12)
    moved = model.excess(1, codes, grades, model.draw_shared(np.random.default_rng(1), 3))
    assert np.abs(moved - drawn).max() > 0.01
