"""The formats that people have, each as small as its documentation shows it."""

import json

import polars
import pytest

from surefoot import score_runs
from surefoot.errors import InputError
from surefoot.io import formats
from surefoot.io.containers import Content
from surefoot.io.formats import Format
from surefoot.io.memory import run_in_memory
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


@pytest.mark.parametrize("read", [read_run, read_qrels])
@pytest.mark.parametrize(
    "text", ['{"q1": {"d1": 1}, "q1": {"d2": 1}}', '{"q1": {"d1": 1, "d1": 2}}', '{"q": "q1", "d": "d1", "q": "q2"}']
)
def test_a_repeated_name_in_json_is_refused(read, text, tmp_path):
    """Python and most readers keep the last value, so that a query or a document would be lost."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=r"the name '\w+' is repeated"):
        read(tmp_path / "a.json")


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
    assert run.name == name.rpartition(".")[0]


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


def test_blanks_around_ids_are_taken_off_in_parquet_and_frames(tmp_path):
    frame = polars.DataFrame({"qid": [" q 1", "q 1 "], "docno": ["d1\u00a0", "\td2"], "score": [1, 2]})
    frame.write_parquet(tmp_path / "a.parquet")
    assert rows(read_run(tmp_path / "a.parquet")) == RUN
    assert rows(run_in_memory(frame, "a")) == RUN


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
    monkeypatch.setattr(formats, "FORMATS", [ours, *formats.FORMATS])
    (tmp_path / "a.run").write_text("%ours\n")
    assert rows(read_run(tmp_path / "a.run")) == RUN


ORDERED = [("q 1", "d2"), ("q 1", "d1"), ("q2", "d9")]
HITS = '{"hits": {"hits": [{"_id": "d2", "_score": null}, {"_id": "d1", "_score": null}]}}'
HIT = '{"hits": {"total": {"value": 1}, "hits": [{"_id": "d9", "_score": 7.5}]}}'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lists.json", '{"q 1": ["d2", "d1"], "q2": ["d9"]}'),
        ("order.csv", "qid,docno\nq 1,d2\nq 1,d1\nq2,d9\n"),
        ("ranks.csv", "qid,rank,docno\nq2,1,d9\nq 1,2,d1\nq 1,1,d2\n"),
        ("ranks.jsonl", '{"qid": "q 1", "docno": "d1", "rank": 2}\n{"qid": "q 1", "docno": "d2", "rank": 1}\n'
                        '{"qid": "q2", "docno": "d9", "rank": 1}\n'),
        ("order.jsonl", '{"qid": "q 1", "docno": "d2"}\n{"qid": "q 1", "docno": "d1"}\n{"qid": "q2", "docno": "d9"}\n'),
        ("marco.tsv", "q 1\td2\t1\nq 1\td1\t2\nq2\td9\t1\n"),
        ("searches.json", f'{{"q 1": {HITS}, "q2": {HIT}}}'),
        ("snapshot.csv", "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\n"
                         "S,now,1,q 1,d2,1\nS,now,1,q 1,d1,2\nS,now,1,q2,d9,1\n"),
        ("experiment.json", '{"evaluationResultList": [{"searchText": "q 1", "documentIds": ["d2", "d1"]}, '
                            '{"searchText": "q2", "documentIds": ["d9"]}]}'),
    ],
)  # fmt: skip
def test_rankings_without_scores(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    found = sorted(rows(read_run(path)), key=lambda row: (row[0], -row[2]))
    assert [row[:2] for row in found] == ORDERED


@pytest.mark.parametrize(
    "content", [f'{{"took": 3, "responses": [{HITS}, {HIT}]}}', f"[{HITS}, {HIT}]", f"{HITS}\n{HIT}"]
)
def test_responses_that_do_not_name_their_queries_are_numbered(tmp_path, content):
    path = tmp_path / "msearch.json"
    path.write_text(content)
    run = read_run(path)
    assert (run.topics, run.documents) == (("1", "2"), ["d2", "d1", "d9"])
    assert run.notes == ("responses do not name their queries, which are numbered from 1 in their order",)


def test_one_response(tmp_path):
    path = tmp_path / "search.json"
    path.write_text(HIT)
    assert rows(read_run(path)) == [("1", "d9", 7.5)]


def test_a_response_that_is_an_error_is_refused(tmp_path):
    path = tmp_path / "msearch.json"
    path.write_text(f'{{"responses": [{HIT}, {{"error": {{"type": "index_not_found"}}, "status": 404}}]}}')
    with pytest.raises(InputError, match=r"response to query 2 is no answer: .*index_not_found"):
        read_run(path)


def test_a_document_twice_in_a_list_is_refused(tmp_path):
    path = tmp_path / "lists.json"
    path.write_text('{"q": ["d1", "d2", "d1"]}')
    with pytest.raises(InputError, match="document 'd1' occurs more than once"):
        read_run(path)


SNAPSHOTS = (
    "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\n"
    "Before,2026,1,red shoes,d1,1\nBefore,2026,1,red shoes,d2,2\n"
    "After,2027,1,red shoes,d2,1\nAfter,2027,1,red shoes,d1,2\n"
)
EXPERIMENT = {
    "hits": {"hits": [
        {"_source": {"searchConfigurationId": system, "searchText": "red shoes", "documentIds": documents}}
        for system, documents in (("Before", ["d1", "d2"]), ("After", ["d2", "d1"]))
    ]}
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), [("a.csv", SNAPSHOTS), ("a.json", json.dumps(EXPERIMENT))])
def test_a_file_of_two_systems(tmp_path, name, content):
    path, qrels = tmp_path / name, tmp_path / "case.csv"
    path.write_text(content)
    qrels.write_text("query,docid,rating\nred shoes,d2,3\nred shoes,d1,0\n")
    scores = score_runs(path, qrels, "RR")
    assert scores.to_dict() == {"Before": {"red shoes": 0.5}, "After": {"red shoes": 1.0}}
    assert read_run(path, system="After").documents == ["d2", "d1"]
    with pytest.raises(InputError, match="rankings of 2 systems: name one of Before, After"):
        read_run(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("basic.csv", "query,docid,rating\nunrated\nq 1,d1,0\nq 1,d2,3\nempty,,\nq 1,d7,\n"),
        ("detailed.csv", 'Team Name,Case Name,Case ID,Query Text,Doc ID,Title,Rating\n'
                         'T,"C, 1",1,q 1,d1,"A ""b"", c",0\n'
                         "T,C,1,q 1,d2,,3\nT,C,1,unrated,,,\n"),
        ("case.json", '{"case_id": 1, "queries": [{"query_text": "q 1", "ratings": [{"doc_id": "d1", "rating": 0}, '
                      '{"doc_id": "d2", "rating": 3}]}, {"query_text": "unrated", "ratings": []}]}'),
    ],
)  # fmt: skip
def test_judgments_of_quepid(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    assert rows(read_qrels(path)) == QRELS


def test_lines_of_quepid_keep_their_numbers(tmp_path):
    path = tmp_path / "basic.csv"
    path.write_text("query,docid,rating\nunrated\nq 1,d1,high\n")
    with pytest.raises(InputError, match=r"basic.csv:3: column 'rating': expected a number"):
        read_qrels(path)
    path.write_text("query,docid,rating\nq 1,d1\n")
    with pytest.raises(InputError, match=r"basic.csv:2: expected 3 columns"):
        read_qrels(path)
