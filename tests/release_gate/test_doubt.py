"""Doubt about the judgments behind a comparison."""

import pickle
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Scores, SurefootError, credibility, score_runs
from surefoot.judgments.assessors import Disagreement, parse_assessors
from surefoot.judgments.bounds import delta_bounds, matters
from surefoot.judgments.credibility import NO_CHANGE, real_losses
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from surefoot.release_gate.doubt import Doubt, doubt, lost_results, why_no_doubt
from tests.judgments.collection import random_collection, write_qrels, write_runs

MEASURES = ("nDCG@4", "nDCG(dcg='exp-log2')@4", "ERR@4", "AP", "RR", "P@4", "R@4", "RBP(p=0.8)", "AP(rel=2)")
RUNS = {"old": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "new": {"q1": {"d2": 1.0}, "q2": {"d3": 1.0}}}


def scores_of(folder: Path, seed: int, measure: str = "nDCG@5", **more: Any) -> Scores:
    return score_runs(*random_collection(folder, seed, **more), measure)


def found_by(scores: Scores, *arguments: Any, **more: Any) -> Doubt:
    found = doubt(scores, "r0", "r1", *arguments, **more)
    assert found is not None
    return found


def measured(scores: Scores) -> Any:
    return scores["r0"] - scores["r1"]


@pytest.mark.parametrize("measure", MEASURES)
def test_bounds_hold_all_draws_and_the_measured_difference(tmp_path: Path, measure: str) -> None:
    scores = scores_of(tmp_path, 3, measure, documents=8, holes=0.6, topics=12)
    found = found_by(scores, n_draws=300)
    assert found.deltas.shape == (300, len(scores.topics))
    for row in (*found.deltas, measured(scores), found.expected):
        assert (row <= found.highest + 1e-12).all()
    assert found.deltas.std(axis=0).max() > 0.01
    np.testing.assert_array_equal(found.expected, found.deltas.mean(axis=0))


def changing(pair: JudgedPair, topic: int) -> tuple[set[str], float]:
    """The unjudged documents whose grade changes the difference, by all grades of all, and its largest value."""
    own, levels = pair.topics[topic], pair.runs.levels
    free = np.flatnonzero(own.unjudged)
    assigned = np.array(list(product(range(levels), repeat=free.size)), np.int64).reshape(levels**free.size, free.size)
    grades = np.repeat(own.zero_filled[np.newaxis], len(assigned), axis=0)
    grades[:, free] = assigned
    deltas = pair.deltas(own, grades, np.repeat(own.rest[np.newaxis], len(grades), axis=0))
    by_document = (np.moveaxis(deltas.reshape((levels,) * free.size), place, 0) for place in range(free.size))
    changed = [bool(np.ptp(table, axis=0).max() > 1e-12) for table in by_document]
    names = [pair.documents(topic)[document] for document in free]
    return {name for name, is_changing in zip(names, changed, strict=True) if is_changing}, float(deltas.max())


@pytest.mark.parametrize("measure", MEASURES)
def test_every_document_that_can_change_a_difference_is_named(tmp_path: Path, measure: str) -> None:
    """Against all grades of all unjudged documents; for P and RBP no other is named."""
    scores = scores_of(tmp_path, 5, measure, documents=6, holes=0.6, highest=2, topics=150, runs=2)
    pair, found = JudgedRuns.of(scores).pair("r0", "r1"), found_by(scores, n_draws=2)
    sure = 0
    for topic in range(len(scores.topics)):
        expected, highest = changing(pair, topic)
        named = {document for _, document in found.unjudged[topic]}
        assert named >= expected
        if measure.startswith(("P", "RBP")):
            assert named == expected
        assert found.highest[topic] == pytest.approx(highest, abs=1e-12)
        if not expected:
            sure += bool(pair.topics[topic].unjudged.any())
            assert not named
            assert found.highest[topic] == measured(scores)[topic]
    assert sure > 0


def test_documents_that_matter_only_together_are_named() -> None:
    """A document of both rankings changes the recall only where one of the others is relevant and one is not."""
    runs = {"r0": {"q": {"x": 2.0, "z": 1.0}, "p": {"a": 1.0}}, "r1": {"q": {"y": 2.0, "z": 1.0}, "p": {"a": 1.0}}}
    scores = score_runs(runs, {"q": {"b": 1}, "p": {"a": 1, "b": 0}}, "R@2")
    assert found_by(scores).unjudged == ((), (("q", "x"), ("q", "z"), ("q", "y")))


