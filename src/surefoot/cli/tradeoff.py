"""surefoot tradeoff: what each alpha costs and brings, and which to choose."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli import train as words
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.learn.data import RankingData
    from surefoot.learn.early_stopping import Progress
    from surefoot.learn.training import Settings
    from surefoot.results import Result

DEFAULT_ALPHAS = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
TABLE = "tradeoff.csv"

EXAMPLES = """examples:
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --select max:110 -o ucro/
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --search 30 -o search/
  surefoot figure tradeoff ucro/ saro/ -o tradeoff.svg

Every model is kept in the folder: a call that was stopped goes on, and one with more alphas trains only those."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of this command; those of training are those of `surefoot train`."""
    data = parser.add_argument_group("data")
    data.add_argument("--train", nargs="+", required=True, metavar="FILE", help="LETOR files to learn from")
    data.add_argument(
        "--valid", nargs="+", metavar="FILE", help="LETOR files to choose iterations on, and to search on"
    )
    data.add_argument("--test", nargs="+", metavar="FILE", help="LETOR files to measure risk and gain on")
    data.add_argument(
        "--baseline",
        action="append",
        required=True,
        metavar="WHAT",
        help="feature:N, run:FILE, scores:FILE or model:DIR; the mean of several is compared with",
    )
    data.add_argument(
        "--missing", choices=("error", "last"), default="error", help="documents that a run lacks (default: error)"
    )
    _add_objective(parser.add_argument_group("objective"))
    words.add_trees(parser.add_argument_group("trees"))
    _add_analysis(parser.add_argument_group("analysis"))
    inputs.add_output(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for models, scores by query, and histories")


def _add_objective(group: Any) -> None:
    group.add_argument("--objective", default="ucro", metavar="NAME", help="as in surefoot train (default: ucro)")
    group.add_argument("--alpha", type=inputs.numbers, default=DEFAULT_ALPHAS, metavar="LIST", help="a model for each, "
                       "and for 0, the gain-only model (default: 0,0.5,1,2,5,10,20)")  # fmt: skip
    words.add_pairs(group)


def _add_analysis(group: Any) -> None:
    group.add_argument("--select", metavar="HOW:N", help="compare with re-ranking only queries whose max:N, min:N or "
                       "mean:N of feature N over their documents is below a threshold")  # fmt: skip
    group.add_argument("--search", type=int, metavar="TRIALS", help="search alpha and the settings of trees on the "
                       "validation queries, and recommend one")  # fmt: skip
    group.add_argument("--give-up", type=inputs.number, default=1.0, metavar="PERCENT", help="of effectiveness that "
                       "the recommendation may cost (default: 1)")  # fmt: skip
    group.add_argument("--n-resamples", type=int, default=10_000, metavar="N", help="of the intervals' bootstrap "
                       "(default: 10000)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Read, train, tell."""
    settings = words.settings_of(arguments)
    with _progress() as report:
        made = _sweep if arguments.search is None else _search
        result = made(arguments, settings, report)
    inputs.show(result, arguments)
    return 0


def _sweep(arguments: argparse.Namespace, settings: Settings, report: Callable[[str, Progress], None]) -> Result:
    from surefoot.io.atomic import write_text
    from surefoot.io.results import render
    from surefoot.research.tradeoff.files import write_sweep
    from surefoot.research.tradeoff.sweep import sweep_alphas
    from surefoot.research.tradeoff.table import tradeoff_table
    from surefoot.stats.intervals import How

    if not arguments.test:
        raise SurefootError("risk and gain are measured on test queries; give them with --test FILE")
    data, valid, test = _data(arguments)
    found = sweep_alphas(
        settings, data, arguments.baseline, valid, test, arguments.alpha, select=arguments.select,
        folder=arguments.output, missing=arguments.missing, report=report,
    )  # fmt: skip
    table = tradeoff_table(found, How(n_resamples=arguments.n_resamples, seed=arguments.seed))
    if arguments.output:
        write_sweep(found, arguments.output)
        write_text(Path(arguments.output) / TABLE, render(table, "csv"))
    return table


def _search(arguments: argparse.Namespace, settings: Settings, report: Callable[[str, Progress], None]) -> Result:
    from surefoot.research.tradeoff.files import write_choice
    from surefoot.research.tradeoff.search import choose_alpha

    if arguments.select:
        raise SurefootError("--select belongs to the curve over alphas; leave it out of a search")
    if not arguments.valid:
        raise SurefootError("a search judges its trials on validation queries; give them with --valid FILE")
    data, valid, test = _data(arguments)
    found = choose_alpha(
        settings, data, arguments.baseline, valid, arguments.search, arguments.alpha, test=test,
        give_up=arguments.give_up / 100, n_resamples=arguments.n_resamples, seed=arguments.seed,
        folder=arguments.output, missing=arguments.missing, report=report,
    )  # fmt: skip
    if arguments.output:
        write_choice(found, arguments.output)
    return found


def _data(arguments: argparse.Namespace) -> tuple[RankingData, Any, Any]:
    """The training, validation and test queries, all with the same features; None for what is not given."""
    from surefoot.io.letor import read_letor, same_features

    files = {word: getattr(arguments, word) for word in ("train", "valid", "test")}
    given = {word: read_letor(paths) for word, paths in files.items() if paths}
    same = dict(zip(given, same_features(list(given.values())), strict=True))
    return same["train"], same.get("valid"), same.get("test")


@contextmanager
def _progress() -> Iterator[Callable[[str, Progress], None]]:
    """A bar of the model in training where someone may be looking, else a line for each model that begins."""
    if not sys.stderr.isatty():
        begun: set[str] = set()

        def line(name: str, at: Progress) -> None:
            if name not in begun:
                begun.add(name)
                print(f"training {name}", file=sys.stderr)

        yield line
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("training", total=None)
        yield lambda name, at: bars.update(task, description=name, completed=at.iteration, total=at.rounds)
