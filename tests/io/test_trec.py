"""Runs and qrels: what is accepted, what is refused and where, and that numbers equal Python's."""

import io
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import InputError, SurefootError
from surefoot.io import document_lists, trec
from surefoot.io.trec import read_qrels, read_run


@pytest.fixture
def run(tmp_path):
    def read(text, **options):
        path = tmp_path / "system.run"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_run(path, **options)

    return read


@pytest.fixture
def qrels(tmp_path):
    def read(text):
        path = tmp_path / "qrels.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_qrels(path)

    return read


PLAIN = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 0.5 t\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(" ", "\t"),
        PLAIN.replace(" ", " \t\v\f "),
        PLAIN.replace("\n", "  \n\n \t\n"),
        "# made by hand\n" + PLAIN.replace("\n", "\n  # q1 Q0 d9 1 9 t\n"),
        "\ufeff" + PLAIN,
        "\n\n" + PLAIN + "#",
    ],
)
def test_any_white_space(run, text):
    result = run(text)
    assert result.topics == ("q1", "q2")
    assert result.to_frame().rows() == [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]


def test_a_run_is_a_small_value(run):
    result = run(PLAIN)
    assert (result.name, result.tag, len(result)) == ("system", "t", 3)
    assert repr(result).endswith("system.run', 3 documents in 2 topics)")
    assert [(t, d, s.tolist()) for t, d, s in result.by_topic()] == [
        ("q1", ["d1", "d2"], [2.5, 1.5]),
        ("q2", ["d1"], [0.5]),
    ]


def test_scores_rank_and_ties_go_to_the_later_id(run):
    result = run("t Q0 b 1 1 x\nt Q0 ab 2 1 x\nt Q0 é 3 1 x\nt Q0 a 4 1 x\nt Q0 c 5 7 x\n")
    assert result.documents == ["c", "é", "b", "ab", "a"]


def test_topics_in_order_are_not_sorted(run, monkeypatch):
    text = "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 9 t\nq2 Q0 d2 2 {} t\nq3 Q0 d1 1 10 t\n"
    with monkeypatch.context() as patch:
        patch.setattr(document_lists.np, "argsort", None)
        run(text.format(8))
    assert run(text.format(9.5)).documents == ["d1", "d2", "d2", "d1", "d1"]


def test_close_scores_are_not_rounded_to_float32(run):
    assert run("t Q0 a 1 16777217.5 x\nt Q0 b 2 16777217.25 x\n").documents == ["a", "b"]


def test_scattered_topics_are_brought_together(run):
    lines = [f"q{topic} Q0 d{rank} {rank} {-rank} x\n" for rank in range(50) for topic in range(40)]
    result = run("".join(lines))
    assert result.topics == tuple(f"q{topic}" for topic in range(40))
    assert result.documents == [f"d{rank}" for _ in range(40) for rank in range(50)]


def test_ids_in_any_language(run, qrels):
    assert run("тема Q0 文書 1 1.5 ярлык").to_frame().rows() == [("тема", "文書", 1.5)]
    assert qrels("тема 0 文書 1").to_frame().rows() == [("тема", "文書", 1)]


def test_qrels_by_grade(qrels):
    result = qrels("b 0 d1 -2\nb 1 d2 +3\na 0.5 d1 0\nb 0 d3 4\n")
    assert result.to_frame().rows() == [("a", "d1", 0), ("b", "d3", 4), ("b", "d2", 3), ("b", "d1", -2)]
    assert result.grades.dtype == np.int32


def test_grades_may_be_fractions(qrels):
    result = qrels("q 0 d1 0.25\nq 0 d2 0.75\n")
    assert result.to_frame().rows() == [("q", "d2", 0.75), ("q", "d1", 0.25)]


def test_repeated_documents(run):
    text = "q Q0 a 1 1 t\nq Q0 b 2 2 t\nq Q0 a 3 3 t\nr Q0 a 1 1 t\n"
    for duplicates, expected in {"first": ["b", "a", "a"], "best": ["a", "b", "a"]}.items():
        result = run(text, duplicates=duplicates)
        assert result.documents == expected
        assert result.notes == (f"system: 1 repeated document left out, the {duplicates} of each kept",)
    with pytest.raises(SurefootError, match="duplicates must be one of error, first, best; got 'last'"):
        run(text, duplicates="last")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert read_run("-").name == "stdin"


