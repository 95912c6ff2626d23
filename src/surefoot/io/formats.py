"""The list of formats.

To add a format, add a `Format` to `FORMATS`, above those that would take its files for theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from surefoot.io.contents import (
    MTEB_MODEL,
    PARQUET,
    QUERY,
    Content,
    Source,
    is_evaluator_line,
    is_judgment_list,
    is_ranking,
    is_response,
    is_single_task,
    read_evaluator_lines,
    read_experiment,
    read_hits,
    read_judgment_list,
    read_mteb_predictions,
    read_opensearch,
    read_parquet_table,
    read_plain_json,
    read_plain_table,
    read_quepid_case,
    read_quepid_table,
    read_requested_ratings,
    read_responses,
    read_returned_ratings,
    read_score_records,
    read_score_table,
    read_single_task,
)
from surefoot.io.eval_logs import (
    ZIP,
    is_inspect,
    read_deepeval,
    read_every_eval_ever,
    read_helm,
    read_inspect,
    read_lm_eval,
    read_openai_evals,
    read_promptfoo,
    read_ragas,
)
from surefoot.io.roles import DOCUMENTS, GRADES, NAMES


@dataclass(frozen=True)
class Format:
    """A format of files that hold scores, a run or judgments: whether a file has it, and how it is read."""

    name: str
    holds: Literal["scores", "run", "qrels"]
    sniff: Callable[[Source], bool]
    read: Callable[[Source], Content]


FORMATS = [
    Format("Parquet", "scores", lambda source: source.data.startswith(PARQUET), read_parquet_table),
    Format("log of Inspect", "scores", lambda source: source.data.startswith(ZIP), read_inspect),
    Format("log of Inspect", "scores", is_inspect, read_inspect),
    Format("samples of lm-eval", "scores", lambda source: source.mentions("doc_id", "filtered_resps"), read_lm_eval),
    Format("results of promptfoo", "scores", lambda source: source.mentions("promptIdx", "testIdx"), read_promptfoo),
    Format("run of deepeval", "scores", lambda source: source.mentions("testCases", "metricsData"), read_deepeval),
    Format("HELM", "scores", lambda source: source.mentions("instance_id", "train_trial_index", "stats"), read_helm),
    Format("OpenAI evals", "scores", lambda source: source.mentions("event_id", "sample_id"), read_openai_evals),
    Format(
        "Every Eval Ever",
        "scores",
        lambda source: source.mentions("evaluation_name", "sample_id", "is_correct"),
        read_every_eval_ever,
    ),
    Format("results of ragas", "scores", lambda source: source.header(("user_input", "contexts")), read_ragas),
    Format("one result of MTEB", "scores", is_single_task, read_single_task),
    Format("JSON records", "scores", lambda source: source.is_json, read_score_records),
    Format("output of trec_eval or ir_measures", "scores", is_evaluator_line, read_evaluator_lines),
    Format("delimited text", "scores", lambda _: True, read_score_table),
    Format("Parquet", "run", lambda source: source.data.startswith(PARQUET), read_parquet_table),
    Format("predictions of MTEB", "run", lambda source: source.has(MTEB_MODEL), read_mteb_predictions),
    Format("response of _rank_eval", "run", lambda source: source.has("details"), read_hits),
    Format(
        "experiment of OpenSearch", "run", lambda source: source.mentions("searchText", "documentIds"), read_experiment
    ),
    Format("responses of _search", "run", is_response, read_responses),
    Format("JSON", "run", lambda source: source.is_json, read_plain_json),
    Format("delimited text", "run", is_ranking, read_plain_table),
    Format("Parquet", "qrels", lambda source: source.data.startswith(PARQUET), read_parquet_table),
    Format("request of _rank_eval", "qrels", lambda source: source.has("requests"), read_requested_ratings),
    Format("response of _rank_eval", "qrels", lambda source: source.has("details"), read_returned_ratings),
    Format("export of OpenSearch", "qrels", lambda source: source.mentions("judgmentRatings"), read_opensearch),
    Format("case of Quepid", "qrels", lambda source: source.mentions("query_text", "ratings"), read_quepid_case),
    Format("JSON", "qrels", lambda source: source.is_json, read_plain_json),
    Format("CSV of Quepid", "qrels", lambda source: source.header(QUERY, DOCUMENTS, ("rating",)), read_quepid_table),
    Format(
        "delimited text", "qrels", lambda source: source.header(NAMES["topic"], DOCUMENTS, GRADES), read_plain_table
    ),
    Format("judgment list of Elasticsearch LTR", "qrels", is_judgment_list, read_judgment_list),
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
