"""The data of an experiment by a word or by its files, with what is known of it: its baseline, its own folds."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError, SurefootError, listed
from surefoot.learn.data import RankingData, concat
from surefoot.research.experiments.folds import Ints

FOLDERS = {"mq2008": "feature:25", "mslr-web10k": "feature:110", "mslr-sample": "feature:110"}
"""Data that lie in a folder, and their BM25 (in MSLR that of the whole document)."""

MADE = ("nfcorpus", "demo")
"""Data whose features are computed here."""

MSLR_QUERIES, MSLR_FEATURES = 10_000, 136
PART = re.compile(r"S(\d+)\.txt(\.\w+)?")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Ranking data, the word for their single baseline if one is known, and the part of each query if they have parts.

    ``is_mslr`` says whether it is MSLR-WEB10K, the data of the published tables, by its queries and features.
    """

    name: str
    data: RankingData
    baseline: str | None = None
    parts: Ints | None = None
    is_mslr: bool = False

    def with_query_max(self, baseline: str) -> Dataset:
        """The data with one more feature: the largest value that the baseline, a feature, has for the query."""
        kind, _, feature = baseline.partition(":")
        if kind != "feature":
            raise SurefootError(f"this protocol adds the query's largest baseline score; {baseline} is no feature")
        data = self.data
        largest = np.repeat(np.maximum.reduceat(data.column(feature), data.bounds[:-1]), data.sizes)
        names = None if data.feature_names is None else (*data.feature_names, "query.max")
        features: Any
        if isinstance(data.features, np.ndarray):
            features = np.column_stack([data.features, largest])
        else:
            from scipy import sparse

            features = sparse.csr_array(sparse.hstack([data.features, sparse.csr_array(largest[:, np.newaxis])]))
        return replace(self, data=replace(data, features=features, feature_names=names))


def load_data(words: Sequence[str]) -> Dataset:
    """The data of a word (mq2008, mslr-web10k, mslr-sample, nfcorpus, demo), of a folder, or of LETOR files.

    A folder with Fold1, Fold2, ... has its test sets as parts, one with S1.txt, S2.txt, ... those; of any other all
    its .txt files are taken together.
    """
    if not words:
        raise SurefootError(f"no data: name {', '.join((*FOLDERS, *MADE))}, a folder or files of LETOR lines")
    word = words[0]
    if len(words) == 1 and word in (*FOLDERS, *MADE) and not Path(word).exists():
        return _known(word)
    if len(words) == 1 and Path(word).is_dir():
        return _of_folder(Path(word))
    from surefoot.io.letor import read_letor

    return Dataset(Path(word).name, read_letor(list(words)))


def _known(word: str) -> Dataset:
    if word == "demo":
        return Dataset(word, _demo(), "feature:bm25")
    folder = _locate(word)
    if word == "nfcorpus":
        return Dataset(word, _nfcorpus(folder), "feature:bm25")
    found = _of_folder(folder)
    return replace(found, name=word, baseline=FOLDERS[word])


def _locate(word: str) -> Path:
    """The folder of a collection: below SUREFOOT_DATA, or fetched earlier."""
    from surefoot.research.datasets import collections, locate

    below = Path(os.environ.get("SUREFOOT_DATA", "")) / word
    if "SUREFOOT_DATA" in os.environ and below.is_dir():
        return below
    registered = word in {known.name for known in collections()}
    found = locate(word) if registered else None
    if found is None:
        get = f"get it with: surefoot data get {word}, or " if registered else ""
        raise SurefootError(f"{word} is not on this machine; {get}put it in a folder {word} below SUREFOOT_DATA")
    return found


def _of_folder(folder: Path) -> Dataset:
    numbered = sorted(folder.glob("Fold*/test.txt*"), key=lambda path: (len(path.parent.name), path.parent.name))
    parts = {int(match[1]): path for path in folder.iterdir() if (match := PART.fullmatch(path.name))}
    if numbered:
        _check_around(folder, numbered)
        data, own = _by_parts([*numbered[1:], numbered[0]])  # fold 1 tests on the last part
        like_mslr = data.features.shape[1] == MSLR_FEATURES and len(data) <= MSLR_QUERIES
        baseline = FOLDERS["mslr-web10k"] if like_mslr else None
        return Dataset(folder.name, data, baseline, own, is_mslr=like_mslr and len(data) == MSLR_QUERIES)
    if len(parts) > 2:
        data, own = _by_parts([parts[number] for number in sorted(parts)])
        return Dataset(folder.name, data, parts=own)
    from surefoot.io.letor import read_letor

    files = sorted(path for path in folder.iterdir() if ".txt" in path.suffixes)
    if not files:
        raise InputError(folder, "holds no .txt files of LETOR lines, nor Fold1, Fold2, ... with a test.txt each")
    return Dataset(folder.name, read_letor(files))


def _check_around(folder: Path, numbered: Sequence[Path]) -> None:
    names = [path.parent.name for path in numbered]
    if names != [f"Fold{number + 1}" for number in range(len(names))] or len(names) < 3:
        raise InputError(folder, f"expected Fold1, Fold2, Fold3 and so on, each with a test.txt; found {listed(names)}")


def _by_parts(files: Sequence[Path]) -> tuple[RankingData, Ints]:
    """The queries of all files, and which file each is from."""
    from surefoot.io.letor import read_letor, same_features

    read = same_features([read_letor(path) for path in files])
    data = concat(read)
    if len(set(data.queries)) < len(data):
        seen: set[str] = set()
        twice = next(query for query in data.queries if query in seen or seen.add(query))  # type: ignore[func-returns-value]
        raise InputError(files[0].parent, f"query {twice} is in more than one part; each may be tested once")
    return data, np.repeat(np.arange(len(read)), [len(part) for part in read])


def _demo() -> RankingData:
    from surefoot.research.demo.task import collection
    from surefoot.research.retrieval.features import ranking_data

    return ranking_data(collection())


def _nfcorpus(folder: Path) -> RankingData:
    from surefoot.research.retrieval.corpora import nfcorpus
    from surefoot.research.retrieval.features import ranking_data

    return concat([ranking_data(half) for half in nfcorpus(folder)])
