"""surefoot experiment: the published learning experiments, or one's own, resumable at any time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.progress import progress, time_left
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.research.experiments.data import Dataset
    from surefoot.research.experiments.outcome import Outcome
    from surefoot.research.experiments.plan import Plan
    from surefoot.research.experiments.runner import Progress

EXAMPLES = """examples:
  surefoot experiment sigir2016 --data mslr-web10k           (unchanged, on all of it: the paper's table beside ours)
  surefoot experiment sigir2014 --data mq2008 -o mq2008/     (run it again after a crash: it goes on)
  surefoot experiment sigir2016 --data demo --trees 50
  surefoot experiment sigir2012 --data all.txt --baseline feature:25
  surefoot experiment my.toml

The folder gets table.csv, tests.csv, intervals.csv, scores.csv (each query of each test fold), report.html, and in
units/ what makes a run go on where it was."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of this command."""
    parser.add_argument("plan", metavar="PLAN", help="sigir2012, sigir2014, sigir2016, or a TOML file")
    parser.add_argument(
        "--data",
        nargs="+",
        metavar="WHAT",
        help="mq2008, mslr-web10k, mslr-sample, nfcorpus, demo, a folder (of Fold1 to Fold5, or of S1.txt to S5.txt), "
        "or LETOR files, which are pooled and dealt into folds by the seed",
    )
    parser.add_argument("--baseline", metavar="WHAT", help="the single baseline, such as feature:25 (default: BM25)")
    parser.add_argument("--trees", type=int, metavar="N", help="at most so many (default: the plan's)")
    parser.add_argument("--seed", type=int, metavar="S", help="of folds and trainings (default: the plan's, 0)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="trainings side by side (default: 2)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of results (default: PLAN-DATA)")
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, run what is not done yet, write, print."""
    from surefoot.research.experiments.data import load_data
    from surefoot.research.experiments.outcome import write_outcome
    from surefoot.research.experiments.runner import experiment

    plan = _plan(arguments)
    dataset = load_data(plan.data)
    output = Path(arguments.output or f"{plan.name}-{dataset.name}")
    print(f"{plan.name} on {dataset.name}: {_described(plan, dataset)}; results go to {output}", file=sys.stderr)
    with _progress() as tell:
        outcome = experiment(plan, dataset, output, arguments.workers, tell)
    write_outcome(outcome, output)
    _print(outcome, arguments)
    return 0


def _plan(arguments: argparse.Namespace) -> Plan:
    from surefoot.research.experiments.plan import PROTOCOLS
    from surefoot.research.experiments.plan_files import read_plan

    word = arguments.plan
    if word not in PROTOCOLS and Path(word).suffix != ".toml":
        raise SurefootError(f"no experiment {word!r}; there are {', '.join(PROTOCOLS)}, or name a .toml file")
    plan = PROTOCOLS[word] if word in PROTOCOLS else read_plan(word)
    if arguments.data:
        plan = replace(plan, data=tuple(arguments.data))
    if arguments.baseline:
        plan = replace(plan, baseline=arguments.baseline)
    if arguments.seed is not None:
        plan = replace(plan, seed=arguments.seed)
    return plan if arguments.trees is None else plan.with_trees(arguments.trees)


def _described(plan: Plan, dataset: Dataset) -> str:
    """The data, and what is made smaller for them."""
    from surefoot.errors import counted

    rows = dataset.data.labels.size
    docs = ", ".join(str(plan.docs_of(number, rows)) for number in plan.docs_per_leaf)
    own = " of its own" if dataset.parts is not None and plan.own_folds else ""
    folds = plan.folds if dataset.parts is None or not plan.own_folds else int(dataset.parts.max()) + 1
    return (
        f"{counted(len(dataset.data), 'query')}, {counted(rows, 'document')}, {folds} folds{own}, "
        f"docs per leaf {docs} (plan: {', '.join(map(str, plan.docs_per_leaf))}), at most {max(plan.trees)} trees"
    )


def _print(outcome: Outcome, arguments: argparse.Namespace) -> None:
    """The table; in forms for people also the tests, and the published table beside ours."""
    if arguments.format in ("csv", "json"):
        inputs.show(outcome.table, arguments)
        return
    tables = [outcome.table, outcome.tests, *([outcome.published] if outcome.published is not None else [])]
    for place, table in enumerate(tables):
        if place:
            print()
        inputs.show(table, arguments)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """Tells how many units are done."""
    with progress("Training") as tell:

        def report(at: Progress) -> None:
            left = "" if at.seconds_left is None else f", {time_left(at.seconds_left)}"
            tell(at.done, at.total, f"{at.done} of {at.total} units{left}")

        yield report
