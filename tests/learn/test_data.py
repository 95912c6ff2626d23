"""Ranking data of arrays and frames: rows brought together, selection, joining, and what is refused."""

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.joining import concat

COLUMNS = {
    "Query ID": ["b", "a", "b"],
    "DocNo": ["d1", "d2", "d3"],
    "Relevance": [0, 2, 1],
    "bm25": [1.5, 2.5, None],
    "clicks": [3, 4, 5],
}


@pytest.mark.parametrize("library", [polars.DataFrame, pandas.DataFrame])
def test_frames(library):
    data = RankingData.from_frame(library(COLUMNS))
    assert (data.queries, data.bounds.tolist()) == (("b", "a"), [0, 2, 3])
    assert data.documents.to_list() == ["d1", "d3", "d2"]
    assert data.feature_names == ("bm25", "clicks")
    assert data.labels.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.features, np.array([[1.5, 3], [np.nan, 5], [2.5, 4]], np.float32))
    np.testing.assert_array_equal(data.column("clicks"), [3, 5, 4])


def test_a_pandas_index_may_name_the_queries():
    frame = pandas.DataFrame({"label": [0, 1], "x": [1.0, 2.0]}, index=pandas.Index([7, 8], name="qid"))
    assert RankingData.from_frame(frame).queries == ("7", "8")


def test_of_two_columns_of_one_role_the_id_is_taken_and_neither_is_a_feature():
    frame = polars.DataFrame({"query": ["cats", "dogs"], "qid": [1, 2], "docid": [0, 1], "docno": ["x", "y"]})
    data = RankingData.from_frame(frame.with_columns(label=1, x=2))
    assert (data.queries, data.documents.to_list(), data.feature_names) == (("1", "2"), ["x", "y"], ("x",))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [1], "x": [1]}, "frame: no column of queries among label, x; name it 'qid'"),
        ({"qid": [1], "x": [1]}, "frame: no column of labels among qid, x; name it 'label'"),
        ({"qid": [1], "label": [1]}, "frame: no column of features beside qid, label"),
        ({"qid": [1], "label": [1], "x": ["high"]}, "column 'x': expected a number, found 'high'"),
        ({"qid": [1], "label": [0.5], "x": [1]}, "labels must be whole numbers of 0 or more; document 1 has 0.5"),
        ({"qid": [1], "label": [None], "x": [1]}, "labels must be whole numbers"),
        ({"qid": [None], "label": [1], "x": [1]}, "the qid is empty"),
    ],
)
def test_frames_that_are_refused(columns, message):
    with pytest.raises(SurefootError, match=message):
        RankingData.from_frame(polars.DataFrame(columns))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [1]}, "must have as many rows; got 2, 1 and 2"),
        ({"qid": ["a"]}, "must have as many rows; got 2, 2 and 1"),
        ({"qid": ["b"], "labels": [1]}, "must have as many rows"),
        ({"labels": [1, -1]}, "document 2 has -1"),
        ({"documents": ["x"]}, "1 document ids for 2 rows"),
        ({"feature_names": ["x", "y"]}, "2 feature names for 1 feature"),
        ({"features": [1, 2]}, "features must be a matrix"),
        ({"features": [["x"], ["y"]]}, "features must be numbers"),
        ({"qid": [["a"], ["b"]]}, "qid must be one id per row"),
        ({"qid": ["a", None]}, "qid must be one id per row; row 2 has none"),
        ({"qid": [float("nan"), 7.0]}, "qid must be one id per row; row 1 has none"),
    ],
)
def test_arrays_that_are_refused(options, message):
    plain = {"features": [[1.0], [2.0]], "labels": [0, 1], "qid": ["a", "b"]}
    with pytest.raises(SurefootError, match=message):
        RankingData.of(**plain | options)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 3)), min_size=1, max_size=20), st.booleans())
def test_rows_of_a_query_are_brought_together(rows, as_sparse):
    features = np.arange(2 * len(rows)).reshape(-1, 2)
    labels = [label for _, label in rows]
    matrix = sparse.csr_array(features) if as_sparse else features
    data = RankingData.of(matrix, labels, [query for query, _ in rows], documents=range(len(rows)))
    for query, name in enumerate(data.queries):
        own = [row for row, (other, _) in enumerate(rows) if other == name]
        part = data.select([query])
        assert part.documents.to_list() == [str(row) for row in own]
        assert part.labels.tolist() == [labels[row] for row in own]
        assert part.column(0).tolist() == [2 * row for row in own]
    assert len(data) == len({query for query, _ in rows})
    assert data.query_of_row.tolist() == np.repeat(np.arange(len(data)), data.sizes).tolist()


def test_joining_and_selecting_are_inverse():
    data = RankingData.of(np.eye(5), [0, 1, 2, 3, 4], list("aabbc"), documents=list("vwxyz"))
    again = concat([data.select([0]), data.select([1, 2])])
    assert again.fingerprint == data.fingerprint
    assert again.documents.to_list() == data.documents.to_list()
    assert data.select([1, 0, 2]).fingerprint != data.fingerprint
    mixed = concat([data, RankingData.of(sparse.csr_array(np.eye(5)), [0] * 5, list("ddeee"))])
    np.testing.assert_array_equal(mixed.features.toarray(), np.vstack([np.eye(5)] * 2))
    assert mixed.documents is None
    with pytest.raises(SurefootError, match="different features can't be put together"):
        concat([data, RankingData.of([[1.0]], [0], ["a"])])


def test_columns_by_number_or_name():
    data = RankingData.of([[1.0, 2.0]], [0], ["a"], feature_names=["bm25", "age"])
    assert (data.column("age"), data.column(0), data.column("1")) == ([2], [1], [2])
    with pytest.raises(SurefootError, match="no feature 2; they are numbered 0 to 1 or named bm25, age"):
        data.column(2)
