"""The commands that look into one pair of systems: explore, explain, report."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, names, number, option
from surefoot.errors import SurefootError, counted, listed

if TYPE_CHECKING:
    from surefoot.analysis.explore import Exploration
    from surefoot.io.document_lists import Run
    from surefoot.judgments.credibility import Credibility
    from surefoot.scores import Scores
    from surefoot.show.report import Rankings

TOPICS_WITH_DOCUMENTS = 5


def run_explore(arguments: argparse.Namespace) -> int:
    """One system against one baseline, topic by topic."""
    from surefoot.analysis.explore import explore

    scores = inputs.load_one(arguments)
    given = inputs.given(arguments, "baseline", "alpha", "population")
    result = explore(scores, arguments.candidate, value=inputs.value_function(arguments), **given)
    topics = _topics(result, arguments)
    doubted = _with_doubts(result, scores, arguments).select(topics)
    if arguments.documents:
        added = [name for name in doubted.columns if name not in result.columns]
        doubts = {row["topic"]: {name: row[name] for name in added} for row in doubted.rows()} if added else {}
        _show_documents(scores, topics, doubts, arguments)
    else:
        inputs.show(_with_texts(doubted, arguments), arguments)
    return 0


def _with_texts(result: Exploration, arguments: argparse.Namespace) -> Exploration:
    """Add the texts of the queries, if they are given."""
    queries = inputs.load_queries(arguments)
    if queries is None:
        return result
    texts = [queries.get(topic, "") for topic in result["topic"].tolist()]
    return replace(result, columns={"topic": result["topic"], "query": texts, **result.columns})


def _with_doubts(result: Exploration, scores: Scores, arguments: argparse.Namespace) -> Exploration:
    """Add bounds of the differences and the probability of losses, on request."""
    assessors = inputs.credible_assessors(arguments)
    if assessors == "off" and arguments.unjudged != "bounds":
        return result
    if arguments.unjudged == "skip":
        raise SurefootError("--credible takes unjudged documents into account itself; leave out --unjudged skip")
    from surefoot.judgments.bounds import delta_bounds
    from surefoot.judgments.credibility import credibility

    runs = inputs.judged_runs(scores)
    system, baseline = arguments.candidate, arguments.baseline
    if arguments.unjudged == "bounds":
        result = result.with_columns(delta_bounds(runs.pair(system, baseline)), ("delta_low", "delta_high"))
    if assessors != "off":
        found = credibility(runs, system, baseline, arguments.alpha, assessors=assessors)
        wanted = ("expected", "llm", "p_loss", "low", "high", "credible", "confirmed")
        added = [name for name in wanted if name in found.columns]
        result = result.with_columns(found, added)
    return result


def _topics(result: Exploration, arguments: argparse.Namespace) -> list[str]:
    """The topics to show: those named, or the worst first."""
    if arguments.topics and arguments.top is not None:
        raise SurefootError("give --top or --topics, not both")
    if arguments.top is not None and arguments.top < 1:
        raise SurefootError(f"--top must be at least 1; got {arguments.top}")
    most = arguments.top or (TOPICS_WITH_DOCUMENTS if arguments.documents else None)
    worst: list[str] = result["topic"].tolist()[:most]
    return arguments.topics or worst


def _show_documents(
    scores: Scores, topics: list[str], doubts: dict[str, dict[str, Any]], arguments: argparse.Namespace
) -> None:
    from surefoot.analysis.documents import document_moves
    from surefoot.io.texts import read_documents
    from surefoot.show.rankings import side_by_side

    runs = inputs.load_runs(scores, (arguments.candidate, arguments.baseline))
    queries = inputs.load_queries(arguments)
    texts = None
    if arguments.documents_text:
        wanted = {document for run in runs.values() for topic in topics for document in run.of_topic(topic)}
        with progress("Reading the documents' texts", log="none"):
            texts = read_documents(arguments.documents_text, wanted)
    measure = (arguments.measure or [opt.DEFAULT_MEASURE])[0]
    found = document_moves(
        runs[arguments.candidate], runs[arguments.baseline], arguments.qrels, measure, topics=topics,
        unjudged="skip" if arguments.unjudged == "skip" else "zero", queries=queries, texts=texts,
    ).with_topics(doubts)  # fmt: skip
    if inputs.format_of(arguments) == "table":
        width = 100 if arguments.output else shutil.get_terminal_size((100, 24)).columns
        inputs.write(side_by_side(found, queries, texts, width, doubts), arguments.output)
    else:
        inputs.show(found, arguments)


def run_explain(arguments: argparse.Namespace) -> int:
    """Which groups of queries carry the loss."""
    from surefoot.analysis.explanation import explain
    from surefoot.io.texts import document_texts

    if arguments.documents_text and not arguments.queries:
        raise SurefootError("--documents-text shows how rare the words of queries are; add the queries with --queries")
    scores = inputs.load_one(arguments)
    with progress("Looking for groups", log="none"):
        found = explain(
            scores, arguments.candidate, queries=inputs.load_queries(arguments),
            runs=_pair_of_runs(arguments, scores),
            documents=document_texts(arguments.documents_text) if arguments.documents_text else None,
            **inputs.given(arguments, "baseline", "level", "n_resamples", "seed"),
        )  # fmt: skip
    inputs.show(found, argparse.Namespace(**{**vars(arguments), "output": None}))
    if arguments.output:
        inputs.write_csv(("topic", "segment"), found.segments().items(), arguments.output)
    return 0


def _pair_of_runs(arguments: argparse.Namespace, scores: Scores) -> dict[str, Run] | None:
    """The two runs, if both are single runs."""
    pair = {arguments.candidate, arguments.baseline}
    return scores.source.load(pair) if scores.source is not None and pair <= {*scores.source.runs} else None


def run_report(arguments: argparse.Namespace) -> int:
    """Write an interactive page."""
    from surefoot.io.small_files import read_segments
    from surefoot.release_gate.config import read_options
    from surefoot.show.report import report

    segments = read_segments(arguments.segments, arguments.segment_by) if arguments.segments else None
    scores = inputs.load(arguments)
    page = report(
        scores, segments=segments, queries=inputs.load_queries(arguments), rankings=_rankings(arguments, scores[0]),
        credible=_credible(arguments, scores), rules=read_options().rules,
        **inputs.given(arguments, "baseline", "alpha", "candidate"),
    )  # fmt: skip
    inputs.write(page, arguments.output)
    if arguments.output != "-":
        print(f"{arguments.output}: {counted(len(scores[0].systems), 'system')}; open it in a browser")
    return 0


def _credible(arguments: argparse.Namespace, scores: list[Scores]) -> list[Credibility]:
    """The credibility of the comparison that the page opens with, on request."""
    assessors = inputs.credible_assessors(arguments)
    if assessors == "off":
        return []
    from surefoot.judgments.credibility import credibility
    from surefoot.show.report import opening

    if arguments.baseline is None:
        raise SurefootError(f"--credible compares two runs: name the --baseline, one of {listed(scores[0].systems)}")
    system, baseline = opening(scores[0], arguments.baseline, arguments.candidate)
    judged = (inputs.judged_runs(one) for one in scores)
    return [credibility(runs, system, baseline, arguments.alpha, assessors=assessors) for runs in judged]


def _rankings(arguments: argparse.Namespace, scores: Scores) -> Rankings | None:
    """The documents to show; none for score tables, repeats, or a size limit of 0."""
    from surefoot.show.report import Rankings

    if arguments.documents_text and (arguments.scores or arguments.repeats):
        raise SurefootError("--documents-text needs single run files with --qrels, not --scores nor --repeats")
    if scores.source is None or arguments.repeats or not arguments.size_limit:
        return None
    rankings = Rankings(scores.source.load(), scores.source.qrels, size_limit=int(arguments.size_limit * 1e6))
    if not arguments.documents_text:
        return rankings
    with progress("Reading the documents' texts", log="none"):
        return rankings.with_texts(arguments.documents_text)


COMMANDS = {
    "explore": Command(
        run_explore,
        (
            *opt.INPUTS, *opt.PAIR, opt.ALPHA, *opt.VALUE, opt.POPULATION,
            option("--top", type=int, metavar="N",
                   help=f"the N worst topics (default: all; {TOPICS_WITH_DOCUMENTS} with --documents)"),
            option("--topics", type=names, metavar="LIST", help="these topics, by comma"),
            option("--documents", action="store_true",
                   help="show both rankings of each topic, and the cost of each document's move; needs runs"),
            opt.UNJUDGED, opt.LLM_QRELS, *opt.CREDIBLE, *opt.TEXTS, *opt.TABLE_FILE,
        ),
    ),
    "explain": Command(
        run_explain,
        (
            *opt.INPUTS, *opt.PAIR, *opt.TEXTS,
            option("--level", type=number, default=0.1, metavar="P",
                   help="the probability at which any group may be confirmed by chance (default: 0.1)"),
            *opt.RESAMPLING, *opt.TABLE, opt.OUTPUT.but(help="write the segment of each topic as CSV, for --segments"),
        ),
    ),
    "report": Command(
        run_report,
        (
            *opt.INPUTS,
            opt.BASELINE.but(help="the first baseline: a system, or MEAN (default), MEDIAN, MAX"),
            opt.CANDIDATE.but(help="the system to open with (default: the best mean)"),
            opt.ALPHA, *opt.SEGMENTS, opt.LLM_QRELS, *opt.CREDIBLE, *opt.TEXTS,
            option("--size-limit", type=number, default=2.0, metavar="MB",
                   help="room for documents in the page; the page says what is left out (default: 2; 0: no documents)"),
            opt.OUTPUT.but(required=True, help="the page to write, such as report.html"),
        ),
    ),
}  # fmt: skip
