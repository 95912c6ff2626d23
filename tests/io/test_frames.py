import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores

LONG = {
    "name": ["bm25", "bm25", "dense", "dense"],
    "qid": ["1", "2", "2", "1"],
    "measure": ["AP"] * 4,
    "value": [0.1, 0.2, 0.4, 0.3],
}
BY_TOPIC = {"qid": ["1", "2"], "bm25": [0.1, 0.2], "dense": [0.3, 0.4]}
BY_SYSTEM = {"system": ["bm25", "dense"], "1": [0.1, 0.3], "2": [0.2, 0.4]}
BY_MEASURE = {"run": LONG["name"], "topic": LONG["qid"], "nDCG@10": [0.9] * 4, "ERR@20": LONG["value"]}

both_libraries = pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])


def check(scores, measure="score"):
    assert scores.systems == ("bm25", "dense")
    assert scores.topics == ("1", "2")
    assert scores.values.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert scores.measure == measure
    assert scores.notes == ()


@both_libraries
@pytest.mark.parametrize(
    ("columns", "measure", "expected"),
    [
        (LONG, None, "AP"),
        (LONG, "map", "map"),
        ({name: LONG[name] for name in ("value", "qid", "name")}, None, "score"),
        ({name: LONG[name] for name in ("value", "qid", "name")}, "RR", "RR"),
        (BY_TOPIC, None, "score"),
        (BY_TOPIC, "nDCG@10", "nDCG@10"),
        (BY_SYSTEM, None, "score"),
        (BY_MEASURE, "ERR@20", "ERR@20"),
    ],
)
def test_layouts(library, columns, measure, expected):
    check(Scores.from_frame(library.DataFrame(columns), measure=measure), expected)


@both_libraries
@pytest.mark.parametrize("name", ["topic", "Topic", "qid", "q_id", "query_id", "Query ID", "query-id", " query "])
def test_forgiving_topic_names(library, name):
    check(Scores.from_frame(library.DataFrame({name: ["1", "2"], "bm25": [0.1, 0.2], "dense": [0.3, 0.4]})))


@both_libraries
@pytest.mark.parametrize("name", ["system", "run", "runid", "run_id", "name", "tag", "Run"])
def test_forgiving_system_names(library, name):
    check(Scores.from_frame(library.DataFrame({name: ["bm25", "dense"], "1": [0.1, 0.3], "2": [0.2, 0.4]})))


@both_libraries
@pytest.mark.parametrize("topics", [[1, 2], [1.0, 2.0], ["1", "2"], [" 1", "2 "]])
def test_topics_are_text(library, topics):
    check(Scores.from_frame(library.DataFrame(BY_TOPIC | {"qid": topics})))


def test_polars_types():
    frame = polars.DataFrame(LONG).with_columns(polars.col("name", "measure").cast(polars.Categorical))
    check(Scores.from_frame(frame), "AP")
    check(Scores.from_frame(frame.lazy()), "AP")
    check(Scores.from_frame(frame.with_columns(polars.col("value").cast(polars.String))), "AP")
    check(Scores.from_frame(pyarrow.table(LONG)), "AP")


def test_pandas_types():
    frame = pandas.DataFrame(LONG)
    check(Scores.from_frame(frame.astype({"name": "category", "measure": object})), "AP")
    check(Scores.from_frame(frame.astype({"value": object})), "AP")
    check(Scores.from_frame(frame.astype({"value": "Float64"})), "AP")
    check(Scores.from_frame(frame.set_axis([5, 7, 9, 11])), "AP")


def test_measure_objects_are_named_by_their_text():
    from ir_measures import AP, nDCG

    columns = LONG | {"measure": [AP] * 4}
    check(Scores.from_frame(pandas.DataFrame(columns)), "AP")
    check(Scores.from_frame(polars.DataFrame(columns, schema_overrides={"measure": polars.Object})), "AP")
    with pytest.raises(SurefootError, match="no measure 'AP'; there are nDCG@10"):
        Scores.from_frame(pandas.DataFrame(LONG | {"measure": [nDCG @ 10] * 4}), measure="AP")


@pytest.mark.parametrize(
    "reshape",
    [
        lambda frame: frame.pivot(index="qid", columns="name", values="value"),
        lambda frame: frame.pivot(index="name", columns="qid", values="value"),
        lambda frame: frame.pivot(index="qid", columns="name", values="value").rename_axis(index=None),
        lambda frame: frame.pivot(index="name", columns="qid", values="value").rename_axis(index=None),
        lambda frame: frame.set_index(["name", "qid"])[["value"]],
    ],
    ids=["topics", "systems", "topics told by the columns", "systems told by the columns", "both"],
)
def test_pandas_index(reshape):
    check(Scores.from_frame(reshape(pandas.DataFrame(LONG))))


def test_pandas_index_is_left_alone_where_it_says_nothing():
    check(Scores.from_frame(pandas.DataFrame(LONG).set_axis(pandas.Index(list("abcd"), name="row"))), "AP")


@both_libraries
def test_missing_cells(library):
    frame = library.DataFrame(BY_TOPIC | {"dense": ["NA", "0.4"]})
    with pytest.raises(SurefootError, match="1 score missing: dense on 1"):
        Scores.from_frame(frame)
    assert Scores.from_frame(frame, missing="zero")["dense"].tolist() == [0.0, 0.4]
    assert Scores.from_frame(frame, missing="drop").topics == ("2",)
    absent = library.DataFrame({name: column[:3] for name, column in LONG.items()})
    with pytest.raises(SurefootError, match="1 score missing: dense on 1"):
        Scores.from_frame(absent)