def test_documents_of_the_candidate_come_first_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, {"r0": {"q": ["x2", "a", "x1", "x9"]}, "r1": {"q": ["x3", "x1", "a"], "p": ["a"]}})
    scores = score_runs(runs, write_qrels(tmp_path / "qrels", {"q": {"a": 1, "b": 0}, "p": {"a": 1}}), "nDCG@3")
    assert found_by(scores).unjudged == ((), (("q", "x2"), ("q", "x1"), ("q", "x3")))


def test_judged_documents_leave_no_doubt_and_nothing_is_read(tmp_path: Path) -> None:
    files, qrels = random_collection(tmp_path, 1, holes=0)
    scores = score_runs(files, qrels, "nDCG@5")
    for file in files:
        file.unlink()
    found = found_by(scores, n_draws=7)
    np.testing.assert_array_equal(found.deltas, np.tile(measured(scores), (7, 1)))
    for one in (found.highest, found.deltas.max(axis=0)):
        np.testing.assert_array_equal(one, measured(scores))
    assert found.unjudged == ((),) * len(scores.topics)
    assert found.note == "every document that counts is judged"


def test_judged_topics_beside_others_are_facts(tmp_path: Path) -> None:
    scores = scores_of(tmp_path, 6, topics=12, runs=3, holes=0.15)
    found = found_by(scores, n_draws=50)
    whole = np.array([not documents for documents in found.unjudged])
    assert 0 < whole.sum() < whole.size
    np.testing.assert_array_equal(found.deltas[:, whole], np.tile(measured(scores)[whole], (50, 1)))
    np.testing.assert_array_equal(found.highest[whole], measured(scores)[whole])
    assert (measured(scores) <= found.highest)[~whole].all()


def test_an_unjudged_document_has_its_expected_grade(tmp_path: Path) -> None:
    """P@1 of an unjudged document is its grade, which the model draws with an independent seed too."""
    files = write_runs(tmp_path, {"r0": {"q": ["d1"], "r": ["d1"]}, "r1": {"q": ["d2"], "r": ["d2"]}})
    qrels = write_qrels(tmp_path / "qrels", {"q": {"d2": 0}, "r": {"d1": 1, "d2": 0, "d3": 0}})
    scores = score_runs(files, qrels, "P@1")
    runs, random = JudgedRuns.read(files, qrels, "P@1"), np.random.default_rng(1)
    model, own = GradeModel.fit(runs), runs.pair("r0", "r1").topics[0]
    drawn = model.draw(0, own.codes[own.unjudged], model.draw_shared(random, 20_000), random)
    found = found_by(scores, n_draws=20_000)
    assert found.expected[0] == pytest.approx(drawn.mean(), abs=0.02)
    assert found.expected[1] == 1


@pytest.mark.parametrize("assessors", ["none", "dl2019", 0.2])
def test_probabilities_of_losses_are_those_of_credibility(tmp_path: Path, assessors: object) -> None:
    scores = scores_of(tmp_path, 8)
    found = found_by(scores, assessors, n_draws=100, seed=4)
    theirs = credibility(JudgedRuns.of(scores), "r0", "r1", assessors=assessors, n_draws=100, seed=4)
    np.testing.assert_allclose(found.deltas, theirs.draws, atol=1e-12)
    assert theirs["p_loss"].tolist() == (found.deltas < -NO_CHANGE).mean(axis=0).tolist()


def test_no_order_of_lines_files_or_topics_changes_a_draw(tmp_path: Path) -> None:
    files, qrels = random_collection(tmp_path, 9, topics=12)
    scores = score_runs(files, qrels, "nDCG@5")
    usual = found_by(scores, "dl2019", n_draws=40, seed=2)
    for file in (*files, qrels):
        file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    for other in (score_runs(files[::-1], qrels, "nDCG@5"), pickle.loads(pickle.dumps(scores)), scores.by_name()):
        again = found_by(other, "dl2019", n_draws=40, seed=2)
        np.testing.assert_array_equal(again.deltas, usual.deltas)
        assert (again.unjudged, again.note) == (usual.unjudged, usual.note)
    topics = ["7", "0", "11"]
    part, columns = found_by(scores.select(topics=topics), "dl2019", n_draws=40, seed=2), [7, 0, 11]
    np.testing.assert_array_equal(part.deltas, usual.deltas[:, columns])
    np.testing.assert_array_equal(part.highest, usual.highest[columns])
    assert part.unjudged == tuple(usual.unjudged[column] for column in columns)
    other_seed = found_by(scores, "dl2019", n_draws=40, seed=3)
    assert (other_seed.deltas != usual.deltas).any()


