import bz2
import gzip
import io
import json
import lzma
import sys

import lz4.frame
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import InputError, SurefootError
from surefoot.io.tables import read_scores, read_scores_by, scores_csv
from surefoot.scores import Scores

WIDE = "topic,bm25,dense\n1,0.1,0.3\n2,0.2,0.4\n"
TREC_EVAL = """\
num_ret               \t1\t1000
map                   \t1\t0.1000
ndcg_cut_10           \t1\t0.5000
num_ret               \t2\t1000
map                   \t2\t0.2000
ndcg_cut_10           \t2\t0.6000
runid                 \tall\tBM25
num_q                 \tall\t2
map                   \tall\t0.1500
gm_map                \tall\t0.1414
ndcg_cut_10           \tall\t0.5500
"""
GDEVAL = "runid,topic,ndcg@20,err@20\nBM25,1,0.50000,0.10000\nBM25,2,0.60000,0.20000\nBM25,amean,0.55000,0.15000\n"
NDEVAL = "runid,topic,ERR-IA@5,alpha-nDCG@5\nBM25,1,0.1,0.3\nBM25,2,0.2,0.4\nBM25,amean,0.15,0.35\n"
IR_MEASURES = """\
1\tAP\t0.1000
1\tnDCG@10\t0.5000
2\tAP\t0.2000
2\tnDCG@10\t0.6000
all\tAP\t0.1500
all\tnDCG@10\t0.5500
"""
JSONL = """\
{"query_id": "1", "measure": "AP", "value": 0.1}
{"query_id": "2", "measure": "AP", "value": 0.2}
{"query_id": "all", "measure": "AP", "value": 0.15000000000000002}
"""


@pytest.fixture
def file(tmp_path):
    def write(content, name="err20.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def check(scores, measure="err20", systems=("bm25", "dense"), topics=("1", "2"), values=((0.1, 0.2), (0.3, 0.4))):
    assert scores.systems == systems
    assert scores.topics == topics
    assert scores.values.tolist() == [list(row) for row in values]
    assert scores.measure == measure
    assert scores.notes == ()


def check_one(scores, measure, system, values=(0.1, 0.2)):
    check(scores, measure, (system,), values=(values,))


@pytest.mark.parametrize(
    "text",
    [
        WIDE,
        WIDE.replace("\n", "\r\n"),
        WIDE.replace("\n", "\r"),
        WIDE.replace(",", "\t"),
        WIDE.replace(",", ";"),
        WIDE.replace(",", " , "),
        WIDE.rstrip(),
        "\n \n" + WIDE.replace("2,0.2", "\n,,\n  \n2,0.2") + "\n\n",
        "\ufeff" + WIDE,
        '"topic","bm25","dense"\n"1","0.1","0.3"\n"2",0.2,0.4\n',
        "system,1,2\nbm25,0.1,0.2\ndense,0.3,0.4\n",
        "system\t1\t2\nbm25\t0.1\t0.2\ndense\t0.3\t0.4\n",
        "qid,run,score\n1,bm25,0.1\n2,bm25,0.2\n2,dense,0.4\n1,dense,0.3\n",
        '{"run": "bm25", "qid": 1, "score": 0.1}\n{"run": "bm25", "qid": 2, "score": 0.2}\n\n'
        '{"run": "dense", "qid": 1, "score": 0.3}\n{"run": "dense", "qid": 2, "score": 4e-1}\n',
    ],
)
def test_one_table_in_many_forms(file, text):
    check(read_scores(file(text)))
    check(read_scores(file(text), measure="ERR@20"), "ERR@20")


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".lz4", lz4.frame.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed(file, ending, pack):
    check(read_scores(file(pack(WIDE.encode()), "err20.csv" + ending)))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WIDE.encode())))
    check(read_scores("-"), "score")


