"""TREC runs and qrels: lists of documents by topic, read from text files of any size.

Fields are separated by any white space; blank lines and lines that begin with ``#`` are skipped. Files may be
compressed, and ``-`` is standard input.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from surefoot._process import default_workers, in_threads
from surefoot._typing import Array, IntArray, PathLike
from surefoot.errors import InputError, choose
from surefoot.io.containers import Content, Table
from surefoot.io.document_lists import (
    KEY,
    LARGEST_GRADE,
    DocumentLists,
    Documents,
    Duplicates,
    Qrels,
    Run,
    Tokens,
    as_qrels,
    as_run,
    fields_at,
    ranked_lists,
    text_begin,
)
from surefoot.io.files import IRDS, STDIN, line_number, name_of, open_bytes, read_bytes
from surefoot.io.formats import Source, read_content
from surefoot.io.memory import irds_qrels, qrels_in_memory, run_in_memory, systems_of
from surefoot.io.roles import DOCUMENTS, NAMES, SYSTEMS
from surefoot.native import kernel

Names = Literal["file", "tag"]
LARGE = 1 << 25
"""Texts of at least this many bytes are parsed in threads."""

CHUNK = 1 << 20
_DTYPES = (np.int64, np.int32, np.uint64, np.float64)
_count_lines, _parse_trec = kernel("count_lines"), kernel("parse_trec")


class LineFormat(NamedTuple):
    """The format of a file: the fields of a line, and the place of the number among them."""

    kind: str
    fields: tuple[str, ...]
    number: int

    def __str__(self) -> str:
        return f"a {self.kind} has lines of {' '.join(self.fields)}"


RUN = LineFormat("run", ("topic", "Q0", "document", "rank", "score", "tag"), 4)
QRELS = LineFormat("qrels file", ("topic", "iteration", "document", "grade"), 3)


def read_run(
    path: PathLike,
    names: Names = "file",
    duplicates: Duplicates = "error",
    workers: int | None = None,
    system: str | None = None,
) -> Run:
    r"""Read a run: lines of ``topic Q0 document rank score tag``, or JSON, Parquet or a table with a header.

    Documents rank by score, ties by document id; the ranks in the file are ignored. Without scores, documents rank by
    their ranks in the file, or else by their order. JSON is ``{query: {document: score}}`` (BEIR, ranx, MTEB),
    ``{query: [document, ...]}``, or responses of Elasticsearch and OpenSearch.

    Parameters
    ----------
    path
        The file, compressed or not; ``-`` is standard input.
    names
        ``"file"`` names the run after its file, ``"tag"`` by its tag.
    duplicates
        What to do if a topic lists a document twice: ``"error"``, or keep the ``"first"`` in the file or the ``"best"``
        scored.
    workers
        The number of threads that parse a large file; by default one for each core.
    system
        The system to read, where a table has rankings of several, as snapshots of Quepid do.

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
    choose(names, get_args(Names), "names")
    lists, name = _read(path, RUN, workers), name_of(path)
    if isinstance(lists, Content):
        run = run_in_memory(lists.source, str(path), duplicates, system)
        return replace(run, name=system or lists.name or name, notes=(*run.notes, *lists.notes))
    run = as_run(lists, name, duplicates)
    return run if names == "file" else replace(run, name=run.tag)


def systems_in(path: PathLike) -> tuple[str, ...]:
    """The systems of a file with the rankings of several; none for other files, which their beginning shows."""
    if str(path) == STDIN or not Path(path).is_file():
        return ()
    with open_bytes(path) as file:
        start = Source(path, file.peek(1 << 13))  # type: ignore[attr-defined]
    if not start.header(SYSTEMS, NAMES["topic"], DOCUMENTS) and not start.mentions("documentIds"):
        return ()
    content = _read(path, RUN)
    if not isinstance(content, Content) or not isinstance(content.source, Table):
        return ()
    systems = systems_of(content.source, str(path))
    return () if systems is None or len(systems.names) == 1 else systems.names


