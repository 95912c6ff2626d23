"""The texts of queries and documents: TSV, JSON lines, Parquet or TREC topics, read in one pass."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from surefoot._lazy import LazyModule
from surefoot._process import enter_threaded_library
from surefoot._typing import PathLike
from surefoot.errors import InputError, counted, listed
from surefoot.io.containers import cells_of
from surefoot.io.files import BYTE_ORDER_MARK, IRDS, open_bytes, parse_json
from surefoot.io.frames import PARQUET, reading
from surefoot.io.roles import DOCUMENTS as DOCUMENT_IDS
from surefoot.io.roles import TOPIC_IDS, find_column

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

_TEXTS = ("text", "contents", "content", "body", "passage", "abstract", "segment", "default_text")

Line = tuple[int | None, str, str]
"""The line number of a text (None in formats without lines), its id, and the text."""


@dataclass(frozen=True)
class _Columns:
    """The names of columns of ids and texts; earlier names take precedence."""

    what: str
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]

    def find(self, names: Sequence[str]) -> tuple[str | None, list[str]]:
        """The column of ids, None if there is none, and the columns of texts, perhaps none."""
        name, *texts = (find_column(names, known) for known in (self.ids, self.titles, self.texts))
        return None if name is None else names[name], [names[text] for text in texts if text is not None]

    @property
    def expected(self) -> str:
        """The beginning of an error message: the expected content."""
        return f"expected a {self.what} ({', '.join(self.ids[:3])} or _id) and its text (text or {self.texts[0]})"


QUERIES = _Columns(
    "topic",
    (*TOPIC_IDS, "_id", "id"),
    (),
    ("query", "query_text", "title", "question", *_TEXTS),
)
DOCUMENTS = _Columns(
    "document",
    (*DOCUMENT_IDS, "id"),
    ("title", "headline"),
    _TEXTS,
)


def read_queries(path: PathLike) -> dict[str, str]:
    r"""Read the text of each topic.

    Parameters
    ----------
    path
        Lines of a topic, a tab and the text of the query; or JSON lines, or Parquet, with a column such as ``topic``,
        ``qid`` or ``_id`` and one such as ``query``, ``title`` or ``text``; or CSV with a column ``query`` but no ids,
        such as a case of Quepid: each query is then its own id; or topics of TREC, as XML or in ``<top>``; or
        ``irds:NAME``, a collection of ir_datasets.

    Returns
    -------
    dict
        The text by topic.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "queries.tsv")
    >>> _ = file.write_text("q1\thow to tie a tie\n")
    >>> read_queries(file)
    {'q1': 'how to tie a tie'}
    """
    if str(path).startswith(IRDS):
        from surefoot.io.memory import irds_queries

        return irds_queries(str(path))
    return _read(path, QUERIES, None)


def read_documents(path: PathLike, wanted: Collection[str] | None = None) -> dict[str, str]:
    r"""Read the texts of documents.

    Parameters
    ----------
    path
        Lines of a document, a tab and its text; or JSON lines, or Parquet, with a column such as ``document``,
        ``docno``, ``doc_id`` or ``_id``, one such as ``text``, ``contents`` or ``body``, and perhaps a ``title``.
    wanted
        The documents to read, to take a few from a collection that does not fit in memory. None is all.

    Returns
    -------
    dict
        The text, after the title if there is one, by document.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "corpus.jsonl")
    >>> _ = file.write_text('{"_id": "d1", "title": "Knots", "text": "A tie."}\n{"_id": "d2", "text": "A bow."}\n')
    >>> read_documents(file, {"d1"})
    {'d1': 'Knots A tie.'}
    """
    return _read(path, DOCUMENTS, None if wanted is None else frozenset(wanted))


def document_texts(path: PathLike) -> Iterator[str]:
    """The texts of all documents, one at a time, so that a collection need not fit in memory."""
    with open_bytes(path) as file:
        yield from (text for _, _, text in _lines(path, file, DOCUMENTS, None))


def _read(path: PathLike, columns: _Columns, wanted: frozenset[str] | None) -> dict[str, str]:
    texts: dict[str, str] = {}
    with open_bytes(path) as file:
        for line, name, text in _lines(path, file, columns, wanted):
            if wanted is not None and name not in wanted:
                continue
            if name in texts:
                raise InputError(path, f"{columns.what} {name!r} has a text already; keep one", line)
            texts[name] = text
    if texts or wanted == frozenset():
        return texts
    if wanted is None:
        raise InputError(path, f"holds no texts; {columns.expected}")
    raise InputError(path, f"has no text of the {counted(len(wanted), columns.what)} looked for, such as {min(wanted)}")


def _lines(path: PathLike, file: IO[bytes], columns: _Columns, wanted: frozenset[str] | None) -> Iterator[Line]:
    """All texts, in the format that the first bytes show; from Parquet only the wanted ones."""
    start = file.peek(64)  # type: ignore[attr-defined]
    if start.startswith(PARQUET):
        return _parquet(path, file, columns, wanted)
    first = start.removeprefix(BYTE_ORDER_MARK).lstrip()[:1]
    if first == b"<" and columns is QUERIES:
        return _topics(path, file)
    return _json_lines(path, file, columns) if first == b"{" else _tab_separated(path, file, columns)


def _topics(path: PathLike, file: IO[bytes]) -> Iterator[Line]:
    """Topics of TREC: the number is an attribute or a tag, the text is a tag or else the content of the topic."""
    text = "\n".join(line for _, line in _numbered(path, file, QUERIES))
    topics = re.findall(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>", text, re.DOTALL | re.IGNORECASE)
    for number, (attributes, body) in enumerate(topics, start=1):
        named = re.search(r"""\b(?:number|num|id|qid)\s*=\s*["']([^"']+)""", attributes, re.IGNORECASE)
        tags = {tag.lower(): own for tag, own in reversed(re.findall(r"<(\w+)[^>]*>([^<]*)", body))}
        name = named[1] if named else next((tags[tag] for tag in ("num", "number", "qid", "id") if tag in tags), "")
        words = next((tags[tag] for tag in QUERIES.texts if tags.get(tag, "").strip()), "" if tags else body)
        name, words = (
            re.sub(rf"^\s*{label}\s*:", "", unescape(part)) for label, part in (("Number", name), ("Topic", words))
        )
        if not name.strip() or not words.strip():
            raise InputError(path, f"topic {number} of the file lacks its number (num) or its text (title or query)")
        yield None, name.strip(), " ".join(words.split())


def _numbered(path: PathLike, file: IO[bytes], columns: _Columns) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    for number, line in enumerate(file, start=1):
        try:
            text = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(path, f"{columns.expected}; this is not UTF-8 text", number) from None
        if text.strip():
            yield number, text


def _tab_separated(path: PathLike, file: IO[bytes], columns: _Columns) -> Iterator[Line]:
    lines = _numbered(path, file, columns)
    head = next(lines, None)
    if head is None:
        return
    split = _by_tabs if "\t" in head[1] else partial(_cells, path)
    names = [name.strip() for name in split(*head)]
    name, texts = columns.find(names)
    query = find_column(names, ("query", "query_text")) if columns is QUERIES and name is None else None
    if query == 0 or (query and split is not _by_tabs):
        yield from _named_by_text(path, ((number, split(number, line)[query:]) for number, line in lines))
        return
    if name != names[0] or len(names) < 2:  # no header
        lines, split, chosen = chain([head], lines), _by_tabs, None
    else:
        chosen = [names.index(text) for text in texts] or list(range(1, len(names)))
    for number, line in lines:
        first, *cells = split(number, line)
        if not cells or not first.strip():
            hint = "; begin a list of queries with the line query" if columns is QUERIES else ""
            raise InputError(path, f"expected a {columns.what}, a tab and its text; found no tab{hint}", number)
        kept = cells if chosen is None else [cells[index - 1] for index in chosen if index <= len(cells)]
        yield number, first.strip(), _joined(kept)


def _by_tabs(_: int, line: str) -> list[str]:
    """The cells of a line that are separated by tabs; quotes are text."""
    return line.split("\t")


def _cells(path: PathLike, number: int, line: str) -> list[str]:
    """The cells of a line of CSV. A carriage return within a text is white space."""
    return cells_of(path, line.replace("\r", " "), ",", number, strict=False)


def _named_by_text(path: PathLike, lines: Iterable[tuple[int, list[str]]]) -> Iterator[Line]:
    """The distinct queries of a table without ids, such as a case of Quepid: a query is its own id.

    The first cell of each line is the query.
    """
    seen: set[str] = set()
    for number, cells in lines:
        text = cells[0].strip() if cells else ""
        if not text:
            raise InputError(path, "expected a query; found none", number)
        if text not in seen:
            yield number, text, text
        seen.add(text)


def _json_lines(path: PathLike, file: IO[bytes], columns: _Columns) -> Iterator[Line]:
    for number, line in _numbered(path, file, columns):
        try:
            row = parse_json(line)
        except ValueError:
            raise InputError(path, "expected one JSON object on each line", number) from None
        name, texts = columns.find(list(row)) if isinstance(row, dict) else (None, [])
        if name is None or not texts:
            found = listed(row) if isinstance(row, dict) else type(row).__name__
            raise InputError(path, f"{columns.expected}; found {found}", number)
        yield number, str(row[name]).strip(), _joined([row[text] for text in texts])


def _parquet(path: PathLike, file: IO[bytes], columns: _Columns, wanted: frozenset[str] | None) -> Iterator[Line]:
    enter_threaded_library()
    with reading(path):
        table = polars.scan_parquet(file)
        names = table.collect_schema().names()
    name, texts = columns.find(names)
    if name is None or not texts:
        raise InputError(path, f"{columns.expected}; found the columns {listed(names)}")
    cells = table.select(polars.col(name).cast(polars.String).str.strip_chars(), *texts)
    if wanted is not None:
        cells = cells.filter(polars.col(name).is_in(list(wanted)))
    with reading(path):
        frame = cells.collect(engine="streaming")
    for row in frame.iter_rows():
        yield None, row[0], _joined(row[1:])


def _joined(cells: Sequence[Any]) -> str:
    return " ".join(str(cell).strip() for cell in cells if cell is not None and str(cell).strip())