def test_parquet(tmp_path):
    path = tmp_path / "err20.parquet"
    polars.read_csv(WIDE.encode()).write_parquet(path)
    check(read_scores(path))
    for kind in (int, str):  # pandas writes an index of consecutive numbers otherwise than one of text
        pandas.read_csv(io.StringIO(WIDE), dtype={"topic": kind}).set_index("topic").to_parquet(path)
        check(read_scores(path))
    polars.DataFrame({"topic": [1.0, 2.0], "bm25": [0.1, float("inf")]}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 2: column 'bm25': expected a finite number, found inf"):
        read_scores(path)


@pytest.mark.parametrize(("start", "stop"), [(0, 2), (10**30, 10**30 + 2), (2**63 - 1, 2**63 + 1)])
def test_an_index_of_pandas_is_no_column_twice_and_no_number_beyond_64_bits(tmp_path, start, stop):
    """Pandas itself writes a range that is called as a column is; other numbers are those of a damaged file."""
    path, kept = tmp_path / "scores.parquet", {"topic": ["q1", "q2"], "old": [0.1, 0.2]}
    kept = kept if start == 0 else {"old": kept["old"]}
    table = pyarrow.table(kept)
    index = {"kind": "range", "name": "topic", "start": start, "stop": stop, "step": 1}
    told = json.dumps({"index_columns": [index]}).encode()
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"pandas": told}), path)
    if start == 0:
        assert read_scores(path).topics == ("q1", "q2")
    else:
        with pytest.raises(InputError, match="index of pandas"):
            read_scores(path)


def test_topics_are_read_as_text(file):
    assert read_scores(file("topic,a\n007,0.1\n7,0.2\nNA,0.3\n1e3,0.4\n")).topics == ("1e3", "007", "7", "NA")


def test_trec_eval(file):
    check_one(read_scores(file(TREC_EVAL, "x.eval"), "map"), "map", "BM25")
    check_one(read_scores(file(TREC_EVAL, "x.eval"), "AP"), "AP", "BM25")
    check_one(read_scores(file(TREC_EVAL, "x.eval"), "nDCG@10"), "nDCG@10", "BM25", (0.5, 0.6))
    untagged = "".join(line for line in TREC_EVAL.splitlines(keepends=True) if "runid" not in line)
    check_one(read_scores(file(untagged, "dense.v1.eval.gz"), "AP"), "AP", "dense.v1")
    tagged_first = "runid all BM25\n" + untagged
    check_one(read_scores(file(tagged_first, "x.txt"), "AP"), "AP", "BM25")


def test_trec_eval_without_summaries(file):
    check_one(read_scores(file("map 1 0.1\nmap 2 0.2\n", "dense.txt")), "map", "dense")


def test_ir_measures_lines(file):
    check_one(read_scores(file(IR_MEASURES, "dense.tsv"), "ndcg_cut_10"), "ndcg_cut_10", "dense", (0.5, 0.6))
    alone = "".join(line for line in IR_MEASURES.splitlines(keepends=True) if "AP" in line)
    check_one(read_scores(file(alone, "dense.run.txt")), "AP", "dense.run")
    check_one(read_scores(file(alone.replace("all\tAP\t0.1500\n", ""), "dense.txt")), "AP", "dense")


def test_ir_measures_json(file):
    check_one(read_scores(file(JSONL, "dense.jsonl")), "AP", "dense")
    with pytest.raises(SurefootError, match="1 score missing: dense on 2"):
        read_scores(file(JSONL.replace("0.2", "NaN"), "dense.jsonl"))


def test_gdeval_and_ndeval(file):
    check_one(read_scores(file(GDEVAL), "err@20"), "err@20", "BM25")
    check_one(read_scores(file(GDEVAL), "ERR@20"), "ERR@20", "BM25")
    check_one(read_scores(file(GDEVAL), "ndcg@20"), "ndcg@20", "BM25", (0.5, 0.6))
    exponential = "nDCG(dcg='exp-log2')@20"
    check_one(read_scores(file(GDEVAL), exponential), exponential, "BM25", (0.5, 0.6))
    check_one(read_scores(file(NDEVAL), "alpha_nDCG@5"), "alpha_nDCG@5", "BM25", (0.3, 0.4))


def test_several_measures_at_once(file):
    both = read_scores_by(file(TREC_EVAL), ["nDCG@10", "AP"])
    assert list(both) == ["nDCG@10", "AP"]
    check_one(both["AP"], "AP", "BM25")
    assert list(read_scores_by(file(WIDE))) == ["err20"]
    assert list(read_scores_by(file(WIDE), ["ERR@20"])) == ["ERR@20"]