def test_every_value_of_assessors(tmp_path: Path) -> None:
    scores, second = scores_of(tmp_path, 4, topics=10), tmp_path / "qrels.txt"
    drawn = {
        name: found_by(scores, given, n_draws=30).deltas
        for name, given in {
            "none": "none", "None": None, "listed": ["none"], "dl2019": "dl2019", "bare": [], "share": 0.2,
            "text": "0.2", "file": str(second), "path": second, "files": [second],
            "object": {topic: dict(scores.source.qrels.of_topic(topic)) for topic in scores.topics},  # type: ignore[union-attr]
            "model": Disagreement.shipped(4),
        }.items()
    }  # fmt: skip
    same = [("none", "None"), ("none", "listed"), ("dl2019", "bare"), ("dl2019", "model"), ("share", "text"),
            ("file", "path"), ("file", "files"), ("file", "object")]  # fmt: skip
    for one, other in same:
        np.testing.assert_array_equal(drawn[one], drawn[other])
    for one, other in (("none", "dl2019"), ("dl2019", "share"), ("share", "file"), ("file", "none")):
        assert (drawn[one] != drawn[other]).any()
    assert doubt(scores, "r0", "r1", "off") is None
    assert parse_assessors(["a.qrels", "none"]) == ["a.qrels", "none"]


@pytest.mark.parametrize(
    ("assessors", "message"), [("1.5", "probability in"), ("nan", "probability in"), ("no.qrels", "no such file")]
)
def test_assessors_that_make_no_sense_get_one_line(tmp_path: Path, assessors: str, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        doubt(scores_of(tmp_path, 4), "r0", "r1", assessors)


@pytest.mark.parametrize(
    ("make", "baseline", "reason"),
    [
        (lambda: Scores([[0.1], [0.2]], ["new", "old"], ["q1"]), "old", "the judgments are unknown"),
        (lambda: score_runs(RUNS, {"q1": {"d1": 1, "d4": 0}}), "MEAN", "MEAN is not a single run"),
        (lambda: score_runs(RUNS, {"q1": {"d1": 1, "d4": 0}}, "Rprec"), "old", "Rprec is computed by ir_measures"),
        (lambda: score_runs(RUNS, {"q1": {"d1": 1}}), "old", "only relevant documents are judged"),
        (lambda: score_runs(RUNS, {"q1": {"d1": 0.5, "d4": 0}}), "old", "some grades are fractions"),
        (lambda: score_runs(RUNS, {"q1": {"d4": 1, "d5": 0}}), "old", "no retrieved document is judged"),
        (lambda: score_runs(RUNS, {"q1": {"d1": 1, "d4": 0}}, unjudged="skip"), "old", "left out of the rankings"),
    ],
)
def test_without_doubt_there_is_a_reason(make: Any, baseline: str, reason: str) -> None:
    assert doubt(make(), "new", baseline) is None
    assert reason in (why_no_doubt(make(), "new", baseline) or "")
    assert why_no_doubt(make(), "new", baseline, "off") == "doubt about judgments is off"


def test_with_doubt_there_is_none(tmp_path: Path) -> None:
    assert why_no_doubt(scores_of(tmp_path, 4), "r0", "r1") is None
    assert why_no_doubt(scores_of(tmp_path, 4, holes=0), "r0", "r1", "dl2019") is None


def test_unknown_systems_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SurefootError, match="no system 'r9'"):
        doubt(scores_of(tmp_path, 4), "r9", "r1")
    with pytest.raises(SurefootError, match="no baseline 'r9'"):
        doubt(scores_of(tmp_path, 4), "r0", "r9")


