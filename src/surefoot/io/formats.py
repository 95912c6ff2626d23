"""The formats of files of scores, runs and judgments, recognised by their content, never by their name.

To add a format, add a `Format` to `FORMATS`, above those that would take its files for theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from surefoot._typing import PathLike
from surefoot.errors import InputError, listed
from surefoot.io import eval_logs, search_engines
from surefoot.io.containers import Content, Header, Table, in_file, read_delimited, validate_text
from surefoot.io.files import BYTE_ORDER_MARK, parse_json
from surefoot.io.frames import PARQUET, read_parquet
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
from surefoot.io.search_engines import ratings

Holds = Literal["scores", "run", "qrels"]
SUMMARY = "all"
RECORD = 'a JSON object such as {"query_id": ...}'
QUERY_TEXTS = ("query", "query_text")
MTEB_MODEL = "mteb_model_meta"


@dataclass(frozen=True)
class Source:
    """The content of a file, to find its format."""

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

    @property
    def json(self) -> Any:
        """The content as JSON, or as a list of the objects of JSON lines."""
        return self._parsed[0]

    @cached_property
    def _parsed(self) -> tuple[Any, list[int]]:
        """The content as JSON, and the number of each line if it is JSON lines."""
        try:
            content = parse_json(self.data)
        except ValueError as error:
            whole = error
        else:
            is_line = isinstance(content, dict) and content and not any(isinstance(x, dict) for x in content.values())
            is_line = is_line and find_column([*content], NAMES["topic"]) is not None
            return ([content], [1]) if is_line else (content, [])
        rows, lines = [], []
        for number, line in enumerate(self.data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                rows.append(parse_json(line))
            except ValueError:
                message = f"expected {RECORD}" if rows else f"damaged JSON ({whole})"
                raise InputError(self.path, message, number if rows else None) from None
            lines.append(number)
        return rows, lines

    @property
    def records(self) -> list[Any]:
        """The items of a JSON list or of JSON lines; other JSON is a single item."""
        return self.json if isinstance(self.json, list) else [self.json]

    def table(self) -> Table:
        """The records as a table."""
        lines = self._parsed[1]
        for place, row in enumerate(self.records):
            if not isinstance(row, dict):
                raise InputError(self.path, f"expected {RECORD}", lines[place] if lines else None)
        return Table.of(self.records, lines)

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


class Format(NamedTuple):
    """A format of files with scores, a run or judgments: how to recognise it and how to read it.

    ``read`` returns a `Content`, or its ``source``; or it yields scores of items, or tuples of query, document, number.
    """

    name: str
    holds: Holds
    sniff: Callable[[Source], bool]
    read: Callable[[Source], Any]


def format_of(source: Source, holds: Holds) -> Format | None:
    """The first format that a file fits; None if there is none."""
    return next((one for one in FORMATS if one.holds == holds and one.sniff(source)), None)


def read_content(source: Source, holds: Holds) -> Content | None:
    """The content of a file; None if it has no known format.

    >>> read_content(Source("run.json", b'{"q1": {"d1": 2.5}}'), "run").source
    {'q1': {'d1': 2.5}}
    """
    found = format_of(source, holds)
    if found is None:
        return None
    try:
        content = found.read(source)
        if isinstance(content, Iterator):
            if holds != "scores":
                return Content([*content])
            return Content(*eval_logs.table_of(source.path, content), noun="items")
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:80]
        message = f"begins like {found.name}, but does not have its form ({reason})"
        raise InputError(source.path, message) from None
    return content if isinstance(content, Content) else Content(content)


def begins(magic: bytes) -> Callable[[Source], bool]:
    """Whether a file begins with these bytes."""
    return lambda source: source.data.startswith(magic)


def keys(*names: str) -> Callable[[Source], bool]:
    """Whether a file is JSON in which all these keys occur."""
    return lambda source: source.mentions(*names)


def columns(*roles: Sequence[str]) -> Callable[[Source], bool]:
    """Whether a file is delimited text that has a column for each role."""
    return lambda source: source.header(*roles)


def is_inspect(source: Source) -> bool:
    """Whether this is a log of Inspect as JSON."""
    return source.mentions("eval", "samples", "scores") and source.has("samples")


def is_single_task(source: Source) -> bool:
    """Whether this is one task result of MTEB."""
    return source.mentions("task_name") and eval_logs.is_task_result(eval_logs.parsed(source.path, source.data))


def refuse_single_task(source: Source) -> Content:
    """Refuse one file of MTEB's results."""
    raise InputError(source.path, "one result of MTEB; give the folder of its model, above that of the revision")


def is_evaluator_line(source: Source) -> bool:
    """Whether the first line has the three fields that trec_eval and ir_measures print."""
    fields = source.first.decode().split()
    if len(fields) != 3:
        return False
    return fields[:2] == ["runid", SUMMARY] or (_is_number(fields[2]) and role_of(fields[0]) is None)


