"""Runs and judgments in memory: dictionaries, frames and records, as the arrays that files give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from surefoot._names import as_utf8, refuse_doubles
from surefoot._typing import FloatArray, IntArray
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.containers import Table, in_file, labels_of
from surefoot.io.diagnostics import LARGEST_GRADE
from surefoot.io.document_lists import DocumentLists, Documents, Duplicates, Qrels, Run, as_qrels, as_run, ranked_lists
from surefoot.io.files import IRDS
from surefoot.io.frames import is_frame, table_of
from surefoot.io.ids import Texts
from surefoot.io.roles import DOCUMENTS, GRADES, NAMES, RETRIEVED, find_column


class Entries(NamedTuple):
    """Documents with their numbers; ``topic_of`` is the index of each one's topic."""

    topics: tuple[str, ...]
    topic_of: IntArray
    documents: Texts
    numbers: FloatArray


def run_in_memory(source: object, name: str, duplicates: Duplicates = "error") -> Run:
    """A run of ``{query: {document: score}}``, of a frame, a pyarrow table, records, or a ``ranx.Run``.

    >>> run_in_memory({"q1": {"d7": 2.5, "d3": 9.5}}, "bm25").documents
    ['d3', 'd7']
    """
    entries = _entries(source, name, RETRIEVED)
    lists = _lists(entries, name)
    return as_run(lists, name, duplicates, lambda _, again: _repeated(lists, again), is_trec=False)


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
    try:
        import ir_datasets
    except ImportError:
        raise InputError(name, "ir_datasets is not installed: `pip install ir-datasets`") from None
    try:
        collection = ir_datasets.load(name.removeprefix(IRDS))
    except KeyError:
        raise InputError(name, "ir_datasets has no such collection; see https://ir-datasets.com") from None
    if not collection.has_qrels():
        raise InputError(name, "this collection of ir_datasets has no judgments; name one of its test sets")
    return qrels_in_memory(collection.qrels_iter(), name)


def _entries(source: object, name: str, numbers: Sequence[str]) -> Entries:
    if type(source).__module__.partition(".")[0] == "ranx":
        source = source.to_dict()  # type: ignore[attr-defined]
    if isinstance(source, Mapping):
        entries = _of_mapping(source, name)
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


def _of_mapping(source: Mapping[Any, Any], name: str) -> Entries:
    inner = [row for row in source.values() if isinstance(row, Mapping)]
    if len(inner) < len(source):
        raise InputError(name, "expected {query: {document: number}}; some query has no such dictionary")
    sizes = np.array([len(row) for row in inner], np.int64)
    numbers = _numbers(name, chain.from_iterable(row.values() for row in inner), int(sizes.sum()))
    documents = _ids(name, "document", chain.from_iterable(inner))
    topics = tuple(_ids(name, "query", source))
    with in_file(name):
        refuse_doubles("query", topics)
    return Entries(topics, np.repeat(np.arange(len(topics)), sizes), documents, numbers)


def _of_table(table: Table, name: str, numbers: Sequence[str]) -> Entries:
    topic, document, number = _columns(name, table.columns, numbers)
    with in_file(name, table):
        labels = table.labels(topic)
        return Entries(labels.names, labels.codes, table.texts(document), table.numbers([number])[:, 0])


def _of_records(source: Iterable[Any], name: str, numbers: Sequence[str]) -> Entries:
    records = list(source)
    first = records[0] if records else ()
    get: Any
    if isinstance(first, Mapping):
        names = list(first)
        get = itemgetter(*(names[column] for column in _columns(name, list(map(str, names)), numbers)))
    elif names := list(getattr(first, "_fields", ()) or getattr(first, "__dict__", ())):
        get = attrgetter(*(names[column] for column in _columns(name, names, numbers)))
    elif len(first) == 3 or not records:
        get = tuple
    else:
        raise InputError(name, f"expected records of a query, a document and a number; found {first!r}")
    try:
        queries, documents, values = zip(*map(get, records), strict=True) if records else ((), (), ())
    except (KeyError, AttributeError, ValueError, TypeError):
        raise InputError(name, "expected records that all have the fields of the first") from None
    with in_file(name):
        labels = labels_of(_ids(name, "query", queries), "query")
    return Entries(labels.names, labels.codes, _ids(name, "document", documents), _numbers(name, values, len(records)))


def _columns(name: str, columns: Sequence[str], numbers: Sequence[str]) -> tuple[int, int, int]:
    """Where the topic, the document and the number are."""
    found = []
    for what, known in (("query", NAMES["topic"]), ("document", DOCUMENTS), ("number", numbers)):
        column = find_column(columns, known)
        if column is None:
            raise InputError(
                name, f"no column of the {what}: call one of {listed(columns)} {known[0]}, or {listed(known[1:], 4)}"
            )
        found.append(column)
    topic, document, number = found
    return topic, document, number


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
