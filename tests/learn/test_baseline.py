"""Baselines however they are named: features, runs, scores, arrays; and what is wrong with one, said in a line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.metrics import Metric, QueryMetric

DATA = RankingData.of(
    [[1.0, 5.0], [2.0, 4.0], [3.0, np.nan], [9.0, 1.0], [8.0, 2.0]],
    [0, 2, 1, 0, 1],
    qid=["q1", "q1", "q1", "q2", "q2"],
    documents=["a", "b", "c", "a", "d"],
    feature_names=["bm25", "age"],
    source="train.txt",
)
ROWS = np.array([0.1, 0.5, 0.3, 0.2, 0.9])


def rows_of(given: Any, **options: Any) -> list[float]:
    baselines = baselines_of(given, DATA, **options)
    assert len(baselines.rows) == 1
    assert baselines.rows[0] is not None
    return baselines.rows[0].tolist()


def bound(name: Any = "ndcg") -> QueryMetric:
    return Metric(name).bind(DATA.labels, DATA.bounds)


def run_file(folder: Path, *lines: str) -> Path:
    path = folder / "old.run"
    path.write_text("".join(f"{line} tag\n" for line in lines))
    return path


COMPLETE = ("q2 Q0 d 1 3.5", "q1 Q0 c 1 9", "q1 Q0 x 2 8", "q1 Q0 a 3 7", "q1 Q0 b 4 6", "q2 Q0 a 2 1.5", "q9 Q0 a 1 1")


def test_a_feature_by_number_or_name() -> None:
    assert rows_of("feature:0") == rows_of("feature:bm25") == [1, 2, 3, 9, 8]
    assert baselines_of("feature:bm25", DATA).names == ("feature:bm25",)


def test_a_missing_feature_value_ranks_last() -> None:
    age = rows_of("feature:age")
    assert age[2] < min(age[:2])
    values = baselines_of("feature:age", DATA).values(bound("mrr"))
    assert values.tolist() == [[1 / 2, 1.0]]


def test_a_run_is_matched_by_query_and_document(tmp_path: Path) -> None:
    path = run_file(tmp_path, *COMPLETE)
    assert rows_of(f"run:{path}") == [7, 6, 9, 1.5, 3.5]
    assert baselines_of(f"run:{path}", DATA).names == ("old.run",)
    assert baselines_of(f"run:{path}", DATA).notes == ()


def test_a_run_that_lacks_a_document_or_a_query(tmp_path: Path) -> None:
    path = run_file(tmp_path, *(line for line in COMPLETE if " b " not in line))
    with pytest.raises(SurefootError, match=r"old.run: lacks document b of query q1 \(1 document in all\)"):
        baselines_of(f"run:{path}", DATA)
    found = baselines_of(f"run:{path}", DATA, missing="last")
    assert found.notes == (f"{path} lacks 1 document, ranked below all that it has",)
    assert found.rows[0] is not None
    assert found.rows[0].argmin() == 1
    assert np.isfinite(found.values(bound())).all()
    path = run_file(tmp_path, *(line for line in COMPLETE if not line.startswith("q2")))
    with pytest.raises(SurefootError, match=r"lacks query q2 \(2 documents in all\); complete it"):
        baselines_of(f"run:{path}", DATA)
    with pytest.raises(SurefootError, match="missing must be one of error, last; got 'first'"):
        baselines_of(f"run:{path}", DATA, missing="first")  # type: ignore[arg-type]


def test_a_run_needs_document_ids(tmp_path: Path) -> None:
    bare = RankingData.of([[1.0]], [1], qid=["q1"], source="bare.txt")
    with pytest.raises(SurefootError, match=r"bare\.txt has no document ids"):
        baselines_of(f"run:{run_file(tmp_path, *COMPLETE)}", bare)


def test_a_file_of_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores.txt"
    path.write_text("0.1\n0.5\r\n 0.3\n2e-1\n0.9")
    assert rows_of(f"scores:{path}") == ROWS.tolist()
    assert baselines_of(f"scores:{path}", DATA).names == ("scores.txt",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\nx\n4\n5\n", "scores.txt:3: expected a finite number, found 'x'"),
        ("1\n2\n\n4\n5\n", "scores.txt:3: expected a finite number, found ''"),
        ("1\n2\n3 3\n4\n5\n", "scores.txt:3: expected a finite number, found '3 3'"),
        ("1\n2\n3\n4\ninf\n", "scores.txt:5: expected a finite number, found 'inf'"),
        ("1\n2\n", "scores.txt: holds 2 scores for 5 documents"),
        ("", "scores.txt: holds 0 scores for 5 documents"),
    ],
)
def test_a_bad_file_of_scores(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "scores.txt").write_text(text)
    with pytest.raises(SurefootError, match=words):
        baselines_of(f"scores:{tmp_path / 'scores.txt'}", DATA)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for word in ("run", "scores"):
        with pytest.raises(SurefootError, match=r"nothing\.txt"):
            baselines_of(f"{word}:{tmp_path / 'nothing.txt'}", DATA)


def test_arrays_of_documents_and_of_queries() -> None:
    by_row = baselines_of(ROWS, DATA)
    assert by_row.names == ("baseline",)
    assert by_row.values(bound("mrr")).tolist() == [[1.0, 1.0]]
    by_query = baselines_of([0.4, 0.6], DATA)
    assert by_query.rows == (None,)
    assert by_query.values(bound("mrr")).tolist() == [[0.4, 0.6]]
    matrix = baselines_of([[0.4, 0.6], [0.1, 0.2], [0.0, 1.0]], DATA)
    assert matrix.names == ("baseline1", "baseline2", "baseline3")
    assert matrix.values(bound()).tolist() == [[0.4, 0.6], [0.1, 0.2], [0.0, 1.0]]
    rows = baselines_of(np.stack([ROWS, -ROWS]), DATA)
    assert rows.names == ("baseline1", "baseline2")
    np.testing.assert_array_equal(rows.values(bound())[0], by_row.values(bound())[0])


def test_several_of_all_sorts(tmp_path: Path) -> None:
    path = run_file(tmp_path, *COMPLETE)
    named = baselines_of({"old": f"run:{path}", "new": ROWS, "pair": [[0.1, 0.2], [0.3, 0.4]]}, DATA)
    assert named.names == ("old", "new", "pair.baseline1", "pair.baseline2")
    assert named.values(bound()).shape == (4, 2)
    listed = baselines_of(["feature:0", f"run:{path}", ROWS], DATA)
    assert listed.names == ("feature:0", "old.run", "baseline3")
    arrays = baselines_of([ROWS, -ROWS], DATA)
    assert arrays.names == ("baseline1", "baseline2")
    np.testing.assert_array_equal(arrays.values(bound()), baselines_of(np.stack([ROWS, -ROWS]), DATA).values(bound()))
    assert baselines_of(None, DATA).values(bound()).shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("bm25", "given as feature:..., run:..., scores:..., model:...; got 'bm25'"),
        ("feature:", "got 'feature:'"),
        ("columns:1", "got 'columns:1'"),
        ("feature:2", "train.txt: no feature 2; they are numbered 0 to 1 or named bm25, age"),
        (["feature:0", "feature:0"], "baseline feature:0 is given more than once"),
        ([0.1, 0.2, 0.3], "each of 5 documents or a value for each of 2 queries; got an array of shape (3,)"),
        (np.zeros((2, 2, 2)), "got an array of shape (2, 2, 2)"),
        (3.0, "got an array of shape ()"),
        ([], "got an array of shape (0,)"),
        ([0.1, np.nan], "must be finite numbers"),
        ([[0.1, np.inf]], "must be finite numbers"),
        (object(), "a baseline is one of feature:..., run:..., scores:..., model:... or an array; got <object"),
        ([[1, 2], [3]], "or an array; got"),
    ],
)
def test_what_is_no_baseline(given: Any, words: str) -> None:
    with pytest.raises(SurefootError) as caught:
        baselines_of(given, DATA)
    assert words in str(caught.value)
