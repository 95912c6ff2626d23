import dataclasses
import pickle
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.risk import georisk
from surefoot.scores import Scores

NAMES = st.text(alphabet="abcxyz0123", min_size=1, max_size=4)
SCORE = st.floats(0, 1)


@pytest.fixture
def scores():
    return Scores([[0.1, 0.5, 0.2], [0.3, 0.1, 0.4]], ["old", "new"], ["q1", "q2", "q3"], "AP", ["a note"])


@st.composite
def tables(draw):
    """{system: {topic: score}} with every cell there."""
    systems = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    topics = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    return {system: {topic: draw(SCORE) for topic in topics} for system in systems}


@given(tables(), st.randoms())
def test_the_order_of_topics_changes_nothing(table, random):
    shuffled = {system: dict(random.sample(list(row.items()), len(row))) for system, row in table.items()}
    one, other = Scores.from_dict(table), Scores.from_dict(shuffled)
    assert set(one.topics) == set(other.topics)
    assert np.array_equal(one.values, other.select(topics=one.topics).values)


@given(tables(), st.data())
def test_gaps_are_filled_or_dropped_and_told(table, data):
    cells = [(system, topic) for system, row in table.items() for topic in row]
    holes = set(data.draw(st.lists(st.sampled_from(cells), unique=True)))
    holed = {s: {t: score for t, score in row.items() if (s, t) not in holes} for s, row in table.items()}
    # A topic that no system has is unknown, not missing.
    known = {topic for row in holed.values() for topic in row}
    missing = {(s, t) for s, t in holes if t in known}
    if not known:
        return
    if not missing:
        assert Scores.from_dict(holed).notes == ()
        return
    with pytest.raises(SurefootError, match="missing"):
        Scores.from_dict(holed)
    zero = Scores.from_dict(holed, missing="zero")
    for system, topic in missing:
        assert zero[system][zero.topics.index(topic)] == 0
    assert len(zero.notes) == 1
    whole = known - {topic for _, topic in missing}
    if whole:
        dropped = Scores.from_dict(holed, missing="drop")
        assert set(dropped.topics) == whole
        assert len(dropped.notes) == 1
    else:
        with pytest.raises(SurefootError, match="no topic is left"):
            Scores.from_dict(holed, missing="drop")


def test_gaps_are_named():
    rows = [("a", ["1", "2"], [0.1, 0.2]), ("b", ["2", "3"], [0.3, np.nan])]
    with pytest.raises(SurefootError) as error:
        Scores.align(rows)
    assert str(error.value) == (
        "3 scores missing: a on 3, b on 1, 3; count them 0 (missing: zero) or leave those topics out (missing: drop)"
    )
    assert Scores.align(rows, missing="zero").notes == ("3 missing scores filled with 0: a on 3, b on 1, 3",)
    dropped = Scores.align(rows, missing="drop", notes=["before"])
    assert dropped.notes == ("before", "2 topics dropped, missing from some system: 1, 3")
    assert dropped.topics == ("2",)
    assert dropped.values.tolist() == [[0.2], [0.3]]


def test_nothing_can_be_changed(scores):
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.measure = "RR"
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        scores["old"][0] = 1


def test_the_callers_array_stays_theirs():
    mine = np.array([[0.1, 0.2]])
    scores = Scores(mine, ["a"], ["q1", "q2"])
    mine[0, 0] = 9
    assert scores.values.tolist() == [[0.1, 0.2]]


def test_labels_become_text():
    scores = Scores([[0.1]], [7], [151])
    assert (scores.systems, scores.topics) == (("7",), ("151",))


def test_virtual_baselines(scores):
    assert scores.baseline("new").tolist() == [0.3, 0.1, 0.4]
    assert scores.baseline("MEAN") == pytest.approx([0.2, 0.3, 0.3])
    assert scores.baseline("MEDIAN") == pytest.approx([0.2, 0.3, 0.3])
    assert scores.baseline("MAX").tolist() == [0.3, 0.5, 0.4]
    assert scores.baseline("MAX", over=["old"]).tolist() == [0.1, 0.5, 0.2]


@given(st.lists(SCORE, min_size=1, max_size=5), st.integers(1, 5))
def test_virtual_baselines_of_equal_systems_are_that_system(row, copies):
    scores = Scores([row] * copies, [f"s{i}" for i in range(copies)], range(len(row)))
    for name in ("MEAN", "MEDIAN", "MAX"):
        assert scores.baseline(name).tolist() == row


