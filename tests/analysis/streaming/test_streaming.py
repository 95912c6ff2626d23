"""Logs in files against `evaluate` in memory."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot import Scores, SurefootError, evaluate
from surefoot.analysis.evaluate import Evaluation
from surefoot.analysis.streaming import evaluate_parquet, evaluation, files

SYSTEMS = ("base", "one", "two", "three")
ALPHAS = [0, 1, 5]
COUNTS = ("wins", "losses", "ties", "loss20")


def random_scores(seed: int, topics: int) -> Scores:
    """With zeros and ties, as real scores have them."""
    random = np.random.default_rng(seed)
    values = np.maximum(random.random((len(SYSTEMS), topics)).round(2) * random.random(topics) - 0.1, 0)
    values[1] = np.where(random.random(topics) < 0.3, values[0], values[1])
    return Scores(values, SYSTEMS, [f"q{i}" for i in range(topics)])


SCORES = random_scores(1, 40)


def wide(scores: Scores) -> polars.DataFrame:
    return polars.DataFrame(
        {"topic": list(scores.topics)} | dict(zip(scores.systems, scores.values.copy(), strict=True))
    )


def long(scores: Scores) -> polars.DataFrame:
    return (
        wide(scores)
        .unpivot(index="topic", variable_name="system", value_name="score")
        .sort("topic", maintain_order=True)
    )


def write(folder: Path, frame: polars.DataFrame, parts: list[list[str]], rows: int = 7) -> Path:
    """Topics in files, as listed, in row groups of some rows."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    for number, topics in enumerate(parts):
        order = polars.DataFrame({"topic": topics}, schema={"topic": polars.String})
        own = order.join(frame, on="topic", maintain_order="left_right")
        own.write_parquet(folder / f"{number:03}.parquet", row_group_size=rows)
    return folder


def check(found: Evaluation, expected: Evaluation) -> None:
    """The same table up to rounding: 1e-12 of a figure, or of what was added up where gains and losses cancel."""
    assert list(found.columns) == list(expected.columns)
    assert found.signature == expected.signature
    assert found.notes == expected.notes
    rows = {(row["system"], row["alpha"]): row for row in found.rows()}
    scales = {"zrisk": 40.0, "trisk": 10.0}
    for want in expected.rows():
        have = rows.pop((want["system"], want["alpha"]))
        for name, figure in want.items():
            if isinstance(figure, float):
                scale = scales.get(name, 0.1) * (1 + want["alpha"])
                assert have[name] == pytest.approx(figure, rel=1e-12, abs=1e-12 * scale), name
            else:
                assert have[name] == figure, name
    assert not rows


partitions = st.tuples(
    st.integers(0, 1000),
    st.integers(1, 40),
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(1, 9),
    st.integers(1, 60),
)


