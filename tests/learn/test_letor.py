"""LETOR text: equal to scikit-learn's reader, what is accepted, what is refused and where."""

import gzip
import io
import random
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from surefoot.errors import InputError, SurefootError
from surefoot.learn import letor
from surefoot.learn.data import RankingData
from surefoot.learn.joining import same_features, widened
from surefoot.learn.letor import read_letor, write_letor
from tests.learn.letor_files import assert_same, dense, scattered_text


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        path = tmp_path / "data.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_letor(path, **options)

    return reader


FILES = [
    "mq2008/S1.txt.gz",
    "mq2008/S5.txt.gz",
    "mslr-sample/fold1.test.5k.txt.gz",
    "mslr-sample/fold1.train.5k.txt.gz",
]


@pytest.mark.parametrize("name", FILES)
def test_equals_scikit_learn(data, name):
    features, labels, qid = load_svmlight_file(str(data / name), query_id=True)
    mine = read_letor(data / name)
    np.testing.assert_array_equal(mine.features, features.toarray().astype(np.float32))
    np.testing.assert_array_equal(mine.labels, labels)
    assert mine.features.flags.c_contiguous
    assert mine.first_feature == 1
    np.testing.assert_array_equal(np.repeat(np.array(mine.queries, dtype=int), mine.sizes), qid)


def test_document_ids_of_mq2008(data):
    path = data / "mq2008/S1.txt.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    expected = [line.split("docid = ")[1].split()[0] for line in lines]
    assert read_letor(path).documents.to_list() == expected


PLAIN = "2 qid:q1 1:0.5 2:-3 # a\n0 qid:q1 2:7 # b\n1 qid:q2 1:1e-3 # c\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(" ", "\t"),
        PLAIN.replace(" ", " \t\v\f "),
        PLAIN.replace("\n", "  \n\n \t\n"),
        PLAIN.replace(" # ", "#"),
        PLAIN.replace("# ", "## docid = ").replace("\n", " inc = 1 docid = x\n"),
        PLAIN.replace("# ", "#relevant DocID:"),
        PLAIN.replace("1:0.5 2:-3", "2:-3 1:.5"),
        PLAIN.replace("1:0.5 2:-3", "0001:+5.e-1 2:-3.00000000000000000000000"),
        PLAIN.replace("2 qid", "2.0 qid"),
        "# label qid features\n" + PLAIN.replace("\n", "\n  # 1 qid:q9 1:9\n"),
        "\ufeff" + PLAIN,
        "\n\n" + PLAIN + "#",
    ],
)
def test_any_form_of_a_line(read, text):
    data = read(text)
    assert (data.queries, data.bounds.tolist(), data.labels.tolist()) == (("q1", "q2"), [0, 2, 3], [2, 0, 1])
    np.testing.assert_array_equal(data.features, np.array([[0.5, -3], [0, 7], [0.001, 0]], np.float32))
    assert data.documents.to_list() == ["a", "b", "c"]
    assert data.features.dtype == data.labels.dtype == np.float32


def test_ids_only_where_every_line_has_one(read):
    assert read(PLAIN.replace("# b", "")).documents is None
    assert read(PLAIN.replace("# b", "#")).documents is None
    assert read(PLAIN.replace("# b", "# docid =")).documents is None
    assert read(PLAIN.replace("# b", "# é")).documents.to_list() == ["a", "é", "c"]


def test_features_from_0_if_one_is_0(read):
    one, zero = read(PLAIN), read(PLAIN + "0 qid:q2 2:1 0:4\n")
    assert (one.first_feature, one.features.shape[1]) == (1, 2)
    assert (zero.first_feature, zero.features.shape[1]) == (0, 3)
    assert zero.column(0).tolist() == [0, 0, 0, 4]
    assert zero.column(2).tolist() == [-3, 7, 0, 1]
    assert read("0 qid:1 0:3\n").features.tolist() == [[3]]


def test_the_highest_feature_may_come_first(read):
    assert read("0 qid:1 1:1 2:2\n1 qid:1 3:1 90:4 2:1\n").features.shape == (2, 90)
    assert read("0 qid:1 1:1 2:2\n1 qid:1 3:nan 90:4 4:1e-30 2:1\n").column(4).tolist() == [0, np.float32(1e-30)]


