"""The commands that decide: compare, gate."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, NewFile, Once, grouped, names, number, option
from surefoot.errors import SurefootError, listed
from surefoot.release_gate.rules import TIERS, UNDECIDED, Rules

if TYPE_CHECKING:
    from surefoot.release_gate.config import GateOptions
    from surefoot.release_gate.verdict import GateResult
    from surefoot.results import Result
    from surefoot.scores import Scores

Pair = tuple["Scores", tuple[str, str], tuple[str, ...]]
"""The scores of two versions, their names, the old one first, and the inputs as arguments."""
CHOICES = {"undecided": tuple(UNDECIDED), "evidence": tuple(TIERS)}


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare two versions by the policy of the gate; the exit code is 0 for every verdict."""
    from surefoot.release_gate.compare import Compared
    from surefoot.release_gate.config import read_options
    from surefoot.release_gate.render import render_compared

    options = replace(read_options(), ratchet=None, sequential=None, holdout=0.0)
    options = options if arguments.noun is None else replace(options, noun=arguments.noun)
    scores, (baseline, candidate), files = _pair(arguments)
    with progress("Testing the rules", log="none"):
        result = replace(options, baseline=[baseline], candidate=candidate).run([scores]).result
    if queries := inputs.load_queries(arguments):
        result = result.with_texts(queries)
    _write_out(render_compared, Compared.of(result, scores, files), arguments.format)
    return 0


TWO_RUNS = "give two runs and judgments: compare OLD NEW --qrels Q; or a table with --scores"
TWO_SYSTEMS = "name two systems of the table: compare OLD NEW --scores TABLE"


def _pair(arguments: argparse.Namespace) -> Pair:
    """The versions to compare, in score tables or as runs."""
    from surefoot.io.tables import is_score_file

    if arguments.scores:
        return _pair_in_tables(arguments, arguments.scores, arguments.runs)
    if arguments.runs and not arguments.qrels and all(map(is_score_file, arguments.runs)):
        return _pair_in_tables(arguments, arguments.runs, [])
    return _pair_of_runs(arguments)


def _pair_in_tables(arguments: argparse.Namespace, tables: Sequence[str], named: Sequence[str]) -> Pair:
    from surefoot.io.tables import read_scores

    named = [*named, *filter(None, (arguments.baseline, arguments.candidate))]
    if len(named) not in (0, 2) or arguments.qrels:
        raise SurefootError(TWO_SYSTEMS)
    scores = read_scores(tables, arguments.measure, arguments.missing)
    named = named or scores.systems
    if len(named) != 2:
        raise SurefootError(f"{TWO_SYSTEMS}; it has {listed(named)}")
    return scores, (named[0], named[1]), ("--scores", *tables, *_measure(arguments))


def _pair_of_runs(arguments: argparse.Namespace) -> Pair:
    """Two runs, or two systems in one file."""
    from surefoot.effectiveness.scoring import score_runs
    from surefoot.release_gate.compare import score_pair

    runs, qrels, measure = arguments.runs, arguments.qrels, arguments.measure or opt.DEFAULT_MEASURE
    named = [name for name in (arguments.baseline, arguments.candidate) if name]
    if len(runs) == 2 and qrels and not named:
        return score_pair(runs[0], runs[1], qrels, measure)
    if len(runs) != 1 or not qrels:
        raise SurefootError(TWO_RUNS)
    scores = score_runs(runs, qrels, measure)
    if len(scores.systems) == 1:
        raise SurefootError(TWO_RUNS)
    pair = arguments.baseline or scores.systems[0], arguments.candidate or scores.systems[-1]
    if pair[0] == pair[1] or (len(scores.systems) != 2 and len(named) != 2):
        raise SurefootError(f"name --baseline and --candidate of the file: it has {listed(scores.systems)}")
    return scores, pair, (*runs, "--qrels", qrels, *_measure(arguments))


def _measure(arguments: argparse.Namespace) -> list[str]:
    """The option for the measure, if it is given."""
    return ["--measure", arguments.measure] if arguments.measure else []


def run_gate(arguments: argparse.Namespace) -> int:
    """May a candidate ship? The exit code is that of the verdict."""
    from surefoot.io.texts import read_queries
    from surefoot.release_gate.config import KEYS, read_options

    options = read_options(arguments.config, {key: getattr(arguments, key) for key in KEYS})
    if arguments.scores and not arguments.qrels:
        options = replace(options, qrels=None)  # the qrels of the file are for runs
    arguments.measure, arguments.qrels = list(options.measure) or None, options.qrels
    scores = inputs.load(arguments)
    if arguments.aa:
        options, scores = _against_itself(options, scores)
    if arguments.acknowledge or arguments.why:
        _acknowledge(arguments, options, scores)
    with progress("Testing the rules", log="none"):
        outcome = options.run(
            scores, missing=arguments.missing, accept=arguments.accept, pin=arguments.pin, loosen=arguments.loosen
        )
    result = outcome.result
    if options.queries:
        result = result.with_texts(read_queries(options.queries))
    _write_verdict(result, arguments)
    if arguments.accept:
        _report_ratchet(result.candidate, str(options.ratchet), outcome.accepted)
    return result.exit_code


