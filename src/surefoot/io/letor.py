"""Ranking data in text: LETOR's and SVMlight's lines of label, query, numbered features and comment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.io.files import read_bytes
from surefoot.io.letor_cache import SMALLEST, Entry
from surefoot.learn.data import RankingData, concat

MOST_WORKERS = 8


def read_letor(paths: PathLike | Iterable[PathLike], cache: bool = True, workers: int | None = None) -> RankingData:
    r"""Read ranking data: lines of ``label qid:ID feature:value ... # comment``, of one file or of several as one.

    Features are numbered from 0 if feature 0 occurs, else from 1. One that a line lacks is 0; NULL, NA and NaN are
    missing values. Document ids are taken from the comments (what follows ``docid =``, or else the first word) where
    every line has one. The lines of a query are brought together.

    The features are a dense matrix, or a scipy CSR array where the dense one would take more than 64 MB and more
    than four times the memory. With ``cache`` the result is kept in the user's cache folder, so that the next time
    nothing is parsed unless the file has changed. The number of ``workers``, threads, changes nothing but the time.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = file.write_text("2 qid:q7 1:0.5 3:4 #docid = d1\n0 qid:q7 2:1 #docid = d2\n")
    >>> data = read_letor(file)
    >>> data, data.labels, data.documents.to_list()
    (RankingData(1 query, 2 documents, 3 features), array([2., 0.], dtype=float32), ['d1', 'd2'])
    >>> data.features
    array([[0.5, 0. , 4. ],
           [0. , 1. , 0. ]], dtype=float32)
    """
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise SurefootError("no file of ranking data is named; name at least one")
    if workers is not None and workers < 1:
        raise SurefootError(f"workers must be at least 1; got {workers}")
    threads = workers or min(os.cpu_count() or 1, MOST_WORKERS)
    return _joined([_read(path, cache, threads) for path in files])


def _read(path: PathLike, cache: bool, workers: int) -> RankingData:
    entry = Entry.of(path) if cache else None
    kept = entry.load(str(path)) if entry else None
    if kept is not None:
        return kept
    from surefoot.io.letor_text import LetorText  # brings the compiler, which kept data can do without

    text = read_bytes(path)
    data = LetorText(path, text, workers).read()
    if entry and len(text) >= SMALLEST:
        entry.save(data)
    return data


def same_features(parts: Sequence[RankingData]) -> list[RankingData]:
    """The parts, each with the features of all: files where most values are 0 seldom end at the same one."""
    first = min(part.first_feature for part in parts)
    end = max(part.first_feature + part.features.shape[1] for part in parts)
    return [widened(part, first, end - first) for part in parts]


def widened(data: RankingData, first: int, width: int) -> RankingData:
    """The data with ``width`` features, numbered from ``first`` on; those that it lacks are 0."""
    rows, columns = data.features.shape
    before = data.first_feature - first
    if before < 0 or before + columns > width:
        raise SurefootError(
            f"{data.source}: features {data.first_feature} to {data.first_feature + columns - 1} are more than the "
            f"expected {first} to {first + width - 1}; leave the others out"
        )
    if columns == width:
        return data
    features: Any
    if isinstance(data.features, np.ndarray):
        features = np.zeros((rows, width), np.float32)
        features[:, before : before + columns] = data.features
    else:
        from scipy import sparse

        old = data.features
        features = sparse.csr_array((old.data, old.indices + before, old.indptr), shape=(rows, width))
    return replace(data, features=features, first_feature=first)


def _joined(parts: Sequence[RankingData]) -> RankingData:
    """The parts as if they were one file."""
    if len(parts) == 1:
        return parts[0]
    data = concat(same_features(parts))
    if len(set(data.queries)) == len(data):
        return data
    qid = np.repeat(np.array(data.queries), data.sizes)
    merged = RankingData.of(data.features, data.labels, qid, data.documents, source=data.source)
    return replace(merged, first_feature=data.first_feature)
