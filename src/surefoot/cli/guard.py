"""surefoot guard: make any ranker safe from outside, by what its baseline says."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.guard.certificate import Budget

EXAMPLES = """examples:
  surefoot guard fit --baseline bm25.run --candidate rerank.run --qrels dev.qrels --measure nDCG@10 -o guard.json
  surefoot guard fit --baseline bm25.run --candidate rerank.run --qrels dev.qrels --budget 0.01 -o guard.json
  surefoot guard apply guard.json --baseline bm25.run --candidate rerank.run -o safe.run

The candidate must not have been trained on the judgments. In a service: Guard.load("guard.json").rank(...)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    actions = parser.add_subparsers(dest="action", metavar="fit|apply", required=True)
    fitting = actions.add_parser("fit", help="choose a guard on judged queries, and tell what each would do")
    _add_runs(fitting)
    fitting.add_argument("--qrels", required=True, metavar="FILE", help="relevance judgments")
    fitting.add_argument(
        "--measure", default=inputs.DEFAULT_MEASURE, metavar="NAME", help=f"(default: {inputs.DEFAULT_MEASURE})"
    )
    fitting.add_argument(
        "--kinds", type=inputs.names, metavar="LIST", help="guards to choose from (default: lean,z,trees)"
    )
    fitting.add_argument(
        "--alpha", type=inputs.number, metavar="A", help="points of the mean that one of F_Risk is worth (default: 0.5)"
    )
    promise = fitting.add_argument_group("certificate")
    promise.add_argument("--budget", type=inputs.number, metavar="B", help="promise that no more than B is lost")
    promise.add_argument(
        "--budget-of", choices=("frisk", "loss20", "tail"), help="what must not exceed B: the mean loss, the fraction "
        "of queries that lose more than 20%%, the mean loss of the worst tenth (default: frisk)"
    )  # fmt: skip
    promise.add_argument("--confidence", type=inputs.number, metavar="P", help="of the promise (default: 0.9)")
    fitting.add_argument("--seed", type=int, default=0, metavar="S", help="of all that is drawn (default: 0)")
    add_file(fitting, "--plot", metavar="FILE", help="draw the path from the baseline to the candidate")
    inputs.add_output(fitting, to_file=False)
    add_file(fitting, "-o", dest="guard", required=True, metavar="FILE", help="where to write the guard")
    applying = actions.add_parser("apply", help="blend two runs into a safe one")
    applying.add_argument("guard", metavar="GUARD", help="what `surefoot guard fit` wrote")
    _add_runs(applying)
    applying.add_argument("--measure", metavar="NAME", help="refuse a guard that was fitted for another measure")
    add_file(applying, "-o", "--output", required=True, metavar="FILE", help="where to write the run")


def run(arguments: argparse.Namespace) -> int:
    """Fit a guard, or apply one."""
    return _fit(arguments) if arguments.action == "fit" else _apply(arguments)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--baseline", required=True, metavar="RUN", help="what is served now: a TREC run")
    parser.add_argument("--candidate", required=True, metavar="RUN", help="what may replace it: a TREC run")


def _fit(arguments: argparse.Namespace) -> int:
    from surefoot.guard.runs import fit_guard_to_runs
    from surefoot.guard.selection import ALPHA

    if arguments.plot:
        from surefoot.show.plots.style import ending_of

        ending_of(arguments.plot)  # an unknown ending is refused before the work, not after it
    with progress("Fitting guards") as report:
        fit = fit_guard_to_runs(
            arguments.baseline,
            arguments.candidate,
            arguments.qrels,
            measure=arguments.measure,
            kinds=arguments.kinds,
            alpha=ALPHA if arguments.alpha is None else arguments.alpha,
            budget=_budget(arguments),
            seed=arguments.seed,
            progress=report,
        )
    fit.guard.save(arguments.guard)
    if arguments.plot:
        from surefoot.show.plots.guard import guard_path
        from surefoot.show.plots.style import save_plot

        save_plot(guard_path(fit), arguments.plot)
    inputs.show(fit, arguments)
    told = sys.stdout if arguments.format == "table" else sys.stderr
    print(f"{arguments.guard}: {fit.guard}. {fit.why[0].upper()}{fit.why[1:]}.", file=told)
    if fit.certificate is not None:
        print(fit.certificate.words, file=told)
    return 0


def _budget(arguments: argparse.Namespace) -> Budget | None:
    from surefoot.guard.certificate import Budget

    if arguments.budget is None:
        if arguments.budget_of or arguments.confidence:
            raise SurefootError("--budget-of and --confidence belong to a promise: give its --budget too")
        return None
    return Budget(arguments.budget, arguments.budget_of or "frisk", arguments.confidence or 0.9)


def _apply(arguments: argparse.Namespace) -> int:
    from surefoot.guard.guard import Guard
    from surefoot.guard.runs import apply_guard, validate_measure
    from surefoot.io.atomic import write_bytes
    from surefoot.io.trec_writer import written_run

    guard = Guard.load(arguments.guard)
    if arguments.measure:
        validate_measure(guard, arguments.measure)
    guarded, notes = apply_guard(guard, arguments.baseline, arguments.candidate)
    write_bytes(arguments.output, written_run(guarded))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{arguments.output}: {guard}, {len(guarded):,} documents in {len(guarded.topics):,} topics")
    return 0