def test_concat_aligns_topics_and_joins_notes(scores):
    third = Scores([[0.9, 0.8, 0.7]], ["third"], ["q3", "q1", "q2"], "AP", ["a note", "another"])
    joined = Scores.concat([scores, third])
    assert joined.systems == ("old", "new", "third")
    assert joined["third"].tolist() == [0.8, 0.7, 0.9]
    assert joined.notes == ("a note", "another")


def test_concat_with_gaps(scores):
    third = Scores([[0.9]], ["third"], ["q3"], "AP")
    with pytest.raises(SurefootError, match="2 scores missing: third on q1, q2"):
        Scores.concat([scores, third])
    assert Scores.concat([scores, third], missing="drop").topics == ("q3",)


def test_select_and_rename(scores):
    chosen = scores.select(["new"], ["q3", "q1"])
    assert (chosen.values.tolist(), chosen.topics, chosen.measure) == ([[0.4, 0.3]], ("q3", "q1"), "AP")
    assert scores.rename({"old": "bm25"}).systems == ("bm25", "new")
    assert scores.note("more").notes == ("a note", "more")


def test_by_name_moves_whole_rows():
    judged = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    scores = Scores([[1, 2], [3, -4], [5, 6]], ["c", "a", "b"], ["q1", "q2"], "AP", ["said"], judged)
    found = scores.by_name()
    assert (found.systems, found.topics) == (("a", "b", "c"), scores.topics)
    assert (found.measure, found.notes) == ("AP", ("said",))
    for name in "abc":
        np.testing.assert_array_equal(found[name], scores[name])
        np.testing.assert_array_equal(found.judged[found.row(name)], scores.judged[scores.row(name)])
    assert found.lowest == scores.lowest == -4
    assert found.by_name() is found
    for matrix in (found.values, found.judged):
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            matrix.flags.writeable = True


def test_repr(scores):
    assert repr(scores) == "Scores(2 systems × 3 topics of AP)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: Scores([[1, 2]], ["a"], ["q"]), "1 systems and 1 topics need a matrix of that shape, not (1, 2)"),
        (lambda s: Scores(np.zeros((0, 0)), [], []), "scores need at least one system and one topic"),
        (lambda s: Scores([[1], [2]], ["a", "a"], ["q"]), "system 'a' occurs more than once; names must differ"),
        (lambda s: Scores([[1, 2]], ["a"], ["1", 1]), "topic '1' occurs more than once; names must differ"),
        (lambda s: Scores([[1]], ["MAX"], ["q"]), "MAX names a virtual baseline; rename the system of that name"),
        (
            lambda s: Scores([[1, np.inf]], ["a"], ["q", "r"]),
            "the score of system 'a' on topic 'r' is inf; scores must be finite numbers, at most 1e+100",
        ),
        (lambda s: s["odd"], "no system 'odd' (did you mean old?); there are old, new"),
        (
            lambda s: s.baseline("odd"),
            "no baseline 'odd' (did you mean old?); there are old, new, and MEAN, MEDIAN, MAX",
        ),
        (lambda s: s.baseline("MEAN", over=["odd"]), "no system odd (did you mean old?); there are old, new"),
        (lambda s: s.select(["odd"]), "no system odd (did you mean old?); there are old, new"),
        (lambda s: s.select(topics=["odd"]), "no topic odd; there are q1, q2, q3"),
        (lambda s: s.rename({"odd": "even"}), "no system odd (did you mean old?); there are old, new"),
        (lambda s: s.rename({"old": "new"}), "system 'new' occurs more than once; names must differ"),
        (lambda s: Scores.concat([]), "only scores of one measure can be combined; got none"),
        (
            lambda s: Scores.concat([s, Scores([[1]], ["x"], ["q"], "RR")]),
            "only scores of one measure can be combined; got AP, RR",
        ),
        (lambda s: Scores.concat([s, s]), "system 'old' occurs more than once; names must differ"),
        (
            lambda s: Scores.align([("a", ["1", "1"], [0.1, 0.2])]),
            "topic '1' of system 'a' occurs more than once; names must differ",
        ),
        (
            lambda s: Scores.from_dict({"a": {"1": [0.1, 0.2], "2": [0.3, 0.4]}}),
            "system 'a' needs one number for each topic; Scores(trials=) takes several",
        ),
        (
            lambda s: Scores.from_dict({"a": {"1": 0.1}}, missing="fill"),
            "missing must be one of error, zero, drop; got 'fill'",
        ),
    ],
)
def test_bad_input(scores, make, message):
    with pytest.raises(SurefootError) as error:
        make(scores)
    assert str(error.value) == message


