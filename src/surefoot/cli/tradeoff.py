"""surefoot tradeoff: the risk and the gain of each alpha, and which to choose."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.progress import progress
from surefoot.cli.training_options import PAIRS, TREES, add_baselines, add_settings, settings_from
from surefoot.errors import SurefootError
from surefoot.research.tradeoff import ALPHAS

if TYPE_CHECKING:
    from surefoot.learn.early_stopping import Progress
    from surefoot.learn.settings import Settings
    from surefoot.research.tradeoff.data_split import DataSplit
    from surefoot.research.tradeoff.models import Report
    from surefoot.results import Result

RECIPE = ("n_bags", "guard")
"""What every model of the trade-off has, whatever its alpha."""

EXAMPLES = """examples:
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --select max:110 -o ucro/
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --search 30 -o search/
  surefoot figure tradeoff ucro/ saro/ -o tradeoff.svg

Every model is kept in the folder: a call that was stopped goes on, and one with more alphas trains only those."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command; those of training are those of `surefoot train`."""
    data = parser.add_argument_group("data")
    data.add_argument("--train", nargs="+", required=True, metavar="FILE", help="LETOR files to learn from")
    data.add_argument(
        "--valid", nargs="+", metavar="FILE", help="LETOR files to choose iterations on, and to search on"
    )
    data.add_argument("--test", nargs="+", metavar="FILE", help="LETOR files to measure risk and gain on")
    add_baselines(data, "the mean of several is compared with", ["valid", "test"], required=True)
    _add_objective(parser.add_argument_group("objective"))
    add_settings(parser.add_argument_group("trees"), (*TREES, *RECIPE))
    _add_analysis(parser.add_argument_group("analysis"))
    inputs.add_output(parser, to_file=False)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for models, scores by query, and histories")


def _add_objective(group: Any) -> None:
    add_settings(group, ["objective"])
    group.add_argument("--alpha", type=inputs.numbers, default=list(ALPHAS), metavar="LIST", help="a model for each, "
                       "and for 0, the gain-only model (default: 0,0.5,1,2,5,10,20,30)")  # fmt: skip
    add_settings(group, PAIRS)


def _add_analysis(group: Any) -> None:
    group.add_argument("--select", metavar="HOW:N", help="compare with re-ranking only queries whose max:N, min:N or "
                       "mean:N of feature N over their documents is below a threshold; models get it, too")  # fmt: skip
    group.add_argument("--search", type=int, metavar="TRIALS", help="search alpha and the settings of trees on the "
                       "validation queries, and recommend one")  # fmt: skip
    group.add_argument("--give-up", type=inputs.number, default=1.0, metavar="PERCENT", help="of effectiveness that "
                       "the recommendation may cost (default: 1)")  # fmt: skip
    group.add_argument("--n-resamples", type=int, default=10_000, metavar="N", help="of the intervals' bootstrap "
                       "(default: 10000)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Read the data, train the models, show the result."""
    settings = settings_from(arguments, ("objective", *PAIRS, *TREES, *RECIPE))
    with progress("Training", log="each") as tell:

        def report(name: str, at: Progress) -> None:
            tell(at.iteration, at.n_iterations, f"training {name}")

        results = (_sweep if arguments.search is None else _search)(arguments, settings, report)
    for index, result in enumerate(results if arguments.format not in ("csv", "json") else results[:1]):
        if index:
            print()
        inputs.show(result, arguments)
    return 0


def _sweep(arguments: argparse.Namespace, settings: Settings, report: Report) -> list[Result]:
    from surefoot.research.tradeoff.files import write_sweep, write_tables
    from surefoot.research.tradeoff.sweep import sweep_alphas
    from surefoot.research.tradeoff.tables import tradeoff_tables
    from surefoot.stats.bootstrap import BootstrapMethod

    if not arguments.test:
        raise SurefootError("risk and gain are measured on test queries; give them with --test FILE")
    sweep = sweep_alphas(
        settings, _split(arguments), arguments.alpha, select=arguments.select, folder=arguments.output, report=report
    )  # fmt: skip
    tables = tradeoff_tables(sweep, [sweep], BootstrapMethod(n_resamples=arguments.n_resamples, seed=settings.seed))
    if arguments.output:
        write_sweep(sweep, arguments.output)
        write_tables(tables, arguments.output)
    return list(tables.values())


def _search(arguments: argparse.Namespace, settings: Settings, report: Report) -> list[Result]:
    from surefoot.research.tradeoff.files import write_choice
    from surefoot.research.tradeoff.search import SearchOptions, choose_alpha

    if arguments.select:
        raise SurefootError("--select belongs to the curve over alphas; leave it out of a search")
    if not arguments.valid:
        raise SurefootError("a search assesses its trials on validation queries; give them with --valid FILE")
    options = SearchOptions(
        arguments.search, arguments.alpha, arguments.give_up / 100, arguments.n_resamples, settings.seed
    )  # fmt: skip
    choice = choose_alpha(settings, _split(arguments), options, folder=arguments.output, report=report)
    if arguments.output:
        write_choice(choice, arguments.output)
    return [choice]


def _split(arguments: argparse.Namespace) -> DataSplit:
    from surefoot.research.tradeoff.data_split import DataSplit

    return DataSplit.read(
        arguments.train, arguments.baseline, arguments.valid or (), arguments.test or (), missing=arguments.missing,
        valid_baseline=arguments.valid_baseline, test_baseline=arguments.test_baseline,
    )  # fmt: skip
