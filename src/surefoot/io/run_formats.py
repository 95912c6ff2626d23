"""Runs and judgments in files that are not TREC's: JSON, Parquet, tables with a header, judgment lists.

Each becomes what `surefoot.io.memory` takes: a dictionary, a frame or records.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from surefoot._fork import uses_threads
from surefoot._lazy import LazyModule
from surefoot._typing import PathLike
from surefoot.errors import InputError, listed
from surefoot.io.delimited import header_of, read_rows, validate_text
from surefoot.io.diagnostics import LineFormat
from surefoot.io.files import BYTE_ORDER_MARK
from surefoot.io.json_text import parse_json
from surefoot.io.layouts import NAMES, find_column
from surefoot.io.memory import DOCUMENTS, GRADES, SCORES
from surefoot.io.parquet_pages import MAGIC, reading, validate_pages

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

MTEB_MODEL = "mteb_model_meta"
OPENSEARCH = "judgmentRatings"
_FILLED = re.compile(rb"\S[^\n]*")
_LTR_LINE = re.compile(rb"^[ \t]*([^\s#]+)[ \t]+qid:(\S+)[^#\n]*#[ \t]*(?:docid[ \t]*=[ \t]*)?(\S+)", re.MULTILINE)


class Parsed(NamedTuple):
    """What `surefoot.io.memory` takes, and the name of the run if the file says it."""

    source: Any
    name: str | None = None


def parse_run(path: PathLike, data: bytes) -> Parsed | None:
    """The content of a run that is not TREC's; None if it seems to be TREC's.

    >>> parse_run("run.json", b'{"q1": {"d1": 2.5}}')
    Parsed(source={'q1': {'d1': 2.5}}, name=None)
    """
    if not _is_json(data):
        return _table(path, data, SCORES)
    content = _json(path, data)
    if not isinstance(content, Mapping):
        return Parsed(content)
    with _known_form(path):
        if MTEB_MODEL in content:
            return _mteb_run(path, content)
        if "details" in content:
            return Parsed({query: _hits(detail["hits"]) for query, detail in content["details"].items()})
    return Parsed(content)


def parse_qrels(path: PathLike, data: bytes) -> Parsed | None:
    """The content of judgments that are not TREC's; None if they seem to be TREC's.

    >>> parse_qrels("judgments.txt", b"4 qid:1 # 7555 rambo").source
    [('1', '7555', '4')]
    """
    if _is_json(data):
        content = _json(path, data)
        with _known_form(path):
            return Parsed(_json_judgments(content))
    if table := _table(path, data, GRADES):
        return table
    is_list = b"qid:" in data[:10_000] and _LTR_LINE.search(data) is not None
    return Parsed([*_judgment_list(path, data)]) if is_list else None


def _judgment_list(path: PathLike, data: bytes) -> Iterator[tuple[str, str, str]]:
    """The lines of a judgment list of Elasticsearch LTR, without its comments."""
    for number, line in enumerate(data.removeprefix(BYTE_ORDER_MARK).split(b"\n"), start=1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        found = _LTR_LINE.match(line)
        if found is None:
            raise InputError(path, "expected grade, qid:QUERY, and the document behind #", number)
        try:
            grade, query, document = (field.decode() for field in found.groups())
        except UnicodeDecodeError:
            raise InputError(path, "not UTF-8 text; save it with that encoding", number) from None
        yield query, document, grade


def parse_tab_separated(path: PathLike, data: bytes, line_format: LineFormat) -> Parsed | None:
    r"""The lines of a TREC file whose fields are separated by tabs and may hold spaces; None if they are not.

    >>> from surefoot.io.diagnostics import QRELS
    >>> parse_tab_separated("qrels.tsv", b"red dress\t0\td1\t2\n", QRELS).source
    [('red dress', 'd1', '2')]
    """
    rows = [line.split("\t") for line in data.decode("utf-8-sig").splitlines() if line.strip() and line[0] != "#"]
    if not rows or any(len(row) != line_format.count for row in rows):
        return None
    number = line_format.fields.split().index(line_format.number)
    return Parsed([(row[0].strip(), row[2].strip(), row[number].strip()) for row in rows])


@contextmanager
def _known_form(path: PathLike) -> Iterator[None]:
    """Refuse JSON that begins like a known form and goes on otherwise."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(path, f"its JSON has a known beginning, but not the known form ({reason[:80]})") from None