def read_qrels(path: PathLike) -> Qrels:
    r"""Read judgments: lines of ``topic iteration document grade``, or another format.

    The iteration is ignored; grades may be fractions, such as those of click models. Other formats: tables with a
    header (BEIR's TSV, Quepid's CSV, Parquet), JSON of the form ``{query: {document: grade}}`` or from ``_rank_eval``,
    OpenSearch and Quepid, and the judgment lists of Elasticsearch LTR.

    Parameters
    ----------
    path
        The file, compressed or not; ``-`` is standard input; ``irds:NAME`` is a collection of ir_datasets.

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
    if str(path).startswith(IRDS):
        return irds_qrels(str(path))
    lists = _read(path, QRELS)
    if isinstance(lists, Content):
        return qrels_in_memory(lists.source, str(path))
    return as_qrels(lists)


def _read(path: PathLike, line_format: LineFormat, workers: int | None = None) -> DocumentLists | Content:
    """The documents of TREC text, or the content of a file of another format."""
    text = read_bytes(path)
    content = read_content(Source(path, text), "run" if line_format is RUN else "qrels")
    if content is not None:
        return content
    try:
        return _parse_text(path, text, line_format, workers)
    except InputError:
        if rows := _tab_separated(text, line_format):
            return Content(rows)
        raise


def _tab_separated(text: bytes, line_format: LineFormat) -> list[tuple[Any, ...]] | None:
    r"""The lines of a TREC file with fields separated by tabs, which may hold spaces; None for other files.

    A run may also have lines of query, document and rank, as in MS MARCO.

    >>> _tab_separated(b"red dress\t0\td1\t2\n", QRELS), _tab_separated(b"red dress\td1\t1\n", RUN)
    ([('red dress', 'd1', '2')], [('red dress', 'd1', -1)])
    """
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return None
    rows = [line.split("\t") for line in lines if line.strip() and line[0] != "#"]
    widths = {len(row) for row in rows}
    if line_format is RUN and widths == {3} and rows[0][2] == "1" and all(row[2].isdecimal() for row in rows):
        return [(query, document, -int(rank)) for query, document, rank in rows]
    return [(row[0], row[2], row[line_format.number]) for row in rows] if widths == {len(line_format.fields)} else None


def _parse_text(path: PathLike, text: bytes, line_format: LineFormat, workers: int | None) -> DocumentLists:
    data = np.frombuffer(text, np.uint8)
    pieces = _pieces(text, (workers or default_workers()) if len(text) >= LARGE else 1)
    run = partial(in_threads, threads=len(pieces))
    line_ends, beyond_ascii = zip(*run(lambda piece: _counts(data[piece]), pieces), strict=True)
    if any(beyond_ascii):
        _validate_utf8(path, text, line_format)
    room = [*line_ends[:-1], line_ends[-1] + 1]
    documents = Documents(*(np.empty(sum(room), dtype) for dtype in _DTYPES))
    begins = [0, *accumulate(room)]
    own = [documents.take(slice(*pair)) for pair in pairwise(begins)]
    parts = list(run(partial(_parse, data, line_format), pieces, own))
    documents, blocks, bad = _joined(text, documents, begins, parts)
    _validate(path, text, documents, bad, line_format)
    topics, bounds, order = _group(text, data, documents.start.size, blocks)
    del blocks  # scattered topics make as many blocks as lines
    if order is not None:
        documents = documents.take(order)
    return ranked_lists(str(path), text, topics, bounds, documents, is_trec=True)


def _pieces(text: bytes, count: int) -> list[slice]:
    """Pieces of whole lines of about equal length; fewer than ``count`` if there are too few lines."""
    begin, size = text_begin(text), len(text)
    cuts = [text.find(b"\n", begin + (size - begin) * piece // count) + 1 or size for piece in range(1, count)]
    bounds = sorted({begin, *cuts, size}) if size > begin else [begin, size]
    return [slice(*pair) for pair in pairwise(bounds)]


def _counts(data: npt.NDArray[np.uint8]) -> list[int]:
    """The number of line ends, and 1 if some byte is not ASCII, else 0."""
    found = np.empty(3, np.int64)
    _count_lines(data, 0, found)
    counts: list[int] = found[:2].tolist()
    return counts


class _Blocks(NamedTuple):
    """Blocks of lines of one topic: the start and the length of the topic's id, and the first line."""

    start: Array
    length: Array
    line: Array


class _Part(NamedTuple):
    """A parsed piece: its number of lines, its blocks, and the offset of its first malformed line, or -1."""

    lines: int
    blocks: _Blocks
    bad: int


def _parse(data: npt.NDArray[np.uint8], line_format: LineFormat, piece: slice, documents: Documents) -> _Part:
    """Parse a piece into ``documents``, which has room for all its lines."""
    blocks = _Blocks(*(np.empty(documents.start.size, dtype) for dtype in (np.int64, np.int32, np.int64)))
    found = np.empty(3, np.int64)
    _parse_trec(data[: piece.stop], KEY, piece.start, line_format is RUN, documents, blocks, found)
    lines, count, bad = found.tolist()
    return _Part(lines, _Blocks(*(column[:count] for column in blocks)), bad)


