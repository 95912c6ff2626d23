"""The formats that people have, each as small as its documentation shows it."""

import json

import polars
import pytest

from surefoot.errors import InputError
from surefoot.io import contents
from surefoot.io.contents import Content, Format
from surefoot.io.trec import read_qrels, read_run

QRELS = [("q 1", "d2", 3), ("q 1", "d1", 0)]


def rows(qrels):
    return qrels.to_frame().rows()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("beir.tsv", "query-id\tcorpus-id\tscore\nq 1\td1\t0\nq 1\td2\t3\n"),
        ("quepid.csv", 'query,docid,rating\n"q 1",d1,0\n"q 1",d2,3\n'),
        ("spaces.csv", "query, docid, rating\nq 1, d1, 0\n q 1 , d2 , 3\n"),
        ("excel.csv", '\ufeffquery;docid;rating\n"q 1";d1;0\n"q 1";d2;3\n'),
        ("tabs.qrels", "q 1\t0\td1\t0\nq 1\t0\td2\t3\n"),
        ("ranx.json", '{"q 1": {"d1": 0, "d2": 3}}'),
        ("lines.jsonl", '{"qid": "q 1", "docno": "d1", "label": 0}\n{"qid": "q 1", "docno": "d2", "label": 3}\n'),
        (
            "rank_eval.json",
            '{"requests": [{"id": "q 1", "request": {}, "ratings": [{"_index": "i", "_id": "d1", "rating": 0}, '
            '{"_index": "i", "_id": "d2", "rating": 3}]}], "metric": {}}',
        ),
        (
            "response.json",
            '{"metric_score": 1, "details": {"q 1": {"hits": [{"hit": {"_id": "d2", "_score": 2}, "rating": 3}, '
            '{"hit": {"_id": "d1", "_score": 1}, "rating": 0}, {"hit": {"_id": "d9", "_score": 1}, "rating": null}]}}}',
        ),
        (
            "opensearch.json",
            '{"hits": {"hits": [{"_source": {"name": "n", "judgmentRatings": [{"query": "q 1", "ratings": '
            '[{"docId": "d1", "rating": "0.000"}, {"docId": "d2", "rating": "3.000"}]}]}}]}}',
        ),
    ],
)  # fmt: skip
def test_judgments(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert rows(read_qrels(path)) == QRELS


def test_judgment_lists_of_elasticsearch_ltr(tmp_path):
    path = tmp_path / "judgments.txt"
    path.write_text(
        "# qid:1: rambo\n# qid:2: rocky\n4 qid:1 # 7555 Rambo\n0 qid:1 1:2.5 # 1370\n\n3\tqid:2 #docid = 60375 x\n"
    )
    assert rows(read_qrels(path)) == [("1", "7555", 4), ("1", "1370", 0), ("2", "60375", 3)]


RUN = [("q 1", "d2", 2.0), ("q 1", "d1", 1.0)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("beir.json", '{"q 1": {"d1": 1.0, "d2": 2.0}}'),
        ("table.csv", "qid,docno,rank,score\nq 1,d1,2,1\nq 1,d2,1,2\n"),
        ("tabs.run", "q 1\tQ0\td1\t2\t1\tt\nq 1\tQ0\td2\t1\t2\tt\n"),
        (
            "response.json",
            '{"details": {"q 1": {"hits": [{"hit": {"_id": "d2", "_score": 2}}, '
            '{"hit": {"_id": "d1", "_score": 1}}]}}}',
        ),
    ],
)  # fmt: skip
def test_runs(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    run = read_run(path)
    assert rows(run) == RUN
    assert run.name == name.rpartition(".")[0] or name == "table.csv"


def test_hits_without_scores_keep_their_order(tmp_path):
    path = tmp_path / "sorted.json"
    hits = [{"hit": {"_id": name, "_score": None}} for name in ("z", "a", "m")]
    path.write_text(json.dumps({"details": {"q": {"hits": hits}}}))
    assert read_run(path).documents == ["z", "a", "m"]


def test_parquet_runs(tmp_path):
    path = tmp_path / "dense.parquet"
    polars.DataFrame({"q_id": ["q 1", "q 1"], "doc_id": ["d1", "d2"], "score": [1.0, 2.0]}).write_parquet(path)
    run = read_run(path)
    assert (run.name, rows(run)) == ("dense", RUN)


def test_predictions_of_mteb_name_their_model(tmp_path):
    path = tmp_path / "NFCorpus_predictions.json"
    content = {
        "mteb_model_meta": {"model_name": "org/model", "revision": "1"},
        "default": {"test": {"q 1": {"d1": 1, "d2": 2}}},
    }
    path.write_text(json.dumps(content))
    run = read_run(path)
    assert (run.name, rows(run)) == ("model", RUN)
    content["default"]["dev"] = {}
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="holds predictions of default/test, default/dev; keep one"):
        read_run(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"q": {"d1": 1.0}', "damaged JSON"),
        ('{"q": 1}', "expected {query: {document: number}}"),
        ("qid,docno,score\nq,d1,high\n", r"a.run:2: column 'score': expected a number, found 'high'"),
        (b"PAR1 and no more", "damaged Parquet file"),
        ("qid,docno,score", "there is a header but no row"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "a.run"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as error:
        read_run(path)
    assert "\n" not in str(error.value)


def test_stray_quotes_do_not_swallow_lines(tmp_path):
    path = tmp_path / "qrels.tsv"
    path.write_text('query-id\tcorpus-id\tscore\nq1\t"d1\t2\nq1\td2"\t0\nq2\td9\t1\n')
    with pytest.raises(InputError, match=r"qrels.tsv:2: .*a quote is not closed"):
        read_qrels(path)


@pytest.mark.parametrize(("line", "found"), [("q1\td1", 2), ("q1\td1\t2\t", 4), ("q1\td1\t2\tx", 4)])
def test_ragged_lines_are_refused(tmp_path, line, found):
    path = tmp_path / "qrels.tsv"
    path.write_text(f"query-id\tcorpus-id\tscore\nq1\td0\t1\n{line}")
    with pytest.raises(InputError, match=f"qrels.tsv:3: expected 3 columns as in the header, found {found}"):
        read_qrels(path)


BLANKS = {
    "a.json": '{" q 1 ": {"d1 ": 1, "\u00a0d2": 2}}',
    "a.jsonl": '{"qid": " q 1", "docno": "d1 ", "score": 1}\n{"qid": "q 1", "docno": "\u3000d2", "score": 2}\n',
    "a.csv": "qid,docno,score\n q 1 ,d1\u00a0, 1\nq 1,\td2,2 \n",
    "a.tsv": "qid\tdocno\tscore\nq 1 \t d1\t1\nq 1\td2\u2003\t2\n",
    "a.run": "q 1\tQ0\t d1 \t2\t1\tt\nq 1 \tQ0\td2\t1\t2\tt\n",
}


@pytest.mark.parametrize("name", BLANKS)
def test_blanks_around_ids_are_taken_off_in_every_container(tmp_path, name):
    (tmp_path / name).write_text(BLANKS[name], encoding="utf-8")
    assert rows(read_run(tmp_path / name)) == RUN


def test_json_lines_of_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"qid": "q", "docno": "d", "score": 2}\n')
    assert rows(read_run(tmp_path / "a.jsonl")) == [("q", "d", 2.0)]
    assert rows(read_qrels(tmp_path / "a.jsonl")) == [("q", "d", 2.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [("q1,d1,x\n", "score': expected a number, found 'x'"), ("q1,,1\n", "docno is empty")],
)
def test_errors_in_tables_have_their_line(tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_text(f"qid,docno,score\nq1,d0,1\n\n{content}")
    with pytest.raises(InputError, match=f"a.csv:4: .*{message}"):
        read_run(path)


def test_a_format_is_one_value(tmp_path, monkeypatch):
    ours = Format(
        "ours", "run", lambda source: source.first == b"%ours", lambda source: Content({"q 1": {"d1": 1, "d2": 2}})
    )
    monkeypatch.setattr(contents, "FORMATS", [ours, *contents.FORMATS])
    (tmp_path / "a.run").write_text("%ours\n")
    assert rows(read_run(tmp_path / "a.run")) == RUN
