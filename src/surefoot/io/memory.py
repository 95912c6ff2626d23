"""Runs and judgments in memory (dictionaries, frames, records) as the arrays that files give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np

from surefoot._lazy import optional
from surefoot._typing import IntArray
from surefoot.errors import InputError, counted, listed
from surefoot.io.containers import Labels, Table, in_file
from surefoot.io.document_lists import (
    LARGEST_GRADE,
    DocumentLists,
    Documents,
    Duplicates,
    Qrels,
    Run,
    Tokens,
    as_qrels,
    as_run,
    ranked_lists,
)
from surefoot.io.files import IRDS
from surefoot.io.frames import is_frame, library_of, table_of
from surefoot.io.roles import DOCUMENTS, GRADES, NAMES, RANKS, RETRIEVED, SYSTEMS, find_column


def run_in_memory(source: object, name: str, duplicates: Duplicates = "error", system: str | None = None) -> Run:
    """A run of ``{query: {document: score}}``, of a frame, a pyarrow table, records, or a ``ranx.Run``.

    Documents without scores, as in ``{query: [document, ...]}``, rank by their ranks, or else by their order. If a
    table has the rankings of several systems, ``system`` is the one to take.

    >>> run_in_memory({"q1": {"d7": 2.5, "d3": 9.5}}, "bm25").documents
    ['d3', 'd7']
    """
    table = _table(source, name, RETRIEVED)
    rows = None
    systems = systems_of(table, name)
    if systems is not None and len(systems.names) > 1:
        if system not in systems.names:
            held = counted(len(systems.names), "system")
            raise InputError(name, f"holds the rankings of {held}: name one of {listed(systems.names)}")
        rows = np.flatnonzero(systems.codes == systems.names.index(system))
    return as_run(_lists(table, name, RETRIEVED, rows), name, duplicates)


def systems_of(table: Table, name: str) -> Labels | None:
    """The system of each row of a table; None if it has no such column."""
    column = find_column(table.columns, SYSTEMS)
    with in_file(name):
        return None if column is None else table.labels(column)


def qrels_in_memory(source: object, name: str = "judgments") -> Qrels:
    """Judgments of ``{query: {document: grade}}``, of a frame, a pyarrow table, records, or ``ranx.Qrels``.

    >>> qrels_in_memory([("q1", "d3", 0), ("q1", "d7", 2)]).to_frame().rows()
    [('q1', 'd7', 2), ('q1', 'd3', 0)]
    """
    lists = _lists(_table(source, name, GRADES), name, GRADES)
    largest = float(np.abs(lists.numbers).max())
    if largest > LARGEST_GRADE:
        raise InputError(name, f"grades of at most {LARGEST_GRADE:g} were expected, found {largest:g}")
    return as_qrels(lists)


def irds_qrels(name: str) -> Qrels:
    """The judgments of a collection of ir_datasets, such as ``irds:msmarco-passage/trec-dl-2019``."""
    return qrels_in_memory(_of_collection(name, "qrels"), name)


def irds_queries(name: str) -> dict[str, str]:
    """The texts of the queries of a collection of ir_datasets."""
    return {str(query.query_id): query.default_text() for query in _of_collection(name, "queries")}


def _of_collection(name: str, what: Literal["qrels", "queries"]) -> Iterator[Any]:
    with in_file(name):
        collections = optional("ir_datasets")
    try:
        collection = collections.load(name.removeprefix(IRDS))
    except KeyError:
        raise InputError(name, "ir_datasets has no such collection; see https://ir-datasets.com") from None
    if not getattr(collection, f"has_{what}")():
        missing = "judgments" if what == "qrels" else what
        raise InputError(name, f"this collection of ir_datasets has no {missing}; name one of its test sets")
    found: Iterator[Any] = getattr(collection, f"{what}_iter")()
    return found


def _table(source: object, name: str, numbers: Sequence[str]) -> Table:
    """Any source as a table of queries, documents and numbers."""
    if library_of(source) == "ranx":
        source = source.to_dict()  # type: ignore[attr-defined]
    if isinstance(source, Table):
        return source
    if is_frame(source):
        return table_of(source)
    if isinstance(source, Mapping):
        return _of_mapping(source, name, numbers)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return _of_records(list(source), name, numbers)
    expected = "expected a file, {query: {document: number}}, a frame or an iterable of records"
    raise InputError(name, f"{expected}; found {type(source).__name__}")


def _of_mapping(source: Mapping[Any, Any], name: str, numbers: Sequence[str]) -> Table:
    inner = [*source.values()]
    may_rank = numbers is RETRIEVED
    if not all(isinstance(row, Mapping) or (may_rank and isinstance(row, list | tuple)) for row in inner):
        raise InputError(name, "expected {query: {document: number}}; some query has no such dictionary")
    with in_file(name):
        queries = Table(("query",), [list(source)]).labels(0)
    if len(queries.names) < len(source):
        duplicate = queries.names[int(np.argmax(np.bincount(queries.codes)))]
        raise InputError(name, f"query {duplicate!r} occurs more than once; names must differ")
    topics = Labels(np.repeat(queries.codes, [len(row) for row in inner]), queries.names)
    scores = [row.values() if isinstance(row, Mapping) else range(0, -len(row), -1) for row in inner]
    values: Any
    try:
        values = np.fromiter(chain.from_iterable(scores), np.float64, topics.codes.size)
    except (TypeError, ValueError, OverflowError):
        values = [*chain.from_iterable(scores)]
    return Table(("query", "document", numbers[0]), [topics, [*chain.from_iterable(inner)], values])


def _of_records(records: list[Any], name: str, numbers: Sequence[str]) -> Table:
    """Records that are mappings, objects with fields, or tuples of a query, a document and perhaps a number."""
    first = records[0] if records else ()
    names: Any = getattr(first, "_fields", ()) or [*getattr(first, "__dict__", ())]
    try:
        if isinstance(first, Mapping):
            return Table.of(records)
        if names:
            return Table(names, [[getattr(record, name) for record in records] for name in names])
        columns = [*zip(*records, strict=True)]
    except (AttributeError, ValueError, TypeError):
        raise InputError(name, "expected records that all have the fields of the first") from None
    if records and len(columns) != 3 and (len(columns) != 2 or numbers is not RETRIEVED):
        raise InputError(name, f"expected records of a query, a document and a number; found {first!r}")
    return Table(("query", "document", numbers[0])[: len(columns) or None], columns)


def _columns(name: str, columns: Sequence[str], numbers: Sequence[str]) -> tuple[list[int], float]:
    """The columns of the topic, the document and the number, and the sign of the number; a ranking may lack it.

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
                name,
                f"no column of the {what}: rename one of {listed(columns)} to {known[0]}, or {listed(known[1:], 4)}",
            )
        found.append(column)
    return found, 1.0