def test_several_files_are_aligned_by_topic(file):
    dense = file("2\tAP\t0.4\n1\tAP\t0.3\nall\tAP\t0.35\n", "dense.txt")
    bm25 = file("map 1 0.1\nmap 2 0.2\nmap all 0.15\n", "bm25.txt")
    check(read_scores([bm25, dense]), "map")
    check(read_scores([str(bm25), dense], "AP"), "AP")


def test_several_wide_tables_have_no_name_of_a_measure(file):
    check(read_scores([file("qid,bm25\n1,0.1\n2,0.2\n", "a.csv"), file("qid,dense\n2,0.4\n1,0.3\n", "b.csv")]), "score")


def test_topics_missing_from_a_file(file):
    paths = [file("qid,bm25\n1,0.1\n2,0.2\n", "a.csv"), file("qid,dense\n2,0.4\n3,\n", "b.csv")]
    with pytest.raises(SurefootError, match="3 scores missing: bm25 on 3, dense on 1, 3"):
        read_scores(paths)
    scores = read_scores(paths, missing="zero")
    assert scores.values.tolist() == [[0.1, 0.2, 0], [0, 0.4, 0]]
    assert scores.notes == ("3 missing scores filled with 0: bm25 on 3, dense on 1, 3",)
    assert read_scores(paths, missing="drop").topics == ("2",)


def test_margins_are_left_out():
    table = b"system,t1,t2,t3,total,mean\ns1,0.1,0.2,0.6,0.9,0.3\ns2,0.3,0.4,0.8,1.5,0.5\n"
    table += b"TOTAL,0.4,0.6,1.4,2.4,\nMEAN,0.2,0.3,0.7,,\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table)))
        scores = read_scores("-")
    assert (scores.systems, scores.topics) == (("s1", "s2"), ("t1", "t2", "t3"))
    assert scores.notes == (
        "'TOTAL' left out: not a system but the total of the others",
        "'MEAN' left out: not a system but the mean of the others",
        "'total' left out: not a topic but the total of the others",
        "'mean' left out: not a topic but the mean of the others",
    )


