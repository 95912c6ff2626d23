"""From files to Scores: agreement with the reference tools, what is said about topics, order and names."""

import pickle

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from surefoot import evaluate
from surefoot._names import natural_order
from surefoot.effectiveness import score_runs, score_runs_by
from surefoot.errors import InputError, SurefootError
from surefoot.io.trec import read_qrels
from surefoot.judgments.judged_runs import JudgedRuns

TREC_EVAL = {
    "nDCG": "ndcg",
    "nDCG@3": "ndcg_cut_3",
    "AP": "map",
    "AP@3": "map_cut_3",
    "RR": "recip_rank",
    "P@3": "P_3",
    "R@3": "recall_3",
    "P@30": "P_30",
    "Success@3": "success_3",
}

TOPICS = st.sampled_from(["1", "2", "10", "unjudged", "ü"])
DOCUMENTS = st.sampled_from([f"d{number}" for number in range(12)] + ["D1", "é", "a-document-with-a-long-name"])
JUDGMENTS = st.dictionaries(
    TOPICS.filter(lambda topic: topic != "unjudged"),
    st.dictionaries(DOCUMENTS, st.integers(-2, 4), min_size=1),
    min_size=1,
)
RANKINGS = st.dictionaries(
    TOPICS, st.dictionaries(DOCUMENTS, st.integers(-3, 3).map(lambda score: score / 2), min_size=1), min_size=1
)


def write_qrels(path, qrels):
    path.write_text("".join(f"{t} 0 {d} {g}\n" for t, own in qrels.items() for d, g in own.items()))
    return path


def write_run(path, run, shuffle=None):
    lines = [f"{t} Q0 {d} 1 {s} tag-{path.stem}\n" for t, own in run.items() for d, s in own.items()]
    if shuffle:
        shuffle(lines)
    path.write_text("".join(lines))
    return path


def reference(qrels, run, level=1):
    names = set(TREC_EVAL.values()) if level == 1 else {"map", "P_3", "recall_3", "recip_rank"}
    asked = {name.replace("_3", ".3") if name[-2:] in ("_3", "30") else name for name in names}
    # A judged document more changes nothing, and without it pytrec_eval crashes where all grades are negative.
    padded = {topic: {**own, "no document": 0} for topic, own in qrels.items()}
    found = pytrec_eval.RelevanceEvaluator(padded, asked, relevance_level=level).evaluate(run)
    return {name: [found[topic][name] if topic in found else 0.0 for topic in natural_order(qrels)] for name in names}


@given(JUDGMENTS, RANKINGS, st.randoms(use_true_random=False))
def test_agrees_with_trec_eval(tmp_path_factory, qrels, run, random):
    if not set(qrels) & set(run):
        return
    folder = tmp_path_factory.mktemp("runs")
    judged = write_qrels(folder / "qrels", qrels)
    graded = ["AP(rel=2)", "P(rel=2)@3", "R(rel=2)@3", "RR(rel=2)"]
    files = [write_run(folder / "plain.run", run), write_run(folder / "mixed.run", run, random.shuffle)]
    scores = score_runs_by(files, judged, [*TREC_EVAL, *graded])
    for name, values in reference(qrels, run).items():
        mine = scores[next(own for own, theirs in TREC_EVAL.items() if theirs == name)]
        assert mine.topics == natural_order(qrels)
        np.testing.assert_allclose(mine["plain"], values, rtol=1e-12, atol=1e-12, err_msg=name)
    strict = reference(qrels, run, level=2)
    for own, theirs in zip(graded, ["map", "P_3", "recall_3", "recip_rank"], strict=True):
        np.testing.assert_allclose(scores[own]["plain"], strict[theirs], rtol=1e-12, atol=1e-12, err_msg=own)
    for score in scores.values():
        np.testing.assert_array_equal(score["plain"], score["mixed"])


NEAR = st.integers(0, 3).map(lambda last: 20.0 + last * 1e-7) | st.sampled_from([1e39, 2e39, 1e-60, 0.0])


@given(JUDGMENTS, st.dictionaries(TOPICS, st.dictionaries(DOCUMENTS, NEAR, min_size=1), min_size=1))
def test_ties_of_trec_eval(qrels, run):
    if not set(qrels) & set(run):
        return
    scores = score_runs_by({"run": run}, qrels, TREC_EVAL, ties="trec_eval")
    for name, values in reference(qrels, run).items():
        mine = scores[next(own for own, theirs in TREC_EVAL.items() if theirs == name)]
        np.testing.assert_allclose(mine["run"], values, rtol=1e-12, atol=1e-12, err_msg=name)


