"""TREC runs and qrels: lists of documents by topic, read from text files of any size.

Fields are separated by any white space; blank lines and lines that begin with ``#`` are skipped. Files may be
compressed, and ``-`` is standard input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray, PathLike
from surefoot.errors import InputError, choose, counted
from surefoot.io import diagnostics
from surefoot.io import trec_kernels as kernels
from surefoot.io.diagnostics import QRELS, RUN, LineFormat
from surefoot.io.files import BYTE_ORDER_MARK, name_of, read_bytes

if TYPE_CHECKING:
    import polars

Names = Literal["file", "tag"]


@dataclass(frozen=True, eq=False, repr=False)
class DocumentLists:
    """Documents by topic, each with a number, highest first; ties in descending order of the ids' bytes.

    Topics are in the order in which the file first names them; the documents of topic ``t`` are those from index
    ``bounds[t]`` to ``bounds[t + 1]``. An id is the ``length`` bytes from ``start`` of the file's content; ``codes``
    are hashes of the ids.
    """

    path: str
    text: bytes
    topics: tuple[str, ...]
    bounds: IntArray
    start: IntArray
    length: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint64]
    numbers: FloatArray

    def __len__(self) -> int:
        return self.start.size

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'document')} in {counted(len(self.topics), 'topic')}"
        return f"{type(self).__name__}({self.path!r}, {size})"

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The content of the file, for kernels."""
        return np.frombuffer(self.text, np.uint8)

    @property
    def documents(self) -> list[str]:
        """The ids of the documents."""
        ends = (self.start + self.length).tolist()
        return [self.text[start:end].decode() for start, end in zip(self.start.tolist(), ends, strict=True)]

    def by_topic(self) -> Iterator[tuple[str, list[str], FloatArray]]:
        """Each topic with its documents and their numbers."""
        documents = self.documents
        for topic, first, end in zip(self.topics, self.bounds[:-1], self.bounds[1:], strict=True):
            yield topic, documents[first:end], self.numbers[first:end]

    def of_topic(self, topic: str) -> dict[str, float]:
        """The documents of a topic in their order, with their numbers; none if the topic is not there."""
        if topic not in self.topics:
            return {}
        first, end = self.bounds[self.topics.index(topic) :][:2].tolist()
        starts, lengths = self.start[first:end].tolist(), self.length[first:end].tolist()
        ids = [self.text[start : start + length].decode() for start, length in zip(starts, lengths, strict=True)]
        return dict(zip(ids, self.numbers[first:end].tolist(), strict=True))

    def _frame(self, **number: Any) -> polars.DataFrame:
        import polars

        topics = np.repeat(np.arange(len(self.topics)), np.diff(self.bounds))
        names = polars.Series(self.topics, dtype=polars.String)
        return polars.DataFrame({"topic": names.gather(topics), "document": self.documents, **number})


@dataclass(frozen=True, eq=False, repr=False)
class Run(DocumentLists):
    """A system's ranking for each topic: score descending, then document id descending by bytes.

    Scores are compared as float64, as the file writes them. trec_eval rounds them to float32 first, so that it ties
    documents whose scores differ only after some seven digits: among the 143 runs of TREC-COVID round 1 that moves the
    mean nDCG@10 of one run, by 0.0005, and no other.
    """

    name: str

    @property
    def scores(self) -> FloatArray:
        """The score of each document."""
        return self.numbers

    @property
    def tag(self) -> str:
        """The last field of every line. Lines that differ in it are an error."""
        start, end, other = kernels.other_tag(self.data, _begin(self.text))
        tag = self.text[start:end].decode()
        if other < 0:
            return tag
        raise InputError(
            self.path,
            f"expected the first line's tag {tag!r}, found {diagnostics.fields_at(self.text, other)[-1].decode()!r}; "
            "give the run one tag or name it after its file",
            diagnostics.line_number(self.text, other),
        )

    def to_frame(self) -> polars.DataFrame:
        """Columns topic, document and score."""
        return self._frame(score=self.numbers)


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(DocumentLists):
    """The judged documents of each topic, highest grade first, and a hash table of them for each topic.

    The table of topic ``t`` is the ``tables[t, 1]`` slots from ``tables[t, 0]`` on; a slot holds a document's index.
    """

    tables: IntArray
    slots: npt.NDArray[np.int32]

    @cached_property
    def grades(self) -> npt.NDArray[np.int32]:
        """The grade of each document."""
        return self.numbers.astype(np.int32)

    def to_frame(self) -> polars.DataFrame:
        """Columns topic, document and grade."""
        return self._frame(grade=self.grades)


def read_run(path: PathLike, names: Names = "file") -> Run:
    r"""Read a run: lines of ``topic Q0 document rank score tag``.

    Documents are ranked by score, ties by document id; the ranks in the file are ignored.

    Parameters
    ----------
    path
        The file, compressed or not; ``-`` is standard input.
    names
        ``"file"`` names the run after its file, ``"tag"`` by its tag.

    Returns
    -------
    Run
        The ranking of each topic.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "bm25.run")
    >>> _ = file.write_text("q1 Q0 d7 1 2.5 mine\nq1 Q0 d3 2 9.5 mine\n")
    >>> run = read_run(file)
    >>> run.name, run.documents, run.scores
    ('bm25', ['d3', 'd7'], array([9.5, 2.5]))
    """
    choose(names, ("file", "tag"), "names")
    lists = _read(path, RUN)
    sizes = _table_sizes(lists.bounds)
    # The tables only detect repeated documents, so all topics use the same memory.
    _fill_tables(lists, np.stack([np.zeros_like(sizes), sizes], axis=1), np.empty(sizes.max(), np.int32))
    run = Run(**vars(lists), name=name_of(path))
    return run if names == "file" else Run(**vars(lists), name=run.tag)