@pytest.mark.parametrize("layout", [wide, long])
@given(drawn=partitions, baseline=st.sampled_from(["base", "MEAN", "MEDIAN", "MAX", None]))
@example(drawn=(547, 38, [], 1, 1), baseline="MEAN")
@settings(max_examples=25)
def test_any_partition_gives_what_memory_gives(layout, drawn, baseline, tmp_path_factory) -> None:
    seed, topics, borders, rows, cells = drawn
    scores = random_scores(seed, topics)
    order = np.random.default_rng(seed).permutation(scores.topics).tolist()
    edges = [0, *sorted(min(border, topics) for border in borders), topics]
    parts = [order[start:stop] for start, stop in pairwise(edges)]
    folder = write(tmp_path_factory.getbasetemp() / "partition", layout(scores), parts, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CELLS", cells)  # slices end anywhere, also inside a topic
        check(evaluate_parquet(folder, baseline, ALPHAS), evaluate(scores, baseline, ALPHAS))


@pytest.mark.parametrize("layout", [wide, long])
def test_scores_below_0_have_no_z(layout, tmp_path) -> None:
    scores = Scores(SCORES.values - 0.2, SYSTEMS, SCORES.topics)
    folder = write(tmp_path, layout(scores), [list(scores.topics[:9]), list(scores.topics[9:])])
    check(evaluate_parquet(folder, "two"), evaluate(scores, "two"))


def test_integer_topics_single_precision_and_zeros_everywhere(tmp_path) -> None:
    frame = polars.DataFrame(
        {"qid": [1, 2, 3], "a": [0, 0, 0], "b": [0.0, 0.0, 0.0]}, schema_overrides={"b": polars.Float32}
    )
    frame.write_parquet(tmp_path / "log.parquet")
    check(evaluate_parquet(tmp_path, "a"), evaluate(Scores.from_frame(frame), "a"))


@pytest.mark.parametrize("layout", [wide, long])
@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_missing_scores(layout, missing, tmp_path) -> None:
    frame = wide(SCORES).with_columns(
        one=polars.when(polars.col("topic").is_in(["q3", "q7"])).then(None).otherwise("one"),
        two=polars.when(polars.col("topic") == "q7").then(float("nan")).otherwise("two"),
    )
    scores = Scores.from_frame(frame, missing=missing)
    values = {name: frame[name] for name in ("topic", *SYSTEMS)}
    full = Scores([np.nan_to_num(values[s].fill_null(0).to_numpy()) for s in SYSTEMS], SYSTEMS, SCORES.topics)
    sparse = wide(full).with_columns(frame["one"], frame["two"])
    if layout is long:
        sparse = sparse.unpivot(index="topic", variable_name="system", value_name="score").drop_nulls()
    folder = write(tmp_path, sparse, [list(SCORES.topics[:20]), list(SCORES.topics[20:])])
    found = evaluate_parquet(folder, "base", ALPHAS, missing=missing)
    told = {
        "zero": "3 missing scores filled with 0: one on q3, one on q7, two on q7",
        "drop": "2 topics dropped, missing",
    }
    assert found.notes[0].startswith(told[missing])
    plain = Scores(scores.values, scores.systems, scores.topics)
    check(Evaluation(found.signature, found.columns, found.notes[1:]), evaluate(plain, "base", ALPHAS))
    with pytest.raises(SurefootError, match=r"3 scores missing: one on q3, one on q7, two on q7; count them 0"):
        evaluate_parquet(folder, "base")


def test_a_file_without_a_systems_column_lacks_its_scores(tmp_path) -> None:
    wide(SCORES.select(["base", "one"], ["q0", "q1"])).write_parquet(tmp_path / "a.parquet")
    wide(SCORES.select(["two", "base", "one"], ["q2", "q3"])).write_parquet(tmp_path / "b.parquet")
    found = evaluate_parquet(tmp_path, missing="drop")
    expected = evaluate(SCORES.select(["base", "one", "two"], ["q2", "q3"]))
    np.testing.assert_allclose(found["georisk"], expected["georisk"], rtol=1e-12)
    with pytest.raises(SurefootError, match="2 scores missing: two on q0, two on q1"):
        evaluate_parquet(tmp_path)


def test_files_of_other_systems_count_0(tmp_path) -> None:
    wide(SCORES.select(topics=["q0", "q1"])).write_parquet(tmp_path / "a.parquet")
    polars.DataFrame({"topic": ["q2", "q3"], "other": [0.5, 0.5]}).write_parquet(tmp_path / "b.parquet")
    systems = [*SYSTEMS, "other"]
    values = np.zeros((5, 4))
    values[:4, :2] = SCORES.select(topics=["q0", "q1"]).values
    values[4, 2:] = 0.5
    expected = evaluate(Scores(values, systems, ["q0", "q1", "q2", "q3"]), "base")
    found = evaluate_parquet(tmp_path, "base", missing="zero")
    for column in ("mean", "urisk", "georisk"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-12, atol=1e-15)


def test_blanks_around_a_topic_are_no_part_of_it(tmp_path) -> None:
    table = wide(SCORES.select(topics=["q0", "q1", "q2"]))
    table.with_columns(polars.Series("topic", ["q0 ", "\u00a0q1", "q2"])).write_parquet(tmp_path / "a.parquet")
    check(evaluate_parquet(tmp_path, "base"), evaluate(SCORES.select(topics=["q0", "q1", "q2"]), "base"))
    table.with_columns(polars.Series("topic", ["q0", "q1", "q0 "])).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(SurefootError, match="topic 'q0' is twice"):
        evaluate_parquet(tmp_path, "base")
    for name, message in ((" ", "a row without its topic"), ("Mean", "topic 'Mean' is called like a summary")):
        table.with_columns(polars.Series("topic", ["q0", "q1", name])).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(SurefootError, match=message):
            evaluate_parquet(tmp_path, "base")


def test_nothing_left(tmp_path) -> None:
    wide(SCORES).with_columns(one=polars.lit(None, polars.Float64)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(SurefootError, match="no topic is left: 40 topics dropped"):
        evaluate_parquet(tmp_path, missing="drop")


@pytest.mark.parametrize(("layout", "advice"), [(wide, "keep one row of it"), (long, "sort the scores by topic")])
def test_a_topic_in_two_files(layout, advice, tmp_path) -> None:
    folder = write(tmp_path, layout(SCORES), [["q1", "q2"], ["q3", "q2"]])
    with pytest.raises(SurefootError, match=rf"001.parquet: topic 'q2' is in .*000.parquet too; .*{advice}"):
        evaluate_parquet(folder, "base")


def test_a_topic_cut_in_two_by_files(tmp_path) -> None:
    rows = long(SCORES.select(topics=["q1", "q2"]))
    rows[:6].write_parquet(tmp_path / "a.parquet")
    rows[6:].write_parquet(tmp_path / "b.parquet")
    for missing in ("error", "zero", "drop"):
        with pytest.raises(SurefootError, match=r"b.parquet: topic 'q2' is in .*a.parquet too"):
            evaluate_parquet(tmp_path, "base", missing=missing)


def test_scattered_rows_of_a_topic(tmp_path) -> None:
    long(SCORES).sort("system", maintain_order=True).write_parquet(tmp_path / "by-system.parquet")
    with pytest.raises(SurefootError, match=r"topic 'q0' is twice; .*sort the scores by topic"):
        evaluate_parquet(tmp_path, "base", missing="zero")


def test_topics_that_share_a_hash_are_no_error(tmp_path, monkeypatch) -> None:
    folder = write(tmp_path, long(SCORES), [list(SCORES.topics)])
    monkeypatch.setattr(evaluation, "repeated_hashes", np.concatenate)
    check(evaluate_parquet(folder, "base"), evaluate(SCORES, "base"))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=9), min_size=1, max_size=5))
