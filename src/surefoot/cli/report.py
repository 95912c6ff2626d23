"""surefoot report: one interactive HTML file for the team."""

from __future__ import annotations

import argparse

from surefoot.cli import inputs

EXAMPLES = """examples:
  surefoot report old.run new.run --qrels qrels.txt --baseline old --candidate new -o report.html
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
    parser.add_argument("--queries", metavar="FILE", help="lines of topic, tab, text: the queries' texts to show")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page to write, such as report.html")


def run(arguments: argparse.Namespace) -> int:
    """Read, build the page, write it."""
    from surefoot.io.atomic import write_text
    from surefoot.io.maps import read_segments
    from surefoot.io.texts import read_queries
    from surefoot.show.report import report

    segments = read_segments(arguments.segments, arguments.segment_by) if arguments.segments else None
    page = report(
        inputs.load_one(arguments),
        arguments.baseline,
        arguments.alpha,
        candidate=arguments.candidate,
        segments=segments,
        queries=read_queries(arguments.queries) if arguments.queries else None,
    )
    write_text(arguments.output, page)
    return 0
