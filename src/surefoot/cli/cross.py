"""surefoot cross: every system as the baseline in turn."""

from __future__ import annotations

import argparse

from surefoot.cli import inputs

EXAMPLES = """examples:
  surefoot cross --scores err20.csv --alpha 10
  surefoot cross runs/*.run --qrels qrels.txt --systems bm25,rm3,bert --format csv
  surefoot cross --scores err20.csv --alpha 10 --by-baseline    (does the choice of the baseline change the order?)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    inputs.add_alpha(parser, several=False)
    parser.add_argument(
        "--systems", type=inputs.names, metavar="LIST", help="those to compare, by comma (default: all)"
    )
    inputs.add_value_function(parser)
    parser.add_argument(
        "--by-baseline",
        action="store_true",
        help="a row for each baseline: how far its order agrees with those of the others, and which rank differences "
        "a bootstrap over topics confirms",
    )
    inputs.add_resampling(parser)
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, compare all with all, print."""
    from surefoot.analysis.baseline_choice import baseline_choice
    from surefoot.analysis.cross import cross

    scores = inputs.load_one(arguments)
    which = {"systems": arguments.systems, "value": inputs.value_function(arguments)}
    if arguments.by_baseline:
        drawn = {"n_resamples": arguments.n_resamples, "seed": arguments.seed}
        inputs.show(baseline_choice(scores, arguments.alpha, **which, **drawn), arguments)
    else:
        inputs.show(cross(scores, arguments.alpha, **which), arguments)
    return 0
