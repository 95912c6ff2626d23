import gzip
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from surefoot_lab.retrieval.collection import Collection, nfcorpus
from surefoot_lab.retrieval.features import ranking_data

from surefoot.errors import InputError

PARTS = {
    "docs-1.gz": "MED-1\tgreen tea\nMED-2\tblack tea",
    "docs-2.gz": "MED-2\tblack tea\nMED-3\tcoffee",
    "train.titles.queries.gz": "PLAIN-1\ttea ?\n",
    "train.3-2-1.qrel.gz": "PLAIN-1\t0\tMED-1\t3\nPLAIN-1\t0\tMED-9\t2\n",
    "dev.titles.queries.gz": "PLAIN-2\tgreen coffee\n",
    "dev.3-2-1.qrel.gz": "PLAIN-2\t0\tMED-3\t1\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in PARTS.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_the_parts_are_put_together(folder):
    documents = {"MED-1": "green tea", "MED-2": "black tea", "MED-3": "coffee"}
    train, dev = nfcorpus(folder)
    assert train == Collection(documents, {"PLAIN-1": "tea ?"}, {"PLAIN-1": {"MED-1": 3, "MED-9": 2}}, named=False)
    assert dev == Collection(documents, {"PLAIN-2": "green coffee"}, {"PLAIN-2": {"MED-3": 1}}, named=False)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("docs-2.gz", "MED-2 black tea\n", r"docs-2.gz:1: expected 2 cells between tabs, found 1"),
        ("dev.3-2-1.qrel.gz", "P\t0\tM\t1\nP\t0\tM\t-1\n", r"qrel.gz:2: expected a grade of 0 or more, found '-1'"),
    ],
)
def test_a_line_that_is_wrong(folder, name, text, message):
    (folder / name).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=message):
        nfcorpus(folder)


def test_a_file_that_is_wrong(folder):
    path = folder / "train.3-2-1.qrel.gz"
    for bad in (path.read_bytes()[:-12], b"plain text", gzip.compress(b"\xff\t0\tM\t1")):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"can't read this part of NFCorpus .*; fetch the file again"):
            nfcorpus(folder)
    path.unlink()
    with pytest.raises(InputError, match="No such file"):
        nfcorpus(folder)


@pytest.fixture(scope="module")
def halves(data):
    return nfcorpus(data / "nfcorpus")


def test_sizes(halves):
    train, dev = halves
    assert (len(train.queries), len(dev.queries), len(train.documents)) == (2594, 325, 3395)
    assert train.documents == dev.documents
    assert train.queries.keys() == train.qrels.keys()
    assert dev.queries.keys() == dev.qrels.keys()
    assert not train.queries.keys() & dev.queries.keys()
    assert train.qrels["PLAIN-3"]["MED-2436"] == 3
    assert {grade for grades in train.qrels.values() for grade in grades.values()} == {1, 2, 3}


def test_features_of_both_halves_are_over_the_same_documents(halves):
    train, dev = (replace(half, documents=dict(islice(half.documents.items(), 500))) for half in halves)
    asked = sorted(dev.queries)[:20]
    own = ranking_data(dev, asked)
    queries = dict(islice(train.queries.items(), 20)) | {topic: dev.queries[topic] for topic in asked}
    among = ranking_data(replace(train, queries=queries, qrels=train.qrels | dev.qrels))
    assert len(own) > 10
    assert among.select([among.queries.index(topic) for topic in own.queries]).fingerprint == own.fingerprint
    assert np.isfinite(among.features).all()