def test_name_by_tag(run):
    assert run(PLAIN, names="tag").name == "t"
    with pytest.raises(InputError) as caught:
        run(PLAIN + "q2 Q0 d2 1 0.5 other\n", names="tag")
    assert caught.value.line == 4
    assert caught.value.message == (
        "expected the first line's tag 't', found 'other'; give the run one tag or name it after its file"
    )
    with pytest.raises(SurefootError, match="names must be one of file, tag; got 'path'"):
        run(PLAIN, names="path")


RUN_LINES = "a run has lines of topic Q0 document rank score tag"
SIX = "expected 6 fields (topic Q0 document rank score tag), found"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, f"holds no lines; {RUN_LINES}"),
        ("# only\n\n", None, f"holds no lines; {RUN_LINES}"),
        (PLAIN + "\nq1 Q0 d3 3 0.5\n", 5, f"{SIX} 5"),
        (PLAIN + "q1", 4, f"{SIX} 1"),
        (PLAIN + "q1 0 d3 1\n", 4, f"{SIX} 4; is it a qrels file?"),
        ("q1 Q0 a document 1 0.5 t\n", 1, f"{SIX} 7"),
        ("# comment\r\nq1 Q0 d1 1 2.5 t\r\nq1 Q0 d2 2 x t\r\n", 3, "expected a finite number as the score, found 'x'"),
        (PLAIN + "q2 Q0 d2 2 nan t\n", 4, "expected a finite number as the score, found 'nan'"),
        (PLAIN + "q2 Q0 d2 2 -Infinity t\n", 4, "expected a finite number as the score, found '-Infinity'"),
        (PLAIN + "q2 Q0 d2 2 1e999 t\n", 4, "expected a finite number as the score, found '1e999'"),
        (PLAIN + "q2 Q0 d2 2 1_000 t\n", 4, "expected a finite number as the score, found '1_000'"),
        (PLAIN + "q2 Q0 d2 2 0x1p3 t\n", 4, "expected a finite number as the score, found '0x1p3'"),
        (PLAIN + "q2 Q0 d2 2 1.2.3 t\n", 4, "expected a finite number as the score, found '1.2.3'"),
        (PLAIN + "q2 Q0 d2 2 . t\n", 4, "expected a finite number as the score, found '.'"),
        (PLAIN + "q2 Q0 d2 2 1e t\nq2 Q0\n", 4, "expected a finite number as the score, found '1e'"),
        (
            PLAIN + "q3 Q0 d1 1 1 t\nq1 Q0 d1 3 0.5 t\nq1 Q0 d1 4 9.5 t\nq2 Q0 d1 4 9.5 t\n",
            5,
            "document 'd1' occurs again in topic 'q1', first in line 1; keep one of the lines, "
            "or say which counts (duplicates: first, best)",
        ),
        (PLAIN.encode() + b"q2 Q0 d\x002 2 1.5 t\n", 4, f"expected text, found byte 0x00; {RUN_LINES}"),
        (b"\x7fELF\x02\x01\x01\x00\x00\n", 1, f"expected text, found byte 0x02; {RUN_LINES}"),
        (PLAIN.encode() + b"q2 Q0 d\xe9 2 1.5 t\n", 4, f"expected UTF-8 text, found byte 0xe9; {RUN_LINES}"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 1, f"expected UTF-8 text, found byte 0x89; {RUN_LINES}"),
    ],
)
def test_bad_runs(run, text, line, message):
    with pytest.raises(InputError) as caught:
        run(text)
    assert (caught.value.line, caught.value.message) == (line, message)
    assert "\n" not in str(caught.value)


FOUR = "expected 4 fields (topic iteration document grade), found"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\n", None, "holds no lines; a qrels file has lines of topic iteration document grade"),
        ("q1 0 d1 1\nq1 0 d2\n", 2, f"{FOUR} 3"),
        (PLAIN, 1, f"{FOUR} 6; is it a run?"),
        ("q1 0 d1 1\n\nq1 0 d2 relevant\n", 3, "expected a finite number as the grade, found 'relevant'"),
        ("q1 0 d1 99999999999\n", 1, "expected a number of at most 1e+09 as the grade, found '99999999999'"),
        (
            "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 1\n",
            3,
            "document 'd1' occurs again in topic 'q1', first in line 1; keep one of the lines",
        ),
    ],
)
def test_bad_qrels(qrels, text, line, message):
    with pytest.raises(InputError) as caught:
        qrels(text)
    assert (caught.value.line, caught.value.message) == (line, message)