def test_ties_of_trec_eval_go_through_every_analysis(tmp_path):
    run, qrels = {"q1": {"d1": 1.00000001, "d2": 1.0}}, {"q1": {"d1": 1}}
    found = {ties: score_runs({"one": run}, qrels, "RR", ties=ties) for ties in ("exact", "trec_eval")}
    assert {ties: scores["one"].tolist() for ties, scores in found.items()} == {"exact": [1.0], "trec_eval": [0.5]}
    assert "|ties=trec_eval|" in evaluate(found["trec_eval"]).signature
    assert "ties" not in evaluate(found["exact"]).signature
    file = write_run(tmp_path / "one.run", run)
    again = pickle.loads(pickle.dumps(score_runs([file], qrels, "RR", ties="trec_eval")))
    assert JudgedRuns.of(again).rankings["one"].run.documents == ["d2", "d1"]
    with pytest.raises(SurefootError, match="ties must be one of exact, trec_eval; got 'float'"):
        score_runs([file], qrels, "RR", ties="float")


@pytest.mark.parametrize(
    ("near", "grades", "means"),
    [
        ({"d1": 1.00000001, "d2": 1.0}, {"d1": 1}, "one 0.5000"),
        ({"d1": 1.00000001, "d2": 1.0}, {"d1": 1, "d2": 1}, None),  # the same mean in either order
        ({"d2": 1.00000001, "d1": 1.0}, {"d1": 1}, None),  # the order of ids is that of the scores
        ({"d1": 1.0, "d2": 1.0}, {"d1": 1}, None),
        ({"d1": 1.001, "d2": 1.0}, {"d1": 1}, None),
        ({"d1": 1e300, "d2": 1e299}, {"d1": 1}, "one 0.5000"),
    ],
)
def test_means_that_trec_eval_prints_otherwise_are_noted(near, grades, means):
    found = score_runs({"one": {"q1": near}, "two": {"q1": {"d1": 1.0}}}, {"q1": grades}, "RR")
    notes = [note for note in found.notes if "trec_eval" in note]
    said = f"trec_eval, which compares scores as float32, has other means (--ties trec_eval): {means}"
    assert notes == ([] if means is None else [said])
    theirs = score_runs({"one": {"q1": near}}, {"q1": grades}, "RR", ties="trec_eval")["one"].mean()
    assert (means is None) == (theirs == found["one"].mean())


def test_near_ties_below_the_cutoff_or_across_topics_do_not_matter():
    deep = {f"d{rank}": 2.0 - rank for rank in range(5)} | {"d8": -7.00000001, "d9": -7.0}
    runs = {"one": {"q1": deep, "q2": {"d1": -7.0000000001}}}
    qrels = {"q1": {"d0": 1, "d8": 1}, "q2": {"d1": 1}}
    assert not [note for note in score_runs(runs, qrels, "nDCG@5").notes if "trec_eval" in note]


def test_compat_ranks_tied_documents_as_every_other_measure():
    run, qrels = {"q1": {"d1": 1.0, "d2": 1.0, "d3": 1.0, "d4": 0.5}}, {"q1": {"d3": 2, "d1": 1, "d4": 0}}
    untied = {"q1": {"d3": 4.0, "d2": 3.0, "d1": 2.0, "d4": 1.0}}
    expected = ir_measures.calc_aggregate([ir_measures.Compat], qrels, untied)[ir_measures.Compat]
    for order in (run, {"q1": dict(reversed(run["q1"].items()))}):
        assert score_runs({"one": order}, qrels, "Compat")["one"] == pytest.approx(expected)
    assert ir_measures.calc_aggregate([ir_measures.Compat], qrels, run)[ir_measures.Compat] < expected  # ascending ids


def gdeval(grades, judged, k):
    """Both measures of gdeval, as its Perl source has them."""
    gains = [2.0 ** max(grade, 0) - 1 for grade in grades[:k]]
    best = sorted((2.0 ** max(grade, 0) - 1 for grade in judged), reverse=True)[:k]
    ideal = sum(gain / np.log(place + 2) for place, gain in enumerate(best))
    ndcg = sum(gain / np.log(place + 2) for place, gain in enumerate(gains)) / ideal if ideal else 0.0
    err, decay = 0.0, 1.0
    for place, gain in enumerate(gains):
        err += gain / 16 * decay / (place + 1)
        decay *= 1 - gain / 16
    return ndcg, err


