"""Ranking data in LETOR and SVMlight text.

Threads process chunks of whole lines, in two passes: the first finds everything but the features, and where those are;
the second writes each value directly to its cell, also if the lines of a query are scattered.
"""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._lazy import optional
from surefoot._process import default_workers, enter_threaded_library, in_threads
from surefoot._typing import IntArray, PathLike
from surefoot.errors import InputError, SurefootError
from surefoot.io.atomic import write_bytes
from surefoot.io.document_lists import Tokens
from surefoot.io.files import BYTE_ORDER_MARK, line_number, read_bytes
from surefoot.io.trec_writer import document_ids
from surefoot.learn.data import RankingData
from surefoot.learn.joining import concat, same_features
from surefoot.native import kernel

if TYPE_CHECKING:
    import polars

    from surefoot.learn.data import Matrix


Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
_Found = TypeVar("_Found")

LINES = "lines are label qid:ID feature:value feature:value ..."
SHORTEST_LINE = len("0 qid:1\n")
CHUNK = 1 << 22
SPARSE_GAIN, SMALLEST_SPARSE = 4, 64 << 20
TOO_LARGE = 2.0**128 - 2.0**103
"""From here on float32 rounds to infinity."""
MOST_FEATURES = 10_000_000

FINE, BAD_LABEL, BAD_QUERY, BAD_FEATURE, BAD_VALUE, TWICE = range(6)
"""Problems of a line, numbered as in the kernels."""

_parse_letor, _read_features, _gather_tokens = map(kernel, ("parse_letor", "read_features", "gather_tokens"))


