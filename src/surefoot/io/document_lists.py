"""Rankings and judgments as arrays: documents by topic, ranked, with hash tables to find them.

Readers of files and of objects in memory make the same arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from surefoot._lazy import optional
from surefoot._names import natural_order
from surefoot._typing import Array, FloatArray, IntArray
from surefoot.errors import InputError, choose, counted
from surefoot.io.atomic import digest_of
from surefoot.io.files import BYTE_ORDER_MARK, line_number
from surefoot.io.ids import Texts
from surefoot.native import kernel

if TYPE_CHECKING:
    import polars

Duplicates = Literal["error", "first", "best"]
Ties = Literal["exact", "trec_eval"]
_rank_topics, _other_tag = kernel("rank_topics"), kernel("other_tag")
_hash_tokens, _number_tokens = kernel("hash_tokens"), kernel("number_tokens")
LARGEST_GRADE = 1e9
KEY = hash("surefoot: start"), hash("surefoot: factor") | 1
"""The key of hashes, as secret as Python's own: nobody can choose ids that collide. PYTHONHASHSEED sets both."""
FINGERPRINT_KEY = 0, 0
"""The key of fingerprints, which are the same in every process."""


class Tokens(NamedTuple):
    """Ids as kernels take them: the text, where each id starts, its length and its hash."""

    text: npt.NDArray[np.uint8]
    start: IntArray
    length: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint64]

    @classmethod
    def of(
        cls, text: npt.NDArray[np.uint8], start: IntArray, length: npt.NDArray[np.int32], key: tuple[int, int] = KEY
    ) -> Tokens:
        """The ids with their hashes."""
        codes = np.empty(start.size, np.uint64)
        _hash_tokens(text, start, length, key, codes)
        return cls(text, start, length, codes)

    def number(self) -> tuple[npt.NDArray[np.int32], IntArray]:
        """The number of each id, by first appearance, and the first id of each number.

        >>> text = np.frombuffer(b"q1 q2 q1", np.uint8)
        >>> Tokens.of(text, np.array([0, 3, 6]), np.full(3, 2, np.int32)).number()
        (array([0, 1, 0], dtype=int32), array([0, 1]))
        """
        bounds = np.array([0, self.start.size])
        sizes = table_sizes(bounds)
        return self.number_within(bounds, np.stack([0 * sizes, sizes], axis=1), np.empty(sizes[0], np.int32))

    def number_within(
        self, bounds: IntArray, tables: IntArray, slots: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], IntArray]:
        """The same for the ids within each pair of bounds, with a hash table for each, which is filled.

        ``tables`` has the first slot and the size of each table; a slot holds the index of an id.
        """
        numbers, first = np.empty(self.start.size, np.int32), np.empty(self.start.size, np.int64)
        count = _number_tokens(self, bounds, tables, slots, numbers, first)
        return numbers, first[:count]


def table_sizes(bounds: IntArray) -> IntArray:
    """Sizes of hash tables, powers of two, which the ids within each pair of bounds fill at most half."""
    powers: IntArray = np.maximum(3, np.ceil(np.log2(np.maximum(1, 2 * np.diff(bounds))))).astype(np.int64)
    return np.left_shift(np.ones_like(powers), powers)


class Documents(NamedTuple):
    """Documents in the order of their lines: the start, length and hash of each id, and a number."""

    start: Array
    length: Array
    codes: Array
    numbers: Array

    def take(self, rows: Array) -> Documents:
        """The documents of these rows, or of this slice."""
        return Documents(*(column[rows] for column in self))


