import numpy as np
import pytest
from surefoot_lab.demo.files import write
from surefoot_lab.retrieval.models import MODELS
from surefoot_lab.retrieval.ranking import rank

from surefoot import read_letor
from surefoot.errors import SurefootError


def parsed(path):
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    assert {len(row) for row in rows} == {6}
    return rows


def test_files(small, tmp_path):
    files = write(tmp_path / "new" / "demo", small)
    assert files.qrels.read_text().splitlines()[0] == "q1 0 shop.Apple 4"
    assert files.queries.read_text().splitlines() == ["q1\tapple plum", "q2\teat fig fig", "q3\tzebra"]
    assert files.documents.read_text().splitlines()[1] == "shop.Pear\tpear plum"
    assert list(files.runs) == list(MODELS)
    made = sorted(path.name for path in files.directory.rglob("*") if path.is_file())
    runs = [f"{name}.run" for name in MODELS]
    assert made == sorted(["qrels.txt", "queries.tsv", "documents.tsv", "train.txt.gz", "test.txt.gz", *runs])
    parts = [read_letor(files.letor[part]) for part in ("train", "test")]
    assert sorted(query for part in parts for query in part.queries) == ["q1", "q2"]
    for part in parts:
        own = [row for row in parsed(files.runs["BM25"]) if row[0] == part.queries[0]]
        found = dict(zip(part.documents, part.features[:, 0].tolist(), strict=True))
        assert found == pytest.approx({row[2]: float(row[4]) for row in own}, abs=1e-4)


@pytest.mark.parametrize("system", MODELS)
def test_a_run_is_in_the_order_of_its_scores(small, tmp_path, system):
    rows = parsed(write(tmp_path, small).runs[system])
    assert {row[5] for row in rows} == {system}
    for topic in ("q1", "q2"):
        own = [row for row in rows if row[0] == topic]
        assert [int(row[3]) for row in own] == list(range(1, len(own) + 1))
        assert own == sorted(own, key=lambda row: (float(row[4]), row[2]), reverse=True)


def test_writing_again_gives_the_same_bytes(small, tmp_path):
    one, two = write(tmp_path / "one", small), write(tmp_path / "two", small)
    write(tmp_path / "two", small)
    for system in MODELS:
        assert one.runs[system].read_bytes() == two.runs[system].read_bytes()


def test_a_file_is_whole_or_not_there(small, tmp_path, monkeypatch):
    def broken(task):
        yield "q1 0 shop.Apple 4\n"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("surefoot_lab.demo.files.qrels_lines", broken)
    with pytest.raises(SurefootError, match="No space left on device; name another folder"):
        write(tmp_path, small)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["documents.tsv", "queries.tsv"]


def test_files_of_others_are_not_overwritten(small, tmp_path):
    (tmp_path / "qrels.txt").write_text("precious")
    with pytest.raises(SurefootError, match="is there already, and not from a demo; name another folder"):
        write(tmp_path, small)
    assert (tmp_path / "qrels.txt").read_text() == "precious"


def test_a_file_in_the_way_is_refused(small, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(SurefootError, match="can't write the demo to"):
        write(tmp_path / "taken", small)


def test_ranking_of_the_library(library):
    rankings = rank(library)
    assert list(rankings) == list(MODELS)
    for ranking in rankings.values():
        found = ranking["builtins.str.partition"]
        assert len(found) <= 20
        assert np.all(np.diff([score for _, score in found]) <= 0)
    first = [rankings["BM25"][topic][0][0] == topic for topic in library.queries]
    assert 0.2 < np.mean(first) < 0.8


def test_an_edited_file_is_kept(small, tmp_path):
    files = write(tmp_path / "demo", small)
    write(tmp_path / "demo", small)  # the same again
    files.queries.write_text("q1\tmine\n")
    with pytest.raises(SurefootError, match="has another content"):
        write(tmp_path / "demo", small)
    assert files.queries.read_text() == "q1\tmine\n"
