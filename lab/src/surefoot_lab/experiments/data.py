"""The data of an experiment, by name or by its files, and its folds."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from surefoot._process import generator
from surefoot._typing import IntArray
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.learn.data import RankingData
from surefoot.learn.joining import concat

FOLDERS = {"mq2008": "feature:25", "mslr-web10k": "feature:110", "mslr-sample": "feature:110"}
"""Data sets that come as LETOR files, and their BM25 feature (in MSLR that of the whole document)."""

COMPUTED = ("nfcorpus", "demo")
"""Data sets whose features are computed here."""

MSLR_QUERIES, MSLR_FEATURES = 10_000, 136
PART = re.compile(r"S(\d+)\.txt(\.\w+)?")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Ranking data, their single baseline if one is known, and the part of each query if the data come in parts.

    ``is_mslr`` says whether this is MSLR-WEB10K, the data of the published tables, by its size.
    """

    name: str
    data: RankingData
    baseline: str | None = None
    parts: IntArray | None = None
    is_mslr: bool = False


def load_data(names: Sequence[str]) -> Dataset:
    r"""Load a data set by name (mq2008, mslr-web10k, mslr-sample, nfcorpus, demo), a folder, or LETOR files.

    The parts of a folder are the test sets of Fold1, Fold2, ..., or S1.txt, S2.txt, ...; in any other folder all
    .txt files are read together.

    Parameters
    ----------
    names
        One name or folder, or the paths of files.

    Returns
    -------
    Dataset
        The data, with their baseline and parts where known.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "all.txt"
    >>> _ = file.write_text("1 qid:7 1:0.5 2:3\n0 qid:7 1:0.2 2:4\n")
    >>> load_data([str(file)]).data
    RankingData(1 query, 2 documents, 2 features)

    """
    if not names:
        raise SurefootError(f"no data: name {', '.join((*FOLDERS, *COMPUTED))}, a folder or files of LETOR lines")
    name = names[0]
    if len(names) == 1 and name in (*FOLDERS, *COMPUTED) and not Path(name).exists():
        return _load_known(name)
    if len(names) == 1 and Path(name).is_dir():
        return _load_folder(Path(name))
    from surefoot.learn.letor import read_letor

    return Dataset(Path(name).name, read_letor(list(names)))


def _load_known(name: str) -> Dataset:
    if name == "demo":
        return Dataset(name, _demo(), "feature:bm25")
    folder = _locate(name)
    if name == "nfcorpus":
        return Dataset(name, _nfcorpus(folder), "feature:bm25")
    return replace(_load_folder(folder), name=name, baseline=FOLDERS[name])


def _locate(name: str) -> Path:
    """The folder of a collection: below SUREFOOT_DATA, or in the cache."""
    from surefoot_lab.datasets import collections, locate

    below = Path(os.environ.get("SUREFOOT_DATA", "")) / name
    if "SUREFOOT_DATA" in os.environ and below.is_dir():
        return below
    registered = name in {known.name for known in collections()}
    found = locate(name) if registered else None
    if found is None:
        get = f"get it with: surefoot data get {name}, or " if registered else ""
        raise SurefootError(f"{name} is not on this machine; {get}put it in a folder {name} below SUREFOOT_DATA")
    return found


def _load_folder(folder: Path) -> Dataset:
    numbered = sorted(folder.glob("Fold*/test.txt*"), key=lambda path: (len(path.parent.name), path.parent.name))
    parts = {int(match[1]): path for path in folder.iterdir() if (match := PART.fullmatch(path.name))}
    if numbered:
        _validate_folds(folder, numbered)
        data, own = _read_parts([*numbered[1:], numbered[0]])  # fold 1 tests on the last part
        like_mslr = data.features.shape[1] == MSLR_FEATURES and len(data) <= MSLR_QUERIES
        baseline = FOLDERS["mslr-web10k"] if like_mslr else None
        return Dataset(folder.name, data, baseline, own, is_mslr=like_mslr and len(data) == MSLR_QUERIES)
    if len(parts) > 2:
        data, own = _read_parts([parts[number] for number in sorted(parts)])
        return Dataset(folder.name, data, parts=own)
    from surefoot.learn.letor import read_letor

    files = sorted(path for path in folder.iterdir() if ".txt" in path.suffixes)
    if not files:
        raise InputError(folder, "holds no .txt files of LETOR lines, nor Fold1, Fold2, ... with a test.txt each")
    return Dataset(folder.name, read_letor(files))