@dataclass(frozen=True, eq=False, repr=False)
class DocumentLists:
    """Documents by topic, each with a number, highest first; ties in descending order of the ids' bytes.

    Topics of a run are in the order of their first lines, those of judgments in natural order. The documents of topic
    ``t`` are those from index ``bounds[t]`` to ``bounds[t + 1]``. An id is the ``length`` bytes from ``start`` on of
    the content of the file; ``codes`` are hashes of the ids by the key of the process. ``is_trec`` says that the
    content is TREC text.
    """

    path: str
    text: bytes
    topics: tuple[str, ...]
    bounds: IntArray
    start: IntArray
    length: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint64]
    numbers: FloatArray
    is_trec: bool = False

    def __len__(self) -> int:
        return self.start.size

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'document')} in {counted(len(self.topics), 'topic')}"
        return f"{type(self).__name__}({self.path!r}, {size})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Hash the ids of a pickle by the key of this process."""
        self.__dict__.update(state)
        self.__dict__["codes"] = Tokens.of(self.data, self.start, self.length).codes

    @cached_property
    def fingerprints(self) -> npt.NDArray[np.uint64]:
        """Hashes of the ids that are the same in every process."""
        return Tokens.of(self.data, self.start, self.length, FINGERPRINT_KEY).codes

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The content of the file, for kernels."""
        return np.frombuffer(self.text, np.uint8)

    @property
    def tokens(self) -> Tokens:
        """The ids of the documents, for kernels."""
        return Tokens(self.data, self.start, self.length, self.codes)

    @property
    def documents(self) -> list[str]:
        """The ids of the documents."""
        return Texts(self.text, self.start, self.length).to_list()

    def document(self, index: int) -> str:
        """The id of one document."""
        return Texts(self.text, self.start, self.length)[index]

    def by_topic(self) -> Iterator[tuple[str, list[str], FloatArray]]:
        """Each topic with its documents and their numbers."""
        documents = self.documents
        for topic, first, end in zip(self.topics, self.bounds[:-1], self.bounds[1:], strict=True):
            yield topic, documents[first:end], self.numbers[first:end]

    def of_topic(self, topic: str, most: int | None = None) -> dict[str, float]:
        """The documents of a topic, or the first ``most``, with their numbers; none if there is no such topic."""
        index = self._topic_index.get(topic)
        if index is None:
            return {}
        first, end = self.bounds[index : index + 2].tolist()
        end = end if most is None else min(end, first + most)
        ids = Texts(self.text, self.start[first:end], self.length[first:end])
        return dict(zip(ids, self.numbers[first:end].tolist(), strict=True))

    def rows(self, topics: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The rows of these topics, and the index of the topic of each row."""
        wanted = np.array([self._topic_index.get(topic, -1) for topic in topics])
        sizes = np.where(wanted >= 0, np.diff(self.bounds)[wanted], 0)
        begin = self.bounds[:-1][wanted] - (np.cumsum(sizes) - sizes)
        return np.arange(sizes.sum()) + np.repeat(begin, sizes), np.repeat(np.arange(len(topics)), sizes)

    @cached_property
    def _topic_index(self) -> dict[str, int]:
        return {topic: index for index, topic in enumerate(self.topics)}

    def _frame(self, **number: Any) -> polars.DataFrame:
        topics = np.repeat(np.array(self.topics, dtype=object), np.diff(self.bounds))
        columns = {"topic": topics.tolist(), "document": self.documents, **number}
        frame: polars.DataFrame = optional("polars").DataFrame(columns)
        return frame


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Run(DocumentLists):
    """A system's ranking for each topic: score descending, then document id descending by bytes.

    Scores are compared as float64, as the file writes them; `with_ties` compares them as trec_eval does.
    """

    name: str
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> FloatArray:
        """The score of each document."""
        return self.numbers

    @property
    def tag(self) -> str:
        """The last field of all lines of a TREC run, or else the name; raise if lines have different tags."""
        if not self.is_trec:
            return self.name
        found = np.empty(3, np.int64)
        _other_tag(self.data, text_begin(self.text), found)
        start, end, other = found.tolist()
        tag = self.text[start:end].decode()
        if other < 0:
            return tag
        raise InputError(
            self.path,
            f"expected the first line's tag {tag!r}, found {fields_at(self.text, other)[-1].decode()!r}; "
            "give the run one tag or name it after its file",
            line_number(self.text, other),
        )

    def with_ties(self, ties: Ties) -> Run:
        """The run ranked by its exact scores, or by scores rounded to float32 as in trec_eval.

        Rounding ties scores that differ only after about seven digits; their documents rank by id.
        """
        if choose(ties, get_args(Ties), "ties") == "exact":
            return self
        with np.errstate(over="ignore"):
            rounded = self.numbers.astype(np.float32).astype(np.float64)
        columns = Documents(self.start.copy(), self.length.copy(), self.codes.copy(), rounded)
        lists = ranked_lists(self.path, self.text, self.topics, self.bounds, columns, self.is_trec)
        return replace(self, **_documents(lists)._asdict())

    def to_frame(self) -> polars.DataFrame:
        """Columns topic, document and score."""
        return self._frame(score=self.numbers)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Qrels(DocumentLists):
    """The judged documents of each topic, highest grade first, and a hash table of them for each topic.

    The table of topic ``t`` is the ``tables[t, 1]`` slots from ``tables[t, 0]`` on; a slot holds a document's index.
    """

    tables: IntArray
    slots: npt.NDArray[np.int32]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__["slots"] = np.empty_like(self.slots)
        self.tokens.number_within(self.bounds, self.tables, self.slots)

    @cached_property
    def grades(self) -> npt.NDArray[np.int32] | FloatArray:
        """The grade of each document: whole numbers, unless some grade is a fraction."""
        return self.numbers.astype(np.int32) if self.are_whole else self.numbers

    @cached_property
    def are_whole(self) -> bool:
        """Whether all grades are whole numbers."""
        return bool((self.numbers == np.rint(self.numbers)).all())

    @cached_property
    def are_relevant_only(self) -> bool:
        """Whether no document is judged not relevant, as in MS MARCO; the pool is then unknown."""
        return bool(self.numbers.min() > 0)

    def with_topics(self, topics: Collection[str]) -> Qrels:
        """The judgments with further topics, which have none; these share one empty table."""
        if set(topics) <= set(self.topics):
            return self
        named = natural_order({*self.topics, *topics})
        index = np.array([self._topic_index.get(topic, -1) for topic in named])
        is_known, room = index >= 0, int(table_sizes(np.zeros(2, np.int64))[0])
        bounds = np.append(0, np.cumsum(np.where(is_known, np.diff(self.bounds)[index], 0)))
        tables = np.where(is_known[:, np.newaxis], self.tables[index], [self.slots.size, room])
        slots = np.append(self.slots, np.full(room, -1, np.int32))
        return replace(self, topics=named, bounds=bounds, tables=tables, slots=slots)

    def to_frame(self) -> polars.DataFrame:
        """Columns topic, document and grade."""
        return self._frame(grade=self.grades)