@given(JUDGMENTS, RANKINGS)
def test_agrees_with_the_definitions(tmp_path_factory, qrels, run):
    if not set(qrels) & set(run):
        return
    folder = tmp_path_factory.mktemp("runs")
    measures = ["nDCG(dcg='exp-log2')@4", "ERR@4", "RBP(rel=1)", "RBP(p=0.5)@3", "RR@2"]
    scores = score_runs_by(write_run(folder / "a.run", run), write_qrels(folder / "qrels", qrels), measures, workers=1)
    top = max(1, *(grade for own in qrels.values() for grade in own.values()))
    for place, topic in enumerate(natural_order(qrels)):
        judged = qrels[topic]
        ranking = sorted(run.get(topic, {}).items(), key=lambda item: (item[1], item[0].encode()), reverse=True)
        grades = [judged.get(document, 0) for document, _ in ranking]
        expected = (
            *gdeval(grades, judged.values(), 4),
            sum(0.2 * 0.8**rank for rank, grade in enumerate(grades) if grade > 0),
            sum(0.5 * 0.5**rank * max(grade, 0) / top for rank, grade in enumerate(grades[:3])),
            next((1 / rank for rank, grade in enumerate(grades[:2], start=1) if grade > 0), 0.0),
        )
        found = [score.values[0, place] for score in scores.values()]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture
def collection(tmp_path):
    qrels = write_qrels(tmp_path / "qrels.txt", {"b": {"d1": 2, "d2": 0}, "a": {"d1": 1}, "c": {"d1": 0}})
    one = write_run(tmp_path / "one.run", {"a": {"d1": 1}, "b": {"d2": 2, "d1": 1}, "c": {"d1": 1}})
    two = write_run(tmp_path / "two.run", {"b": {"d1": 1}, "x": {"d1": 1}, "y": {"d1": 1}})
    return [one, two], qrels


def test_topics_are_the_qrels_in_natural_order(collection):
    scores = score_runs(*collection, "RR")
    assert scores.topics == ("a", "b", "c")
    assert scores.systems == ("one", "two")
    np.testing.assert_array_equal(scores.values, [[1, 0.5, 0], [0, 1, 0]])


def test_notes_say_what_was_assumed(collection):
    assert score_runs(*collection, "AP(rel=2)").notes == (
        "judged topics that were not retrieved count 0: two on a, c",
        "2 topics of 1 run left out, not judged in qrels.txt: x, y",
        "2 topics without a relevant document, counted 0: a, c",
    )
    assert score_runs(*collection, "RBP").notes[2:] == (
        "RBP: a document's gain is its grade over 2, the highest",
        "1 topic without a relevant document, counted 0: c",
    )


def test_notes_are_few_however_many_runs(tmp_path, collection):
    runs = [write_run(tmp_path / f"{number:03}.run", {"b": {"d1": 1}, "x": {"d1": 1}}) for number in range(40)]
    notes = score_runs(runs, collection[1], "P@1").notes
    assert len(notes) == 3
    assert notes[0].endswith("and 35 more")


def test_one_pass_for_several_measures(collection):
    together = score_runs_by(*collection, ["MAP", "nDCG@5", "AP", "Rprec"])
    assert list(together) == ["AP", "nDCG@5", "Rprec"]
    for name, scores in together.items():
        alone = score_runs(*collection, name)
        assert (scores.measure, scores.systems, scores.topics) == (name, alone.systems, alone.topics)
        np.testing.assert_array_equal(scores.values, alone.values)


def test_workers_change_nothing(collection):
    results = [score_runs(*collection, "nDCG", workers=workers).values for workers in (1, 2, 5, None)]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    with pytest.raises(SurefootError, match="workers must be at least 1; got 0"):
        score_runs(*collection, "nDCG", workers=0)