def test_repeated_hashes(batches) -> None:
    hashes = [np.sort(np.array(some, dtype=np.uint64)) for some in batches]
    every = [one for some in batches for one in some]
    assert evaluation.repeated_hashes(hashes).tolist() == sorted({one for one in every if every.count(one) > 1})


def test_measures_in_a_column_or_as_columns(tmp_path) -> None:
    other = Scores(SCORES.values / 2, SYSTEMS, SCORES.topics)
    both = [
        long(SCORES).with_columns(measure=polars.lit("AP")),
        long(other).with_columns(measure=polars.lit("nDCG@10")),
    ]
    polars.concat(both).write_parquet(tmp_path / "long.parquet")
    expected = evaluate(Scores(other.values, SYSTEMS, other.topics, "ndcg_cut_10"), "base")
    check(evaluate_parquet(tmp_path / "long.parquet", "base", measure="ndcg_cut_10"), expected)
    columns = long(SCORES).rename({"score": "AP"}).with_columns(long(other)["score"].alias("nDCG@10"))
    columns.select("system", "topic", "AP", "nDCG@10").write_parquet(tmp_path / "columns.parquet")
    check(evaluate_parquet(tmp_path / "columns.parquet", "base", measure="ndcg_cut_10"), expected)
    with pytest.raises(SurefootError, match="there are 2 measures; name one of AP, nDCG@10"):
        evaluate_parquet(tmp_path / "columns.parquet", "base")


