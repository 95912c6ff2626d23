"""Contents: what tables and JSON mean, as scores, runs and judgments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.containers import Header, Table, read_delimited, read_records, records, validate_text
from surefoot.io.files import BYTE_ORDER_MARK, parse_json
from surefoot.io.frames import read_parquet
from surefoot.io.roles import (
    DOCUMENTS,
    GRADES,
    NAMES,
    RANKS,
    RETRIEVED,
    find_column,
    looks_like_measure,
    recognise,
    role_of,
)

SUMMARY = "all"
PARQUET = b"PAR1"
MTEB_MODEL = "mteb_model_meta"
QUERY = ("query", "query_text")
_LTR_LINE = re.compile(rb"^[ \t]*([^\s#]+)[ \t]+qid:(\S+)[^#\n]*#[ \t]*(?:docid[ \t]*=[ \t]*)?(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """The content of a file whose format is to be found."""

    path: PathLike
    data: bytes

    @cached_property
    def first(self) -> bytes:
        """The first line that is not blank."""
        found = re.search(rb"\S[^\n]*", self.data.removeprefix(BYTE_ORDER_MARK))
        return found.group() if found else b""

    @property
    def is_json(self) -> bool:
        return self.first[:1] in (b"{", b"[")

    @cached_property
    def json(self) -> Any:
        """The content as JSON, or as a list of the objects of JSON lines."""
        try:
            content = parse_json(self.data)
        except ValueError as whole:
            try:
                return [parse_json(line) for line in self.data.splitlines() if line.strip()]
            except ValueError:
                raise InputError(self.path, f"damaged JSON ({whole})") from None
        one_line = isinstance(content, dict) and content and not any(isinstance(x, dict) for x in content.values())
        return [content] if one_line and find_column([*content], NAMES["topic"]) is not None else content

    @property
    def records(self) -> list[Any]:
        """The items of a JSON list or of JSON lines, of which there may be only one."""
        return self.json if isinstance(self.json, list) else [self.json]

    def has(self, key: str) -> bool:
        """Whether the content is a JSON object that has a key."""
        return self.is_json and isinstance(self.json, Mapping) and key in self.json

    def mentions(self, *keys: str) -> bool:
        """Whether the content is JSON in which all these keys occur, at any depth."""
        return self.is_json and all(f'"{key}"'.encode() in self.data for key in keys)

    def header(self, *roles: Sequence[str]) -> bool:
        """Whether the first line is the header of delimited text that has a column for each role."""
        if not any(mark in self.first for mark in (b"\t", b",", b";")):
            return False
        try:
            names = Header.of(self.path, self.first).cells
        except (UnicodeDecodeError, InputError):
            return False
        return all(find_column(names, known) is not None for known in roles)


@dataclass(frozen=True)
class Content:
    """A table of scores, or a run or judgments as `surefoot.io.memory` takes them.

    ``name`` is the system's name, if the file has it outside of the table; ``summaries`` are ids that stand for all
    topics; ``notes`` are assumptions; ``noun`` is the word for topics. Rankings of several systems are a table with a
    column ``system``.
    """

    source: Any
    name: str | None = None
    summaries: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    noun: str = "queries"


def read_parquet_table(source: Source) -> Content:
    """A Parquet file."""
    return Content(read_parquet(source.path, source.data))


def read_plain_table(source: Source) -> Content:
    """Delimited text."""
    data = validate_text(source.path, source.data)
    return Content(read_delimited(source.path, data))


def read_score_records(source: Source) -> Content:
    """JSON lines, as ``ir_measures --output_format jsonl`` prints, or a list of objects; each may name a system."""
    return Content(read_records(source.path, source.data), summaries=frozenset({SUMMARY}))


def read_single_task(source: Source) -> Content:
    """Refuse one file of MTEB's results."""
    raise InputError(source.path, "one result of MTEB; give the folder of its model, above that of the revision")


def is_task_result(content: Any) -> bool:
    """Whether parsed JSON is MTEB's result of a task."""
    return isinstance(content, dict) and {"task_name", "scores"} <= content.keys()


def is_single_task(source: Source) -> bool:
    """Whether this is MTEB's result of a task."""
    if not source.is_json or b'"task_name"' not in source.data:
        return False
    try:
        return is_task_result(parse_json(source.data))
    except ValueError:
        raise InputError(source.path, "not JSON, or cut off; get it again, or take it out of the folder") from None