def read_letor(paths: PathLike | Iterable[PathLike], workers: int | None = None) -> RankingData:
    r"""Read ranking data: lines of ``label qid:ID feature:value ... # comment``.

    Features are numbered from 0 if feature 0 occurs, else from 1. A feature that a line lacks is 0; NULL, NA and NaN
    are missing values. Document ids are taken from the comments (what follows ``docid =``, or else the first word) if
    every line has one. The lines of a query need not be consecutive.

    Parameters
    ----------
    paths
        One file, or several that are read as one; compressed or not.
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
    enter_threaded_library()
    threads = workers or default_workers()
    return _joined([LetorText(path, read_bytes(path), threads).read() for path in files])


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


@dataclass(frozen=True)
class _Lines:
    """Each line without its features, as offsets and sizes in the text; and blocks of rows of one query."""

    labels: Floats
    start: IntArray
    stop: IntArray
    pairs: Indices
    document: IntArray
    document_size: Indices
    block: IntArray
    block_size: Indices
    block_rows: IntArray


@dataclass(frozen=True)
class _Target:
    """The matrix to fill: dense, or the parts of a sparse one (``bounds`` is empty if it is dense).

    ``targets`` is the row of the matrix that each line belongs to.
    """

    targets: IntArray
    first: int
    width: int
    matrix: Floats
    bounds: IntArray
    indices: Indices
    values: Floats

    @classmethod
    def of(cls, pairs: Indices, targets: IntArray, first: int, last: int) -> _Target:
        rows, width, total = pairs.size, last - first + 1, int(pairs.sum())
        dense, sparse = 4 * rows * width, 8 * total + 4 * (rows + 1)
        if dense <= max(SMALLEST_SPARSE, SPARSE_GAIN * sparse):
            matrix, nothing = np.zeros((rows, width), np.float32), np.empty(0, np.int64)
            return cls(targets, first, width, matrix, nothing, np.empty(0, np.int32), np.empty(0, np.float32))
        bounds = np.zeros(rows + 1, np.int64)
        bounds[targets + 1] = pairs
        np.cumsum(bounds, out=bounds)
        matrix = np.empty((0, width), np.float32)
        return cls(targets, first, width, matrix, bounds, np.empty(total, np.int32), np.empty(total, np.float32))

    def buffer(self, most: int) -> tuple[Indices, Floats]:
        """The arrays that a thread writes pairs to: the sparse matrix, or a buffer for one line of the dense one."""
        if self.bounds.size:
            return self.indices, self.values
        return np.empty(most, np.int32), np.empty(most, np.float32)

    def put(self, rows: IntArray, features: IntArray, values: Floats) -> None:
        """Write values to rows whose other values are complete."""
        targets, columns = self.targets[rows], features - self.first
        if not self.bounds.size:
            self.matrix[targets, columns] = values
            return
        for target, column, value in zip(targets, columns, values, strict=True):
            begin, end = self.bounds[target : target + 2]
            self.values[begin + np.searchsorted(self.indices[begin:end], column)] = value

    def result(self) -> Matrix:
        if not self.bounds.size:
            return self.matrix
        from scipy import sparse

        shape = self.targets.size, self.width
        return sparse.csr_array((self.values, self.indices, self.bounds), shape=shape)


@dataclass(frozen=True)
class LetorText:
    """The text of one file, to be parsed by ``workers`` threads."""

    path: PathLike
    text: bytes
    workers: int

    def read(self) -> RankingData:
        lines, first, last = self._lines()
        queries, bounds, order = self._queries(lines)
        documents, labels, targets = None, lines.labels, np.arange(lines.labels.size)
        if lines.document_size.all():
            documents = _series(self._words(lines.document, lines.document_size))
        if order is not None:
            documents = None if documents is None else documents[order]
            labels = labels[order]
            targets[order] = np.arange(order.size)
        features, first = self._features(lines, targets, first, last)
        return RankingData(features, labels, bounds, queries, documents, first_feature=first, source=str(self.path))

    @property
    def _data(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self.text, np.uint8)

    def _lines(self) -> tuple[_Lines, int, int]:
        """The lines, and the range of features over the lines that have them in order."""
        found = self._in_threads(self._parse_chunk, self._edges())
        columns = [np.concatenate(parts) for parts in zip(*(columns for columns, _, _ in found), strict=True)]
        if not columns or not columns[0].size:
            raise InputError(self.path, f"holds no data; {LINES}")
        lines = _Lines(*columns)
        if not lines.pairs.any():
            raise InputError(self.path, f"no line has a feature; {LINES}")
        return lines, min(first for _, first, _ in found), max(last for _, _, last in found)

    def _edges(self) -> list[int]:
        """Offsets that divide the text into chunks of whole lines."""
        edges = [len(BYTE_ORDER_MARK) if self.text.startswith(BYTE_ORDER_MARK) else 0]
        while edges[-1] < len(self.text):
            edges.append(self.text.find(b"\n", edges[-1] + CHUNK) + 1 or len(self.text))
        return edges

    def _in_threads(self, function: Callable[[int, int], _Found], edges: Sequence[int]) -> list[_Found]:
        """The function of each chunk, in order; an error is that of the first chunk that has one."""
        return list(in_threads(function, edges[:-1], edges[1:], threads=min(self.workers, len(edges) - 1 or 1)))

    def _parse_chunk(self, begin: int, end: int) -> tuple[list[npt.NDArray[Any]], int, int]:
        most = (end - begin) // SHORTEST_LINE + 1  # memory that is never written to is not allocated
        dtypes = (np.float32, np.int64, np.int64, np.int32, np.int64, np.int32)
        rows = tuple(np.empty(most, dtype) for dtype in dtypes)
        blocks = tuple(np.empty(most, dtype) for dtype in (np.int64, np.int32, np.int64))
        found = np.empty(5, np.int64)
        problem = _parse_letor(self._data[:end], begin, rows, blocks, found)
        count, runs, first, last, at = found.tolist()
        if problem != FINE:
            raise self._error(problem, at)
        query, query_size, query_row = (column[:runs].copy() for column in blocks)
        rows_of_query = np.diff(query_row, append=count)
        return [*(column[:count].copy() for column in rows), query, query_size, rows_of_query], first, last

    def _queries(self, lines: _Lines) -> tuple[tuple[str, ...], IntArray, IntArray | None]:
        """The queries, their bounds, and the order that brings the rows of a query together if they are scattered."""
        query_of, first = Tokens.of(self._data, lines.block, lines.block_size).number()
        bounds = np.zeros(first.size + 1, np.int64)
        np.add.at(bounds, query_of + 1, lines.block_rows)
        scattered = np.any(query_of[1:] < query_of[:-1])
        order = np.argsort(np.repeat(query_of, lines.block_rows), kind="stable") if scattered else None
        queries = self._words(lines.block[first], lines.block_size[first]).split("\n")
        return tuple(queries), np.cumsum(bounds), order

    def _words(self, start: IntArray, size: Indices) -> str:
        """Ranges of the text, one on each line."""
        words = np.empty(int(size.sum()) + size.size - 1, np.uint8)
        _gather_tokens(self._data, start, size, words)
        content = words.tobytes()
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            at = int(start[content.count(b"\n", 0, error.start)])
            raise InputError(
                self.path,
                f"expected UTF-8 text, found byte 0x{content[error.start]:02x} in {self._word(at)!r}; convert the file",
                line_number(self.text, at),
            ) from None

    def _features(self, lines: _Lines, targets: IntArray, first: int, last: int) -> tuple[Matrix, int]:
        """The features, and the number of the first one.

        The range is that of lines with features in order. If other lines have features outside it, all lines are read
        a second time with room for them.
        """
        target = _Target.of(lines.pairs, targets, first, last)
        edges = np.searchsorted(lines.start, self._edges()).tolist()
        found = self._in_threads(lambda begin, end: self._fill(lines, target, begin, end), edges)
        lowest, highest = min(low for low, _ in found), max(high for _, high in found)
        if lowest < 0 or highest >= target.width:
            return self._features(lines, targets, first + min(lowest, 0), first + max(highest, target.width - 1))
        return target.result(), first

    def _fill(self, lines: _Lines, target: _Target, row: int, end: int) -> tuple[int, int]:
        """Fill in the features of some rows; returns the lowest and highest column."""
        most = int(lines.pairs[row:end].max(initial=0))
        pairs, open_pairs = target.buffer(most), np.empty((max(most, 1024), 2), np.int64)
        rows = (
            lines.labels, lines.start, lines.stop, lines.pairs, lines.document, lines.document_size, target.targets
        )  # fmt: skip
        lowest, highest, found = 0, -1, np.empty(5, np.int64)
        while row < end:
            matrix = target.matrix, target.bounds, *pairs
            problem = _read_features(self._data, row, end, rows, target.first, matrix, open_pairs, found)
            row, opened, low, high, at = found.tolist()
            lowest, highest = min(lowest, low), max(highest, high)
            features, values = self._parse_open_pairs(open_pairs[:opened])
            if problem != FINE:
                raise self._error(problem, at)
            if lowest >= 0 and highest < target.width:
                target.put(np.searchsorted(lines.start, open_pairs[:opened, 0], "right") - 1, features, values)
        return lowest, highest

    def _parse_open_pairs(self, open_pairs: IntArray) -> tuple[IntArray, Floats]:
        """Features and values of pairs that the kernel did not parse."""
        features, values = [], []
        for begin, end in open_pairs.tolist():
            feature, _, word = self.text[begin:end].partition(b":")
            value = _number(word)
            if not abs(value) < TOO_LARGE:
                raise self._error(BAD_VALUE, begin)
            features.append(int(feature))
            values.append(value)
        return np.array(features, np.int64), np.array(values).astype(np.float32)

    def _word(self, at: int) -> str:
        """The word at an offset; none at the end of a line or at a comment."""
        end = self.text.find(b"\n", at)
        words = self.text[at : end if end >= 0 else len(self.text)].partition(b"#")[0].split(maxsplit=1)
        return words[0].decode(errors="replace") if words else ""

    def _error(self, problem: int, at: int) -> InputError:
        """The error at an offset, with advice."""
        line = line_number(self.text, at)
        if problem == TWICE:
            return InputError(self.path, f"feature {self._double(at)} occurs twice in the line; keep one of them", line)
        return InputError(self.path, _reason(problem, self._word(at)), line)

    def _double(self, at: int) -> int:
        """The feature that occurs twice in the line at an offset."""
        begin = self.text.rfind(b"\n", 0, at) + 1
        words = self.text[begin:at].split()[2:]
        features = [int(word.partition(b":")[0]) for word in words]
        return next(feature for index, feature in enumerate(features) if feature in features[:index])


def _series(lines: str) -> polars.Series:
    """The lines of a text."""
    optional("polars", "learn")
    import polars

    return polars.Series([lines]).str.split("\n").explode()


def _reason(problem: int, word: str) -> str:
    """The error in a word, with advice."""
    found = f"found {word[:60]!r}" if word else "found the end of the line"
    feature, colon, value = word.partition(":")
    if problem == BAD_LABEL:
        return f"expected a whole number of 0 or more as the label, {found}; {LINES}"
    if problem == BAD_QUERY:
        return f"expected qid:ID after the label, {found}; {LINES}"
    if problem == BAD_VALUE:
        kind = "a finite number within float32" if not math.isnan(_number(value.encode())) else "a number"
        return f"expected {kind} as the value of feature {feature}, {found}; write NULL if it is missing"
    if not colon:
        return f"expected feature:value, {found}; {LINES}"
    if feature.isdecimal():
        return f"features may be numbered up to {MOST_FEATURES:,}, {found}; number them without large gaps"
    return f"expected a whole number of 0 or more before the colon, {found}; {LINES}"


def _number(word: bytes) -> float:
    """The number that float() reads, NaN if it fails; digits grouped by _ are not numbers outside Python."""
    try:
        return float(word) if b"_" not in word else math.nan
    except ValueError:
        return math.nan


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
    text = "".join(_written(data)).encode("utf-8")
    write_bytes(path, gzip.compress(text, 6, mtime=0) if str(path).endswith(".gz") else text)


def _written(data: RankingData) -> Iterator[str]:
    documents, first = document_ids(data), max(data.first_feature, 1)
    for row, (label, query) in enumerate(zip(data.labels.tolist(), data.query_of_row.tolist(), strict=True)):
        values = data.features[row : row + 1]
        filled = np.ravel(values if isinstance(values, np.ndarray) else values.toarray())
        cells = [f"{first + column}:{filled[column]:.9g}" for column in np.flatnonzero(filled).tolist()]
        yield " ".join([f"{label:g} qid:{data.queries[query]}", *cells, f"#docid = {documents[row]}\n"])
