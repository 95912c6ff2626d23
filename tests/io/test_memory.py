"""Runs and judgments in memory against the same in files, and what is refused."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import score_runs
from surefoot.effectiveness.sources import sources_of
from surefoot.errors import InputError, SurefootError
from surefoot.io.memory import irds_qrels, qrels_in_memory, run_in_memory
from surefoot.io.trec import read_run

RUN = {"q1": {"d1": 0.5, "d2": 2.5, "é3": 0.5}, "q 2": {"d1": -1.0}}
ROWS = [(query, document, score) for query, documents in RUN.items() for document, score in documents.items()]


@dataclass
class Hit:
    rank: int
    score: float
    docno: str
    qid: str


def forms() -> dict[str, object]:
    """The same run in all forms that need no other package than pandas, polars and pyarrow."""
    query, document, score = zip(*ROWS, strict=True)
    frame = polars.DataFrame({"qid": query, "docno": document, "score": score})
    plain = pandas.DataFrame({"qid": query, "docno": document, "score": score})
    scored = namedtuple("Scored", "query_id doc_id score")
    return {
        "dict": RUN,
        "polars": frame,
        "lazy": frame.lazy(),
        "categorical": frame.with_columns(polars.col("docno").cast(polars.Categorical)),
        "pandas": plain.assign(query="a text", docid=range(4)),
        "pandas objects": plain.astype(object),
        "pandas index": plain.rename(columns={"qid": "query-id", "docno": "corpus-id"}).set_index("query-id"),
        "pyarrow": frame.to_arrow(),
        "triples": ROWS,
        "generator": (row for row in ROWS),
        "named tuples": [scored(*row) for row in ROWS],
        "objects": [Hit(0, s, d, q) for q, d, s in ROWS],
        "dictionaries": [{"query_id": q, "doc_id": d, "score": s} for q, d, s in ROWS],
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_is_the_same_run(form):
    run = run_in_memory(forms()[form], "mine")
    assert (run.name, run.tag, run.topics) == ("mine", "mine", ("q1", "q 2"))
    assert run.documents == ["d2", "é3", "d1", "d1"]
    assert run.scores.tolist() == [2.5, 0.5, 0.5, -1.0]


def test_scattered_topics_and_numbers_as_ids():
    frame = polars.DataFrame({"topic": [2, 1, 2, 1], "docno": [10, 11, 12, 13], "score": [1, 2, 3, 4]})
    assert run_in_memory(frame, "x").to_frame().rows() == [
        ("2", "12", 3),
        ("2", "10", 1),
        ("1", "13", 4),
        ("1", "11", 2),
    ]
    assert run_in_memory({1: {7: np.float32(2)}}, "x").to_frame().rows() == [("1", "7", 2)]


IDS = st.text("abé0-", min_size=1, max_size=12)


@given(
    st.dictionaries(st.sampled_from(["1", "ä", "q"]), st.dictionaries(IDS, st.floats(-5, 5), min_size=1), min_size=1)
)
def test_a_dictionary_equals_its_file(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("run") / "a.run"
    lines = [f"{query} Q0 {document} 0 {score!r} t\n" for query, row in run.items() for document, score in row.items()]
    path.write_text("".join(lines))
    assert run_in_memory(run, "a").to_frame().equals(read_run(path).to_frame())


def test_scores_of_objects_and_files_agree(tmp_path):
    qrels = {"q1": {"d1": 2, "d2": 0, "x": 1}, "q3": {"d1": 1}}
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 y 2 2 t\nq1 Q0 x 3 1 t\n")
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, row in qrels.items() for d, g in row.items()))
    run = {"q1": {"d1": 3, "y": 2, "x": 1}}
    for measure in ("nDCG@10", "AP", "ERR@5"):
        filed = score_runs(tmp_path / "a.run", tmp_path / "qrels", measure)
        mixed = score_runs({"a": run, "file": tmp_path / "a.run"}, qrels, measure)
        assert mixed.systems == ("a", "file")
        np.testing.assert_array_equal(mixed.values, np.repeat(filed.values, 2, axis=0))
        assert score_runs(run, qrels, measure).systems == ("run",)


@pytest.mark.parametrize("grade", ["judgment", "judgement"])
def test_a_column_of_grades_by_either_spelling(grade):
    judged = polars.DataFrame({"topic": ["q"], "docno": ["d"], grade: [1]})
    assert score_runs({"a": {"q": {"d": 1.0}}}, judged, "nDCG@2")["a"].tolist() == [1]


def test_fractions_as_grades_are_gains():
    scores = score_runs({"a": {"q": {"d1": 2.0, "d2": 1.0}}}, {"q": {"d1": 0.25, "d2": 0.75}}, "nDCG@2")
    best, found = 0.75 + 0.25 / np.log2(3), 0.25 + 0.75 / np.log2(3)
    assert scores["a"][0] == pytest.approx(found / best, abs=1e-12)
    with pytest.raises(SurefootError, match="need whole numbers as grades"):
        score_runs({"a": {"q": {"d1": 2.0}}}, {"q": {"d1": 0.25}}, "Bpref")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "holds no documents"),
        ([], "holds no documents"),
        ({"q": "d1"}, "expected {query: {document: number}}; some query has no such dictionary"),
        ({"q": {"d1": "high"}}, "row 1: column 'score': expected a number, found 'high'"),
        ({"q": {"d1": float("nan")}}, "document 'd1' of topic 'q' has nan; expected a finite number"),
        ([("q",)], "expected records of a query, a document and a number"),
        ([("q", "d1", 1), ("q", "d1", 2)], "document 'd1' occurs more than once in topic 'q'; keep one"),
        (
            polars.DataFrame({"qid": ["q"], "score": [1]}),
            "no column of the document: rename one of qid, score",
        ),
        (polars.DataFrame({"qid": ["q"], "docno": ["d"], "score": ["x"]}), "row 1: column 'score': expected a number"),
        (polars.DataFrame({"qid": ["q"], "docno": [None], "score": [1]}), "row 1: the docno is empty"),
        (7, "expected a file, {query: {document: number}}, a frame or an iterable of records; found int"),
    ],
)
def test_bad_runs(source, message):
    with pytest.raises(InputError) as error:
        run_in_memory(source, "mine")
    assert str(error.value).startswith(f"mine: {message}")


def test_large_grades_are_refused():
    with pytest.raises(InputError, match=r"grades of at most 1e\+09"):
        qrels_in_memory({"q": {"d": 1e12}})


def test_runs_in_memory_need_names():
    with pytest.raises(SurefootError, match="give runs in memory by their names"):
        sources_of([ROWS])
    with pytest.raises(SurefootError, match=r"expected files, or {name: run}; got int"):
        sources_of(7)
    with pytest.raises(SurefootError, match="two runs are named 'a'"):
        score_runs([run_in_memory(RUN, "a"), run_in_memory(RUN, "a")], RUN, "RR")


def test_unknown_collections_of_ir_datasets():
    pytest.importorskip("ir_datasets", reason="ir_datasets is not installed")
    with pytest.raises(InputError, match="ir_datasets has no such collection"):
        irds_qrels("irds:nothing/such")
    with pytest.raises(InputError, match="has no judgments"):
        irds_qrels("irds:msmarco-passage")


@pytest.mark.parametrize("name", [None, float("nan"), "", "\ud800"])
def test_queries_and_documents_need_names(name):
    for source in ({name: {"d1": 1}}, {"q1": {name: 1}}, [(name, "d1", 1)], [("q1", name, 1)]):
        with pytest.raises(InputError, match=r"^mine: .*(is empty|expected names, as UTF-8 text or numbers)$"):
            run_in_memory(source, "mine")


def test_queries_that_are_the_same_text_are_refused():
    with pytest.raises(InputError, match="query '1' occurs more than once"):
        run_in_memory({1: {"d1": 1}, "1": {"d2": 1}}, "mine")


def test_numbers_beyond_all_are_refused():
    with pytest.raises(InputError, match="expected a number, found '1000"):
        run_in_memory({"q1": {"d1": 10**400}}, "mine")