def _against_itself(options: GateOptions, scores: Sequence[Scores]) -> tuple[GateOptions, list[Scores]]:
    """Split the trials of the candidate in two halves, and compare these as two systems."""
    from surefoot.stats.repeats import split_trials

    if options.baseline or options.ratchet:
        raise SurefootError("--aa compares the candidate with itself; leave out --baseline and --ratchet")
    parts = [split_trials(part, options.candidate_of(part)) for part in scores]
    candidate, baseline = parts[0].systems
    return replace(options, candidate=candidate, baseline=[baseline]), parts


def _acknowledge(arguments: argparse.Namespace, options: GateOptions, scores: Sequence[Scores]) -> None:
    """Write the losses of the named queries to the file of accepted ones, before the gate reads it."""
    from surefoot.release_gate.acknowledged import acknowledge

    if not (arguments.acknowledge and arguments.why):
        raise SurefootError('--acknowledge and --why go together: --acknowledge q17 --why "..."')
    if not options.baseline:
        raise SurefootError("--acknowledge needs the --baseline against which the queries lost")
    comparisons = [(part, name) for part in scores for name in options.baseline]
    candidate = options.candidate_of(scores[0])
    acknowledge(options.losses_file, comparisons, candidate, arguments.acknowledge, arguments.why)
    print(f"acknowledged in {options.losses_file}: {', '.join(arguments.acknowledge)}", file=sys.stderr)


def _report_ratchet(candidate: str, path: str, accepted: bool) -> None:
    if accepted:
        print(f"accepted: {candidate} is the new baseline in {path}", file=sys.stderr)
    else:
        print(f"not accepted: {path} keeps its baseline, and counts the attempt", file=sys.stderr)


def _write_verdict(result: GateResult, arguments: argparse.Namespace) -> None:
    from surefoot.io.atomic import make_folder, write_text
    from surefoot.release_gate.render import render_gate, render_junit, render_markdown

    for path, write in ((arguments.junit, render_junit), (arguments.markdown, render_markdown)):
        if path:
            make_folder(Path(path).parent)
            write_text(path, write(result))
    _write_out(render_gate, result, arguments.format)


def _write_out(render: Callable[..., str], found: Result, format: str) -> None:
    """Print a verdict, as wide as the terminal."""
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    sys.stdout.write(render(found, format, width=width, color=color))


FORMAT = option("--format", choices=("table", "json", "md"), default="table", help="output format (default: table)")

COMMANDS = {
    "compare": Command(
        run_compare,
        (
            option("runs", nargs="*", metavar="OLD NEW",
                   help="two runs, or one file with two (snapshots of Quepid); or two logs of an evaluation; with "
                   "--scores two systems of the table"),
            opt.QRELS,
            option("--scores", nargs="+", metavar="FILE", help="score tables instead of runs"),
            opt.CANDIDATE.but(help="with --scores: the new system"),
            opt.BASELINE.but(help="with --scores: the old system"),
            option("--measure", "--metric", action=Once, metavar="NAME",
                   help=f"effectiveness measure (default for runs: {opt.DEFAULT_MEASURE})"),
            opt.MISSING,
            opt.QUERIES.but(help="texts of the queries, shown with those that lost most"),
            opt.NOUN,
            FORMAT,
        ),
    ),
    "gate": Command(
        run_gate,
        (
            *opt.INPUTS,
            opt.LLM_QRELS,
            opt.CANDIDATE.but(help="the system to judge (default: the only one that is no baseline)"),
            opt.BASELINES,
            *grouped(
                "rules",
                *(opt.field_option(field, CHOICES.get(field.name, ())) for field in fields(Rules)),
                opt.QUERIES.but(help="texts of the queries, shown with those that lost"),
                opt.NOUN,
                opt.ASSESSORS.but(help=opt.ASSESSORS.settings["help"].format(default="none; strict: off")),
                option("--protected-file", metavar="FILE", help="protected queries, one on each line"),
                *opt.SEGMENTS,
                option("--config", metavar="FILE", help="options (default: surefoot.toml, if there is one)"),
                opt.SEED.but(default=None),
                option("--aa", action="store_true", help="gate the candidate against itself: half of its trials each"),
            ),
            *grouped(
                "acknowledged losses",
                option("--acknowledge", type=names, metavar="LIST", help="accept the losses of these queries"),
                option("--why", metavar="TEXT", help="the reason, with --acknowledge"),
                option("--acknowledged", metavar="FILE",
                       help="the file of accepted losses (default: surefoot-losses.toml)"),
            ),
            *grouped(
                "ratchet",
                option("--ratchet", metavar="FILE", help="compare with the candidate that this file keeps"),
                option("--accept", action="store_true", help="keep the candidate in the file if it passes"),
                option("--pin", action="store_true", help="keep all options in the file: later gates can't be looser"),
                option("--loosen", action="store_true", help="with --pin: replace pinned options by looser ones"),
                option("--holdout", type=number, metavar="X",
                       help="share of queries that only confirm what the others pass"),
            ),
            *grouped(
                "sequential",
                option("--sequential", metavar="FILE",
                       help="add the new queries to this state file; the verdict holds however often one looks"),
            ),
            *grouped(
                "output",
                FORMAT,
                option("--junit", type=NewFile, metavar="FILE",
                       help="write JUnit XML, one test case for each rule"),
                option("--markdown", type=NewFile, metavar="FILE", help="write Markdown for a pull-request comment"),
            ),
        ),
    ),
}  # fmt: skip