def test_runs_that_changed_since_they_were_scored_are_refused(tmp_path: Path) -> None:
    files, qrels = random_collection(tmp_path, 2)
    scores = score_runs(files, qrels, "nDCG@5")
    files[0].write_bytes(files[1].read_bytes())
    with pytest.raises(SurefootError, match="r0 or r1 has changed since it was scored"):
        doubt(scores, "r0", "r1")


def test_rankings_deeper_than_those_looked_at_keep_the_measured_difference() -> None:
    deep = {f"d{number}": 3000.0 - number for number in range(1500)}
    runs = {"old": {"q1": deep, "q2": deep}, "new": {"q1": {"d1400": 1.0}, "q2": {"b": 2.0, "d1400": 1.0}}}
    judged = {document: int(document == "d1400") for document in deep}
    scores = score_runs(runs, {"q1": judged, "q2": judged}, "AP")
    found, delta = doubt(scores, "new", "old", n_draws=200), scores["new"] - scores["old"]
    assert found is not None
    assert found.deltas[:, 0].tolist() == [delta[0]] * 200
    assert found.unjudged == ((), (("q2", "b"),))
    assert found.deltas[:, 1].min() == pytest.approx(delta[1], abs=1e-12)
    assert found.highest[1] > delta[1] + 0.1


def slow_lost(runs: dict[str, dict[str, dict[str, float]]], topics: Sequence[str]) -> list[str]:
    return [topic for topic in topics if runs["old"].get(topic) and not runs["new"].get(topic)]


@pytest.mark.parametrize("qrels_of", [lambda topic: {"d1": 1, "d2": 0}, lambda topic: {"d1": 1}])
def test_topics_that_lost_all_results(qrels_of: Any) -> None:
    """An absent topic counts, whether unjudged documents are known or not, and without a score too."""
    runs = {
        "old": {"q1": {"d9": 1.0}, "q2": {"d1": 1.0}, "q4": {"d1": 1.0}, "q10": {"d1": 1.0}, "q99": {"d1": 1.0}},
        "new": {"q2": {"d7": 1.0}, "q3": {"d1": 1.0}},
    }
    scores = score_runs(runs, {f"q{number}": qrels_of(number) for number in (10, 5, 4, 3, 2, 1)})
    assert lost_results(scores, "new", "old") == ("q1", "q4", "q10")
    assert list(lost_results(scores, "new", "old") or ()) == slow_lost(runs, scores.topics)
    assert lost_results(scores, "old", "new") == ("q3",)
    assert lost_results(scores.select(topics=["q10", "q2", "q1"]), "new", "old") == ("q10", "q1")
    assert lost_results(scores.rename({"new": "newer"}), "newer", "old") == ("q1", "q4", "q10")
    assert lost_results(pickle.loads(pickle.dumps(scores)), "new", "old") == ("q1", "q4", "q10")
    assert lost_results(scores, "new", "MEAN") is None
    assert lost_results(Scores.from_dict(scores.to_dict()), "new", "old") is None


@pytest.mark.parametrize("seed", range(5))
def test_real_losses_are_counted_over_joint_draws(seed: int) -> None:
    """The count holds in 95 % of the draws, and no larger one does."""
    random = np.random.default_rng(seed)
    delta, draws = random.normal(size=9), random.normal(-0.5, 1, (200, 1)) + random.normal(0, 0.3, (200, 9))
    lost = [column for column in range(9) if delta[column] < 0]
    counts = [sum(row[column] < 0 for column in lost) for row in draws]
    found = real_losses(delta, draws)
    assert sum(count >= found for count in counts) >= 0.95 * 200
    assert sum(count > found for count in counts) <= 0.95 * 200 + 1


def test_bounds_of_documents_that_cannot_matter_are_exact(tmp_path: Path) -> None:
    """Sixty unjudged documents behind a relevant one: too many grades to try, and none matters for RR."""
    ranked = {f"r{run}": {"q": ["a", *(f"x{run}-{number}" for number in range(30))]} for run in range(2)}
    qrels = write_qrels(tmp_path / "qrels", {"q": {"a": 1, "b": 0}})
    pair = JudgedRuns.read(write_runs(tmp_path, ranked), qrels, "RR").pair("r0", "r1")
    assert pair.topics[0].unjudged.sum() == 60
    assert not matters(pair, pair.topics[0]).any()
    found = delta_bounds(pair)
    assert (found.low.tolist(), found.high.tolist(), found["exact"].tolist()) == ([0.0], [0.0], [True])