def read_evaluator_lines(source: Source) -> Content:
    """Lines of ``measure topic value`` (trec_eval) or ``topic measure value`` (ir_measures)."""
    rows, lines = [], []
    for number, line in enumerate(source.data.decode().split("\n"), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            message = f"expected measure, topic and value, found {len(fields)} columns"
            raise InputError(source.path, message, number)
        if fields:
            rows.append(fields)
            lines.append(number)
    cells = [*zip(*rows, strict=True)]
    tag, names = None, ["topic", "measure", "value"]
    if _measure_comes_first(set(cells[0]), set(cells[1])):
        tag = next((row[2] for row in rows if row[:2] == ["runid", SUMMARY]), None)
        names = ["measure", "topic", "value"]
    return Content(Table(names, cells, lines), tag, frozenset({SUMMARY}))


def _measure_comes_first(first: set[str], second: set[str]) -> bool:
    """Whether the measure comes first, as in trec_eval; detected by the position of the summary or by the names."""
    if (SUMMARY in first) != (SUMMARY in second):
        return SUMMARY in second
    share_first, share_second = (sum(map(looks_like_measure, words)) / len(words) for words in (first, second))
    return share_first >= share_second


def read_score_table(source: Source) -> Table:
    """Delimited text; raise if it is a run, judgments, or only summaries."""
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
    with in_file(source.path, line=header.line):
        recognise(header.cells)
    return read_delimited(source.path, source.data, header)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_predictions(source: Source) -> Content:
    """The predictions of MTEB, by subset and split, and the name of the model."""
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


def is_ranking(source: Source) -> bool:
    """Whether delimited text has topics and documents, and no grades."""
    judged = source.header(GRADES) and not source.header(RETRIEVED) and not source.header(RANKS)
    return source.header(NAMES["topic"], DOCUMENTS) and not judged


def is_judgment_list(source: Source) -> bool:
    """Whether lines look like those of Elasticsearch LTR."""
    return b"qid:" in source.data[:10_000] and search_engines.LTR_LINE.search(source.data) is not None


def _table(source: Source) -> Table:
    return read_delimited(source.path, validate_text(source.path, source.data))


def _parquet(source: Source) -> Table:
    return read_parquet(source.path, source.data)


def _score_records(source: Source) -> Content:
    """JSON lines, as ``ir_measures --output_format jsonl`` prints, or a list of objects; each may name a system."""
    return Content(source.table(), summaries=frozenset({SUMMARY}))


FORMATS = [
    Format("Parquet", "scores", begins(PARQUET), _parquet),
    Format("log of Inspect", "scores", begins(eval_logs.ZIP), eval_logs.read_inspect),
    Format("log of Inspect", "scores", is_inspect, eval_logs.read_inspect),
    Format("samples of lm-eval", "scores", keys("doc_id", "filtered_resps"), eval_logs.read_lm_eval),
    Format("results of promptfoo", "scores", keys("promptIdx", "testIdx"), eval_logs.read_promptfoo),
    Format("run of deepeval", "scores", keys("testCases", "metricsData"), eval_logs.read_deepeval),
    Format("HELM", "scores", keys("instance_id", "train_trial_index", "stats"), eval_logs.read_helm),
    Format("OpenAI evals", "scores", keys("event_id", "sample_id"), eval_logs.read_openai_evals),
    Format("Every Eval Ever", "scores", keys("evaluation_name", "sample_id"), eval_logs.read_every_eval_ever),
    Format("results of ragas", "scores", columns(("user_input", "contexts")), eval_logs.read_ragas),
    Format("one result of MTEB", "scores", is_single_task, refuse_single_task),
    Format("JSON records", "scores", lambda source: source.is_json, _score_records),
    Format("output of trec_eval or ir_measures", "scores", is_evaluator_line, read_evaluator_lines),
    Format("delimited text", "scores", lambda _: True, read_score_table),
    Format("Parquet", "run", begins(PARQUET), _parquet),
    Format("predictions of MTEB", "run", keys(MTEB_MODEL), read_predictions),
    Format("response of _rank_eval", "run", lambda source: source.has("details"), search_engines.read_hits),
    Format("experiment of OpenSearch", "run", keys("documentIds"), search_engines.read_experiment),
    Format("responses of _search", "run", keys("hits", "_id"), search_engines.read_responses),
    Format("JSON", "run", lambda source: source.is_json, lambda source: source.json),
    Format("delimited text", "run", is_ranking, _table),
    Format("Parquet", "qrels", begins(PARQUET), _parquet),
    Format("request of _rank_eval", "qrels", lambda source: source.has("requests"), ratings("requests", "id", "_id")),
    Format(
        "response of _rank_eval", "qrels", lambda source: source.has("details"), search_engines.read_returned_ratings
    ),
    Format("export of OpenSearch", "qrels", keys("judgmentRatings"), ratings("judgmentRatings", "query", "docId")),
    Format("case of Quepid", "qrels", keys("query_text", "ratings"), ratings("queries", "query_text", "doc_id")),
    Format("JSON", "qrels", lambda source: source.is_json, lambda source: source.json),
    Format("CSV of Quepid", "qrels", columns(QUERY_TEXTS, DOCUMENTS, ("rating",)), search_engines.read_quepid_table),
    Format("delimited text", "qrels", columns(NAMES["topic"], DOCUMENTS, GRADES), _table),
    Format("judgment list of Elasticsearch LTR", "qrels", is_judgment_list, search_engines.read_judgment_list),
]
"""All formats except TREC runs and judgments, which are tried last."""
