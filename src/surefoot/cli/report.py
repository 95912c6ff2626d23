"""surefoot report: one interactive HTML file for the team."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.judgments.credibility import Credibility
    from surefoot.scores import Scores
    from surefoot.show.report import Rankings

EXAMPLES = """examples:
  surefoot report old.run new.run --qrels qrels.txt --baseline old --candidate new -o report.html
  surefoot report runs/*.run --qrels qrels.txt --queries queries.tsv --documents-text corpus.jsonl.gz -o report.html
  surefoot report --scores err20.csv --baseline indriCASP --segments segments.csv -o report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    inputs.add_inputs(parser)
    parser.add_argument(
        "--baseline", metavar="NAME", help="what to compare with first: a system, or MEAN (default), MEDIAN, MAX"
    )
    parser.add_argument("--candidate", metavar="NAME", help="the system to open with (default: the best mean)")
    inputs.add_alpha(parser, several=False)
    parser.add_argument("--segments", metavar="FILE", help="CSV of topic,segment")
    parser.add_argument("--segment-by", metavar="COLUMN", help="the column of the segments file, if it has several")
    inputs.add_credible(parser)
    inputs.add_texts(parser)
    parser.add_argument(
        "--size-limit",
        type=inputs.number,
        default=2.0,
        metavar="MB",
        help="room for documents in the page; what does not fit is left out, and said (default: 2; 0: no documents)",
    )
    add_file(parser, "-o", "--output", required=True, metavar="FILE", help="the page to write, such as report.html")


def run(arguments: argparse.Namespace) -> int:
    """Read, build the page, write it."""
    from surefoot.io.atomic import write_text
    from surefoot.io.maps import read_segments
    from surefoot.show.report import report

    segments = read_segments(arguments.segments, arguments.segment_by) if arguments.segments else None
    scores = inputs.load(arguments)
    page = report(
        scores,
        arguments.baseline,
        arguments.alpha,
        candidate=arguments.candidate,
        segments=segments,
        queries=inputs.load_queries(arguments),
        rankings=_rankings(arguments),
        credible=_credible(arguments, scores),
    )
    write_text(arguments.output, page)
    return 0


def _credible(arguments: argparse.Namespace, scores: list[Scores]) -> list[Credibility]:
    """How credible the changes are that the page opens with, if that is asked for."""
    assessors = inputs.credible_assessors(arguments)
    if assessors == "off":
        return []
    from surefoot.judgments.credibility import credibility
    from surefoot.show.report.payload import opening

    system, baseline = opening(scores[0], arguments.baseline, arguments.candidate)
    judged = (inputs.judged_runs(one) for one in scores)
    return [credibility(runs, system, baseline, arguments.alpha, assessors=assessors) for runs in judged]


def _rankings(arguments: argparse.Namespace) -> Rankings | None:
    """The documents to show; none of score tables, repeats, standard input, or if there is no room for them."""
    from surefoot.io.files import STDIN
    from surefoot.io.trec import read_qrels
    from surefoot.show.report import Rankings

    if arguments.documents_text and (arguments.scores or arguments.repeats):
        raise SurefootError("--documents-text needs single run files with --qrels, not --scores nor --repeats")
    if arguments.scores or arguments.repeats or not arguments.size_limit or STDIN in arguments.runs:
        return None
    limit = int(arguments.size_limit * 1e6)
    rankings = Rankings(inputs.load_runs(arguments), read_qrels(arguments.qrels), size_limit=limit)
    if not arguments.documents_text:
        return rankings
    with progress("Reading the documents' texts", log="none"):
        return rankings.with_texts(arguments.documents_text)