def _is_json(data: bytes) -> bool:
    first = _FILLED.search(data.removeprefix(BYTE_ORDER_MARK)[:1000])
    return first is not None and first.group()[:1] in (b"{", b"[")


def _json(path: PathLike, data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError as whole:
        lines = [line for line in data.splitlines() if line.strip()]
        try:
            return [parse_json(line) for line in lines]
        except ValueError:
            raise InputError(path, f"damaged JSON ({whole})") from None


def _table(path: PathLike, data: bytes, numbers: Sequence[str]) -> Parsed | None:
    """A frame of a Parquet file, or of a table whose header names the query, the document and the number."""
    if data.startswith(MAGIC):
        uses_threads()
        validate_pages(path, data)
        with reading(path):
            return Parsed(polars.read_parquet(io.BytesIO(data)))
    columns = _header_columns(path, data, numbers)
    if columns is None:
        return None
    data = validate_text(path, data)
    header = header_of(path, data)
    frame = read_rows(path, data, header)[:, columns].with_columns(polars.all().str.strip_chars())
    return Parsed(frame.rename({name: header.cells[int(name)] for name in frame.columns}))


def _header_columns(path: PathLike, data: bytes, numbers: Sequence[str]) -> list[int] | None:
    """Where the first line names the query, the document and the number; None if it does not."""
    first = _FILLED.search(data[:10_000])
    if first is None or not any(mark in first.group() for mark in (b"\t", b",", b";")):
        return None
    try:
        names = header_of(path, first.group().removeprefix(BYTE_ORDER_MARK)).cells
    except (UnicodeDecodeError, InputError):
        return None
    columns = [find_column(names, known) for known in (NAMES["topic"], DOCUMENTS, numbers)]
    return [column for column in columns if column is not None] if None not in columns else None


def _mteb_run(path: PathLike, content: Mapping[str, Any]) -> Parsed:
    """The predictions of MTEB: by subset and split, beside the name of the model."""
    parts = {
        f"{subset}/{split}": run
        for subset, splits in content.items()
        if subset != MTEB_MODEL
        for split, run in splits.items()
    }
    if len(parts) != 1:
        raise InputError(
            path, f"holds predictions of {listed(parts) or 'nothing'}; keep one subset and split in a file"
        )
    name = str(content[MTEB_MODEL].get("model_name") or "").rpartition("/")[2]
    return Parsed(next(iter(parts.values())), name or None)


def _hits(hits: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The hits of a query in the response of ``_rank_eval``, which come best first; sorted ones may lack scores."""
    scores = [hit["hit"].get("_score") for hit in hits]
    if None in scores:
        scores = [-rank for rank in range(len(hits))]
    return {hit["hit"]["_id"]: score for hit, score in zip(hits, scores, strict=True)}


def _json_judgments(content: Any) -> Any:
    """Ratings of the request or the response of ``_rank_eval``, or of OpenSearch; anything else as it is."""
    if not isinstance(content, Mapping):
        return content
    if "requests" in content:
        return [
            (one["id"], rated["_id"], rated["rating"])
            for one in content["requests"]
            for rated in one.get("ratings", ())
        ]
    if "details" in content:
        return [
            (query, hit["hit"]["_id"], hit["rating"])
            for query, detail in content["details"].items()
            for hit in detail["hits"]
            if hit["rating"] is not None
        ]
    rated = [*_opensearch(content)]
    return rated or content


def _opensearch(content: Any) -> Iterator[tuple[str, str, float]]:
    """Ratings of OpenSearch's Search Relevance Workbench, wherever they are in what was exported."""
    if isinstance(content, Mapping):
        for one in content.get(OPENSEARCH, ()):
            yield from ((one["query"], rated["docId"], float(rated["rating"])) for rated in one["ratings"])
        for value in content.values():
            yield from _opensearch(value) if value is not content.get(OPENSEARCH) else ()
    elif isinstance(content, list):
        for value in content:
            yield from _opensearch(value)