def read_qrels(path: PathLike) -> Qrels:
    r"""Read judgements: lines of ``topic iteration document grade``; the iteration is ignored.

    Parameters
    ----------
    path
        The file, compressed or not; ``-`` is standard input.

    Returns
    -------
    Qrels
        The judged documents of each topic.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = file.write_text("q1 0 d3 0\nq1 0 d7 2\nq2 0 d1 -2\n")
    >>> read_qrels(file).to_frame().rows()
    [('q1', 'd7', 2), ('q1', 'd3', 0), ('q2', 'd1', -2)]
    """
    lists = _read(path, QRELS)
    sizes = _table_sizes(lists.bounds)
    tables = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)
    slots = np.empty(sizes.sum(), np.int32)
    _fill_tables(lists, tables, slots)
    return Qrels(**vars(lists), tables=tables, slots=slots)


def _read(path: PathLike, line_format: LineFormat) -> DocumentLists:
    text = read_bytes(path)
    data = np.frombuffer(text, np.uint8)
    line_ends, beyond_ascii = kernels.count_lines(data)
    if beyond_ascii:
        diagnostics.validate_utf8(path, text, line_format)
    documents, blocks = _parse(path, text, data, line_ends + 1, line_format)
    topics, bounds, order = _group(text, data, documents.start.size, blocks)
    del blocks  # scattered topics make as many blocks as lines
    if order is not None:
        documents = kernels.Documents(*(column[order] for column in documents))
    longest = np.diff(bounds).max()
    spare = kernels.Documents(*(np.empty(longest, column.dtype) for column in documents))
    kernels.rank_topics(data, bounds, documents, np.empty(longest, np.int64), spare)
    return DocumentLists(str(path), text, topics, bounds, *documents)


def _parse(
    path: PathLike, text: bytes, data: npt.NDArray[np.uint8], most: int, line_format: LineFormat
) -> tuple[kernels.Documents, kernels.Blocks]:
    """The documents and the blocks of lines of one topic; there are at most ``most`` lines."""
    documents = kernels.Documents(*(np.empty(most, dtype) for dtype in (np.int64, np.int32, np.uint64, np.float64)))
    blocks = kernels.Blocks(*(np.empty(most, np.int64) for _ in range(3)))
    lines, count, bad = kernels.parse_lines(data, _begin(text), line_format is RUN, documents, blocks)
    documents = kernels.Documents(*(column[:lines] for column in documents))
    _parse_open_numbers(path, text, documents, line_format)
    if bad >= 0:
        raise diagnostics.malformed(path, text, bad, line_format)
    if lines == 0:
        raise InputError(path, f"holds no lines; {line_format}")
    return documents, kernels.Blocks(*(column[:count] for column in blocks))


def _parse_open_numbers(path: PathLike, text: bytes, documents: kernels.Documents, line_format: LineFormat) -> None:
    """Parse the numbers that the kernel left open as NaN, in place, and refuse what is no score or grade."""
    numbers = documents.numbers
    doubtful = ~np.isfinite(numbers)
    if line_format is QRELS:
        doubtful |= (numbers != np.rint(numbers)) | (np.abs(numbers) > diagnostics.LARGEST_GRADE)
    for line in np.flatnonzero(doubtful):
        numbers[line] = diagnostics.number_at(path, text, int(documents.start[line]), line_format)


def _group(
    text: bytes, data: npt.NDArray[np.uint8], lines: int, blocks: kernels.Blocks
) -> tuple[tuple[str, ...], IntArray, IntArray | None]:
    """The topics, where each one's documents end, and the order that brings them together if they are scattered."""
    start, length, first = blocks
    sizes = np.diff(first, append=lines)
    topic_of = np.empty(start.size, np.int32)
    slots = np.full(_table_sizes(np.array([0, start.size]))[0], -1, np.int32)
    count = kernels.number_topics(data, start, length, slots, topic_of)
    ends = (start + length)[:count].tolist()
    topics = tuple(text[a:b].decode() for a, b in zip(start[:count].tolist(), ends, strict=True))
    bounds = np.zeros(count + 1, np.int64)
    np.add.at(bounds, topic_of + 1, sizes)
    order = None
    if start.size > count:
        order = np.argsort(np.repeat(topic_of, sizes), kind="stable")
    return topics, np.cumsum(bounds), order


def _table_sizes(bounds: IntArray) -> IntArray:
    """Powers of two that leave a hash table of each topic's documents at most half full."""
    powers: IntArray = np.maximum(3, np.ceil(np.log2(2 * np.diff(bounds)))).astype(np.int64)
    return np.left_shift(np.ones_like(powers), powers)


def _fill_tables(lists: DocumentLists, tables: IntArray, slots: npt.NDArray[np.int32]) -> None:
    documents = kernels.Documents(lists.start, lists.length, lists.codes, lists.numbers)
    earlier, again = kernels.index_topics(lists.data, lists.bounds, documents, tables, slots)
    if earlier >= 0:
        raise diagnostics.repeated(lists.path, lists.text, earlier, again)


def _begin(text: bytes) -> int:
    return len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
