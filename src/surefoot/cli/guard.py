"""surefoot guard: make any ranker safe by blending it with its baseline."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from surefoot._names import one_line, wrapped
from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, NewFile, grouped, names, number, option
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.guard.certificate import Budget


def run_fit(arguments: argparse.Namespace) -> int:
    """Choose a guard on judged queries."""
    from surefoot.guard.runs import fit_guard_to_runs
    from surefoot.guard.trial import ALPHA

    if arguments.plot:
        from surefoot.plots.style import ending_of

        ending_of(arguments.plot)  # refuses an unknown ending before the work
    given = inputs.given(arguments, "baseline", "candidate", "qrels", "measure", "kinds", "anyway", "seed")
    given["alpha"] = ALPHA if arguments.alpha is None else arguments.alpha
    with progress("Fitting guards") as report:
        fit = fit_guard_to_runs(**given, budget=_budget(arguments), progress=report)
    fit.guard.save(arguments.guard)
    if arguments.plot:
        from surefoot.plots.planes import guard_path
        from surefoot.plots.style import save_plot

        save_plot(guard_path(fit), arguments.plot)
    inputs.show(fit, arguments)
    stream = sys.stdout if arguments.format == "table" else sys.stderr
    sentences = [f"{arguments.guard}: {fit.guard}. {fit.why[0].upper()}{fit.why[1:]}."]
    if fit.certificate is not None:
        sentences.append(fit.certificate.words)
    for sentence in sentences:
        print(*wrapped(one_line(sentence), 100), sep="\n", file=stream)
    return 0


def _budget(arguments: argparse.Namespace) -> Budget | None:
    from surefoot.guard.certificate import Budget

    if arguments.budget is None:
        if arguments.budget_of or arguments.confidence or arguments.approximate:
            raise SurefootError("--budget-of, --confidence and --approximate belong to a certificate: add its --budget")
        return None
    of, confidence = arguments.budget_of or "frisk", arguments.confidence or 0.9
    return Budget(arguments.budget, of, confidence, arguments.approximate)


def run_apply(arguments: argparse.Namespace) -> int:
    """Blend two runs into a safe one."""
    from surefoot.guard.guard import Guard
    from surefoot.guard.runs import apply_guard
    from surefoot.io.atomic import write_bytes
    from surefoot.io.trec_writer import written_run

    guard = Guard.load(arguments.guard)
    guarded, notes = apply_guard(guard, arguments.baseline, arguments.candidate)
    write_bytes(arguments.output, written_run(guarded))
    inputs.print_notes(notes)
    print(f"{arguments.output}: {guard}, {len(guarded):,} documents in {len(guarded.topics):,} topics")
    return 0


RUNS = (
    opt.BASELINE.but(required=True, metavar="RUN", help="the run that is served now"),
    opt.CANDIDATE.but(required=True, metavar="RUN", help="the run that may replace it"),
)
KINDS = {
    "fit": Command(
        run_fit,
        (
            *RUNS,
            option("--qrels", required=True, metavar="FILE", help="relevance judgments"),
            option("--measure", default=opt.DEFAULT_MEASURE, metavar="NAME",
                   help=f"effectiveness measure (default: {opt.DEFAULT_MEASURE})"),
            option("--kinds", "--kind", type=names, metavar="LIST",
                   help="kinds to choose from: log-rank, z, second-stage (the default), threshold"),
            option("--alpha", type=number, metavar="A", help="weight of F_Risk against the mean (default: 0.5)"),
            option("--anyway", action="store_true", help="fit even if the candidate's mean is below the baseline's"),
            *grouped(
                "certificate",
                option("--budget", type=number, metavar="B", help="certify that no more than B is lost"),
                option("--budget-of", choices=("frisk", "loss20", "tail"),
                       help="the quantity that must not exceed B: the mean loss, the fraction of queries that lose "
                       "more than 20 %%, the mean loss of the worst tenth (default: frisk)"),
                option("--confidence", type=number, metavar="P", help="confidence of the certificate (default: 0.9)"),
                option("--approximate", action="store_true",
                       help="assume that no query loses more than the largest loss seen, to need fewer queries"),
            ),
            opt.SEED,
            option("--plot", type=NewFile, metavar="FILE", help="draw the path from the baseline to the candidate"),
            *opt.TABLE,
            option("-o", dest="guard", type=NewFile, required=True, metavar="FILE", help="where to write the guard"),
        ),
        summary="choose a guard on judged queries, and show the effect of each",
    ),
    "apply": Command(
        run_apply,
        (
            option("guard", metavar="GUARD", help="the file that `surefoot guard fit` wrote"),
            *RUNS,
            opt.OUTPUT.but(required=True, help="where to write the run"),
        ),
        summary="blend two runs into a safe one",
    ),
}  # fmt: skip

COMMANDS = {
    "guard": Command(
        kinds=lambda: KINDS,
    ),
}
