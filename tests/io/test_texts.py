"""Texts of queries and documents, in every format that they come in."""

import gzip
import json
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import SurefootError
from surefoot.io import read_documents, read_queries

ROWS = {"d1": "A tie.", "d2": "A bow, 100 % silk: 'é'", "d3": "third"}


def tsv(rows: dict[str, str]) -> bytes:
    return "".join(f"{name}\t{text}\n" for name, text in rows.items()).encode()


def json_lines(rows: dict[str, str]) -> bytes:
    return "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in rows.items()).encode()


def parquet(rows: dict[str, str], path: Path) -> bytes:
    polars.DataFrame({"docno": list(rows), "text": list(rows.values())}).write_parquet(path)
    return path.read_bytes()


@pytest.mark.parametrize("format", ["tsv", "tsv with header", "jsonl", "parquet", "tsv.gz", "jsonl.gz", "bom"])
def test_every_format_gives_the_same_texts(tmp_path: Path, format: str) -> None:
    content = {
        "tsv": tsv(ROWS),
        "tsv with header": b"docid\ttext\n" + tsv(ROWS),
        "jsonl": json_lines(ROWS),
        "parquet": parquet(ROWS, tmp_path / "made.parquet"),
        "tsv.gz": gzip.compress(tsv(ROWS)),
        "jsonl.gz": gzip.compress(json_lines(ROWS)),
        "bom": b"\xef\xbb\xbf" + tsv(ROWS),
    }[format]
    file = tmp_path / "texts"
    file.write_bytes(content)
    assert read_documents(file) == ROWS
    assert read_documents(file, {"d2", "nowhere"}) == {"d2": ROWS["d2"]}
    assert read_documents(file, set()) == {}


@given(
    st.dictionaries(
        st.text("abc123-_", min_size=2, max_size=6),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30).map(lambda text: f"x {text}x"),
        min_size=1,
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: dict[str, str]) -> None:
    file = tmp_path_factory.mktemp("texts") / "corpus.jsonl"
    file.write_bytes(json_lines(rows))
    assert read_documents(file) == rows
    file.write_bytes(tsv(rows))
    assert read_documents(file) == rows


def test_title_and_text_are_joined_and_other_columns_left_out(tmp_path: Path) -> None:
    file = tmp_path / "docs.tsv"
    file.write_text("docid\turl\ttitle\tbody\nD1\thttp://x\tKnots\tA tie.\nD2\thttp://y\t\tA bow.\n")
    assert read_documents(file) == {"D1": "Knots A tie.", "D2": "A bow."}
    file.write_text("D1\thttp://x\tKnots\tA tie.\n")
    assert read_documents(file) == {"D1": "http://x Knots A tie."}


def test_queries_by_any_usual_name(tmp_path: Path) -> None:
    file = tmp_path / "queries"
    for content in (
        '{"qid": 7, "query": "ties"}\n',
        "7\tties\n",
        "query-id\tquery\n7\tties\n",
        "qid\ttitle\n7\tties\n",
    ):
        file.write_text(content)
        assert read_queries(file) == {"7": "ties"}, content


@pytest.mark.parametrize(
    "header",
    [
        "query,docid,rating\nred shoes,12,3\nred shoes,40,0\nblue hat,1,2\nred shoes\n",
        "Team Name,Query Text,Rating\nA,red shoes,3\nA,blue hat,\n",
        "query\nred shoes\n\nblue hat\n",
        "query\tdocid\nred shoes\t4\nblue hat\t7\n",
    ],
)
def test_queries_without_ids_are_their_own(tmp_path: Path, header: str) -> None:
    file = tmp_path / "case.csv"
    file.write_text(header)
    assert read_queries(file) == {"red shoes": "red shoes", "blue hat": "blue hat"}
    file.write_text("q1\tquery\nq2\tred shoes\n")
    assert read_queries(file) == {"q1": "query", "q2": "red shoes"}


@pytest.mark.parametrize("head", [b"q1\t", b"qid,query\nq1,"])
def test_a_carriage_return_within_a_text_is_white_space(tmp_path: Path, head: bytes) -> None:
    file = tmp_path / "queries"
    file.write_bytes(head + b"red\rshoes\r\n")
    assert {name: text.split() for name, text in read_queries(file).items()} == {"q1": ["red", "shoes"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"query,docid\n,12\n", ":2: expected a query; found none"),
        (b"qid,query\nq1," + b"x" * (1 << 18), ":2: can't be read as cells of a table: field larger"),
        (b"q1\tone\nq2 two\n", r":2: expected a topic, a tab and its text; found no tab"),
        (b"q1\tone\nq1\ttwo\n", r":2: topic 'q1' has a text already"),
        (b"\n \n", "holds no texts"),
        (b"", "holds no texts"),
        (b'{"qid": "1", "query": "x"}\n{"qid": \n', ":2: expected one JSON object on each line"),
        (b'{"qid": "1", "words": "x"}\n', r":1: expected a topic \(topic.*found qid, words"),
        (b'{"qid": "1", "query": "x"}\n[1]\n', ":2: expected a topic .*found list"),
        (b"q1\t\xff\n", ":1: .*not UTF-8"),
        (b"PAR1 and no more", "damaged Parquet file"),
        (gzip.compress(b"q1\tone\n", mtime=0)[:-9], "truncated or damaged gzip archive"),
    ],
)
def test_mistakes_are_said_with_their_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "queries.tsv"
    file.write_bytes(content)
    with pytest.raises(SurefootError, match=message):
        read_queries(file)


def test_a_collection_without_any_of_the_documents_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "corpus"
    for content in (tsv(ROWS), parquet(ROWS, tmp_path / "made.parquet")):
        file.write_bytes(content)
        with pytest.raises(SurefootError, match="no text of the 2 documents looked for, such as x1"):
            read_documents(file, {"x1", "x2"})
    with pytest.raises(SurefootError, match="no such file"):
        read_documents(tmp_path / "nowhere.tsv", {"x1"})
    polars.DataFrame({"number": [1], "words": ["x"]}).write_parquet(file)
    with pytest.raises(SurefootError, match="found the columns number, words"):
        read_documents(file)


@pytest.mark.parametrize(
    "content",
    [
        "<top>\n<num> Number: 301\n<title> Organized\n Crime &amp; more\n\n<desc> Description:\nx\n</top>\n"
        "<top><num>302</num><title>Topic: polio</title></top>",
        '<?xml version="1.0"?><topics task="x"><topic number="301"><query>Organized Crime &amp; more</query><question>x'
        '</question></topic><topic number="302"><question/><query>polio</query></topic></topics>',
        "<topics><topic number='301'>Organized Crime &amp; more</topic><topic id='302'>polio</topic></topics>",
    ],
)
def test_topics_of_trec(tmp_path: Path, content: str) -> None:
    file = tmp_path / "topics.xml"
    file.write_text(content)
    assert read_queries(file) == {"301": "Organized Crime & more", "302": "polio"}


def test_topics_without_a_number(tmp_path: Path) -> None:
    file = tmp_path / "topics.xml"
    file.write_text("<topics><topic number='1'>a</topic><topic>b</topic></topics>")
    with pytest.raises(SurefootError, match="topic 2 of the file lacks its number"):
        read_queries(file)