def _joined(text: bytes, documents: Documents, begins: list[int], parts: list[_Part]) -> tuple[Documents, _Blocks, int]:
    """Join the documents and the blocks of the parts up to the first malformed line.

    A topic that continues in the next part is one block.
    """
    wrong = next((number for number, part in enumerate(parts) if part.bad >= 0), len(parts) - 1)
    blocks: list[_Blocks] = []
    lines, last = 0, b""
    for begin, part in zip(begins, parts[: wrong + 1], strict=False):
        goes_on = int(part.lines > 0 and _topic(text, part.blocks, 0) == last)
        blocks.append(_Blocks(*(column[goes_on:] for column in part.blocks)))
        blocks[-1].line[:] += lines
        for column in documents if begin > lines else ():  # there were blank lines or comments
            column[lines : lines + part.lines] = column[begin : begin + part.lines]
        lines += part.lines
        last = _topic(text, part.blocks, -1) if part.lines else last
    whole = blocks[0] if len(blocks) == 1 else _Blocks(*map(np.concatenate, zip(*blocks, strict=True)))
    return documents.take(slice(lines)), whole, parts[wrong].bad


def _topic(text: bytes, blocks: _Blocks, index: int) -> bytes:
    """The topic of a block."""
    begin = int(blocks.start[index])
    return text[begin : begin + int(blocks.length[index])]


def _validate(path: PathLike, text: bytes, documents: Documents, bad: int, line_format: LineFormat) -> None:
    """Parse the numbers that the kernel leaves to Python; raise if a line or a number is malformed."""
    _parse_open_numbers(path, text, documents, line_format)
    if bad >= 0:
        raise _malformed(path, text, bad, line_format)
    if documents.start.size == 0:
        raise InputError(path, f"holds no lines; {line_format}")


def _parse_open_numbers(path: PathLike, text: bytes, documents: Documents, line_format: LineFormat) -> None:
    """Parse the numbers that the kernel leaves as NaN, in place; raise if one is not a score or grade."""
    numbers = documents.numbers
    doubtful = ~np.isfinite(numbers)
    if line_format is QRELS:
        doubtful |= np.abs(numbers) > LARGEST_GRADE
    for line in np.flatnonzero(doubtful):
        numbers[line] = _number_at(path, text, int(documents.start[line]), line_format)


def _group(
    text: bytes, data: npt.NDArray[np.uint8], lines: int, blocks: _Blocks
) -> tuple[tuple[str, ...], IntArray, IntArray | None]:
    """The topics, the bounds of their documents, and the order that groups these if they are scattered."""
    topic_of, first = Tokens.of(data, blocks.start, blocks.length).number()
    starts, ends = blocks.start[first], (blocks.start + blocks.length)[first]
    topics = tuple(text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
    sizes, bounds = np.diff(blocks.line, append=lines), np.zeros(first.size + 1, np.int64)
    np.add.at(bounds, topic_of + 1, sizes)
    order = None
    if topic_of.size > first.size:
        order = np.argsort(np.repeat(topic_of, sizes), kind="stable")
    return topics, np.cumsum(bounds), order


def _validate_utf8(path: PathLike, text: bytes, line_format: LineFormat) -> None:
    """Raise at the first byte that is not UTF-8; decode in chunks of lines, since the text may be large."""
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + CHUNK) + 1 or len(text)
        try:
            text[begin:end].decode()
        except UnicodeDecodeError as error:
            offset = begin + error.start
            message = f"expected UTF-8 text, found byte 0x{text[offset]:02x}; {line_format}"
            raise InputError(path, message, line_number(text, offset)) from None
        begin = end


def _malformed(path: PathLike, text: bytes, offset: int, line_format: LineFormat) -> InputError:
    """The error for a line without the fields of the format."""
    fields, line = fields_at(text, offset), line_number(text, offset)
    control = next((byte for byte in b"".join(fields) if byte < 32), None)
    if control is not None:
        return InputError(path, f"expected text, found byte 0x{control:02x}; {line_format}", line)
    other = next((o for o in (RUN, QRELS) if o is not line_format and len(o.fields) == len(fields)), None)
    hint = f"; is it a {other.kind}?" if other else ""
    expected = f"{len(line_format.fields)} fields ({' '.join(line_format.fields)})"
    return InputError(path, f"expected {expected}, found {len(fields)}{hint}", line)


def _number_at(path: PathLike, text: bytes, offset: int, line_format: LineFormat) -> float:
    """The number in the line at an offset; raise unless it is finite and, for a grade, not too large."""
    field = fields_at(text, offset)[line_format.number]
    try:
        value = float(field) if b"_" not in field else math.nan
    except ValueError:
        value = math.nan
    limit = LARGEST_GRADE if line_format is QRELS else math.inf
    if math.isfinite(value) and abs(value) <= limit:
        return value
    expected = f"a number of at most {limit:g}" if math.isfinite(value) else "a finite number"
    name, found = line_format.fields[line_format.number], field.decode(errors="replace")
    raise InputError(path, f"expected {expected} as the {name}, found {found!r}", line_number(text, offset))