def _lists(table: Table, name: str, numbers: Sequence[str], rows: IntArray | None = None) -> DocumentLists:
    """The documents of a table, or of some of its rows, by topic and in ranking order."""
    if not table.height:
        raise InputError(name, "holds no documents")
    (topic, document, *number), sign = _columns(name, table.columns, numbers)
    with in_file(name, table):
        topics, documents = table.labels(topic), table.texts(document)
        values = table.numbers(number).ravel() if number else -np.arange(table.height, dtype=np.float64)
    values *= sign
    if np.isnan(values).any():
        item = int(np.argmax(np.isnan(values)))
        where = f"document {documents[item]!r} of topic {topics.name(item)!r}"
        raise InputError(name, f"{where} has nan; expected a finite number")
    if rows is not None:
        topics, documents, values = topics[rows], documents[rows], values[rows]
    ids = Tokens.of(documents.data, documents.start, documents.length)
    entries = Documents(ids.start, ids.length, ids.codes, values)
    if (np.diff(topics.codes) < 0).any():
        order = np.argsort(topics.codes, kind="stable")
        entries = entries.take(order)
    sizes = np.bincount(topics.codes, minlength=len(topics.names))
    present = tuple(topic for topic, size in zip(topics.names, sizes.tolist(), strict=True) if size)
    bounds = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return ranked_lists(name, documents.text, present, bounds, entries)
