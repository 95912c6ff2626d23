"""Data by word, folder or file."""

from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.experiments.data import load_data, split

from surefoot.errors import SurefootError
from surefoot.learn.letor import read_letor


def test_folds_of_a_folder_are_its_files(mslr: Path) -> None:
    found = load_data([str(mslr)])
    assert (found.is_mslr, found.baseline, len(found.data)) == (False, "feature:110", 40)
    for number, fold in enumerate(split(len(found.data), 5, own=found.parts).folds):
        for name, places in {"train": fold.train, "vali": fold.valid, "test": fold.test}.items():
            expected = read_letor(mslr / f"Fold{number + 1}" / f"{name}.txt")
            assert sorted(found.data.queries[place] for place in places) == sorted(expected.queries)


@pytest.mark.parametrize(("queries", "is_it"), [(39, False), (40, True), (41, False)])
def test_only_the_whole_of_mslr_is_mslr(queries: int, is_it: bool, mslr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot_lab.experiments.data.MSLR_QUERIES", queries)
    assert load_data([str(mslr)]).is_mslr is is_it


def test_parts_in_files(tmp_path: Path) -> None:
    for part in (1, 2, 3, 10):
        (tmp_path / f"S{part}.txt").write_text(f"1 qid:{part} 1:0.5\n0 qid:{part} 1:0.25\n")
    found = load_data([str(tmp_path)])
    assert found.data.queries == ("1", "2", "3", "10")
    assert found.parts is not None
    assert found.parts.tolist() == [0, 1, 2, 3]


def test_a_folder_without_parts_and_files(tmp_path: Path, small: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n")
    (tmp_path / "b.txt").write_text("0 qid:2 1:0.5\n")
    assert load_data([str(tmp_path)]).data.queries == ("1", "2")
    found = load_data([str(small)])
    assert (len(found.data), found.parts, found.baseline) == (40, None, None)


def test_mq2008_has_its_own_folds(data: Path) -> None:
    found = load_data(["mq2008"])
    assert (len(found.data), found.baseline, found.is_mslr) == (784, "feature:25", False)
    assert found.parts is not None
    assert np.bincount(found.parts).tolist() == [157, 157, 157, 157, 156]


def test_wrong_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path))
    with pytest.raises(SurefootError, match="no data: name mq2008"):
        load_data([])
    with pytest.raises(SurefootError, match="get it with: surefoot data get mslr-web10k"):
        load_data(["mslr-web10k"])
    with pytest.raises(SurefootError, match="nfcorpus is not on this machine; put it in a folder"):
        load_data(["nfcorpus"])
    with pytest.raises(SurefootError, match=r"holds no \.txt files"):
        load_data([str(tmp_path)])
    for name in ("Fold1", "Fold3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(SurefootError, match="expected Fold1, Fold2, Fold3"):
        load_data([str(tmp_path)])
    (tmp_path / "Fold2").mkdir()
    (tmp_path / "Fold2" / "test.txt").write_text("1 qid:1 1:0.5\n")
    with pytest.raises(SurefootError, match="query 1 is in more than one part"):
        load_data([str(tmp_path)])
