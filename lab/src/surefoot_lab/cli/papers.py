"""The commands of the papers: tradeoff, experiment, reproduce."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.inputs import progress
from surefoot.cli.options import BASELINE, N_RESAMPLES, SEED, TABLE, Command, grouped, number, numbers, option
from surefoot.cli.train import DATA, PAIRS, TREES, baseline_options, setting_options, settings_from
from surefoot.errors import SurefootError
from surefoot_lab.tradeoff import ALPHAS

if TYPE_CHECKING:
    from surefoot.learn.settings import Settings
    from surefoot.learn.validation import Progress
    from surefoot.results import Result
    from surefoot_lab.experiments.result import ExperimentResult
    from surefoot_lab.reproduce import Reproduction
    from surefoot_lab.tradeoff.models import DataSplit, Report

RECIPE = ("n_bags", "guard")
"""Settings of every model of the trade-off, at each alpha."""


def run_tradeoff(arguments: argparse.Namespace) -> int:
    """The cost and the benefit of each alpha, and which to choose."""
    settings = settings_from(arguments, ("objective", *PAIRS, *TREES, *RECIPE))
    with progress("Training", log="each") as show:

        def report(name: str, at: Progress) -> None:
            show(at.iteration, at.n_iterations, f"training {name}")

        results = (_sweep if arguments.search is None else _search)(arguments, settings, report)
    for index, result in enumerate(results if arguments.format not in ("csv", "json") else results[:1]):
        if index:
            print()
        inputs.show(result, arguments)
    return 0


def _sweep(arguments: argparse.Namespace, settings: Settings, report: Report) -> list[Result]:
    from surefoot.stats.bootstrap import BootstrapMethod
    from surefoot_lab.tradeoff.files import write_sweep, write_tables
    from surefoot_lab.tradeoff.sweep import sweep_alphas
    from surefoot_lab.tradeoff.tables import tradeoff_tables

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
    from surefoot_lab.tradeoff.files import write_choice
    from surefoot_lab.tradeoff.search import SearchOptions, choose_alpha

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
    from surefoot_lab.tradeoff.models import DataSplit

    return DataSplit.read(
        arguments.train, arguments.baseline, arguments.valid or (), arguments.test or (), missing=arguments.missing,
        valid_baseline=arguments.valid_baseline, test_baseline=arguments.test_baseline,
    )  # fmt: skip


def run_experiment(arguments: argparse.Namespace) -> int:
    """Run the jobs that are not done yet, write the results, print the tables."""
    from surefoot_lab.experiments.data import load_data
    from surefoot_lab.experiments.plan import load_plan
    from surefoot_lab.experiments.result import write_experiment
    from surefoot_lab.experiments.runner import describe, experiment

    plan = load_plan(arguments.plan).with_changes(
        data=arguments.data, baseline=arguments.baseline, seed=arguments.seed, trees=arguments.trees
    )  # fmt: skip
    dataset = load_data(plan.data)
    output = Path(arguments.output or f"{plan.name}-{dataset.name}")
    print(f"{plan.name} on {dataset.name}: {describe(plan, dataset)}; results go to {output}", file=sys.stderr)
    with progress("Training") as show:
        result = experiment(plan, dataset, output, arguments.workers, show)
    write_experiment(result, output)
    _print_experiment(result, arguments)
    return 0


def _print_experiment(result: ExperimentResult, arguments: argparse.Namespace) -> None:
    """The table; in formats for reading also the tests and, where there is one, the published table."""
    tables = [result] if arguments.format in ("csv", "json") else list(result.tables().values())
    for index, table in enumerate(tables):
        if index:
            print()
        inputs.show(table, arguments)


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Recompute and print the published tables; 1 if a cell differs and nothing is known of it."""
    if "neural" in arguments.tables:
        raise SurefootError("the atlas of neural rankers is a study now: python -m studies atlas, in the sources")
    from surefoot_lab.reproduce import load_scores, reproduce

    result = reproduce(load_scores(), arguments.tables, experiments=arguments.experiment)
    if arguments.format == "json":
        print(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    elif arguments.format == "csv":
        from surefoot.show.tables import print_result

        print_result(result, "csv")
    else:
        _print_tables(result, arguments.format)
    if result.waiting:
        print(
            f"not recomputed, as their data are missing: {', '.join(result.waiting)}\n"
            "get it with: surefoot data get trec-web-2012",
            file=sys.stderr,
        )
    return 1 if result.new else 0


def _print_tables(result: Reproduction, layout: str) -> None:
    from surefoot.show.tables import print_result
    from surefoot_lab.reproduce import TABLES
    from surefoot_lab.reproduce.render import readable, summary_line

    if layout == "md":
        print(f"# Published and recomputed\n\nMade by `surefoot reproduce --format md`. {summary_line(result)}.\n")
    for name, table in result.tables().items():
        print(f"{'## ' if layout == 'md' else ''}{TABLES[name].title}\n")
        print_result(readable(table), layout)
        print()
    print(f"{'## ' if layout == 'md' else ''}Reasons, and how many printed values each accepts for one cell\n")
    print_result(result.reasons(), layout)
    print("\n" + "\n".join(f"{'- ' if layout == 'md' else ''}{line}" for line in result.controls))
    if layout == "table":
        print(summary_line(result))


COMMANDS = {
    "tradeoff": Command(
        run_tradeoff,
        (
            *grouped(
                "data",
                DATA[0],
                DATA[1].but(help="LETOR files to choose iterations on, and to search on"),
                option("--test", nargs="+", metavar="FILE", help="LETOR files to measure risk and gain on"),
                *baseline_options("several count as their mean", "valid", "test", required=True),
            ),
            *grouped(
                "objective",
                *setting_options(["objective"]),
                option("--alpha", type=numbers, default=list(ALPHAS), metavar="LIST",
                       help="a model for each, and for 0, the gain-only model (default: 0,0.5,1,2,5,10,20,30)"),
                *setting_options(PAIRS),
            ),
            *grouped("trees", *setting_options((*TREES, *RECIPE))),
            *grouped(
                "analysis",
                option("--select", metavar="HOW:N",
                       help="compare with re-ranking only queries whose max:N, min:N or mean:N of feature N over "
                       "their documents is below a threshold; the models get it too"),
                option("--search", type=int, metavar="TRIALS",
                       help="search alpha and the settings of trees on the validation queries, and recommend one"),
                option("--give-up", type=number, default=1.0, metavar="PERCENT",
                       help="effectiveness that the recommendation may cost (default: 1)"),
                N_RESAMPLES.but(help="bootstrap resamples of the intervals (default: 10000)"),
            ),
            *TABLE,
            option("-o", "--output", metavar="DIR", help="folder for models, scores by query, and histories"),
        ),
        """examples:
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --select max:110 -o ucro/
  surefoot tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --search 30 -o search/
  surefoot figure tradeoff ucro/ saro/ -o tradeoff.svg

Every model is kept in the folder: a call that was stopped goes on, and one with more alphas trains only those.""",
    ),
    "experiment": Command(
        run_experiment,
        (
            option("plan", metavar="PLAN", help="sigir2012, sigir2014, sigir2016, or a TOML file"),
            option("--data", nargs="+", metavar="WHAT",
                   help="mq2008, mslr-web10k, mslr-sample, nfcorpus, demo, a folder (of Fold1 to Fold5, or of S1.txt "
                   "to S5.txt), or LETOR files, which are pooled and divided into folds by the seed"),
            BASELINE.but(metavar="WHAT", help="the single baseline, such as feature:25 (default: BM25)"),
            option("--trees", type=int, metavar="N", help="at most this many (default: the plan's)"),
            SEED.but(default=None, help="random seed of folds and trainings (default: the plan's, 0)"),
            option("--workers", type=int, default=2, metavar="N", help="trainings side by side (default: 2)"),
            option("-o", "--output", metavar="DIR", help="folder of results (default: PLAN-DATA)"),
            *TABLE,
        ),
        """examples:
  surefoot experiment sigir2016 --data mslr-web10k           (unchanged, on all of it: the paper's table beside ours)
  surefoot experiment sigir2014 --data mq2008 -o mq2008/     (run it again after a crash: it goes on)
  surefoot experiment sigir2016 --data demo --trees 50
  surefoot experiment sigir2012 --data all.txt --baseline feature:25
  surefoot experiment my.toml

The folder gets table.csv, tests.csv, intervals.csv, scores.csv (each query of each test fold), report.html, and in
jobs/ the results that an interrupted run resumes from.""",
    ),
    "reproduce": Command(
        run_reproduce,
        (
            option("tables", nargs="*", metavar="TABLE", help="such as sigir2016-table5 (default: all)"),
            option("--experiment", action="append", default=[], metavar="FOLDER",
                   help="folder that surefoot experiment -o wrote on MSLR-WEB10K, for the tables of learned rankers; "
                   "may be repeated"),
            option("--format", choices=("table", "csv", "json", "md"), default="table", help="(default: table)"),
        ),
        """examples:
  surefoot reproduce
  surefoot reproduce sigir2016-table5 ecir2020-table2
  surefoot reproduce sigir2016-table7 --experiment mslr-2016/
  surefoot reproduce --format md > reproduction.md

Most tables need the scores of the TREC 2012 Web track: surefoot data get trec-web-2012""",
    ),
}  # fmt: skip
