"""The model of unjudged grades: votes, draws, and the rest."""

import numpy as np
import pytest

from surefoot.judgments.credibility import credibility
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.next_judgments import next_judgments
from surefoot.judgments.unjudged import GradeModel
from tests.judgments.collection import probabilities, read_random


def test_probabilities_add_up_and_follow_the_votes(tmp_path):
    runs = read_random(tmp_path, seed=4, topics=30)
    model = GradeModel.fit(runs)
    codes = model.pools[2].codes
    found = probabilities(model.odds, 2, *model._columns(2, codes))
    assert found.shape == (codes.size, runs.levels)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    drawn = model.draw(2, codes, model.draw_shared(np.random.default_rng(0), 4000), np.random.default_rng(1))
    means = found @ np.arange(runs.levels)
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
        relevant[name] = probabilities(model.odds, 0, *model._columns(0, np.sort(codes)))[:, 1]
    assert relevant["good"].min() > 0.6
    assert relevant["bad"].max() < 0.1


def test_what_one_run_alone_finds_is_doubted_as_far_as_runs_differ_in_that():
    """Each run has documents of its own; those of run 0 nobody judged, of the others half are relevant.

    Whether it is the same half in every run, or all those of half of the runs, decides how far one may be off.
    """
    topics, doubt = [f"t{number}" for number in range(20)], {}
    shared = {f"s{n}": 9.0 - n for n in range(4)}
    runs = {f"r{r}": {t: shared | {f"r{r}-{n}": 4.0 - n for n in range(4)} for t in topics} for r in range(7)}
    for kind in ("alike", "different"):
        qrels = {
            t: {d: n % 2 for n, d in enumerate(shared)}
            | {f"r{r}-{n}": int(n % 2 if kind == "alike" else r > 3) for r in range(1, 7) for n in range(4)}
            for t in topics
        }
        judged = JudgedRuns.read(runs, qrels, "nDCG@10")
        model, random = GradeModel.fit(judged), np.random.default_rng(0)
        own, among = model.draw_shared(random, 400), judged.ranking("r0")
        drawn = [model.draw(t, np.sort(among.codes(t, 8)[4:]), own, random) for t in range(len(topics))]
        doubt[kind] = float(np.mean(drawn, axis=(0, 2)).std())
    assert doubt["different"] > 2 * doubt["alike"]


def test_a_model_is_fitted_once_for_the_same_runs(tmp_path):
    runs = read_random(tmp_path, seed=4)
    assert GradeModel.of(runs) is GradeModel.of(runs)
    assert GradeModel.of(read_random(tmp_path, seed=4)) is not GradeModel.of(runs)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_few_runs_may_vote(tmp_path, others):
    """Beside the pair none, one or three: grades get probabilities by rank and topic, and what to judge an order."""
    runs = read_random(tmp_path, seed=6, topics=12, runs=2 + others, holes=0.15)
    found = credibility(runs, "r0", "r1", assessors=None, n_draws=200)
    whole = np.array([not own.unjudged.any() for own in runs.pair("r0", "r1").topics])
    assert 0 < whole.sum() < whole.size
    assert np.isin(found["p_loss"][whole], [0, 1]).all()
    assert (found["low"] <= found["high"]).all()
    assert (found["low"] < found["high"])[~whole].any()
    wanted = next_judgments(runs, "r0", "r1", budget=1000, enough=1)
    assert wanted.unjudged == sum(own.unjudged.sum() for own in runs.pair("r0", "r1").topics)
    assert len(wanted) == wanted.unjudged


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