def test_scores_go_out_and_come_back(scores):
    assert Scores.from_dict(scores.to_dict(), scores.measure).to_dict() == scores.to_dict()
    for frame in (scores.to_frame(), scores.to_pandas()):
        again = Scores.from_frame(frame, scores.measure)
        assert again.systems == scores.systems
        assert again.topics == scores.topics
        np.testing.assert_array_equal(again.values, scores.values)


def test_a_notebook_shows_the_spread_of_each_system(scores):
    page = scores._repr_html_()
    assert "<code>scores|measure=" in page
    assert all(f">{name}<" in page for name in (*scores.systems, "mean", "lowest"))


@pytest.mark.parametrize("name", [None, float("nan"), np.nan, ""])
def test_what_is_missing_is_no_name(name):
    for build in (
        lambda: Scores([[0.5], [0.25]], ["old", name], ["q1"]),
        lambda: Scores([[0.5, 0.25]], ["old"], ["q1", name]),
        lambda: Scores.from_dict({"old": {"q1": 0.5, name: 0.25}}),
        lambda: Scores.from_dict({"old": {"q1": 0.5}, name: {"q1": 0.25}}),
        lambda: Scores.align([("old", ["q1", name], [0.5, 0.25])]),
        lambda: Scores.align([(name, ["q1"], [0.5])]),
    ):
        with pytest.raises(SurefootError, match="can't name a"):
            build()


def test_a_system_may_be_called_none():
    assert Scores([[0.5]], ["None"], ["nan"]).systems == ("None",)


@pytest.mark.parametrize("row", [{"q1": 10**400}, {"q1": []}, {"q1": [1, 2]}, {"q1": 1j}, 0.5])
def test_dictionaries_of_anything_else_than_numbers_are_refused(row):
    with pytest.raises(SurefootError):
        Scores.from_dict({"old": row})


@pytest.fixture
def repeated():
    trials = {"new": [[0.2, 0.1, 0.4], [0.4, np.nan, 0.4]]}
    return Scores([[0.1, 0.5, 0.2], [0.3, 0.1, 0.4]], ["old", "new"], ["q1", "q2", "q10"], "AP", trials=trials)


def test_trials_follow_their_system_and_topics(repeated):
    assert list(repeated.trials) == ["new"]
    chosen = repeated.select(["new"], ["q10", "q1"])
    assert chosen.trials["new"].tolist() == [[0.4, 0.2], [0.4, 0.4]]
    assert repeated.rename({"new": "dense"}).trials["dense"] is not None
    assert list(repeated.by_name().trials) == list(repeated.note("x").trials) == ["new"]
    assert repeated.select(["old"]).trials == {}
    assert repeated.select(topics=["q2"]).trials == {}  # one trial is no repeat
    copied = pickle.loads(pickle.dumps(repeated))
    assert np.array_equal(copied.trials["new"], repeated.trials["new"], equal_nan=True)
    with pytest.raises(ValueError, match="read-only"):
        repeated.trials["new"][0, 0] = 1
    with pytest.raises(TypeError):
        repeated.trials["old"] = repeated.trials["new"]


def test_trials_are_joined_by_topic(repeated):
    other = Scores([[0.5, 0.7]], ["third"], ["q2", "q1"], "AP", trials={"third": [[0.4, 0.7], [0.6, 0.7]]})
    joined = Scores.concat([repeated, other], missing="drop")
    assert joined.topics == ("q1", "q2")
    assert joined.trials["third"].tolist() == [[0.7, 0.4], [0.7, 0.6]]
    assert np.array_equal(joined.trials["new"], [[0.2, 0.1], [0.4, np.nan]], equal_nan=True)
    filled = Scores.concat([repeated, other], missing="zero")
    assert filled["third"].tolist() == [0.7, 0.5, 0.0]
    assert np.array_equal(filled.trials["third"], [[0.7, 0.4, 0.0], [0.7, 0.6, np.nan]], equal_nan=True)