@pytest.mark.parametrize(
    ("text", "systems", "topics"),
    [
        ("topic,a,b,all\n1,0.5,0.7,0.1\n2,0.3,0.1,0.1\n", "a b all", "1 2"),
        ("topic,a,b,all\n1,0.5,0.7,0.6\n2,0.3,0.1,0.2\n", "a b", "1 2"),
        ("topic,a,b,all\n1,0.5,0.7,0.1\n2,0.3,0.1,0.1\nmean,0.4,0.4,0.1\n", "a b all", "1 2"),
        ("topic,a,b,all,Average\n1,0.5,0.7,0.0,0.4\n2,0.3,0.1,0.2,0.2\n", "a b all", "1 2"),
        ("topic,mean\n1,0.5\n2,0.3\n", "mean", "1 2"),
        ("topic,a\n1,0.5\n2,0.3\nall,0.9\n", "a", "1 2 all"),
        ("topic,a,b\n1,0.5,\n2,0.3,0.1\nsum,0.8,0.1\n", "a b", "2"),
    ],
)
def test_a_summary_is_known_by_its_values(file, text, systems, topics):
    scores = read_scores(file(text), missing="drop")
    assert (" ".join(scores.systems), " ".join(scores.topics)) == (systems, topics)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "is empty; a table of scores was expected"),
        (" \n\n", None, "is empty; a table of scores was expected"),
        ("topic,a\n\n", None, "there is a header but no row of scores"),
        ("topic\n1\n", 1, "the header has only 'topic' and no column of scores"),
        ("\n\n,a,b\n1,2,3\n", 3, "the first header cell is ''; it must say what the rows are: ..."),
        ("what is this\nno idea\n", 1, "the first header cell is 'what is this'; it must say what the rows are: ..."),
        ("topic,a,b\n1,2,3\n2,x,3\n", 3, "column 'a': expected a number, found 'x'"),
        ("topic\ta\tb\n1\t2\t3\n\n2\t3\t1.2.3\n", 4, "column 'b': expected a number, found '1.2.3'"),
        ('topic,a\n"two",1\n2,x\n', 3, "column 'a': expected a number, found 'x'"),
        (
            'topic,a,b\n"q1,0.1,0.2\nq2,0.3,0.4\nq3",0.5,0.6\n',
            2,
            "can't be read as cells of a table: a quote is not closed",
        ),
        ('topic,a\nq1,0.6"\n', 2, """column 'a': expected a number, found '0.6"'"""),
        ("topic;a\n1;0,5\n", 2, "column 'a': expected a number, found '0,5'"),
        ("topic,a\n1,inf\n", 2, "column 'a': expected a finite number, found inf"),
        ("topic,a\n1,0.5\n2,-1e999\n", 3, "column 'a': expected a finite number, found -inf"),
        ("topic,a,b\n1,2,3\n2,3\n", 3, "expected 3 columns as in the header, found 2"),
        ("topic,a,b\n1,2\n2,3,4\n", 2, "expected 3 columns as in the header, found 2"),
        ("topic,a,b\n1,2,3\n\n2,3,4,5\n", 4, "expected 3 columns as in the header, found 4"),
        ('topic,a,b\n1,2,3\n"2,3,4\n', 3, "can't be read as cells of a table: a quote is not closed"),
        ('topic,a,b\n"1",2,\n"2",3\n', 3, "expected 3 columns as in the header, found 2"),
        ("topic,a\n1,0.1\n1,0.2\n", 3, "a second row of topic '1'"),
        ("run,1\na,0.1\nb,0.1\n a,0.2\n", 4, "a second row of system 'a'"),
        ("topic,a,b,a\n1,2,3,4\n", None, "two columns of system 'a'"),
        ("run,1,\na,2,3\n", None, "column 3 has no name in the header; it should be a topic"),
        ("topic,a\n1,0.1\n,0.2\n", 3, "the topic is empty"),
        ("topic,MAX\n1,0.1\n", None, "MAX names a virtual baseline; rename the system of that name"),
        ("topic,a\n1,\n2,0.1\n", None, "1 score missing: a on 1; count ..."),
        (
            "run,qid,score\na,1,0.1\na,2,0.1\na,1,0.3\n",
            4,
            "a second score of system 'a' on topic '1'; if it was repeated, add a column 'trial'",
        ),
        (
            "run,seed,qid,score\na,7,1,0.1\na,8,1,0.1\n\na,7,1,0.3\n",
            5,
            "a second score of system 'a' on topic '1' in trial '7'",
        ),
        ("run,seed,qid,score\na,7,1,0.1\na,,1,0.1\n", 3, "the seed is empty"),
        ("run,qid,score\na,1,0.1\na,2,?\n", 3, "column 'score': expected a number, found '?'"),
        ("run,qid\na,1\n", 1, "a column of scores is needed beside run, qid: call it 'value'"),
        ("run,qid,metric,x\na,1,AP,1\n", 1, "a column of scores is needed beside run, qid, metric, x: call it 'value'"),
        (GDEVAL, None, "there are 2 measures; name one of ndcg@20, err@20"),
        (TREC_EVAL, None, "there are 3 measures; name one of num_ret, map, ndcg_cut_10"),
        ("map 1 0.1\n\nmap 2\n", 3, "expected measure, topic and value, found 2 columns"),
        ("map 1 0.1\n\nmap 2 x\n", 3, "column 'value': expected a number, found 'x'"),
        (
            "map 1 0.1\nmap 1 0.1\n",
            2,
            "a second score of system 'err20' on topic '1'; if it was repeated, add a column 'trial'",
        ),
        ("map all 0.1\n", None, "there are only summary rows; scores per topic are needed ..."),
        ("nDCG@10\t0.1\n", 1, "there are only summary lines; scores per topic are needed (-q in ir_measures)"),
        ("1 Q0 d1 1 9.5 bm25\n", 1, "looks like a TREC run, not scores; ..."),
        ("1 0 d1 2\n", 1, "looks like judgments (qrels), not scores; ..."),
        ('{"query_id": "1", "measure": "AP", "value": 0.1}\n\n{"query\n', 3, "expected a JSON object such as ..."),
        ('{"query_id": "1", "measure": "AP", "value": "x"}\n', 1, "column 'value': expected a number, found 'x'"),
        ('{"measure": "AP", "value": 0.1}\n', None, "the first header cell is 'measure'; ..."),
        ("{}\n", None, "there are no columns"),
        (b"topic,a\n1,0.1\n\xff,2\n", 3, "not UTF-8 text; save it with that encoding"),
        (b"map 1 0.1\nmap \xff 0.1\n", 2, "not UTF-8 text; save it with that encoding"),
        (b"topic,\xff\n1,0.1\n", 1, "not UTF-8 text; save it with that encoding"),
        ("topic,a\n1,0.1\r2,0.2\n", 2, "a carriage return inside the line; end all lines alike"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", None, "holds binary data, not a table as UTF-8 text"),
        (WIDE.encode("utf-16"), None, "holds binary data, not a table as UTF-8 text"),
        (b"PAR1 and so on", None, "damaged Parquet file (..."),
        (gzip.compress(WIDE.encode(), mtime=0)[:-9], None, "truncated or damaged gzip archive (..."),
    ],
)
def test_bad_files(file, content, line, message):
    path = file(content)
    with pytest.raises(InputError) as error:
        read_scores(path)
    assert error.value.path == str(path)
    assert error.value.line == line
    start, dots, _ = message.partition("...")
    assert error.value.message.startswith(start) if dots else error.value.message == message
    assert "\n" not in str(error.value)