def ranked_lists(
    path: str, text: bytes, topics: tuple[str, ...], bounds: IntArray, documents: Documents, is_trec: bool = False
) -> DocumentLists:
    """The lists with the documents of each topic in ranking order; ``documents`` may be overwritten."""
    documents = _by_number(bounds, documents)
    longest = np.diff(bounds).max()
    spare = Documents(*(np.empty(longest, column.dtype) for column in documents))
    _rank_topics(np.frombuffer(text, np.uint8), bounds, documents, np.empty(longest, np.int32), spare)
    return DocumentLists(path, text, topics, bounds, *documents, is_trec)


def _by_number(bounds: IntArray, documents: Documents) -> Documents:
    """The documents of each topic by descending number, sorted by numpy, far faster than by a sort that compares ids.

    The kernel then orders only documents with equal numbers.
    """
    numbers = documents.numbers
    rises = np.flatnonzero(numbers[1:] > numbers[:-1]) + 1
    topic_of = np.searchsorted(bounds, rises, side="right") - 1
    topic_of = topic_of[rises > bounds[topic_of]]  # not where a topic begins
    if not topic_of.size:
        return documents
    topics = topic_of[np.diff(topic_of, prepend=-1) > 0]  # not np.unique, which imports numpy.ma
    order = np.arange(numbers.size)
    for first, end in zip(bounds[topics].tolist(), bounds[topics + 1].tolist(), strict=True):
        order[first:end] = first + np.argsort(-numbers[first:end])
    return documents.take(order)


