"""surefoot judge: what to judge next, and new judgments merged."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.judgments.next_judgments import NextJudgments
    from surefoot.results import Result

EXAMPLES = r"""examples:
  surefoot judge runs/*.run --qrels qrels.txt --candidate new --baseline old --budget 50 -o to-judge.csv
  surefoot judge runs/*.run --qrels qrels.txt --candidate new --baseline old --queries queries.tsv \
      --documents-text corpus.jsonl --page judge.html
  surefoot judge --merge judged.qrels --qrels qrels.txt -o more.qrels"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="TREC run files; all of them vote for documents")
    parser.add_argument("--qrels", required=True, metavar="FILE", help="the relevance judgments there are")
    parser.add_argument("--candidate", metavar="NAME", help="the system in question")
    parser.add_argument("--baseline", metavar="NAME", help="the system to compare it with")
    parser.add_argument("--measure", metavar="NAME", help=f"(default: {inputs.DEFAULT_MEASURE})")
    parser.add_argument("--names", choices=("file", "tag"), default="file", help="name runs by file or by tag")
    parser.add_argument(
        "--alpha", type=inputs.number, default=0.0, metavar="A", help="of the verdict on U_Risk (default: 0, the mean)"
    )
    parser.add_argument("--budget", type=int, default=50, metavar="N", help="documents to judge (default: 50)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the grades that are drawn (default: 0)")
    inputs.add_texts(parser)
    parser.add_argument(
        "--merge", nargs="+", metavar="FILE", help="instead, add these judgments to --qrels and write them to -o"
    )
    add_file(parser, "--page", metavar="FILE", help="also write a page to judge them in, such as judge.html")
    add_file(parser, "-o", "--output", metavar="FILE", help="CSV of topic,document,priority,reason (default: stdout)")


def run(arguments: argparse.Namespace) -> int:
    """Say what to judge, or merge what was judged."""
    return _merge(arguments) if arguments.merge else _judge(arguments)


def _judge(arguments: argparse.Namespace) -> int:
    if not (arguments.runs and arguments.candidate and arguments.baseline):
        raise SurefootError("name the run files, --candidate and --baseline; or give new judgments with --merge")
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import next_judgments

    with progress("Reading runs", log="none"):
        runs = JudgedRuns.read(
            arguments.runs, arguments.qrels, arguments.measure or inputs.DEFAULT_MEASURE, arguments.names
        )
        found = next_judgments(
            runs,
            arguments.candidate,
            arguments.baseline,
            arguments.alpha,
            budget=arguments.budget,
            seed=arguments.seed,
        )
    rows = _with_texts(found, arguments)
    if arguments.output or not arguments.page:
        _write(rows, arguments.output)
    if arguments.page and len(rows):
        _write_page(rows, range(runs.levels), arguments.page)
    for note in found.notes:
        print(note, file=sys.stderr)
    return 0


def _with_texts(found: NextJudgments, arguments: argparse.Namespace) -> Result:
    """The documents with the texts of their queries and their own, where they are given."""
    from surefoot.io.texts import read_documents, read_queries
    from surefoot.results import Result

    columns = dict(found.columns)
    if arguments.queries:
        queries = read_queries(arguments.queries)
        columns["query"] = [queries.get(topic, "") for topic in columns["topic"]]
    if arguments.documents_text:
        texts = read_documents(arguments.documents_text, set(columns["document"]))
        columns["text"] = [texts.get(document, "") for document in columns["document"]]
    return Result(found.signature, columns, found.notes)


def _write(found: Result, output: str | None) -> None:
    import csv
    import io

    from surefoot.io.atomic import write_text

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(zip(*found.columns.values(), strict=True))
    if output:
        write_text(output, out.getvalue())
    else:
        sys.stdout.write(out.getvalue())


def _write_page(rows: Result, grades: Sequence[int], path: str) -> None:
    from surefoot.io.atomic import write_text
    from surefoot.show.judging import judging_page

    write_text(path, judging_page(rows.rows(), grades, name=Path(path).stem))


def _merge(arguments: argparse.Namespace) -> int:
    from surefoot.errors import counted
    from surefoot.io.atomic import write_text
    from surefoot.io.trec import read_qrels
    from surefoot.io.trec_writer import qrels_lines
    from surefoot.judgments.merging import merge_qrels

    if arguments.runs or arguments.page or not arguments.output:
        raise SurefootError("--merge takes --qrels and writes to -o; it needs no runs and makes no page")
    known = read_qrels(arguments.qrels)
    lines = list(qrels_lines(merge_qrels(known, map(read_qrels, arguments.merge))))
    write_text(arguments.output, "".join(lines))
    print(
        f"{arguments.output}: {counted(len(lines), 'judgment')}, {len(lines) - len(known)} of them new",
        file=sys.stderr,
    )
    return 0
