"""surefoot export: a trained model for other services."""

from __future__ import annotations

import argparse

from surefoot.cli.outputs import add_file

FORMATS = ("json", "treelite", "onnx")

EXAMPLES = """examples:
  surefoot export model/ --to json -o ranker.json          (trees and guard; the manual has code that reads it)
  surefoot export model/ --to onnx -o ranker.onnx          (the trees; a guarded model's guard lies beside them)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", help="folder that `surefoot train` wrote")
    parser.add_argument("--to", choices=FORMATS, default="json", help="format (default: json)")
    add_file(parser, "-o", "--output", required=True, metavar="FILE", help="where to write it")


def run(arguments: argparse.Namespace) -> int:
    """Read, convert, write."""
    from surefoot.learn.export import export_model
    from surefoot.learn.models import load_model

    model = load_model(arguments.model)
    written = export_model(model, arguments.output, arguments.to)
    whole = " and their guard" if arguments.to == "json" and model.guard is not None else ""
    print(f"{written[0]}: {model.card['trees']} trees{whole}")
    if len(written) > 1:
        print(f"{written[1]}: the guard, without which the trees are not safe; the manual on serving ranks by both")
    return 0
