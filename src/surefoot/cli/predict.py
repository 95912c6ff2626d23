"""surefoot predict: rank documents with a trained model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from surefoot.cli.outputs import add_file

EXAMPLES = """examples:
  surefoot predict model/ test.txt -o new.run
  surefoot predict model/ test.txt -o new.run --qrels qrels.txt
  surefoot evaluate new.run old.run --qrels qrels.txt --baseline old"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", help="folder that `surefoot train` wrote")
    parser.add_argument("data", nargs="+", metavar="FILE", help="LETOR files of the documents to rank")
    add_file(parser, "-o", "--output", required=True, metavar="FILE", help="where to write the TREC run")
    parser.add_argument("--qrels", metavar="FILE", help="write the labels too, as judgements of the run")


def run(arguments: argparse.Namespace) -> int:
    """Read, rank, write."""
    from surefoot.io.atomic import write_text
    from surefoot.io.files import name_of
    from surefoot.io.letor import read_letor
    from surefoot.io.trec_writer import labelled_documents, qrels_lines, ranked_documents, run_lines
    from surefoot.learn.models import load_model

    model = load_model(arguments.model)
    given = read_letor(arguments.data)
    data = model.align(given)
    if model.card["data"]["first_feature"] is None and data is not given:
        print(
            f"note: the model knows features by place; the first is taken to be number {data.first_feature}",
            file=sys.stderr,
        )
    if data.documents is None:
        print("note: the data has no document ids; documents are named by query and place", file=sys.stderr)
    tag = "-".join(name_of(Path(arguments.output)).split())
    write_text(arguments.output, "".join(run_lines(ranked_documents(data, model.predict(data)), tag)))
    if arguments.qrels:
        write_text(arguments.qrels, "".join(qrels_lines(labelled_documents(data))))
    print(f"{arguments.output}: {data!r}")
    return 0
