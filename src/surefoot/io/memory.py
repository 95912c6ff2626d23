"""Runs and judgments in memory: dictionaries, frames and records, as the arrays that files give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, cast

import numpy as np

from surefoot._names import as_utf8, refuse_doubles
from surefoot._typing import FloatArray, IntArray
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.io.containers import Labels, Table, in_file, labels_of
from surefoot.io.diagnostics import LARGEST_GRADE
from surefoot.io.document_lists import DocumentLists, Documents, Duplicates, Qrels, Run, as_qrels, as_run, ranked_lists
from surefoot.io.files import IRDS
from surefoot.io.frames import is_frame, table_of
from surefoot.io.ids import Texts
from surefoot.io.roles import DOCUMENTS, GRADES, NAMES, RANKS, RETRIEVED, SYSTEMS, find_column


class Entries(NamedTuple):
    """Documents with their numbers; ``topic_of`` is the index of each one's topic."""

    topics: tuple[str, ...]
    topic_of: IntArray
    documents: Texts
    numbers: FloatArray


def run_in_memory(source: object, name: str, duplicates: Duplicates = "error", system: str | None = None) -> Run:
    """A run of ``{query: {document: score}}``, of a frame, a pyarrow table, records, or a ``ranx.Run``.

    Without scores, as in ``{query: [document, ...]}``, documents rank by their ranks, or else by their order. A table
    may hold the rankings of several systems; ``system`` is the one to take.

    >>> run_in_memory({"q1": {"d7": 2.5, "d3": 9.5}}, "bm25").documents
    ['d3', 'd7']
    """
    entries = _entries(source, name, RETRIEVED)
    systems = systems_of(source, name)
    if systems is not None and len(systems.names) > 1:
        if system not in systems.names:
            message = (
                f"holds the rankings of {counted(len(systems.names), 'system')}: name one of {listed(systems.names)}"
            )
            raise InputError(name, message)
        own = np.flatnonzero(systems.codes == systems.names.index(system))
        entries = Entries(entries.topics, entries.topic_of[own], entries.documents[own], entries.numbers[own])
    lists = _lists(entries, name)
    return as_run(lists, name, duplicates, lambda _, again: _repeated(lists, again), is_trec=False)


def systems_of(source: object, name: str) -> Labels | None:
    """The system of each row of a table; None if it has no such column."""
    column = find_column(source.columns, SYSTEMS) if isinstance(source, Table) else None
    with in_file(name):
        return None if column is None else cast("Table", source).labels(column)


def qrels_in_memory(source: object, name: str = "judgments") -> Qrels:
    """Judgments of ``{query: {document: grade}}``, of a frame, a pyarrow table, records, or ``ranx.Qrels``.

    >>> qrels_in_memory([("q1", "d3", 0), ("q1", "d7", 2)]).to_frame().rows()
    [('q1', 'd7', 2), ('q1', 'd3', 0)]
    """
    entries = _entries(source, name, GRADES)
    largest = float(np.abs(entries.numbers).max())
    if largest > LARGEST_GRADE:
        raise InputError(name, f"grades of at most {LARGEST_GRADE:g} were expected, found {largest:g}")
    lists = _lists(entries, name)
    return as_qrels(lists, lambda _, again: _repeated(lists, again))


def irds_qrels(name: str) -> Qrels:
    """The judgments of a collection of ir_datasets, such as ``irds:msmarco-passage/trec-dl-2019``."""
    collection = _collection(name)
    if not collection.has_qrels():
        raise InputError(name, "this collection of ir_datasets has no judgments; name one of its test sets")
    return qrels_in_memory(collection.qrels_iter(), name)


def irds_queries(name: str) -> dict[str, str]:
    """The texts of the queries of a collection of ir_datasets."""
    collection = _collection(name)
    if not collection.has_queries():
        raise InputError(name, "this collection of ir_datasets has no queries; name one of its test sets")
    return {str(query.query_id): query.default_text() for query in collection.queries_iter()}


