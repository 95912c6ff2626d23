"""surefoot scores: the effectiveness of runs, topic by topic."""

from __future__ import annotations

import argparse

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file

EXAMPLES = """examples:
  surefoot scores runs/*.run --qrels qrels.txt --measure nDCG@10 -o scores.csv
  surefoot scores bm25.json dense.parquet --qrels qrels.tsv --measure nDCG@10 --measure RR -o scores.csv
  surefoot evaluate --scores scores.csv --baseline bm25

One measure is written with a column for each run, several with a column for each measure."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    add_file(parser, "-o", "--output", metavar="FILE", help="the table to write (default: standard output)")


def run(arguments: argparse.Namespace) -> int:
    """Read, score, write."""
    import sys

    from surefoot.io.atomic import write_text
    from surefoot.io.tables import scores_csv

    found = inputs.load(arguments)
    for note in dict.fromkeys(note for scores in found for note in scores.all_notes):
        print(f"note: {note}", file=sys.stderr)
    text = scores_csv(*found)
    if arguments.output:
        write_text(arguments.output, text)
    else:
        sys.stdout.write(text)
    return 0
