"""surefoot cross: every system as the baseline in turn."""

from __future__ import annotations

import argparse

from surefoot.cli import inputs

EXAMPLES = """examples:
  surefoot cross --scores err20.csv --alpha 10
  surefoot cross runs/*.run --qrels qrels.txt --systems bm25,rm3,bert --format csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    inputs.add_alpha(parser, several=False)
    parser.add_argument(
        "--systems", type=inputs.names, metavar="LIST", help="those to compare, by comma (default: all)"
    )
    parser.add_argument("--value", choices=("linear", "smooth"), default="linear", help="what a difference is worth")
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, compare all with all, print."""
    from surefoot.analysis.cross import cross

    result = cross(inputs.load_one(arguments), arguments.alpha, systems=arguments.systems, value=arguments.value)
    inputs.show(result, arguments)
    return 0
