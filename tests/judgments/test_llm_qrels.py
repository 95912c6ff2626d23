"""Grades by language models as evidence: calibration, expected values, and the gate."""

import json

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.effectiveness import score_runs
from surefoot.errors import SurefootError
from surefoot.io.trec import read_qrels
from surefoot.judgments.credibility import credibility
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.next_judgments import Uncertainty, next_judgments
from surefoot.judgments.unjudged import GradeModel, Layout, Pool, sides
from surefoot.release_gate.gate import gate
from tests.judgments.collection import difference_of_discounts, write_qrels, write_runs

TOPICS, DOCUMENTS = 24, 30


def collection(folder, noise=0.3, judged=120, seed=0, highest=3):
    """Runs, a few judgments, grades of a language model, and all judgments; r0 is the best run."""
    random = np.random.default_rng(seed)
    truth = {str(t): {f"d{n}": int(g) for n, g in enumerate(random.integers(0, 4, DOCUMENTS))} for t in range(TOPICS)}
    runs = {f"r{number}": {} for number in range(4)}
    for topic, own in truth.items():
        for number, ranked in enumerate(runs.values()):
            scores = np.array(list(own.values())) + random.normal(0, 0.5 + number, DOCUMENTS)
            ranked[topic] = [f"d{n}" for n in np.argsort(-scores)[:12]]
    pairs = [(topic, document) for topic, own in truth.items() for document in own]
    known = {topic: {} for topic in truth}
    for index in random.permutation(len(pairs))[:judged]:
        topic, document = pairs[index]
        known[topic][document] = truth[topic][document]
    model = {
        topic: {
            d: int(np.clip(np.rint((g + random.normal(0, noise)) * highest / 3), 0, highest)) for d, g in own.items()
        }
        for topic, own in truth.items()
    }
    files = write_runs(folder, runs)
    known = {topic: own for topic, own in known.items() if own}
    names = (("qrels", known), ("llm", model), ("truth", truth))
    return files, *(write_qrels(folder / f"{name}.qrels", own) for name, own in names)


def test_expected_values_are_near_those_of_all_judgments(tmp_path):
    files, qrels, llm, truth = collection(tmp_path, noise=0.8)
    runs = JudgedRuns.read(files, qrels, "nDCG@5", llm_qrels=llm)
    found = credibility(runs, "r3", "r2", assessors="none", n_draws=500)
    whole = JudgedRuns.read(files, truth, "nDCG@5").pair("r3", "r2").delta
    assert np.mean((found["low"] - 1e-9 <= whole) & (whole <= found["high"] + 1e-9)) > 0.75
    told = found.summary()
    assert told["delta_low"] < whole.mean() < told["delta_high"]
    assert told["urisk_low"] < told["urisk_expected"] < told["urisk_high"]
    assert told["losses_low"] <= (whole < 0).sum() <= told["losses_high"]
    assert np.abs(found["expected"] - whole).mean() < np.abs(found.delta - whole).mean() / 2
    assert told["llm_bias"] == told["urisk_llm"] - told["urisk_expected"]


def test_the_priority_is_the_spread_that_a_grade_gives_urisk(tmp_path):
    """By hand: what the measure changes by the drawn grade, where a lost topic weighs more."""
    files, qrels, llm, _ = collection(tmp_path, noise=0.8)
    runs, n = JudgedRuns.read(files, qrels, "RBP(rel=1)", llm_qrels=llm), 100
    pair, random = runs.pair("r3", "r2"), np.random.default_rng(0)
    model, expected = GradeModel.of(runs, pair), []
    shared = model.draw_shared(random, n)
    for topic, own in enumerate(pair.topics):
        grades = model.fill(topic, own.codes, own.grades, shared, random)
        rest = model.draw_rest(topic, own, shared, random)
        lost = np.mean(pair.deltas(own, grades, rest) < -1e-9)
        for document in np.flatnonzero(own.unjudged):
            spread = abs(difference_of_discounts(own, document)) * np.std(grades[:, document] > 0)
            expected.append((1 + 2 * lost) * 0.2 * spread / TOPICS)
    found = Uncertainty.draw(pair, model, 2.0, n)
    np.testing.assert_allclose(found.priorities, expected, atol=1e-12)


def test_a_model_that_knows_nothing_leaves_more_doubt(tmp_path):
    width = {}
    for noise in (0.2, 50.0):
        folder = tmp_path / str(noise)
        folder.mkdir()
        files, qrels, llm, _ = collection(folder, noise)
        runs = JudgedRuns.read(files, qrels, "nDCG@5", llm_qrels=[llm])
        told = credibility(runs, "r2", "r0", assessors="none", n_draws=300).summary()
        width[noise] = told["urisk_high"] - told["urisk_low"]
    assert width[50.0] > 1.5 * width[0.2]


@pytest.mark.parametrize("highest", [1, 9])
def test_models_may_have_other_scales_and_be_several(tmp_path, highest):
    files, qrels, llm, _ = collection(tmp_path, highest=highest)
    first = tmp_path / "first.qrels"
    first.write_text(llm.read_text())
    runs = JudgedRuns.read(files, qrels, "nDCG@5", llm_qrels=[first, collection(tmp_path)[2]])
    assert GradeModel.of(runs).layout.scales == (highest, 3)
    assert credibility(runs, "r2", "r0", assessors="none", n_draws=50).llm.shape == (2, TOPICS)


def test_few_double_judgments_are_refused_or_noted(tmp_path):
    files, qrels, llm, _ = collection(tmp_path, judged=49)
    with pytest.raises(SurefootError, match=r"expected 50 or more documents .* found 49"):
        JudgedRuns.read(files, qrels, llm_qrels=llm)
    files, qrels, llm, _ = collection(tmp_path, judged=60)
    assert "only 60" in JudgedRuns.read(files, qrels, llm_qrels=llm).notes[0]