def is_evaluator_line(source: Source) -> bool:
    """Whether the first line has the three fields that trec_eval and ir_measures print."""
    fields = source.first.decode().split()
    if len(fields) != 3:
        return False
    return fields[:2] == ["runid", SUMMARY] or (_is_number(fields[2]) and role_of(fields[0]) is None)


def read_evaluator_lines(source: Source) -> Content:
    """Lines of ``measure topic value`` (trec_eval) or ``topic measure value`` (ir_measures)."""
    rows, lines = [], []
    for number, line in enumerate(source.data.decode("utf-8").split("\n"), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            message = f"expected measure, topic and value, found {len(fields)} columns"
            raise InputError(source.path, message, number)
        if fields:
            rows.append(fields)
            lines.append(number)
    columns = [*zip(*rows, strict=True)]
    if _measure_comes_first(set(columns[0]), set(columns[1])):
        tag = next((row[2] for row in rows if row[:2] == ["runid", SUMMARY]), None)
        return Content(Table(("measure", "topic", "value"), columns, lines), tag, frozenset({SUMMARY}))
    return Content(Table(("topic", "measure", "value"), columns, lines), None, frozenset({SUMMARY}))


def _measure_comes_first(first: set[str], second: set[str]) -> bool:
    """Whether the measure comes first, as in trec_eval; detected by the position of the summary or by the names."""
    if (SUMMARY in first) != (SUMMARY in second):
        return SUMMARY in second
    share_first, share_second = (sum(map(looks_like_measure, words)) / len(words) for words in (first, second))
    return share_first >= share_second


def read_score_table(source: Source) -> Content:
    """Delimited text; a run, judgments, or summaries only are refused with their name."""
    header = Header.of(source.path, source.data)
    fields = source.first.decode().split()
    if role_of(header.cells[0]) is None:
        if len(fields) == 2 and looks_like_measure(fields[0]) and _is_number(fields[1]):
            message = "there are only summary lines; scores per topic are needed (-q in ir_measures)"
            raise InputError(source.path, message, 1)
        what = {4: "judgments (qrels)", 6: "a TREC run"}.get(len(fields))
        if what and _is_number(fields[3]):
            message = f"looks like {what}, not scores; runs are scored together with judgments"
            raise InputError(source.path, message, 1)
    try:
        recognise(header.cells)
    except SurefootError as error:
        raise InputError(source.path, str(error), header.line) from None
    return Content(read_delimited(source.path, source.data, header))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def known_form(source: Source) -> Iterator[None]:
    """Refuse JSON that begins like a known form and goes on otherwise."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        message = f"its JSON has a known beginning, but not the known form ({reason[:80]})"
        raise InputError(source.path, message) from None


def read_mteb_predictions(source: Source) -> Content:
    """The predictions of MTEB: by subset and split, beside the name of the model."""
    with known_form(source):
        parts = {
            f"{subset}/{split}": run
            for subset, splits in source.json.items()
            if subset != MTEB_MODEL
            for split, run in splits.items()
        }
        if len(parts) != 1:
            message = f"holds predictions of {listed(parts) or 'nothing'}; keep one subset and split in a file"
            raise InputError(source.path, message)
        name = str(source.json[MTEB_MODEL].get("model_name") or "").rpartition("/")[2]
        return Content(next(iter(parts.values())), name or None)


def read_hits(source: Source) -> Content:
    """The hits in the response of ``_rank_eval``."""
    with known_form(source):
        details = source.json["details"].items()
        return Content([row for query, one in details for row in _ranked(query, [hit["hit"] for hit in one["hits"]])])


def _ranked(query: str, hits: list[dict[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Hits of Elasticsearch or OpenSearch, which come best first; sorted ones may lack scores."""
    scores = [hit.get("_score") for hit in hits]
    if None in scores:
        scores = [-rank for rank in range(len(hits))]
    yield from ((query, hit["_id"], score) for hit, score in zip(hits, scores, strict=True))


def read_responses(source: Source) -> Content:
    """Responses of ``_search``: one, those of ``_msearch``, a list or lines of them, or ``{query: response}``."""
    with known_form(source):
        content = source.json
        if isinstance(content, Mapping) and "hits" in content:
            content = [content]
        elif isinstance(content, Mapping):
            content = content.get("responses", content)
        named = isinstance(content, Mapping)
        notes = () if named else ("responses do not name their queries, which are numbered from 1 in their order",)
        rows: list[tuple[str, Any, Any]] = []
        for query, response in content.items() if named else enumerate(content, start=1):
            if "hits" not in response:
                problem = str(response.get("error") or "it has no hits")[:80]
                raise InputError(source.path, f"the response to query {query} is no answer: {problem}")
            rows += _ranked(str(query), response["hits"]["hits"])
        return Content(rows, notes=notes)


def is_response(source: Source) -> bool:
    """Whether the content has hits where a response of ``_search`` has them."""
    if not source.mentions("hits", "_id"):
        return False
    content = source.json
    if isinstance(content, Mapping) and "hits" not in content:
        content = content.get("responses") or [*content.values()]
    first = next(iter(content), None) if isinstance(content, list) else content
    return (
        isinstance(first, Mapping)
        and isinstance(first.get("hits", {}), Mapping)
        and first.keys() & {"hits", "error"} != set()
    )


def read_experiment(source: Source) -> Content:
    """Rankings of an experiment of OpenSearch's Search Relevance Workbench, by search configuration."""
    with known_form(source):
        rows = [
            (one.get("searchConfigurationId") or "search", one["searchText"], document, rank)
            for one in objects_with(source.json, "documentIds")
            for rank, document in enumerate(one["documentIds"], start=1)
        ]
        return Content(Table(("system", "topic", "document", "rank"), [*zip(*rows, strict=True)]))


def objects_with(content: Any, key: str) -> Iterator[dict[str, Any]]:
    """The objects that have a key, at any depth of JSON, outermost first."""
    if isinstance(content, Mapping) and key in content:
        yield dict(content)
    elif isinstance(content, Mapping | list):
        for value in content.values() if isinstance(content, Mapping) else content:
            yield from objects_with(value, key)


def read_requested_ratings(source: Source) -> Content:
    """The ratings in the request of ``_rank_eval``."""
    with known_form(source):
        requests = source.json["requests"]
        rated = [(one["id"], own["_id"], own["rating"]) for one in requests for own in one.get("ratings", ())]
        return Content(rated)


def read_returned_ratings(source: Source) -> Content:
    """The ratings in the response of ``_rank_eval``."""
    with known_form(source):
        hits = ((query, hit) for query, detail in source.json["details"].items() for hit in detail["hits"])
        return Content([(query, hit["hit"]["_id"], hit["rating"]) for query, hit in hits if hit["rating"] is not None])


def read_opensearch(source: Source) -> Content:
    """Ratings of OpenSearch's Search Relevance Workbench, at any depth of the export."""
    with known_form(source):
        lists = objects_with(source.json, "judgmentRatings")
        rated = [
            (one["query"], own["docId"], float(own["rating"]))
            for ratings in lists
            for one in ratings["judgmentRatings"]
            for own in one["ratings"]
        ]
        return Content(rated or source.json)


def read_quepid_case(source: Source) -> Content:
    """The ratings of an exported case of Quepid."""
    with known_form(source):
        queries = source.json["queries"]
        return Content([(q["query_text"], own["doc_id"], own["rating"]) for q in queries for own in q["ratings"]])


def read_quepid_table(source: Source) -> Content:
    """The CSV of Quepid, basic or detailed; lines without a rating are queries or documents to be judged."""
    data = validate_text(source.path, source.data)
    header = Header.of(source.path, data)
    rating = cast("int", find_column(header.cells, ("rating",)))
    lines = data.decode().split("\n")
    for number, cells in records(source.path, data.decode(), header.separator):
        if len(cells) == 1 or (len(cells) == len(header.cells) and not cells[rating].strip()):
            lines[number - 1] = ""
    return Content(read_delimited(source.path, "\n".join(lines).encode(), header))


def read_judgment_list(source: Source) -> Content:
    """The lines of a judgment list of Elasticsearch LTR, without its comments."""
    rated = []
    for number, line in enumerate(source.data.removeprefix(BYTE_ORDER_MARK).split(b"\n"), start=1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        found = _LTR_LINE.match(line)
        if found is None:
            raise InputError(source.path, "expected grade, qid:QUERY, and the document behind #", number)
        try:
            grade, query, document = (field.decode() for field in found.groups())
        except UnicodeDecodeError:
            raise InputError(source.path, "not UTF-8 text; save it with that encoding", number) from None
        rated.append((query, document, grade))
    return Content(rated)


def is_judgment_list(source: Source) -> bool:
    """Whether lines look like those of Elasticsearch LTR."""
    return b"qid:" in source.data[:10_000] and _LTR_LINE.search(source.data) is not None


def is_ranking(source: Source) -> bool:
    """Whether delimited text has topics and documents, and no grades."""
    judged = source.header(GRADES) and not source.header(RETRIEVED) and not source.header(RANKS)
    return source.header(NAMES["topic"], DOCUMENTS) and not judged
