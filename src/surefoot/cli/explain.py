"""surefoot explain: which groups of queries carry the loss."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.io.document_lists import Run

EXAMPLES = """examples:
  surefoot explain runs/*.run --qrels qrels.txt --candidate new --baseline old --queries queries.tsv
  surefoot explain old.run new.run --qrels qrels.txt --candidate new --baseline old -o segments.csv
  surefoot gate old.run new.run --qrels qrels.txt --candidate new --baseline old --segments segments.csv
  surefoot explain --scores err20.csv --candidate new --baseline old --queries queries.tsv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--candidate", "--system", required=True, metavar="NAME", help="the system to look into")
    parser.add_argument(
        "--baseline", required=True, metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic"
    )
    inputs.add_texts(parser)
    parser.add_argument(
        "--level",
        type=inputs.number,
        default=0.1,
        metavar="P",
        help="the probability at which any group may be confirmed by chance (default: 0.1)",
    )
    inputs.add_resampling(parser)
    inputs.add_output(parser, to_file=False)
    add_file(parser, "-o", "--output", metavar="FILE", help="the segment of each topic as CSV, for --segments")


def run(arguments: argparse.Namespace) -> int:
    """Read, explain, print; write the segments."""
    from surefoot.analysis.explain.explanation import explain
    from surefoot.io.texts import document_texts

    if arguments.documents_text and not arguments.queries:
        raise SurefootError("--documents-text tells how rare the words of queries are; give them with --queries")
    scores = inputs.load_one(arguments)
    with progress("Looking for groups", log="none"):
        found = explain(
            scores,
            arguments.candidate,
            arguments.baseline,
            queries=inputs.load_queries(arguments),
            runs=_rankings(arguments, scores.systems),
            documents=document_texts(arguments.documents_text) if arguments.documents_text else None,
            level=arguments.level,
            n_resamples=arguments.n_resamples,
            seed=arguments.seed,
        )
    inputs.show(found, argparse.Namespace(**{**vars(arguments), "output": None}))
    if arguments.output:
        _write(found.segments(), arguments.output)
    return 0


def _rankings(arguments: argparse.Namespace, systems: tuple[str, ...]) -> dict[str, Run] | None:
    """The two runs, if both are single runs that can be read again."""
    from surefoot.io.files import STDIN

    names = (arguments.candidate, arguments.baseline)
    if not arguments.runs or arguments.repeats or STDIN in arguments.runs or not set(names) <= set(systems):
        return None
    return inputs.load_runs(arguments, names)


def _write(segments: dict[str, str], path: str) -> None:
    import csv
    import io

    from surefoot.io.atomic import write_text

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("topic", "segment"))
    writer.writerows(segments.items())
    write_text(path, out.getvalue())
