"""Baselines however they are named: features, runs, scores, arrays; and what is wrong with one, said in a line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InputError, SurefootError
from surefoot.lambdas.metrics import Metric, QueryMetric
from surefoot.learn.baseline import BELOW_ALL, baseline_for, baselines_of, is_known_everywhere
from surefoot.learn.data import RankingData

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
    assert len(baselines.scores) == 1
    assert baselines.scores[0] is not None
    return baselines.scores[0].tolist()


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
    assert found.scores[0] is not None
    assert found.scores[0].argmin() == 1
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
    assert by_query.scores == (None,)
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


def test_the_current_ranking() -> None:
    """The order of the rows; a column of ranks, in which 0 is no rank; a feature that is better if lower."""
    assert rows_of("order") == [0, -1, -2, -3, -4]
    assert baselines_of("order", DATA).values(bound("mrr")).tolist() == [[1 / 2, 1 / 2]]
    ranked = replace(DATA, features=np.array([[2, 5], [1, 4], [0, 3], [np.nan, 1], [7, 2]], np.float32))
    ranks = baselines_of("rank:bm25", ranked).scores[0]
    assert ranks is not None
    assert ranks.tolist() == [-2, -1, BELOW_ALL, BELOW_ALL, -7]
    with pytest.raises(SurefootError, match=r"whole ranks from 1 on; got 4\.5: give feature:N instead"):
        baselines_of("rank:bm25", replace(ranked, features=ranked.features + np.float32([2.5, 0])))
    with pytest.raises(SurefootError, match=r"whole ranks from 1 on; got -1: give feature:N instead"):
        baselines_of("rank:bm25", replace(ranked, features=ranked.features - np.float32([3, 0])))
    lowest = baselines_of("-feature:0", DATA)
    assert lowest.names == ("-feature:0",)
    assert rows_of("-feature:0") == [-1, -2, -3, -9, -8]
    assert rows_of("-feature:age")[2] == BELOW_ALL


class First:
    """A model that scores by the first feature."""

    def predict(self, features: Any) -> Any:
        return features[:, 0]


def test_models_of_others(tmp_path: Path) -> None:
    import lightgbm
    import xgboost

    features = np.nan_to_num(DATA.features)
    numbers = replace(DATA, features=features, feature_names=None, first_feature=1)
    small = {"min_data_in_leaf": 1, "min_data_in_bin": 1, "verbosity": -1}
    light = lightgbm.train(small, lightgbm.Dataset(features, DATA.labels), 3)
    heavy = xgboost.train({"max_depth": 2}, xgboost.DMatrix(features, DATA.labels), 3)
    light.save_model(tmp_path / "light.txt")
    heavy.save_model(tmp_path / "heavy.json")
    heavy.save_model(tmp_path / "heavy.ubj")
    expected = {"light.txt": light.predict(features), "heavy.json": heavy.predict(xgboost.DMatrix(features))}
    for name, scores in expected.items():
        found = baselines_of(f"model:{tmp_path / name}", numbers)
        assert found.names == (name,)
        np.testing.assert_array_equal(found.scores[0], np.float64(scores))
    with pytest.raises(InputError, match=r"heavy\.ubj: is XGBoost's binary form; save it as JSON: booster"):
        baselines_of(f"model:{tmp_path / 'heavy.ubj'}", numbers)
    several = baselines_of([light, heavy, First()], numbers)
    assert several.names == ("baseline1", "baseline2", "baseline3")
    np.testing.assert_array_equal(several.scores[0], expected["light.txt"])
    np.testing.assert_array_equal(several.scores[2], features[:, 0])
    narrow = replace(numbers, features=features[:, :1])
    last_is_0 = np.column_stack([features[:, 0], np.zeros(5)])
    np.testing.assert_array_equal(baselines_of(light, narrow).scores[0], light.predict(last_is_0))
    wide = replace(numbers, features=np.column_stack([features, features]))
    with pytest.raises(SurefootError, match=r"train\.txt: 4 features, but the baseline model was trained on 2"):
        baselines_of(light, wide)
    named = lightgbm.train(small, lightgbm.Dataset(features, DATA.labels, feature_name=["age", "bm25"]), 1)
    with pytest.raises(SurefootError, match="knows the features age, bm25, in this order; got bm25, age"):
        baselines_of(named, DATA)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"treeless", "begins like a model of lightgbm but is not one"),
        (b"{}", "begins like a model of xgboost but is not one"),
        (b"1 2 3", r"is not a model of LightGBM \(text\) or XGBoost"),
    ],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "model.txt").write_bytes(content)
    with pytest.raises(SurefootError, match=words):
        baselines_of(f"model:{tmp_path / 'model.txt'}", DATA)


def test_what_has_a_meaning_for_other_queries() -> None:
    for known in (
        None,
        "order",
        "rank:3",
        "-feature:3",
        "model:old.txt",
        First(),
        ["feature:1", First()],
        {"a": "order"},
    ):
        assert is_known_everywhere(known)
        assert baseline_for("test", None, known) is known
    for unknown in ("scores:a.txt", [0.1, 0.2], ROWS, ["feature:1", "scores:a.txt"], {"a": ROWS}):
        assert not is_known_everywhere(unknown)
        assert baseline_for("test", "order", unknown) == "order"
        with pytest.raises(SurefootError, match="training queries only; give that of the test queries too"):
            baseline_for("test", None, unknown)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("bm25", "given as feature:N, -feature:N, rank:N, order, run:FILE, scores:FILE, model:PATH; got 'bm25'"),
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
        (object(), "scores:FILE, model:PATH, a model or an array; got <object"),
        ([[1, 2], [3]], "or an array; got"),
    ],
)
def test_what_is_no_baseline(given: Any, words: str) -> None:
    with pytest.raises(SurefootError) as caught:
        baselines_of(given, DATA)
    assert words in str(caught.value)
