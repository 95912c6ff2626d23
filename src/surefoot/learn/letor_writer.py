"""Writing LETOR text, the format in which learning-to-rank data are exchanged."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from surefoot._typing import PathLike
from surefoot.io.atomic import write_bytes
from surefoot.io.trec_writer import document_ids

if TYPE_CHECKING:
    from surefoot.learn.data import RankingData


def write_letor(data: RankingData, path: PathLike) -> None:
    r"""Write ranking data as LETOR text, which `surefoot train`, LightGBM, XGBoost and RankLib read.

    Parameters
    ----------
    data
        The data. Features are numbered from 1, as the format requires; zeros are left out, missing values (NaN) are
        written as ``nan``.
    path
        The file to write; packed if its name ends in ``.gz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from surefoot import read_letor
    >>> from surefoot.learn import RankingData
    >>> file = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> write_letor(RankingData.of([[0.5, 0.0], [1.0, 2.0]], [1, 0], qid=["q", "q"], documents=["d1", "d2"]), file)
    >>> print(file.read_text(), end="")
    1 qid:q 1:0.5 #docid = d1
    0 qid:q 1:1 2:2 #docid = d2
    """
    text = "".join(_lines(data)).encode("utf-8")
    write_bytes(path, gzip.compress(text, 6, mtime=0) if str(path).endswith(".gz") else text)


def _lines(data: RankingData) -> Iterator[str]:
    documents, first = document_ids(data), max(data.first_feature, 1)
    for row, (label, query) in enumerate(zip(data.labels.tolist(), data.query_of_row.tolist(), strict=True)):
        values = data.features[row : row + 1]
        filled = np.ravel(values if isinstance(values, np.ndarray) else values.toarray())
        cells = [f"{first + column}:{filled[column]:.9g}" for column in np.flatnonzero(filled).tolist()]
        yield " ".join([f"{label:g} qid:{data.queries[query]}", *cells, f"#docid = {documents[row]}\n"])