def test_progress_counts_runs(collection):
    seen = []
    score_runs(*collection, "nDCG", progress=lambda done, total, message: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_single_path_and_qrels_at_hand(collection):
    (one, _), qrels = collection
    assert score_runs(str(one), read_qrels(qrels), "RR")["one"].tolist() == [1, 0.5, 0]


def test_names_by_tag_and_their_clashes(tmp_path, collection):
    (one, two), qrels = collection
    assert score_runs([one, two], qrels, "RR", names="tag").systems == ("tag-one", "tag-two")
    other = tmp_path / "one.txt"
    other.write_bytes(one.read_bytes())
    for names, name in (("file", "one"), ("tag", "tag-one")):
        with pytest.raises(SurefootError) as caught:
            score_runs([one, other], qrels, "RR", names=names)
        assert str(caught.value) == f"two runs are named {name!r}: {one} and {other}; rename one of them"


def test_ir_measures_does_the_rest_in_our_order(collection, tmp_path):
    _, qrels = collection
    tied = write_run(tmp_path / "tied.run", {"b": {"d1": 1, "d2": 1}, "a": {"d1": 1}})
    scores = score_runs_by([tied], qrels, ["Rprec", "Judged@10", "RR"])
    assert scores["RR"]["tied"].tolist() == [1, 0.5, 0]
    assert scores["Rprec"]["tied"].tolist() == [1, 0, 0]
    assert scores["Judged@10"]["tied"].tolist() == [1, 1, 0]


def test_ir_measures_survives_topics_with_negative_grades_only(tmp_path):
    qrels = write_qrels(tmp_path / "qrels", {"1": {"d0": -2}, "2": {"d1": 1}})
    run = write_run(tmp_path / "a.run", {"1": {"d7": 1}, "2": {"d1": 1}})
    for _ in range(20):
        assert score_runs([run], qrels, "Rprec")["a"].tolist() == [0, 1]


def test_a_measure_without_provider(collection):
    with pytest.raises(SurefootError, match=r"can't compute alpha_nDCG@10: .*pyndeval.*; Surefoot itself has ERR"):
        score_runs(*collection, "alpha_nDCG@10")


def test_grades_beyond_a_measure(collection, tmp_path):
    qrels = write_qrels(tmp_path / "high.txt", {"b": {"d1": 5}})
    with pytest.raises(InputError) as caught:
        score_runs(collection[0], qrels, "ERR@20")
    assert caught.value.message == "ERR@20 is defined for grades up to 4; found 5; map the grades to 0..4"
    assert score_runs(collection[0], qrels, "nDCG(dcg='exp-log2')@20").values.tolist() == [
        [pytest.approx(1 / np.log2(3))],
        [1.0],
    ]


def test_a_run_of_other_topics(collection, tmp_path):
    other = write_run(tmp_path / "other.run", {"q7": {"d1": 1}})
    with pytest.raises(InputError, match=r"none of its topics is judged in .*: it has q7, the qrels have a, b, c"):
        score_runs([other], collection[1], "AP")


def test_no_runs_and_no_measures(collection):
    with pytest.raises(SurefootError, match="no runs to score"):
        score_runs([], collection[1], "AP")
    with pytest.raises(SurefootError, match="no measures to score by"):
        score_runs_by(*collection, [])


def test_a_cutoff_beyond_any_list(collection):
    near, far = score_runs_by(*collection, ["nDCG", f"nDCG@{10**30}"]).values()
    np.testing.assert_array_equal(near.values, far.values)


def test_repeated_runs_become_one_system_with_trials(tmp_path):
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d2": 1}}
    rankings = [
        {"q1": {"d1": 3, "d2": 2}, "q2": {"d1": 3, "d2": 2}},
        {"q1": {"d3": 3, "d1": 2}},
        {"q1": {"d1": 3}, "q2": {"d2": 3}},
    ]
    for number, ranking in enumerate(rankings):  # one file name in several folders
        (tmp_path / str(number)).mkdir()
        write_run(tmp_path / str(number) / "model.run", ranking)
    files = [tmp_path / str(number) / "model.run" for number in range(3)]
    single = write_run(tmp_path / "old.run", rankings[0])
    judgments = write_qrels(tmp_path / "qrels.txt", qrels)
    for repeats in ({"new": files}, {"new": rankings}, {"new": iter(files)}):
        found = score_runs_by([single], judgments, ["RR", "P@1"], repeats=repeats)
        assert found["RR"].systems == ("old", "new")
        assert found["RR"].trials["new"].tolist() == [[1.0, 0.5], [0.5, 0.0], [1.0, 1.0]]
        assert found["RR"]["new"] == pytest.approx([2.5 / 3, 0.5])
        assert found["P@1"].trials["new"].tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
        assert list(found["RR"].trials) == ["new"]
        assert found["RR"].notes == ("judged topics that were not retrieved count 0: new trial 2 on q2",)
    judged = score_runs([], judgments, "P@2", repeats={"new": files}).judged
    assert judged == pytest.approx(np.array([[(1 + 0.5 + 1) / 3, 1.0]]))  # of the trials that retrieved something


def test_one_trial_is_no_repeat():
    scores = score_runs({}, {"q1": {"d1": 1}}, "RR", repeats={"new": [{"q1": {"d1": 1.0}}]})
    assert (scores.systems, scores.trials) == (("new",), {})


@pytest.mark.parametrize(
    ("runs", "repeats", "problem"),
    [
        ([], {}, "no runs to score; name at least one"),
        ([], {"new": []}, "no runs to repeat 'new'"),
        ([], {"new": "new.run"}, "the repeats of 'new' must be a list of runs"),
        ([], {"new": {"q1": {"d1": 1.0}}}, "the repeats of 'new' must be a list of runs"),
        ([], {"new": 3}, "the repeats of 'new' must be a list of runs"),
        ({"new": {"q1": {"d1": 1.0}}}, {"new": [{"q1": {"d1": 1.0}}] * 2}, "two runs are named 'new'"),
    ],
)
def test_wrong_repeats(runs, repeats, problem):
    with pytest.raises(SurefootError, match=problem):
        score_runs(runs, {"q1": {"d1": 1}}, "RR", repeats=repeats)