def _collection(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise InputError(name, "ir_datasets is not installed: `pip install ir-datasets`") from None
    try:
        return ir_datasets.load(name.removeprefix(IRDS))
    except KeyError:
        raise InputError(name, "ir_datasets has no such collection; see https://ir-datasets.com") from None


def _entries(source: object, name: str, numbers: Sequence[str]) -> Entries:
    if type(source).__module__.partition(".")[0] == "ranx":
        source = source.to_dict()  # type: ignore[attr-defined]
    if isinstance(source, Mapping):
        entries = _of_mapping(source, name, may_rank=numbers is RETRIEVED)
    elif isinstance(source, Table) or is_frame(source):
        entries = _of_table(source if isinstance(source, Table) else table_of(source), name, numbers)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
        entries = _of_records(source, name, numbers)
    else:
        raise InputError(
            name,
            "expected a file, {query: {document: number}}, a frame or an iterable of records; "
            f"found {type(source).__name__}",
        )
    _refuse_bad_numbers(entries, name)
    return entries


def _of_mapping(source: Mapping[Any, Any], name: str, may_rank: bool) -> Entries:
    inner = [*source.values()]
    if not all(isinstance(row, Mapping) or (may_rank and isinstance(row, list | tuple)) for row in inner):
        raise InputError(name, "expected {query: {document: number}}; some query has no such dictionary")
    sizes = np.array([len(row) for row in inner], np.int64)
    scores = (row.values() if isinstance(row, Mapping) else range(0, -len(row), -1) for row in inner)
    numbers = _numbers(name, chain.from_iterable(scores), int(sizes.sum()))
    documents = _ids(name, "document", chain.from_iterable(inner))
    topics = tuple(_ids(name, "query", source))
    with in_file(name):
        refuse_doubles("query", topics)
    return Entries(topics, np.repeat(np.arange(len(topics)), sizes), documents, numbers)


def _of_table(table: Table, name: str, numbers: Sequence[str]) -> Entries:
    (topic, document, *number), sign = _columns(name, table.columns, numbers)
    with in_file(name, table):
        labels, documents = table.labels(topic), table.texts(document)
        values = sign * table.numbers(number)[:, 0] if number else _by_order(table.height)
        return Entries(labels.names, labels.codes, documents, values)


def _of_records(source: Iterable[Any], name: str, numbers: Sequence[str]) -> Entries:
    records = list(source)
    first = records[0] if records else ()
    get: Any = tuple
    sign = 1.0
    if isinstance(first, Mapping):
        names = list(first)
        columns, sign = _columns(name, list(map(str, names)), numbers)
        get = itemgetter(*(names[column] for column in columns))
        if len(names) == 2 and any(len(record) != 2 for record in records):
            raise InputError(name, "some records have a number and others none; give one to each")
    elif names := list(getattr(first, "_fields", ()) or getattr(first, "__dict__", ())):
        columns, sign = _columns(name, names, numbers)
        get = attrgetter(*(names[column] for column in columns))
    elif records and len(first) != 3 and (len(first) != 2 or numbers is not RETRIEVED):
        raise InputError(name, f"expected records of a query, a document and a number; found {first!r}")
    try:
        queries, documents, *values = zip(*map(get, records), strict=True) if records else ((), (), ())
    except (KeyError, AttributeError, ValueError, TypeError):
        raise InputError(name, "expected records that all have the fields of the first") from None
    with in_file(name):
        labels = labels_of(_ids(name, "query", queries), "query")
    ids = _ids(name, "document", documents)
    scores = sign * _numbers(name, values[0], len(records)) if values else _by_order(len(records))
    return Entries(labels.names, labels.codes, ids, scores)


def _by_order(count: int) -> FloatArray:
    """Scores of documents that come best first."""
    return -np.arange(count, dtype=np.float64)


def _columns(name: str, columns: Sequence[str], numbers: Sequence[str]) -> tuple[list[int], float]:
    """Where the topic, the document and the number are, and the number's sign; a ranking may lack the number.

    >>> _columns("a.csv", ["qid", "docno", "rank"], RETRIEVED), _columns("a.csv", ["qid", "docno"], RETRIEVED)
    (([0, 1, 2], -1.0), ([0, 1], 1.0))
    """
    found: list[int] = []
    for what, known in (("query", NAMES["topic"]), ("document", DOCUMENTS), ("number", numbers)):
        column = find_column(columns, known)
        if column is None and known is RETRIEVED:
            rank = find_column(columns, RANKS)
            if rank is not None:
                return [*found, rank], -1.0
            if len(columns) == 2:
                return found, 1.0
        if column is None:
            raise InputError(
                name, f"no column of the {what}: call one of {listed(columns)} {known[0]}, or {listed(known[1:], 4)}"
            )
        found.append(column)
    return found, 1.0


def _numbers(name: str, values: Iterable[Any], count: int) -> FloatArray:
    try:
        return np.fromiter(values, np.float64, count)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(name, f"expected a number for each document ({error})") from None


def _ids(name: str, kind: str, ids: Iterable[Any]) -> Texts:
    """Ids without white space around them; none is empty."""
    given = list(ids)
    with in_file(name):
        try:
            texts = Texts.of(given).trimmed()
        except (TypeError, UnicodeEncodeError):
            texts = Texts.of(as_utf8(kind, given)).trimmed()
        if not texts.length.all():
            raise SurefootError(f"an empty text can't name a {kind}")
    return texts


def _refuse_bad_numbers(entries: Entries, name: str) -> None:
    if not len(entries.numbers):
        raise InputError(name, "holds no documents")
    finite = np.isfinite(entries.numbers)
    if not finite.all():
        item = int(np.argmin(finite))
        where = f"document {entries.documents[item]!r} of topic {entries.topics[entries.topic_of[item]]!r}"
        raise InputError(name, f"{where} has {entries.numbers[item]:g}; expected a finite number")


def _lists(entries: Entries, name: str) -> DocumentLists:
    """The entries by topic and in ranking order."""
    sizes = np.bincount(entries.topic_of, minlength=len(entries.topics))
    ids = entries.documents.tokens
    documents = Documents(ids.start, ids.length, ids.codes, entries.numbers.copy())
    if (np.diff(entries.topic_of) < 0).any():
        order = np.argsort(entries.topic_of, kind="stable")
        documents = Documents(*(column[order] for column in documents))
    topics = tuple(topic for topic, size in zip(entries.topics, sizes.tolist(), strict=True) if size)
    bounds = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return ranked_lists(name, entries.documents.text, topics, bounds, documents)


def _repeated(lists: DocumentLists, again: int) -> InputError:
    item = int(np.flatnonzero(lists.start == again)[0])
    document = lists.text[again : again + int(lists.length[item])].decode()
    topic = lists.topics[int(np.searchsorted(lists.bounds, item, side="right")) - 1]
    return InputError(lists.path, f"document {document!r} occurs more than once in topic {topic!r}; keep one")