def test_a_bad_byte_far_into_a_large_file(run):
    lines = [f"q Q0 é{number} 1 1 t\n".encode() for number in range(120_000)]
    lines[100_000] = b"q Q0 \xff 1 1 t\n"
    with pytest.raises(InputError) as caught:
        run(b"".join(lines))
    assert caught.value.line == 100_001


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_run(tmp_path / "absent.run")


DIGITS = st.text("0123456789", min_size=1, max_size=22)
SPELLED = st.builds(
    lambda sign, whole, point, power: f"{sign}{whole}{point}{power}",
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.one_of(st.just(""), st.just("."), DIGITS.map(lambda digits: "." + digits)),
    st.one_of(st.just(""), st.integers(-40, 40).map(lambda power: f"e{power}"), st.just("E+05"), st.just("e-00010")),
)
WRITTEN = st.floats(allow_nan=False, allow_infinity=False).map(repr)
COMMON = st.floats(-1000, 1000).map(repr) | st.floats(-100, 100, width=32).map(repr)
HALFWAY = st.integers(1 << 53, 10**18).map(lambda number: f"{number | 1}e-3") | st.sampled_from(
    ["9007199254740993", "0.9007199254740993", "900719925474099.3", "1.7976931348623157e308", "5e-324", ".5", "5."]
)


@given(st.lists(SPELLED | WRITTEN | COMMON | HALFWAY, min_size=1, max_size=60))
def test_scores_equal_float(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("scores") / "a.run"
    path.write_text("".join(f"q Q0 d{place} 1 {word} t\n" for place, word in enumerate(words)))
    result = read_run(path)
    read = dict(zip(result.documents, result.scores.tolist(), strict=True))
    for place, word in enumerate(words):
        expected = float(word)
        assert math.isclose(read[f"d{place}"], expected, rel_tol=0, abs_tol=0)
        assert math.copysign(1, read[f"d{place}"]) == math.copysign(1, expected)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["1", "10", "a-rather-long-topic", "ä"]), st.text("abé0-", min_size=1, max_size=20)),
        st.sampled_from([0.0, 1.0, 1.5, -2.0]),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_reading_is_sorting(tmp_path_factory, entries, random):
    lines = [f"{topic} Q0 {document} 0 {score} t\n" for (topic, document), score in entries.items()]
    random.shuffle(lines)
    path = tmp_path_factory.mktemp("run") / "a.run"
    path.write_text("".join(lines))
    for topic, documents, _ in read_run(path).by_topic():
        own = [(score, document.encode()) for (t, document), score in entries.items() if t == topic]
        assert documents == [document.decode() for _, document in sorted(own, reverse=True)]


LINES = [f"q{n // 7 % 9} Q0 d{n} {n} {n * 37 % 101 / 8} t\n" for n in range(400)]
BLANK = ["\n", "# a comment\n", "  \t\n"]


@given(
    st.lists(st.tuples(st.integers(0, 399), st.sampled_from(BLANK)), max_size=12),
    st.integers(2, 9),
    st.booleans(),
    st.sampled_from(["", "q1 Q0 d7\n", "q1 Q0 d7 1 x t\n", LINES[0]]),
)
def test_threads_change_nothing(tmp_path_factory, odd, workers, ended, wrong):
    lines = list(LINES)
    for place, line in odd:
        lines.insert(place, line)
    lines.insert(250, wrong)
    file = tmp_path_factory.mktemp("runs") / "a.run"
    file.write_text("".join(lines) if ended else "".join(lines).rstrip("\n"))
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec, "LARGE", 1)
        for threads in (1, workers):
            try:
                run = read_run(file, workers=threads)
                found.append((run.topics, run.bounds.tolist(), run.start.tolist(), run.scores.tolist()))
            except InputError as error:
                found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "text", ["", "\n", "# none\n", "\ufeff", "\ufeffq1 Q0 d1 1 2.5 t", "q1 Q0 d1 1 2.5 t\n" + "\n" * 50]
)
def test_threads_of_short_texts(text, tmp_path, monkeypatch):
    monkeypatch.setattr(trec, "LARGE", 0)
    (tmp_path / "a.run").write_text(text, encoding="utf-8")
    found = []
    for workers in (1, 5):
        try:
            found.append(read_run(tmp_path / "a.run", workers=workers).documents)
        except InputError as error:
            found.append(str(error))
    assert found[0] == found[1]
