"""surefoot power: how many topics are needed to see a risk of this size?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.stats.simulator import Simulator

EXAMPLES = """examples:
  surefoot power --scores err20.csv --system new --baseline old --alpha 1,5
  surefoot power --scores err20.csv --baseline old --loss 0.2 --share 0.1     (a copy of old that loses on a tenth)
  surefoot power --loss 0.2 --share 0.1 --topics 50,100,200,400,800           (built-in margins, no data)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--system", metavar="NAME", help="the system whose risk is to be seen, as it was measured")
    parser.add_argument("--baseline", metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic")
    parser.add_argument(
        "--loss", type=inputs.number, metavar="X", help="instead of --system: a copy of the baseline that loses X"
    )
    parser.add_argument("--share", type=inputs.number, default=1.0, metavar="P", help="on this share (default: 1)")
    inputs.add_alpha(parser, several=True)
    parser.add_argument(
        "--topics", type=inputs.numbers, metavar="LIST", help="numbers of topics, by comma (default: 25 to 400)"
    )
    parser.add_argument("--level", type=inputs.number, default=0.05, help="significance level (default: 0.05)")
    parser.add_argument("--n-simulations", type=int, default=2000, metavar="N", help="collections (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the simulation (default: 0)")
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read or make up, simulate, print."""
    from surefoot.stats.power import TOPICS, power

    simulator = _simulator(arguments)
    system, baseline = simulator.systems
    result = power(
        simulator,
        system,
        baseline,
        arguments.alpha,
        _sizes(arguments.topics) or TOPICS,
        level=arguments.level,
        n_simulations=arguments.n_simulations,
        seed=arguments.seed,
    )
    inputs.show(result if arguments.format in ("csv", "json") else result.drawn(), arguments)
    return 0


def _sizes(numbers: list[float] | None) -> list[int]:
    broken = [number for number in numbers or [] if not number.is_integer()]
    if broken:
        raise SurefootError(f"--topics takes whole numbers; got {broken[0]:g}")
    return [int(number) for number in numbers or []]


def _simulator(arguments: argparse.Namespace) -> Simulator:
    """A system and its baseline, in this order."""
    from surefoot.stats.power import fitted_pair, planted_pair

    if (arguments.system is None) == (arguments.loss is None):
        raise SurefootError("give --system with the scores it was measured by, or the size of a --loss; not both")
    measured = arguments.scores or arguments.runs or arguments.repeats or arguments.system
    if measured and arguments.baseline is None:
        raise SurefootError("name the --baseline")
    if not measured and arguments.baseline is not None:
        raise SurefootError("--baseline names a system of the scores: give those with --scores, or runs with --qrels")
    if arguments.system is not None:
        return fitted_pair(inputs.load_one(arguments), arguments.system, arguments.baseline)
    if measured:
        return planted_pair(arguments.loss, arguments.share, inputs.load_one(arguments), arguments.baseline)
    return planted_pair(arguments.loss, arguments.share)