def test_absent_measure(file):
    with pytest.raises(InputError, match=r"no measure 'RR'; there are num_ret, map, ndcg_cut_10$"):
        read_scores(file(TREC_EVAL), "RR")
    # gdeval's NDCG is another measure than trec_eval's of that name.
    with pytest.raises(InputError, match=r"no measure 'nDCG@20'.*; there are ndcg@20, err@20 \(gdeval's ndcg is "):
        read_scores(file(GDEVAL), "nDCG@20")
    twice = "run,qid,ndcg_cut_10,nDCG@10\na,1,0.1,0.2\n"
    with pytest.raises(InputError, match="more than one measure is called like 'NDCG@10'"):
        read_scores(file(twice), "NDCG@10")
    check(read_scores(file(twice), "nDCG@10"), "nDCG@10", ("a",), ("1",), [[0.2]])


def test_bad_sets_of_files(file):
    one, other = file(WIDE, "a.csv"), file(WIDE, "b.csv")
    with pytest.raises(InputError) as error:
        read_scores([one, other])
    assert str(error.value) == f"{other}: system 'bm25' is in {one} too; systems' names must differ"
    with pytest.raises(SurefootError, match="name at least one file"):
        read_scores([])
    ap, rr = file("map 1 0.1\n", "a.txt"), file("recip_rank 1 0.1\n", "b.txt")
    with pytest.raises(SurefootError, match=r"different measures \(map in .*a.txt, recip_rank in .*b.txt\)"):
        read_scores([ap, rr])
    for nameless in (WIDE, "run,qid,score\na,1,0.1\n"):
        with pytest.raises(InputError, match="holds one measure without a name"):
            read_scores_by(file(nameless), ["AP", "RR"])


def test_absent_file(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.csv: no such file"):
        read_scores(tmp_path / "nowhere.csv")


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.permutations(range(4)), st.sampled_from([",", "\t"]))
def test_every_digit_and_no_order(values, order, mark):
    lines = [f"s{i // 2}{mark}q{i % 2}{mark}{values[i]!r}\n" for i in order]
    with pytest.MonkeyPatch.context() as patch:
        content = "".join([f"system{mark}topic{mark}value\n", *lines]).encode()
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        scores = read_scores("-").select(["s0", "s1"], ["q0", "q1"])
    assert np.array_equal(scores.values.ravel(), values)


def test_a_topic_that_trec_eval_leaves_out_counts_0(tmp_path):
    for name, topics in {"old": ("1", "2"), "new": ("1",)}.items():
        lines = [f"map {topic} 0.5\n" for topic in topics]
        (tmp_path / f"{name}.eval").write_text("".join(["runid all x\n".replace("x", name), *lines, "map all 0.5\n"]))
    scores = read_scores([tmp_path / "old.eval", tmp_path / "new.eval"], "AP")
    assert scores["new"].tolist() == [0.5, 0.0]
    assert scores.notes == ("1 missing score filled with 0: new on 2",)


