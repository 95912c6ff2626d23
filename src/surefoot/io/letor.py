"""Reading ranking data in the formats of LETOR and SVMlight."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from surefoot._cores import default_workers
from surefoot._fork import uses_threads
from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.io.files import read_bytes
from surefoot.io.letor_cache import SMALLEST, Entry
from surefoot.learn.data import RankingData, concat
from surefoot.learn.feature_alignment import same_features


def read_letor(paths: PathLike | Iterable[PathLike], cache: bool = True, workers: int | None = None) -> RankingData:
    r"""Read ranking data: lines of ``label qid:ID feature:value ... # comment``.

    Features are numbered from 0 if feature 0 occurs, else from 1. A feature that a line lacks is 0; NULL, NA and NaN
    are missing values. Document ids are taken from the comments (what follows ``docid =``, or else the first word) if
    every line has one. The lines of a query need not be consecutive.

    Parameters
    ----------
    paths
        One file, or several that are read as one; compressed or not.
    cache
        Whether to keep the parsed data in the user's cache folder, so that the file is not parsed again until it
        changes.
    workers
        The number of threads (by default up to 8); it does not change the result.

    Returns
    -------
    RankingData
        Its features are a dense matrix, or a scipy CSR array if the dense one would take more than 64 MB and more
        than four times the memory.

    Examples
    --------
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
    uses_threads()
    threads = workers or default_workers()
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