@both_libraries
def test_none_and_nan_are_missing(library):
    for gap in (None, float("nan")):
        frame = library.DataFrame(BY_TOPIC | {"dense": [gap, 0.4]})
        assert Scores.from_frame(frame, missing="zero").values.tolist() == [[0.1, 0.2], [0.0, 0.4]]


@both_libraries
def test_the_topic_is_the_id_where_the_query_stands_beside_it(library):
    scores = Scores.from_frame(library.DataFrame({"query": ["a", "b", "b", "a"], **LONG}))
    assert scores.topics == ("1", "2")
    assert scores.notes == ("columns left unread: query",)


@both_libraries
def test_verified_margins_are_left_out_of_long_tables(library):
    columns = {"system": ["a", "a", "a"], "topic": ["1", "2", "mean"], "value": [0.2, 0.4, 0.3]}
    assert Scores.from_frame(library.DataFrame(columns)).topics == ("1", "2")
    columns["value"] = [0.2, 0.4, 0.9]
    assert Scores.from_frame(library.DataFrame(columns)).topics == ("1", "2", "mean")


@both_libraries
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (BY_TOPIC | {"dense": ["0.3", "x"]}, "row 2: column 'dense': expected a number, found 'x'"),
        (BY_TOPIC | {"dense": [0.3, np.inf]}, "row 2: column 'dense': expected a finite number, found inf"),
        (BY_TOPIC | {"qid": ["1", "1"]}, "row 2: a second row of topic '1'"),
        (BY_TOPIC | {"qid": ["1", None]}, "row 2: the qid is empty"),
        (BY_TOPIC | {"qid": ["1", " "]}, "row 2: the qid is empty"),
        (
            LONG | {"qid": ["1", "2", "1", "1"]},
            "row 4: a second score of system 'dense' on topic '1'; if it was repeated, add a column 'trial'",
        ),
        (LONG | {"measure": ["AP", "RR"] * 2}, "there are 2 measures; name one of AP, RR"),
        (BY_MEASURE, "there are 2 measures; name one of nDCG@10, ERR@20"),
        ({"qid": ["1"], "measure": ["AP"], "value": [0.1]}, "there is no column of systems; name one 'system', ..."),
        ({"qid": ["1"]}, "the header has only 'qid' and no column of scores"),
        ({"qid": ["1"], "run": ["a"]}, "a column of scores is needed beside qid, run: call it 'value'"),
        ({"bm25": [0.1]}, "the first header cell is 'bm25'; it must say what the rows are: ..."),
        ({"qid": [], "bm25": []}, "there is a header but no row of scores"),
        ({}, "there are no columns"),
    ],
)
def test_bad_frames(library, columns, message):
    with pytest.raises(SurefootError) as error:
        Scores.from_frame(library.DataFrame(columns))
    start, dots, _ = message.partition("...")
    assert str(error.value).startswith(start) if dots else str(error.value) == message


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ([1, 2], "expected a frame of pandas, polars or pyarrow, got list"),
        (pandas.Series([1.0]), "expected a frame of pandas, polars or pyarrow, got Series"),
        (
            pandas.DataFrame([[1.0]], columns=pandas.MultiIndex.from_tuples([("a", "b")])),
            "the frame has columns in several levels; flatten them first",
        ),
        (pandas.DataFrame([[1, 2, 3]], columns=["qid", "a", "a"]), "two columns of system 'a'"),
    ],
)
def test_what_is_no_frame(thing, message):
    with pytest.raises(SurefootError) as error:
        Scores.from_frame(thing)
    assert str(error.value) == message


@pytest.mark.parametrize("scores", [pandas.DataFrame({"qid": ["1"], "a": [0.1]}), {"a": {"1": 0.1}}])
def test_a_reader_of_files_says_what_takes_frames(scores):
    with pytest.raises(SurefootError, match=r"for a frame or a dictionary use Scores\.of"):
        read_scores(scores)


@both_libraries
@given(
    systems=st.integers(1, 4),
    topics=st.integers(1, 5),
    data=st.data(),
)
def test_wide_and_long_agree_in_any_order_of_rows(library, systems, topics, data):
    values = np.array(data.draw(st.lists(st.floats(0, 1), min_size=systems * topics, max_size=systems * topics)))
    names, labels = [f"s{i}" for i in range(systems)], [f"q{j}" for j in range(topics)]
    expected = Scores(values.reshape(systems, topics), names, labels)
    cells = [(s, t, float(expected[s][j])) for s in names for j, t in enumerate(labels)]
    shuffled = data.draw(st.permutations(cells))
    columns = dict(zip(("system", "topic", "score"), map(list, zip(*shuffled, strict=True)), strict=True))
    long = Scores.from_frame(library.DataFrame(columns))
    assert np.array_equal(long.select(names, labels).values, expected.values)
    rows = data.draw(st.permutations(range(topics)))
    wide = {"topic": [labels[j] for j in rows], **{s: [float(expected[s][j]) for j in rows] for s in names}}
    assert np.array_equal(Scores.from_frame(library.DataFrame(wide)).select(names, labels).values, expected.values)


def test_an_index_without_a_name_is_said_to_be_one():
    frame = pandas.DataFrame({"old": [0.1, 0.2], "new": [0.2, 0.1]}, index=["q1", "q2"])
    with pytest.raises(SurefootError, match=r"index has no name; say what rows are: frame.index.name = 'topic'"):
        Scores.of(frame)
    frame.index.name = "topic"
    assert Scores.of(frame).topics == ("q1", "q2")