def test_too_many_columns_named_like_summaries_are_refused_at_once(file):
    names = ["avg", "Avg", "aVg", "avG", "AVg", "AvG", "aVG", "AVG", "mean", "Mean"]
    table = f"topic,a,b,{','.join(names)}\nq1{',0.5' * 12}\n"
    with pytest.raises(SurefootError, match="10 rows or columns are called like means or totals"):
        read_scores(file(table))


LONG_TRIALS = "system,trial,topic,AP\nnew,a10,q1,0.5\nnew,a2,q1,0.25\nold,a2,q1,0.125\nnew,a2,q2,1\nold,a2,q2,0\n"


@pytest.mark.parametrize("name", ["trial", "Epoch", "seed", "repeat", "replicate"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "polars", "pandas", "index"])
def test_a_column_of_trials_makes_repeats(tmp_path, name, kind):
    frame = polars.read_csv(LONG_TRIALS.replace("trial", name).encode())
    path = tmp_path / f"scores.{kind}"
    if kind in ("csv", "tsv"):
        frame.write_csv(path, separator="," if kind == "csv" else "\t")
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    whole = frame if kind == "polars" else frame.to_pandas() if kind == "pandas" else None
    if kind == "index":
        whole = frame.to_pandas().set_index(["system", "topic", name])
    scores = read_scores(path) if whole is None else Scores.from_frame(whole)
    check(scores, "AP", ("new", "old"), ("q1", "q2"), ((0.375, 1.0), (0.125, 0.0)))
    assert list(scores.trials) == ["new"]
    assert np.array_equal(scores.trials["new"], [[0.25, 1.0], [0.5, np.nan]], equal_nan=True)  # a2 before a10


def test_trials_of_one_system_without_its_name(file):
    scores = read_scores(file("qid,seed,score\nq1,1,0.5\nq1,2,0.25\nq2,1,0\n", "new.csv"))
    assert scores.trials["new"].shape == (2, 2)


def test_trials_called_differently_on_each_topic_are_numbered(file):
    rows = "".join(f"a,{topic},{7 * topic + trial},{trial / 8}\n" for topic in (1, 2, 3) for trial in (0, 1))
    scores = read_scores(file(f"run,topic,seed,value\n{rows}"))
    assert scores.trials["a"].tolist() == [[0.0] * 3, [0.125] * 3]


def test_a_gap_stays_with_its_trial(file):
    scores = read_scores(file("run,topic,trial,value\na,1,1,0.5\na,2,1,\na,1,2,0.25\na,2,2,0.75\n"))
    assert np.array_equal(scores.trials["a"], [[0.5, np.nan], [0.25, 0.75]], equal_nan=True)


def test_a_wide_table_may_have_a_system_called_seed(file):
    assert read_scores(file("topic,seed,trial\n1,0.1,0.2\n")).systems == ("seed", "trial")


def test_a_summary_row_has_no_trials(file):
    rows = "a,1,1,0.5\na,1,2,0.25\na,2,1,1\na,2,2,0.5\na,mean,1,0.75\na,mean,2,0.375\n"
    scores = read_scores(file(f"run,topic,trial,value\n{rows}"))
    assert scores.trials["a"].tolist() == [[0.5, 1.0], [0.25, 0.5]]


def test_trials_survive_a_csv(tmp_path):
    trials = {"new": [[0.1, 0.3], [0.2, np.nan]]}
    scores = Scores([[0.15, 0.3], [0.5, 0.6]], ["new", "old"], ["q1", "q2"], "AP", trials=trials)
    other = Scores([[0.5, 1.0], [0.25, 0.75]], ["new", "old"], ["q1", "q2"], "RR")
    (tmp_path / "one.csv").write_text(scores_csv(scores))
    (tmp_path / "two.csv").write_text(scores_csv(scores, other))
    for found in (read_scores(tmp_path / "one.csv"), read_scores(tmp_path / "two.csv", "AP")):
        assert found.values.tolist() == [[0.15000000000000002, 0.3], [0.5, 0.6]]
        assert np.array_equal(found.trials["new"], trials["new"], equal_nan=True)
    assert read_scores(tmp_path / "two.csv", "RR").trials == {}
