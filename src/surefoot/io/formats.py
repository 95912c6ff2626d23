"""The list of formats.

To add a format, add a `Format` to `FORMATS`, above those that would take its files for theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from surefoot.io import contents, eval_logs
from surefoot.io.contents import Content, Source
from surefoot.io.roles import DOCUMENTS, GRADES, NAMES

Sniff = Callable[[Source], bool]


@dataclass(frozen=True)
class Format:
    """A format of files that hold scores, a run or judgments: whether a file has it, and how it is read."""

    name: str
    holds: Literal["scores", "run", "qrels"]
    sniff: Sniff
    read: Callable[[Source], Content]


def begins(magic: bytes) -> Sniff:
    """Whether a file begins with these bytes."""
    return lambda source: source.data.startswith(magic)


def keys(*names: str) -> Sniff:
    """Whether a file is JSON in which all these keys occur."""
    return lambda source: source.mentions(*names)


def columns(*roles: Sequence[str]) -> Sniff:
    """Whether a file is delimited text that has a column for each role."""
    return lambda source: source.header(*roles)


FORMATS = [
    Format("Parquet", "scores", begins(contents.PARQUET), contents.read_parquet_table),
    Format("log of Inspect", "scores", begins(eval_logs.ZIP), eval_logs.read_inspect),
    Format("log of Inspect", "scores", eval_logs.is_inspect, eval_logs.read_inspect),
    Format("samples of lm-eval", "scores", keys("doc_id", "filtered_resps"), eval_logs.read_lm_eval),
    Format("results of promptfoo", "scores", keys("promptIdx", "testIdx"), eval_logs.read_promptfoo),
    Format("run of deepeval", "scores", keys("testCases", "metricsData"), eval_logs.read_deepeval),
    Format("HELM", "scores", keys("instance_id", "train_trial_index", "stats"), eval_logs.read_helm),
    Format("OpenAI evals", "scores", keys("event_id", "sample_id"), eval_logs.read_openai_evals),
    Format("Every Eval Ever", "scores", keys("evaluation_name", "sample_id"), eval_logs.read_every_eval_ever),
    Format("results of ragas", "scores", columns(("user_input", "contexts")), eval_logs.read_ragas),
    Format("one result of MTEB", "scores", contents.is_single_task, contents.read_single_task),
    Format("JSON records", "scores", lambda source: source.is_json, contents.read_score_records),
    Format("output of trec_eval or ir_measures", "scores", contents.is_evaluator_line, contents.read_evaluator_lines),
    Format("delimited text", "scores", lambda _: True, contents.read_score_table),
    Format("Parquet", "run", begins(contents.PARQUET), contents.read_parquet_table),
    Format("predictions of MTEB", "run", keys(contents.MTEB_MODEL), contents.read_mteb_predictions),
    Format("response of _rank_eval", "run", lambda source: source.has("details"), contents.read_hits),
    Format("experiment of OpenSearch", "run", keys("documentIds"), contents.read_experiment),
    Format("responses of _search", "run", contents.is_response, contents.read_responses),
    Format("JSON", "run", lambda source: source.is_json, lambda source: Content(source.json)),
    Format("delimited text", "run", contents.is_ranking, contents.read_plain_table),
    Format("Parquet", "qrels", begins(contents.PARQUET), contents.read_parquet_table),
    Format("request of _rank_eval", "qrels", lambda source: source.has("requests"), contents.read_requested_ratings),
    Format("response of _rank_eval", "qrels", lambda source: source.has("details"), contents.read_returned_ratings),
    Format("export of OpenSearch", "qrels", keys("judgmentRatings"), contents.read_opensearch),
    Format("case of Quepid", "qrels", keys("query_text", "ratings"), contents.read_quepid_case),
    Format("JSON", "qrels", lambda source: source.is_json, lambda source: Content(source.json)),
    Format("CSV of Quepid", "qrels", columns(contents.QUERY, DOCUMENTS, ("rating",)), contents.read_quepid_table),
    Format("delimited text", "qrels", columns(NAMES["topic"], DOCUMENTS, GRADES), contents.read_plain_table),
    Format("judgment list of Elasticsearch LTR", "qrels", contents.is_judgment_list, contents.read_judgment_list),
]
"""All formats, but for TREC's runs and judgments, which are read where no other fits."""


def read_content(source: Source, holds: Literal["scores", "run", "qrels"]) -> Content | None:
    """The content of a file; None if it has no known format.

    >>> read_content(Source("run.json", b'{"q1": {"d1": 2.5}}'), "run").source
    {'q1': {'d1': 2.5}}
    """
    found = format_of(source, holds)
    return None if found is None else found.read(source)


def format_of(source: Source, holds: Literal["scores", "run", "qrels"]) -> Format | None:
    """The first format that a file fits; None if there is none."""
    return next((one for one in FORMATS if one.holds == holds and one.sniff(source)), None)
