"""Measures by segment: figures, correction, order, and the files that say which topic belongs where."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import Scores, SurefootError, evaluate
from surefoot._names import group_topics
from surefoot.analysis.segments import evaluate_segments
from surefoot.io.small_files import read_names, read_segments
from surefoot.stats.inference import correct

RANDOM = np.random.default_rng(5)
TOPICS = [f"q{i}" for i in range(24)]
SCORES = Scores(RANDOM.random((3, 24)), ["base", "one", "two"], TOPICS, "nDCG@10", notes=["made up"])
SEGMENTS = {topic: ("head", "body", "tail")[i % 3] for i, topic in enumerate(TOPICS)}


def test_figures_are_those_of_the_segments_topics() -> None:
    found = evaluate_segments(SCORES, SEGMENTS, "base", [0, 5], tail=[0.25])
    assert list(found.columns)[:4] == ["segment", "topics", "system", "baseline"]
    assert len(found) == 3 * 3 * 2
    for segment in ("head", "body", "tail"):
        topics = [topic for topic in TOPICS if SEGMENTS[topic] == segment]
        alone = evaluate(SCORES.select(topics=topics), "base", [0, 5], tail=[0.25])
        rows = [row for row in found.rows() if row["segment"] == segment]
        for row, expected in zip(rows, alone.rows(), strict=True):
            assert row["topics"] == 8
            assert {name: row[name] for name in expected} == expected


def test_p_is_corrected_over_segments_systems_and_alphas() -> None:
    found = evaluate_segments(SCORES, SEGMENTS, "base", [0, 1, 5], correct="holm")
    np.testing.assert_array_equal(found.columns["p_holm"], correct(found.columns["p"], "holm"))
    assert np.isfinite(np.asarray(found.columns["p_holm"])).sum() == 3 * 2 * 3
    assert "segments=3|correct=holm" in found.signature


def test_the_segment_that_the_average_hides_comes_first() -> None:
    base = np.full(12, 0.5)
    new = base + np.tile([0.11, 0.09], 6)
    new[8:] = base[8:] - [0.12, 0.08, 0.11, 0.09]
    scores = Scores([base, new], ["old", "new"], range(12))
    segments = {topic: ("first", "second", "hidden")[topic // 4] for topic in range(12)}
    found = evaluate_segments(scores, segments, "old", 0)
    assert found.columns["segment"][0] == "hidden"
    gap = next(row["gap"] for row in found.rows() if (row["segment"], row["system"]) == ("hidden", "new"))
    delta = new - base
    assert gap == pytest.approx((delta[8:].mean() - delta.mean()) / (delta.std(ddof=1) / np.sqrt(4)))


def test_segments_keep_their_order_where_nothing_varies() -> None:
    scores = Scores([[0.5] * 4, [0.5] * 4], ["old", "new"], range(4))
    found = evaluate_segments(scores, {0: "b", 1: "b", 2: "a", 3: "a"}, "old")
    assert list(dict.fromkeys(found.columns["segment"])) == ["b", "a"]
    assert np.isnan(np.asarray(found.columns["gap"])).all()


def test_a_segment_of_one_topic_has_no_test_and_says_so() -> None:
    found = evaluate_segments(SCORES, SEGMENTS | {"q0": "alone"}, "base")
    alone = [row for row in found.rows() if row["segment"] == "alone"]
    assert [row["p"] for row in alone] == [None] * 3
    assert [row["p_holm"] for row in alone] == [None] * 3
    assert "no test in segments of one topic: alone" in found.notes
    assert found.notes[0] == "made up"


def test_topics_without_a_segment_are_a_segment_of_their_own() -> None:
    found = evaluate_segments(SCORES, dict.fromkeys(TOPICS[2:], "known") | {"elsewhere": "x"}, "base")
    assert {(row["segment"], row["topics"]) for row in found.rows()} == {("known", 22), ("(none)", 2)}
    assert "2 topics without a segment, shown as (none): q0, q1" in found.notes


def test_smooth_values_are_fitted_once_for_all_segments() -> None:
    scores = Scores(SCORES.values / 6, SCORES.systems, TOPICS)
    found = evaluate_segments(scores, SEGMENTS, "base", value="smooth")
    whole = evaluate(scores, "base", value="smooth")
    weighed = np.zeros(3)
    for row in found.rows():
        weighed[SCORES.row(row["system"])] += row["urisk"] * row["topics"] / 24
    np.testing.assert_allclose(weighed, whole.columns["urisk"])
    assert "value=smooth(" in found.signature


@given(st.permutations(range(24)))
def test_the_order_of_topics_plays_no_role(order: list[int]) -> None:
    shuffled = SCORES.select(topics=[TOPICS[i] for i in order])
    rows = {(r["segment"], r["system"]): r for r in evaluate_segments(shuffled, SEGMENTS, "base").rows()}
    for row in evaluate_segments(SCORES, SEGMENTS, "base").rows():
        other = rows[row["segment"], row["system"]]
        assert other == {k: pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for k, v in row.items()}


def test_what_cannot_be_grouped() -> None:
    with pytest.raises(SurefootError, match="no topic has a segment: topics are q0"):
        group_topics(TOPICS, {"x": "y"})
    with pytest.raises(SurefootError, match="segments must map topics to their segments; got str"):
        group_topics(TOPICS, "segments.csv")  # type: ignore[arg-type]
    with pytest.raises(SurefootError, match="name one"):
        evaluate_segments(SCORES, SEGMENTS, None)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("topic,segment\nq1,head\nq2,tail\n", None, {"q1": "head", "q2": "tail"}),
        ("q1,head\n\nq2,tail\n", None, {"q1": "head", "q2": "tail"}),
        ("qid,intent,language\nq1,shop,de\nq2,,en\n", "intent", {"q1": "shop"}),
        ("qid,intent,language\nq1,shop,de\nq2,,en\n", "language", {"q1": "de", "q2": "en"}),
        ('query_id,intent\n"q,1"," a b "\n', None, {"q,1": "a b"}),
    ],
)
def test_files_of_segments(text: str, column: str | None, expected: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "segments.csv"
    path.write_text(text)
    assert read_segments(path, column) == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("topic,intent,language\nq1,a,b\n", None, "name one of intent, language"),
        ("topic,intent,language\nq1,a,b\n", "size", "must be one of intent, language; got 'size'"),
        ("topic,segment\nq1,a\nq1,b\n", None, "segments.csv:3: topic 'q1' has a line already"),
        ("topic,segment\nq1\n", None, "segments.csv:2: expected topic,segment; found 1 column"),
        ("topic,segment\n", None, "found none"),
        ("", None, "found none"),
    ],
)
def test_files_that_are_no_segments(text: str, column: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "segments.csv"
    path.write_text(text)
    with pytest.raises(SurefootError, match=message):
        read_segments(path, column)


def test_files_of_names(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("# the shop's own name\nq1\n\n  two words \n")
    assert read_names(tmp_path / "names.txt") == ["q1", "two words"]


def test_a_binary_file_is_no_csv(tmp_path: Path) -> None:
    (tmp_path / "segments.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SurefootError, match="this is not text"):
        read_segments(tmp_path / "segments.csv")


def test_one_test_is_named_as_one() -> None:
    assert "|tests=flip|" in evaluate_segments(SCORES, SEGMENTS, "base", tests="flip", n_resamples=20).signature