def _validate_folds(folder: Path, numbered: Sequence[Path]) -> None:
    names = [path.parent.name for path in numbered]
    if names != [f"Fold{number + 1}" for number in range(len(names))] or len(names) < 3:
        raise InputError(folder, f"expected Fold1, Fold2, Fold3 and so on, each with a test.txt; found {listed(names)}")


def _read_parts(files: Sequence[Path]) -> tuple[RankingData, IntArray]:
    """The queries of all files, and the index of the file that each comes from."""
    from surefoot.learn.joining import same_features
    from surefoot.learn.letor import read_letor

    read = same_features([read_letor(path) for path in files])
    data = concat(read)
    if len(set(data.queries)) < len(data):
        seen: set[str] = set()
        twice = next(query for query in data.queries if query in seen or seen.add(query))  # type: ignore[func-returns-value]
        raise InputError(files[0].parent, f"query {twice} is in more than one part; each may be tested once")
    return data, np.repeat(np.arange(len(read)), [len(part) for part in read])


def _demo() -> RankingData:
    from surefoot_lab.demo.task import collection
    from surefoot_lab.retrieval.features import ranking_data

    return ranking_data(collection())


def _nfcorpus(folder: Path) -> RankingData:
    from surefoot_lab.retrieval.collection import nfcorpus
    from surefoot_lab.retrieval.features import ranking_data

    return concat([ranking_data(half) for half in nfcorpus(folder)])


@dataclass(frozen=True, eq=False)
class Fold:
    """The indices of the queries to train on, to validate on and to test on."""

    train: IntArray
    valid: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Split:
    """The folds; each query outside ``held_out`` is in one test set. ``held_out`` has no queries to test on."""

    folds: tuple[Fold, ...]
    held_out: Fold

    @property
    def tested(self) -> IntArray:
        """The queries of all test sets, in the order of the data."""
        return np.sort(np.concatenate([fold.test for fold in self.folds]))


def split(queries: int, folds: int, held_out: float = 0.0, seed: int = 0, own: IntArray | None = None) -> Split:
    """Assign queries to folds of equal size at random, or by the parts of the data that they belong to (``own``).

    As in LETOR, fold 1 of 5 trains on parts 1 to 3, validates on 4 and tests on 5; fold 2 trains on 2 to 4, and so
    on in rotation. The held-out fraction is drawn at random, the same from each of the data's own parts, and then
    divided in two thirds to train and one third to validate.

    >>> found = split(10, folds=5, seed=1)
    >>> [fold.test.tolist() for fold in found.folds]
    [[1, 3], [2, 8], [4, 5], [7, 9], [0, 6]]
    """
    random = generator(seed)
    order = random.permutation(queries)
    count = folds if own is None else int(own.max()) + 1
    grouped = [order] if own is None else [order[own[order] == part] for part in range(count)]
    ends = np.round(held_out * np.cumsum([0, *(len(group) for group in grouped)])).astype(np.int64)
    counts = np.diff(ends).tolist()
    rest = [group[number:] for group, number in zip(grouped, counts, strict=True)]
    parts = [rest[0][part::count] for part in range(count)] if own is None else rest
    if min(map(len, parts)) == 0:
        raise SurefootError(f"{counted(queries, 'query')} are too few for {count} folds; give more, or make fewer")
    held = random.permutation(np.concatenate([group[:number] for group, number in zip(grouped, counts, strict=True)]))
    two_thirds = round(len(held) * 2 / 3)
    if held_out and not 0 < two_thirds < len(held):
        raise SurefootError(
            f"{counted(queries, 'query')} are too few to hold out a fraction of {held_out:g}; give more"
        )
    return Split(
        tuple(_fold(parts, first) for first in range(count)),
        Fold(np.sort(held[:two_thirds]), np.sort(held[two_thirds:]), np.zeros(0, np.int64)),
    )


def _fold(parts: Sequence[IntArray], first: int) -> Fold:
    """Train on the parts from ``first`` on, in rotation, except the last two."""
    rotated = [*parts[first:], *parts[:first]]
    return Fold(np.sort(np.concatenate(rotated[:-2])), np.sort(rotated[-2]), np.sort(rotated[-1]))
