"""surefoot explore: one system against one baseline, topic by topic."""

from __future__ import annotations

import argparse

from surefoot.cli import inputs

EXAMPLES = """examples:
  surefoot explore runs/*.run --qrels qrels.txt --measure nDCG@10 --system new --baseline old
  surefoot explore --scores err20.csv --system uogTrA44xi --baseline indriCASP --alpha 0 --format csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--system", required=True, metavar="NAME", help="the system to look into")
    parser.add_argument(
        "--baseline", required=True, metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic"
    )
    inputs.add_alpha(parser, several=False)
    inputs.add_value(parser)
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, explore, print."""
    from surefoot.analysis.explore import explore

    result = explore(
        inputs.load_one(arguments),
        arguments.system,
        arguments.baseline,
        arguments.alpha,
        population=arguments.population,
        value=arguments.value,
    )
    inputs.show(result, arguments)
    return 0
