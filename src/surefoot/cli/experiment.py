"""surefoot experiment: the published learning experiments, or new ones, resumable at any time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.progress import progress, time_left

if TYPE_CHECKING:
    from surefoot._typing import Progress as ShowProgress
    from surefoot.research.experiments.result import ExperimentResult
    from surefoot.research.experiments.runner import Progress

EXAMPLES = """examples:
  surefoot experiment sigir2016 --data mslr-web10k           (unchanged, on all of it: the paper's table beside ours)
  surefoot experiment sigir2014 --data mq2008 -o mq2008/     (run it again after a crash: it goes on)
  surefoot experiment sigir2016 --data demo --trees 50
  surefoot experiment sigir2012 --data all.txt --baseline feature:25
  surefoot experiment my.toml

The folder gets table.csv, tests.csv, intervals.csv, scores.csv (each query of each test fold), report.html, and in
jobs/ the results that an interrupted run resumes from."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("plan", metavar="PLAN", help="sigir2012, sigir2014, sigir2016, or a TOML file")
    parser.add_argument(
        "--data",
        nargs="+",
        metavar="WHAT",
        help="mq2008, mslr-web10k, mslr-sample, nfcorpus, demo, a folder (of Fold1 to Fold5, or of S1.txt to S5.txt), "
        "or LETOR files, which are pooled and divided into folds by the seed",
    )
    parser.add_argument("--baseline", metavar="WHAT", help="the single baseline, such as feature:25 (default: BM25)")
    parser.add_argument("--trees", type=int, metavar="N", help="at most this many (default: the plan's)")
    parser.add_argument("--seed", type=int, metavar="S", help="of folds and trainings (default: the plan's, 0)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="trainings side by side (default: 2)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of results (default: PLAN-DATA)")
    inputs.add_output(parser, to_file=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the jobs that are not done yet, write the results, print the tables."""
    from surefoot.research.experiments.data import load_data
    from surefoot.research.experiments.plan_files import load_plan
    from surefoot.research.experiments.result import write_experiment
    from surefoot.research.experiments.runner import describe, experiment

    plan = load_plan(arguments.plan).with_changes(
        data=arguments.data, baseline=arguments.baseline, seed=arguments.seed, trees=arguments.trees
    )  # fmt: skip
    dataset = load_data(plan.data)
    output = Path(arguments.output or f"{plan.name}-{dataset.name}")
    print(f"{plan.name} on {dataset.name}: {describe(plan, dataset)}; results go to {output}", file=sys.stderr)
    with progress("Training") as tell:
        result = experiment(plan, dataset, output, arguments.workers, _reporter(tell))
    write_experiment(result, output)
    _print(result, arguments)
    return 0


def _print(result: ExperimentResult, arguments: argparse.Namespace) -> None:
    """The table; in formats for reading also the tests and, where there is one, the published table."""
    tables = [result] if arguments.format in ("csv", "json") else list(result.tables().values())
    for index, table in enumerate(tables):
        if index:
            print()
        inputs.show(table, arguments)


def _reporter(tell: ShowProgress) -> Callable[[Progress], None]:
    """Shows how many jobs are done."""

    def report(at: Progress) -> None:
        left = "" if at.seconds_left is None else f", {time_left(at.seconds_left)}"
        tell(at.done, at.total, f"{at.done} of {at.total} jobs{left}")

    return report