def test_what_was_assumed_is_noted(tmp_path) -> None:
    long(SCORES).with_columns(user=polars.lit("me")).write_parquet(tmp_path / "a.parquet")
    found = evaluate_parquet(tmp_path, "base", 5, measure="nDCG@10")
    assert found.notes[0] == "columns left unread: user"
    assert found.notes[1] == "the files do not name their measure; it is taken to be nDCG@10, as requested"
    assert "measure=nDCG@10|baseline=base|alpha=5" in found.signature


def test_a_pattern_a_folder_and_a_list_name_the_same_files(tmp_path, monkeypatch) -> None:
    folder = write(tmp_path / "log[1]", wide(SCORES), [list(SCORES.topics[:9]), [], list(SCORES.topics[9:])])
    (folder / "_metadata.parquet").write_text("left by a writer")
    expected = evaluate(SCORES, "base")
    monkeypatch.chdir(tmp_path)
    parts = sorted(folder.glob("0*.parquet"))
    for paths in (folder, str(tmp_path / "log*" / "0*.parquet"), "log*/0*.parquet", parts, [folder, *parts]):
        check(evaluate_parquet(paths, "base"), expected)


def test_files_must_be_there(tmp_path) -> None:
    for paths, message in (
        (tmp_path / "a.parquet", "no such file"),
        (f"{tmp_path}/*.parquet", "no such file"),
        (tmp_path, "a folder without a Parquet file"),
        ([], "name at least one"),
    ):
        with pytest.raises(SurefootError, match=message):
            evaluate_parquet(paths)


GOOD = {"topic": ["q1", "q1", "q2", "q2"], "system": ["a", "b", "a", "b"], "score": [0.1, 0.2, 0.3, 0.4]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"system": ["a", "b"], "q1": [0.1, 0.2]}, "a row is a system; for streaming it must be a topic"),
        ({"x": ["q1"], "a": [0.1]}, "the first header cell is 'x'"),
        ({"topic": ["q1"], "a": ["high"]}, "column 'a': expected numbers, found String"),
        ({"topic": ["q1"], "a": [float("inf")]}, "score of system 'a' on topic 'q1' is inf"),
        ({"topic": [None], "a": [0.1]}, "a row without its topic"),
        ({"topic": ["all"], "a": [0.1]}, "topic 'all' is called like a summary"),
        ({"topic": [1.5], "a": [0.1]}, "expected topics as text or whole numbers"),
        ({"topic": ["q1"], "MEAN": [0.1]}, "system 'MEAN' is called like a summary"),
        ({"topic": ["q1"], "score": [0.1]}, "there is no column of systems"),
        (GOOD | {"system": ["a", None, "a", "b"]}, "a row without its system"),
        (GOOD | {"system": ["a", "a", "a", "b"]}, "a second score of system 'a' on topic 'q1'"),
        (GOOD | {"score": ["0.1", "x", "0.3", "0.4"]}, "column 'score': expected numbers, found String"),
    ],
)
def test_bad_files(columns, message, tmp_path) -> None:
    polars.DataFrame(columns).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(SurefootError, match=message):
        evaluate_parquet(tmp_path, missing="zero")


def test_bad_logs(tmp_path) -> None:
    folder = write(tmp_path / "log", wide(SCORES), [list(SCORES.topics)])
    with pytest.raises(SurefootError, match="no baseline 'old'; there are base, one, two, three, and MEAN"):
        evaluate_parquet(folder, "old")
    with pytest.raises(SurefootError, match="missing must be one of"):
        evaluate_parquet(folder, missing="ignore")
    long(SCORES).write_parquet(folder / "long.parquet")
    with pytest.raises(SurefootError, match="some files are wide"):
        evaluate_parquet(folder)
    (folder / "long.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SurefootError, match=r"long.parquet: damaged Parquet file"):
        evaluate_parquet(folder)


def test_no_rows(tmp_path) -> None:
    wide(SCORES)[:0].write_parquet(tmp_path / "a.parquet")
    with pytest.raises(SurefootError, match="no topic is left: the files hold no score"):
        evaluate_parquet(tmp_path)
    long(SCORES)[:0].write_parquet(tmp_path / "a.parquet")
    with pytest.raises(SurefootError, match="the files hold no score"):
        evaluate_parquet(tmp_path)