def as_run(lists: DocumentLists, name: str, duplicates: Duplicates) -> Run:
    """A run made of ranked lists; each document occurs once in a topic."""
    choose(duplicates, get_args(Duplicates), "duplicates")
    sizes = table_sizes(lists.bounds)
    # The tables only detect repeated documents, so all topics use the same memory.
    tables, slots = np.stack([np.zeros_like(sizes), sizes], axis=1), np.empty(sizes.max(), np.int32)
    numbers, kept = lists.tokens.number_within(lists.bounds, tables, slots)
    notes: tuple[str, ...] = ()
    if kept.size < len(lists):
        if duplicates == "error":
            raise _duplicate_error(lists, numbers, ", or say which counts (duplicates: first, best)")
        if duplicates == "first":
            rows, occurs_again = _duplicates(lists, numbers)
            kept = np.delete(np.arange(len(lists)), rows[occurs_again])
        dropped = counted(len(lists) - kept.size, "repeated document")
        bounds = np.searchsorted(kept, lists.bounds)
        lists = replace(lists, bounds=bounds, **_documents(lists).take(kept)._asdict())
        notes = (f"{name}: {dropped} left out, the {duplicates} of each kept",)
    return Run(**vars(lists), name=name, notes=notes)


def as_qrels(lists: DocumentLists) -> Qrels:
    """Judgments made of ranked lists: topics in natural order, and a hash table of the documents of each."""
    lists = _in_natural_order(lists)
    sizes = table_sizes(lists.bounds)
    tables, slots = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1), np.empty(sizes.sum(), np.int32)
    numbers, first = lists.tokens.number_within(lists.bounds, tables, slots)
    if first.size < len(lists):
        raise _duplicate_error(lists, numbers)
    return Qrels(**vars(lists), tables=tables, slots=slots)


def _in_natural_order(lists: DocumentLists) -> DocumentLists:
    topics = natural_order(lists.topics)
    if topics == lists.topics:
        return lists
    rows, topic_of = lists.rows(topics)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(topic_of, minlength=len(topics)))])
    return replace(lists, topics=topics, bounds=bounds, **_documents(lists).take(rows)._asdict())


def _duplicates(lists: DocumentLists, numbers: npt.NDArray[np.int32]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The rows of documents that occur more than once, in the order of the text, and which are not the first."""
    rows = np.flatnonzero(np.bincount(numbers)[numbers] > 1)
    rows = rows[np.lexsort((lists.start[rows], numbers[rows]))]
    return rows, np.diff(numbers[rows], prepend=-1) == 0


def _duplicate_error(lists: DocumentLists, numbers: npt.NDArray[np.int32], remedy: str = "") -> InputError:
    """The error for the first document that occurs again in its topic; equal numbers are equal documents."""
    rows, occurs_again = _duplicates(lists, numbers)
    starts = lists.start[rows]
    place = int(np.argmin(np.where(occurs_again, starts, len(lists.text))))
    item, earlier, again = int(rows[place]), int(starts[place - 1]), int(starts[place])
    document, topic = lists.document(item), lists.topics[int(np.searchsorted(lists.bounds, item, side="right")) - 1]
    if not lists.is_trec:
        return InputError(
            lists.path, f"document {document!r} occurs more than once in topic {topic!r}; keep one{remedy}"
        )
    first, line = line_number(lists.text, earlier), line_number(lists.text, again)
    message = f"document {document!r} occurs again in topic {topic!r}, first in line {first}; keep one of the lines"
    return InputError(lists.path, f"{message}{remedy}", line)


def _documents(lists: DocumentLists) -> Documents:
    return Documents(lists.start, lists.length, lists.codes, lists.numbers)


def text_begin(text: bytes) -> int:
    """The offset behind the byte order mark, if the text has one."""
    return len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0


def fields_at(text: bytes, offset: int) -> list[bytes]:
    """The fields of the line at an offset."""
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    return text[begin : end if end >= 0 else len(text)].removeprefix(BYTE_ORDER_MARK).split()


def digests_of(qrels: Sequence[Qrels]) -> list[str] | None:
    """Names and digests of the grades of language models, for a signature; None without any."""
    return [f"{PurePath(one.path).name}:{digest_of(one.text, 4)}" for one in qrels] or None
