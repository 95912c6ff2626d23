"""Probabilities of losses and wins under other grades."""

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.credibility import credibility
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from surefoot.risk import urisk
from tests.judgments.collection import read_random, write_qrels, write_runs


def test_complete_judgments_leave_no_doubt(tmp_path):
    runs = read_random(tmp_path, seed=1, holes=0)
    found = credibility(runs, "r0", "r1", assessors=None, n_draws=50)
    delta = runs.pair("r0", "r1").delta
    np.testing.assert_allclose(found["low"], delta)
    np.testing.assert_allclose(found["high"], delta)
    assert found["p_loss"].tolist() == (delta < 0).astype(float).tolist()
    told = np.where(delta < 0, "loss", np.where(delta > 0, "win", "unclear"))
    assert found["credible"].tolist() == told.tolist()
    assert found.summary()["urisk"] == pytest.approx(float(urisk(delta, np.zeros(len(delta)), 1.0)))


def test_one_unjudged_document_wins_with_the_probability_of_its_grade(tmp_path):
    files = write_runs(tmp_path, {"new": {"q": ["d1"], "r": ["d1"]}, "old": {"q": ["d2"], "r": ["d2"]}})
    qrels = write_qrels(tmp_path / "qrels", {"q": {"d2": 0}, "r": {"d1": 1, "d2": 0, "d3": 0}})
    runs = JudgedRuns.read(files, qrels, "P@1")
    found = credibility(runs, "new", "old", assessors=None, n_draws=20_000)
    model, own = GradeModel.fit(runs), runs.pair("new", "old").topics[0]
    random = np.random.default_rng(1)
    drawn = model.draw(0, own.codes[own.unjudged], model.draw_shared(random, 20_000), random)
    assert found["p_win"][0] == pytest.approx(drawn.mean(), abs=0.02)
    assert found["p_win"][1] == 1
    assert found["judged"].tolist() == [0, 1]


def test_another_assessor_confirms_as_often_as_the_matrix_says(tmp_path):
    files = write_runs(tmp_path, {"new": {"q": ["d1"]}, "old": {"q": ["d2"]}})
    runs = JudgedRuns.read(files, write_qrels(tmp_path / "qrels", {"q": {"d1": 1, "d2": 0}}), "P@1")
    found = credibility(runs, "new", "old", assessors=0.2, n_draws=20_000)
    assert found["p_win"][0] == pytest.approx(0.8 * 0.8, abs=0.02)
    assert found["p_loss"][0] == pytest.approx(0.2 * 0.2, abs=0.02)


@pytest.mark.parametrize(
    "measure", ["nDCG@5", "nDCG(dcg='exp-log2')@4", "ERR@5", "AP", "RR", "P@5", "R@5", "RBP(p=0.8)"]
)
def test_every_measure_has_probabilities(tmp_path, measure):
    runs = read_random(tmp_path, seed=7, measure=measure)
    found = credibility(runs, "r0", "r1", n_draws=200)
    assert ((found["p_loss"] + found["p_win"]) <= 1).all()
    assert (found["low"] <= found["high"]).all()
    assert found.extra()["urisk_low"] <= found.extra()["urisk_high"]
    again = credibility(runs, "r0", "r1", n_draws=200)
    np.testing.assert_array_equal(found.draws, again.draws)


def test_another_assessor_may_use_higher_grades(tmp_path):
    runs = read_random(tmp_path, seed=8, highest=1)
    wider = Disagreement.shipped(4)
    assert len(credibility(runs, "r0", "r1", assessors=wider, n_draws=20)) == len(runs.topics)


def test_bad_requests_are_refused(tmp_path):
    runs = read_random(tmp_path, seed=9)
    with pytest.raises(SurefootError, match="nist: no such file"):
        credibility(runs, "r0", "r1", assessors="nist")
    with pytest.raises(SurefootError, match="'off' leaves nothing in doubt"):
        credibility(runs, "r0", "r1", assessors="off")
    with pytest.raises(SurefootError, match="level must be above 0 and at most"):
        credibility(runs, "r0", "r1", level=2)
    with pytest.raises(SurefootError, match="number of draws must be at least 1; got -5"):
        credibility(runs, "r0", "r1", n_draws=-5)
    with pytest.raises(SurefootError, match="seed must be a whole number of 0 or more; got -1"):
        credibility(runs, "r0", "r1", seed=-1)


def test_losses_of_dl_2019_that_no_other_assessor_shares_are_unclear(data):
    folder = data / "trec-dl-2019"
    names = ["colbert_rankgpt4", "maik-froebe-colbert", "bm25base_p"]
    runs = JudgedRuns.read([folder / "runs" / f"{name}.run.gz" for name in names], folder / "qrels.txt")
    found = credibility(runs, names[0], names[1], n_draws=500)
    losses = found["delta"] < 0
    assert losses.sum() == 14
    assert (found["credible"][losses & (found["delta"] > -0.05)] == "unclear").all()


def test_other_assessors_confirm_or_not(tmp_path):
    runs = read_random(tmp_path, seed=3, holes=0)
    same, delta = tmp_path / "qrels.txt", runs.pair("r0", "r1").delta
    reverse = write_qrels(
        tmp_path / "reverse",
        {t: {d: 3 - max(g, 0) for d, g in runs.qrels.of_topic(t).items()} for t in runs.topics},
    )
    found = credibility(runs, "r0", "r1", assessors=[same, reverse], n_draws=20)
    assert (found["confirmed"] >= 1).all()
    turned = JudgedRuns.read({n: r.run for n, r in runs.rankings.items()}, reverse, "nDCG@5").pair("r0", "r1").delta
    assert found["confirmed"].tolist() == (1 + (np.sign(turned) == np.sign(delta))).tolist()