@given(st.lists(SCORE, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_trials_changes_no_mean(trials, random):
    shuffled = random.sample(trials, len(trials))
    one, other = (Scores.align([("a", ["q1"], [[score] for score in own])]) for own in (trials, shuffled))
    assert one["a"].tolist() == other["a"].tolist()
    assert one["a"] == pytest.approx(np.mean(trials))
    assert min(trials) <= one["a"][0] <= max(trials)


@pytest.mark.parametrize(
    ("trials", "problem"),
    [
        ({"x": [[0.1, 0.2], [0.1, 0.2]]}, "there are trials of 'x', which is not among the systems"),
        ({"a": [0.1, 0.2]}, r"the trials of 'a' need the shape trials × 2 topics, not \(2,\)"),
        ({"a": [[0.1], [0.1]]}, r"the trials of 'a' need the shape trials × 2 topics, not \(2, 1\)"),
        ({"a": [[0.1, 0.2], [0.3, 0.2]]}, "the scores of 'a' are not the means of its trials"),
        ({"a": [[np.nan, 0.2], [np.nan, 0.2]]}, "the scores of 'a' are not the means of its trials"),
        ({"a": [[np.inf, 0.2], [-np.inf, 0.2]]}, "a trial of system 'a' is not a finite number"),
        ({"a": [["x", 0.2], [0.1, 0.2]]}, "scores must be numbers"),
    ],
)
def test_wrong_trials(trials, problem):
    with pytest.raises(SurefootError, match=problem):
        Scores([[0.1, 0.2]], ["a"], ["q1", "q2"], trials=trials)


def test_rows_of_trials_must_fit():
    for values in (np.zeros((0, 2)), np.zeros((2, 3)), np.zeros((2, 2, 2)), np.zeros(())):
        with pytest.raises(SurefootError, match="system 'a' needs a number for each of 2 topics"):
            Scores.align([("a", ["q1", "q2"], values)])
    with pytest.raises(SurefootError, match="a trial of system 'a' is not a finite number"):
        Scores.align([("a", ["q1"], [[np.inf], [-np.inf]])])


def test_standardised_scores_by_their_definition() -> None:
    rng = np.random.default_rng(6)
    scores = Scores(rng.beta(1, 3, (6, 9)), "fedcba", range(9), "AP")
    found = scores.standardise(over=["a", "b", "c"])
    known = scores.select(["a", "b", "c"]).values
    for topic in range(9):
        z = (scores.values[:, topic] - known[:, topic].mean()) / known[:, topic].std(ddof=1)
        np.testing.assert_allclose(found.values[:, topic], [NormalDist().cdf(one) for one in z], atol=1e-12)
    assert found.measure == "standardised AP"
    assert "over 3 systems" in found.notes[-1]


def test_standardised_scores_need_two_systems() -> None:
    with pytest.raises(SurefootError, match="two systems or more"):
        Scores([[0.1, 0.2]], ["a"], ["q1", "q2"]).standardise()


def test_functions_of_arrays_take_scores():
    scores = Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"])
    assert georisk(scores, 1).tolist() == georisk(scores.values, 1).tolist()
    assert np.asarray(scores) is scores.values


def test_the_mean_of_each_system():
    scores = Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"])
    assert scores.mean() == pytest.approx({"old": 0.3, "new": 0.2})


def test_what_pytrec_eval_gives_for_each_run():
    found = {"old": {"q1": {"map": 0.2, "P_5": 0.4}}, "new": {"q1": {"map": 0.3, "P_5": 0.6}}}
    assert Scores.of(found, "P_5")["new"].tolist() == [0.6]
    assert Scores.of({"old": {"q1": {"map": 0.2}}}).measure == "map"
    with pytest.raises(SurefootError, match="there are map, P_5"):
        Scores.of(found)
    with pytest.raises(SurefootError, match="there are none"):
        Scores.of({"old": {"q1": {}}})
    with pytest.raises(SurefootError, match="did you mean map"):
        Scores.of(found, "mapp")
    one = {
        "q1": {"map": 0.2, "ndcg_cut_10": 0.4, "num_ret": 3.0},
        "q2": {"map": 0.1, "ndcg_cut_10": 0.3, "num_ret": 3.0},
    }
    with pytest.raises(SurefootError, match=r"one system, by topic and measure \(map, ndcg_cut_10, num_ret\)"):
        Scores.of(one)
    assert Scores.of({"old": {"q1": 0.1, "q2": 0.2, "map": 0.3}}).systems == ("old",)