def test_topics_that_only_a_model_graded_count(tmp_path):
    files, qrels, llm, _ = collection(tmp_path, judged=60)
    lines = [line for line in qrels.read_text().splitlines(True) if int(line.split()[0]) < 12]
    qrels.write_text("".join(lines) + "0 0 extra 0\n")
    qrels.write_text(qrels.read_text() + "".join(f"1 0 x{n} 0\n" for n in range(5)))
    model = llm.read_text() + "".join(f"1 0 x{n} 0\n" for n in range(5))
    llm.write_text(model + "".join(f"2 0 y{n} 0\n" for n in range(40)))
    qrels.write_text(qrels.read_text() + "".join(f"2 0 y{n} 0\n" for n in range(40)))
    scores = score_runs(files, qrels, "nDCG@5", llm_qrels=llm)
    assert len(scores.topics) == TOPICS
    assert scores["r0"][scores.topics.index("20")] == 0
    runs = JudgedRuns.of(scores)
    assert runs.topics == scores.topics
    found = credibility(runs, "r2", "r0", assessors="none", n_draws=100)
    assert 0 < found["p_loss"][runs.topics.index("20")] < 1


def test_qrels_with_further_topics_find_the_same_documents(tmp_path):
    qrels = read_qrels(write_qrels(tmp_path / "q", {"2": {"a": 1, "b": 0}, "10": {"a": 2}}))
    wider = qrels.with_topics(["1", "3", "10"])
    assert wider.topics == ("1", "2", "3", "10")
    assert [wider.of_topic(topic) for topic in wider.topics] == [{}, {"a": 1, "b": 0}, {}, {"a": 2}]
    runs = {"r": {topic: {"b": 2.0, "a": 1.0} for topic in wider.topics}}
    assert score_runs(runs, wider, "RR")["r"].tolist() == [0, 0.5, 0, 0.5]
    assert qrels.with_topics(["2"]) is qrels


def test_features_of_two_rankings(tmp_path):
    files = write_runs(tmp_path, {"new": {"q": ["a", "b", "c"]}, "old": {"q": ["b", "a", "d"]}})
    qrels = write_qrels(tmp_path / "qrels", {"q": {"a": 1, "b": 0}})
    runs = JudgedRuns.read(files, qrels, "P@3")
    pair = runs.pair("new", "old")
    own, ids = pair.topics[0], pair.documents(0)
    found = dict(zip(ids, sides(own, own.codes).tolist(), strict=True))
    assert found == {"a": [0, 0.4], "b": [0, -0.4], "c": [1, 0.75], "d": [1, -0.75]}
    assert not sides(None, own.codes).any()
    assert Pool.of(runs, 0).of_documents(np.array([5], np.uint64), 0).tolist() == [[0, 0]]
    assert Layout(2).spread_by(np.zeros((3, 2)), np.arange(3)) == Layout(2)


def test_a_strong_model_decides_the_gate_and_a_weak_one_does_not(tmp_path):
    verdicts = {}
    for noise in (0.2, 50.0):
        folder = tmp_path / str(noise)
        folder.mkdir()
        files, qrels, llm, _ = collection(folder, noise)
        scores = score_runs(files, qrels, "nDCG@5", llm_qrels=llm)
        found = gate(scores, "r0", candidate="r1")
        verdicts[noise] = found.verdict
        assert "llm=llm.qrels:" in found.signature
        assert any("by the grades of language models only" in note for note in found.notes)
    assert verdicts == {0.2: "fail", 50.0: "undecided"}


def test_commands_take_llm_qrels(tmp_path, capsys):
    files, qrels, llm, _ = collection(tmp_path)
    inputs = [*map(str, files), "--qrels", str(qrels), "--llm-qrels", str(llm), "--measure", "nDCG@5"]
    pair = ["--candidate", "r2", "--baseline", "r0"]
    assert main(["evaluate", *inputs, "--baseline", "r0", "--format", "json"]) == 0
    rows = {row["system"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["r2"]["expected_urisk_low"] < rows["r2"]["expected_urisk"] < rows["r2"]["expected_urisk_high"]
    assert rows["r0"]["expected_urisk"] is None
    assert main(["explore", *inputs, *pair, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"expected", "llm", "p_loss"} <= set(found["rows"][0])
    library = credibility(JudgedRuns.read(files, qrels, "nDCG@5", llm_qrels=llm), "r2", "r0", 1.0, assessors="none")
    expected = dict(zip(library["topic"].tolist(), library["p_loss"].tolist(), strict=True))
    assert {row["topic"]: row["p_loss"] for row in found["rows"]} == pytest.approx(expected)
    assert main(["gate", *inputs, *pair, "--format", "json"]) in (0, 1)
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    scores = score_runs(files, qrels, "nDCG@5", llm_qrels=llm)
    assert verdict == gate(scores, "r0", candidate="r2").verdict
    assert main(["judge", *inputs, *pair, "--enough", "1"]) == 0
    first = capsys.readouterr().out.splitlines()[1].split(",")[:2]
    again = next_judgments(JudgedRuns.of(scores), "r2", "r0", enough=1)
    assert first == [again["topic"][0], again["document"][0]]
    assert main(["report", *inputs, *pair, "-o", str(tmp_path / "page.html")]) == 0
    assert main(["evaluate", *inputs]) == 2
    assert "--llm-qrels needs a run as the --baseline" in capsys.readouterr().err
