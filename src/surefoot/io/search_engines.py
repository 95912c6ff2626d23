"""Rankings and judgments in the files of search engines and their tools: Elasticsearch, OpenSearch and Quepid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from surefoot.errors import InputError
from surefoot.io.containers import Content, Header, Table, objects_with, read_delimited, records, validate_text
from surefoot.io.roles import find_column

if TYPE_CHECKING:
    from surefoot.io.formats import Source

LTR_LINE = re.compile(rb"^[ \t]*([^\s#]+)[ \t]+qid:(\S+)[^#\n]*#[ \t]*(?:docid[ \t]*=[ \t]*)?(\S+)", re.MULTILINE)
HAS_FEATURES = re.compile(rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*[^\s#:]+[ \t]+qid:\S+[ \t]+\d+:")
"""Matches files whose first line after comments has features: such files are for training."""

Entry = tuple[Any, Any, Any]
"""A query, a document, and its score or grade."""


def read_hits(source: Source) -> Iterator[Entry]:
    """The hits in the response of ``_rank_eval``."""
    for query, one in source.json["details"].items():
        yield from _ranked(query, [hit["hit"] for hit in one["hits"]])


def _ranked(query: str, hits: list[dict[str, Any]]) -> Iterator[Entry]:
    """Hits of Elasticsearch or OpenSearch, best first; hits of a sorted search may lack scores."""
    scores = [hit.get("_score") for hit in hits]
    if None in scores:
        scores = [-rank for rank in range(len(hits))]
    yield from ((query, hit["_id"], score) for hit, score in zip(hits, scores, strict=True))


def _responses(content: Any) -> Any:
    """Responses of ``_search``: one, those of ``_msearch``, a list or lines of them, or ``{query: response}``."""
    if not isinstance(content, Mapping):
        return content
    return [content] if "hits" in content else content.get("responses") or content


def read_responses(source: Source) -> Content:
    """The hits in responses of ``_search``."""
    responses = _responses(source.json)
    named = isinstance(responses, Mapping)
    notes = () if named else ("responses do not name their queries, which are numbered from 1 in their order",)
    rows: list[Entry] = []
    for query, response in responses.items() if named else enumerate(responses, start=1):
        if "hits" not in response:
            problem = str(response.get("error") or "it has no hits")[:80]
            raise InputError(source.path, f"the response to query {query} is no answer: {problem}")
        rows += _ranked(str(query), response["hits"]["hits"])
    return Content(rows, notes=notes)


def read_experiment(source: Source) -> Table:
    """Rankings of an experiment of OpenSearch's Search Relevance Workbench, by search configuration."""
    rows = [
        (one.get("searchConfigurationId") or "search", one["searchText"], document, rank)
        for one in objects_with(source.json, "documentIds")
        for rank, document in enumerate(one["documentIds"], start=1)
    ]
    if not rows:
        raise InputError(source.path, "an experiment without documents")
    return Table(("system", "topic", "document", "rank"), [*zip(*rows, strict=True)])


def read_returned_ratings(source: Source) -> Iterator[Entry]:
    """The ratings in the response of ``_rank_eval``."""
    hits = ((query, hit) for query, detail in source.json["details"].items() for hit in detail["hits"])
    yield from ((query, hit["hit"]["_id"], hit["rating"]) for query, hit in hits if hit["rating"] is not None)


def ratings(key: str, query: str, document: str) -> Callable[[Source], Iterator[Entry]]:
    """A reader of the lists under a JSON key, at any depth, that have the ``ratings`` of documents for each query."""

    def read(source: Source) -> Iterator[Entry]:
        for found in objects_with(source.json, key):
            for one in found[key]:
                yield from ((one[query], own[document], own["rating"]) for own in one.get("ratings", ()))

    return read


def read_quepid_table(source: Source) -> Table:
    """The CSV of Quepid, basic or detailed; lines without a rating are queries or documents to be judged."""
    data = validate_text(source.path, source.data)
    header = Header.of(source.path, data)
    rating = cast("int", find_column(header.cells, ("rating",)))
    lines = data.decode().split("\n")
    for number, cells in records(source.path, data.decode(), header.separator):
        if len(cells) == 1 or (len(cells) == len(header.cells) and not cells[rating].strip()):
            lines[number - 1] = ""
    return read_delimited(source.path, "\n".join(lines).encode(), header)


def read_judgment_list(source: Source) -> Iterator[Entry]:
    """The lines of a judgment list of Elasticsearch LTR, without its comments."""
    data = validate_text(source.path, source.data)
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        found = LTR_LINE.match(line)
        if found is None:
            raise InputError(source.path, "expected grade, qid:QUERY, and the document behind #", number)
        grade, query, document = (field.decode() for field in found.groups())
        yield query, document, grade
