"""Pairs of runs: the same scores as scoring gives, whatever is judged."""

import ir_measures
import numpy as np
import pytest

from surefoot import score_runs
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import JudgedRuns
from tests.judgments.collection import random_collection, read_random

MEASURES = [
    "nDCG@5",
    "nDCG(dcg='exp-log2')@4",
    "ERR@5",
    "AP",
    "AP(rel=2)@6",
    "RR",
    "P@5",
    "R@5",
    "RBP(p=0.8)",
    "RBP(rel=1)",
]


@pytest.mark.parametrize("measure", MEASURES)
def test_differences_are_those_of_the_scores(tmp_path, measure):
    files, qrels = random_collection(tmp_path, seed=1)
    scores, runs = score_runs(files, qrels, measure), JudgedRuns.read(files, qrels, measure)
    for own, base in (("r0", "r1"), ("r3", "r2")):
        np.testing.assert_allclose(runs.pair(own, base).delta, scores[own] - scores[base], atol=1e-14)


def test_judged_fraction_is_that_of_ir_measures(tmp_path):
    files, qrels = random_collection(tmp_path, seed=2)
    runs = JudgedRuns.read(files, qrels, "P@5")
    known = list(ir_measures.read_trec_qrels(str(qrels)))
    for file in files:
        found = ir_measures.iter_calc([ir_measures.Judged @ 5], known, ir_measures.read_trec_run(str(file)))
        theirs = {metric.query_id: metric.value for metric in found}
        assert dict(zip(runs.topics, runs.judged(file.stem), strict=True)) == pytest.approx(theirs)


def test_topics_that_a_run_did_not_retrieve_score_0_and_have_no_holes(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1 x\nq9 Q0 d1 1 1 x\n")
    (tmp_path / "b.run").write_text("q2 Q0 d1 1 1 x\n")
    runs = JudgedRuns.read([tmp_path / "a.run", tmp_path / "b.run"], tmp_path / "qrels", "P@1")
    assert runs.pair("a", "b").delta.tolist() == [1, -1]
    assert runs.judged("a").tolist() == [1, 1]


def test_bad_requests_are_refused(tmp_path):
    runs = read_random(tmp_path, seed=3)
    with pytest.raises(SurefootError, match="no run 'new'; there are r0, r1"):
        runs.pair("new", "r0").delta  # noqa: B018
    with pytest.raises(
        SurefootError, match="MEAN is made of all runs; bounds and drawn grades compare two runs: name one"
    ):
        runs.pair("r0", "MEAN")
    with pytest.raises(SurefootError, match="Rprec is left to ir_measures; bounds and drawn grades are for"):
        read_random(tmp_path, seed=3, measure="Rprec").pair("r0", "r1")
    with pytest.raises(SurefootError, match="some grades are fractions"):
        JudgedRuns.read({"a": {"q": {"d": 1.0}}}, {"q": {"d": 0.5}})