def test_missing_words(read):
    data = read("0 qid:1 1:NULL 2:nan 3:NaN 4:na 5:NA 6:null 7:1\n")
    assert np.isnan(data.features[0]).tolist() == [True] * 6 + [False]


def test_scattered_queries_are_brought_together(read):
    lines = [f"{row % 3} qid:q{query} 1:{row} 2:{query} #d{row}-{query}\n" for row in range(50) for query in range(40)]
    data = read("".join(lines))
    assert data.queries == tuple(f"q{query}" for query in range(40))
    assert data.features.tolist() == [[row, query] for query in range(40) for row in range(50)]
    assert data.labels.tolist() == [row % 3 for _ in range(40) for row in range(50)]
    assert data.documents.to_list() == [f"d{row}-{query}" for query in range(40) for row in range(50)]


NUMBERS = [
    *(
        "0 -0 1 31 0.50000 5. .5 -.5 +7 00012 1234567 12345678 123456789012 0.1234567 0.12345678 1234567.1234567"
    ).split(),
    *(
        "1e5 1E-5 -1.5e+3 2.2250738585072014e-308 1.2345678901234567e-07 0.30000000000000004 1e-400 9007199254740993"
    ).split(),
    *(
        "16777217 0.1000000014901161193847656250001 3.4028235e38 3.4028235677973362e38 1e-46 7.0064923216240854e-46"
    ).split(),
]


@pytest.mark.parametrize("follows", ["", " ", "\n", " 2:1 3:123456789.123456789 4:17 5:1\n", "#c", "\t2:1\r\n"])
def test_numbers_are_python_s(read, follows):
    for word in NUMBERS:
        value = read(f"1 qid:1 1:{word}{follows}").features[0, 0]
        expected = np.float32(float(word))
        assert value == expected, word
        assert np.signbit(value) == np.signbit(expected), word


