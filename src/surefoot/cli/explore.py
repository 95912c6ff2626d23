"""surefoot explore: one system against one baseline, topic by topic."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.analysis.explore import Exploration
    from surefoot.scores import Scores

EXAMPLES = """examples:
  surefoot explore runs/*.run --qrels qrels.txt --measure nDCG@10 --system new --baseline old
  surefoot explore old.run new.run --qrels qrels.txt --system new --baseline old --documents --queries queries.tsv
  surefoot explore --scores err20.csv --system uogTrA44xi --baseline indriCASP --alpha 0 --format csv"""

TOPICS_WITH_DOCUMENTS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--system", "--candidate", required=True, metavar="NAME", help="the system to look into")
    parser.add_argument(
        "--baseline", required=True, metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic"
    )
    inputs.add_alpha(parser, several=False)
    inputs.add_value(parser)
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help=f"the N worst topics (default: all; {TOPICS_WITH_DOCUMENTS} with --documents)",
    )
    parser.add_argument("--topics", type=inputs.names, metavar="LIST", help="these topics, by comma")
    parser.add_argument(
        "--documents",
        action="store_true",
        help="what was ranked before and what now, and what each document's move cost; needs runs",
    )
    inputs.add_unjudged(parser)
    inputs.add_credible(parser)
    inputs.add_texts(parser)
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, explore, print."""
    from surefoot.analysis.explore import explore

    scores = inputs.load_one(arguments)
    result = explore(
        scores,
        arguments.system,
        arguments.baseline,
        arguments.alpha,
        population=arguments.population,
        value=inputs.value_function(arguments),
    )
    topics = _topics(result, arguments)
    doubted = _with_doubts(result, scores, arguments).select(topics)
    if arguments.documents:
        names = [name for name in doubted.columns if name not in result.columns]
        doubts = {row["topic"]: {name: row[name] for name in names} for row in doubted.rows()} if names else {}
        _show_documents(topics, doubts, arguments)
    else:
        inputs.show(doubted, arguments)
    return 0


def _with_doubts(result: Exploration, scores: Scores, arguments: argparse.Namespace) -> Exploration:
    """The topics with bounds of their differences, and with the probability of losses, as far as asked for."""
    assessors = inputs.credible_assessors(arguments)
    if assessors == "off" and arguments.unjudged != "bounds":
        return result
    if arguments.unjudged == "skip":
        raise SurefootError("--credible takes unjudged documents into account itself; leave out --unjudged skip")
    from surefoot.judgments.bounds import delta_bounds
    from surefoot.judgments.credibility import credibility

    runs = inputs.judged_runs(scores)
    system, baseline = arguments.system, arguments.baseline
    if arguments.unjudged == "bounds":
        result = result.with_columns(delta_bounds(runs.pair(system, baseline)), ("delta_low", "delta_high"))
    if assessors != "off":
        found = credibility(runs, system, baseline, arguments.alpha, assessors=assessors)
        names = [name for name in ("p_loss", "low", "high", "credible", "confirmed") if name in found.columns]
        result = result.with_columns(found, names)
    return result


def _topics(result: Exploration, arguments: argparse.Namespace) -> list[str]:
    """The topics to show, the worst first unless they are named."""
    if arguments.topics and arguments.top is not None:
        raise SurefootError("give --top or --topics, not both")
    if arguments.top is not None and arguments.top < 1:
        raise SurefootError(f"--top must be at least 1; got {arguments.top}")
    most = arguments.top or (TOPICS_WITH_DOCUMENTS if arguments.documents else None)
    worst: list[str] = result["topic"].tolist()[:most]
    return arguments.topics or worst


def _show_documents(topics: list[str], doubts: dict[str, dict[str, Any]], arguments: argparse.Namespace) -> None:
    from surefoot.analysis.documents import document_moves
    from surefoot.io.texts import read_documents
    from surefoot.show.rankings import side_by_side

    runs = inputs.load_runs(arguments, (arguments.system, arguments.baseline))
    queries = inputs.load_queries(arguments)
    texts = None
    if arguments.documents_text:
        wanted = {document for run in runs.values() for topic in topics for document in run.of_topic(topic)}
        with progress("Reading the documents' texts", log="none"):
            texts = read_documents(arguments.documents_text, wanted)
    measure = (arguments.measure or [inputs.DEFAULT_MEASURE])[0]
    system, baseline = runs[arguments.system], runs[arguments.baseline]
    found = document_moves(
        system,
        baseline,
        arguments.qrels,
        measure,
        topics=topics,
        unjudged="skip" if arguments.unjudged == "skip" else "zero",
        queries=queries,
        texts=texts,
    ).with_topics(doubts)
    if arguments.format == "table":
        width = shutil.get_terminal_size((100, 24)).columns
        sys.stdout.write(side_by_side(found, queries, texts, width, doubts))
    else:
        inputs.show(found, arguments)