@given(
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32) | st.decimals(-9999, 9999, places=6), min_size=1, max_size=30)
)
def test_written_numbers_come_back(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "numbers.txt"
    words = [str(value) for value in values]
    path.write_text("0 qid:1 " + " ".join(f"{place}:{word}" for place, word in enumerate(words, 1)))
    found = read_letor(path).features[0]
    np.testing.assert_array_equal(found, np.array([float(word) for word in words]).astype(np.float32))


@st.composite
def tables(draw):
    """Rows of (label, query, {feature: value}) and the text that says them in some way."""
    first = draw(st.integers(0, 1))
    values = st.sampled_from(["0", "1", "-2.5", "17.25", "1e3", "0.000001", "NULL"])
    row = st.tuples(st.integers(0, 4), st.sampled_from("abcé"), st.dictionaries(st.integers(first, 40), values))
    rows = draw(st.lists(row, min_size=1, max_size=12).filter(lambda rows: any(pairs for _, _, pairs in rows)))
    chance = random.Random(draw(st.integers(0, 1000)))
    lines = []
    for place, (label, query, pairs) in enumerate(rows):
        items = sorted(pairs.items())
        if chance.random() < 0.5:
            chance.shuffle(items)
        fields = [str(label), f"qid:{query}", *(f"{feature}:{value}" for feature, value in items), f"#d{place}"]
        lines.append(chance.choice([" ", "\t", "  "]).join(fields) + chance.choice(["\n", "\r\n", " \n\n", "\n# no\n"]))
    return rows, "".join(lines)


@given(tables())
def test_any_table_comes_back(tmp_path_factory, table):
    rows, text = table
    path = tmp_path_factory.getbasetemp() / "table.txt"
    path.write_bytes(text.encode())
    data = read_letor(path)
    queries = list(dict.fromkeys(query for _, query, _ in rows))
    order = sorted(range(len(rows)), key=lambda place: queries.index(rows[place][1]))
    features = [feature for _, _, pairs in rows for feature in pairs]
    first = 0 if 0 in features else 1
    expected = np.zeros((len(rows), max(features) - first + 1), np.float32)
    for place, source in enumerate(order):
        for feature, value in rows[source][2].items():
            expected[place, feature - first] = np.nan if value == "NULL" else float(value)
    np.testing.assert_array_equal(data.features, expected)
    assert data.queries == tuple(queries)
    assert data.labels.tolist() == [rows[place][0] for place in order]
    assert data.documents.to_list() == [f"d{place}" for place in order]
    assert data.first_feature == first


BAD = [
    ("x qid:1 1:1", r"expected a whole number of 0 or more as the label, found 'x'; lines are"),
    ("-1 qid:1 1:1", "as the label, found '-1'"),
    ("1.5 qid:1 1:1", "as the label, found '1.5'"),
    ("nan qid:1 1:1", "as the label, found 'nan'"),
    ("1e30 qid:1 1:1", "as the label, found '1e30'"),
    ("1:1 2:2", "as the label, found '1:1'"),
    ("1 1:1 2:2", "expected qid:ID after the label, found '1:1'"),
    ("1", "expected qid:ID after the label, found the end of the line"),
    ("1 qid: 1:1", "expected qid:ID after the label, found 'qid:'"),
    ("1 qid:#c", "expected qid:ID after the label, found 'qid:'"),
    ("1 #qid:1 1:1", "expected qid:ID after the label, found the end of the line"),
    ("1 qid:1 a:1", "expected a whole number of 0 or more before the colon, found 'a:1'"),
    ("1 qid:1 -1:1", "expected a whole number of 0 or more before the colon, found '-1:1'"),
    ("1 qid:1 1.5:1", "expected a whole number of 0 or more before the colon, found '1.5:1'"),
    ("1 qid:1 :1", "expected a whole number of 0 or more before the colon, found ':1'"),
    ("1 qid:1 1:1 qid:2", "before the colon, found 'qid:2'"),
    ("1 qid:1 10000001:1", r"features may be numbered up to 10,000,000, found '10000001:1'"),
    ("1 qid:1 99999999999999999999999:1", r"features may be numbered up to 10,000,000"),
    ("1 qid:1 1:1 0.5 2:2", "expected feature:value, found '0.5'"),
    ("1 qid:1 1:1 17", "expected feature:value, found '17'"),
    ("1 qid:1 1:1 2:", "expected a number as the value of feature 2, found '2:'; write NULL"),
    ("1 qid:1 1: 1", "expected a number as the value of feature 1, found '1:'"),
    ("1 qid:1 1:x", "expected a number as the value of feature 1, found '1:x'"),
    ("1 qid:1 1:1:2", "expected a number as the value of feature 1, found '1:1:2'"),
    ("1 qid:1 1:1_0", "expected a number as the value of feature 1, found '1:1_0'"),
    ("1 qid:1 1:1,5", "expected a number as the value of feature 1, found '1:1,5'"),
    ("1 qid:1 1:1\x002:2", "before the colon, found"),
    ("1 qid:1 1:inf", "expected a finite number within float32 as the value of feature 1, found '1:inf'"),
    ("1 qid:1 1:-Infinity", "expected a finite number within float32"),
    ("1 qid:1 1:1e39", "expected a finite number within float32"),
    ("1 qid:1 1:3.4028236e38", "expected a finite number within float32"),
    ("1 qid:1 1:1e999", "expected a finite number within float32"),
    ("1 qid:1 3:1 1:2 3:1", "feature 3 occurs twice in the line; keep one of them"),
    ("1 qid:1 1:1 1:1 # c", "feature 1 occurs twice"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
@pytest.mark.parametrize("after", ["", "\n" + PLAIN])
def test_bad_lines_are_refused(read, line, message, after):
    with pytest.raises(InputError, match=message) as error:
        read(f"# comment\n1 qid:1 1:0.5\n{line}{after}")
    assert error.value.line == 3
    assert str(error.value).count("\n") == 0
    assert "data.txt:3: " in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"), [("", "holds no data"), ("\n # x\n", "holds no data"), ("1 qid:1\n", "no line has")]
)
def test_files_without_data(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)


@pytest.mark.parametrize("line", [b"1 qid:\xff 1:1 # a\n", b"1 qid:1 1:1 # \xff\n"])
def test_other_encodings_are_refused(read, line):
    with pytest.raises(InputError, match="expected UTF-8 text, found byte 0xff") as error:
        read(PLAIN.encode() + line)
    assert error.value.line == 4


def test_the_first_bad_line_is_named(read, monkeypatch):
    monkeypatch.setattr(letor, "CHUNK", 100)
    lines = [f"1 qid:{row // 10} 1:{row} 2:1" for row in range(300)]
    lines[70] = lines[200] = "1 qid:1 1:x"
    with pytest.raises(InputError) as error:
        read("\n".join(lines), workers=3)
    assert error.value.line == 71


def test_wrong_use(tmp_path):
    with pytest.raises(SurefootError, match="name at least one"):
        read_letor([])
    with pytest.raises(SurefootError, match="workers must be at least 1; got 0"):
        read_letor(tmp_path / "x", workers=0)
    with pytest.raises(InputError, match="no such file"):
        read_letor(tmp_path / "x")


def test_standard_input_and_archives(tmp_path, monkeypatch, read):
    packed = tmp_path / "data.gz"
    packed.write_bytes(gzip.compress(PLAIN.encode()))
    assert_same(read_letor(packed), read(PLAIN))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert_same(read_letor("-"), read(PLAIN))


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_and_stretches_change_nothing(read, monkeypatch, sparse):
    text = scattered_text()
    expected = read(text, workers=1)
    monkeypatch.setattr(letor, "SMALLEST_SPARSE", 0 if sparse else 1 << 60)
    monkeypatch.setattr(letor, "SPARSE_GAIN", 0)
    for chunk, workers in [(1, 2), (777, 3), (1 << 22, 2)]:
        monkeypatch.setattr(letor, "CHUNK", chunk)
        found = read(text, workers=workers)
        assert isinstance(found.features, np.ndarray) is not sparse
        assert_same(found, expected)


def test_sparse_only_where_it_saves_much(read, monkeypatch):
    monkeypatch.setattr(letor, "SMALLEST_SPARSE", 1000)
    wide = read("".join(f"1 qid:1 {place}:1 2000:1\n" for place in range(1, 50)))
    assert wide.features.format == "csr"
    assert wide.features.has_canonical_format
    assert wide.features.dtype == np.float32
    assert dense(wide)[:, :49].tolist() == np.eye(49).tolist()
    assert isinstance(read("".join(f"1 qid:1 {place}:1 10:1\n" for place in range(1, 9))).features, np.ndarray)
    assert isinstance(read("1 qid:1 200:1\n").features, np.ndarray)


def test_several_files_are_one(tmp_path, read):
    parts = [PLAIN, "3 qid:q3 4:1 # d\n", "1 qid:q1 2:5 # e\n"]
    paths = [tmp_path / f"{place}.txt" for place in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(part)
    assert_same(read_letor(paths), read("".join(parts)))
    assert read_letor(paths[:2]).source == f"{paths[0]} + {paths[1]}"
    paths[1].write_text("3 qid:q3 0:8 1:1 # d\n")
    assert_same(read_letor(iter(paths)), read("".join(path.read_text() for path in paths)))


def test_sparse_files_are_joined_too(tmp_path, read, monkeypatch):
    monkeypatch.setattr(letor, "SMALLEST_SPARSE", 100)
    parts = ["1 qid:1 300:2\n0 qid:1 1:4\n", "0 qid:2 0:7 5:1\n", "0 qid:1 900:1\n"]
    paths = [tmp_path / f"{place}.txt" for place in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(part)
    assert_same(read_letor(paths), read("".join(parts)))


def test_features_of_all_parts(read):
    narrow, wide = read("0 qid:1 2:5\n"), read("0 qid:1 0:1 3:1\n")
    one, other = same_features([narrow, wide])
    assert (one.features.tolist(), one.first_feature) == ([[0, 0, 5, 0]], 0)
    assert other is wide
    assert widened(narrow, 1, 2) is narrow
    with pytest.raises(SurefootError, match="features 0 to 3 are more than the expected 1 to 3; leave the others out"):
        widened(wide, 1, 3)
    with pytest.raises(SurefootError, match="features 1 to 2 are more than the expected 1 to 1"):
        widened(narrow, 1, 1)


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_written_is_read_again(tmp_path, name, sparse):
    rng = np.random.default_rng(1)
    features = np.where(rng.random((40, 5)) < 0.4, 0, rng.normal(size=(40, 5))).astype(np.float32)
    features[:, -1] = features[3, 2] = np.nan
    matrix = csr_array(features) if sparse else features
    qid, documents = np.repeat(["b", "a", "q-7", "x"], 10), [f"d{row}" for row in range(40)]
    data = RankingData.of(matrix, rng.integers(0, 5, 40), qid, documents)
    write_letor(data, tmp_path / name)
    found = read_letor(tmp_path / name)
    np.testing.assert_array_equal(found.features, features)
    np.testing.assert_array_equal(found.labels, data.labels)
    assert found.queries == data.queries
    assert found.documents.to_list() == documents
