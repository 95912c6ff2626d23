"""surefoot gate: may this candidate replace the baseline?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError
from surefoot.release_gate.rules import TIERS, UNDECIDED, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surefoot.release_gate.config import GateOptions
    from surefoot.release_gate.verdict import GateResult
    from surefoot.scores import Scores

CHOICES = {"undecided": tuple(UNDECIDED), "evidence": tuple(TIERS)}

EXAMPLES = """examples:
  surefoot gate old.run new.run --qrels qrels.txt --measure nDCG@10 --candidate new --baseline old
  surefoot gate --scores err20.csv --candidate new --baseline old,bm25 --markdown comment.md --junit gate.xml
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json             (against what was accepted last)
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json --accept    (and keep it if it passes)
  surefoot gate old.run new.run --qrels qrels.txt --candidate new --baseline old --acknowledge q17 --why "moved away"
  surefoot gate --scores trials.csv --candidate agent --aa                    (a system against itself)

Exit code 0: ship; 1: don't ship; 2: wrong use or bad input. If the evidence is not enough it is 0, unless --undecided
says otherwise: hold gives 1 if it leans against the candidate, fail 1, exit3 3. Options may stand in surefoot.toml, in
the table [gate], under their names without the dashes; flags win."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--candidate", metavar="NAME", help="the system to judge (default: the only one that is left)")
    parser.add_argument(
        "--baseline", type=inputs.names, metavar="LIST", help="systems to compare with, or MEAN, MEDIAN, MAX; by comma"
    )
    rules = parser.add_argument_group("rules")
    for option in fields(Rules):
        _add_rule(rules, option.name, option.default, option.metadata["help"])
    rules.add_argument("--queries", metavar="FILE", help="the text of the queries, shown with those that lost")
    inputs.add_assessors(rules, "none; strict: off")
    rules.add_argument("--protected-file", metavar="FILE", help="protected queries, one a line")
    rules.add_argument("--segments", metavar="FILE", help="CSV of topic,segment")
    rules.add_argument("--segment-by", metavar="COLUMN", help="which column of the segments, where there are several")
    rules.add_argument("--config", metavar="FILE", help="options (default: surefoot.toml, if there is one)")
    rules.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    rules.add_argument("--aa", action="store_true", help="gate the candidate against itself: half of its trials each")
    losses = parser.add_argument_group("acknowledged losses")
    losses.add_argument("--acknowledge", type=inputs.names, metavar="LIST", help="accept the losses of these queries")
    losses.add_argument("--why", metavar="TEXT", help="the reason, with --acknowledge")
    losses.add_argument(
        "--acknowledged", metavar="FILE", help="the file of accepted losses (default: surefoot-losses.toml)"
    )
    ratchet = parser.add_argument_group("ratchet")
    ratchet.add_argument("--ratchet", metavar="FILE", help="compare with the candidate that this file keeps")
    ratchet.add_argument("--accept", action="store_true", help="keep the candidate in the file if it passes")
    ratchet.add_argument(
        "--holdout",
        type=inputs.number,
        metavar="X",
        help="share of queries that only confirm what the others pass",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=("table", "json", "md"), default="table", help="(default: table)")
    add_file(output, "--junit", metavar="FILE", help="write JUnit XML, one test case for each rule")
    add_file(output, "--markdown", metavar="FILE", help="write Markdown for a pull-request comment")


def run(arguments: argparse.Namespace) -> int:
    """Read, gate, write, print; the exit code is that of the verdict."""
    from surefoot.io.texts import read_queries
    from surefoot.release_gate.config import KEYS, read_options

    options = read_options(arguments.config, {key: getattr(arguments, key) for key in KEYS})
    if arguments.scores and not arguments.qrels:
        options = replace(options, qrels=None)  # those of the file are for runs
    arguments.measure, arguments.qrels = list(options.measure) or None, options.qrels
    scores = inputs.load(arguments)
    if arguments.aa:
        options, scores = _against_itself(options, scores)
    if arguments.acknowledge or arguments.why:
        _acknowledge(arguments, options, scores)
    with progress("Testing the rules", log="none"):
        outcome = options.run(scores, missing=arguments.missing, accept=arguments.accept)
    result = outcome.result
    if options.queries:
        result = result.with_texts(read_queries(options.queries))
    _write(result, arguments)
    if arguments.accept:
        _report_ratchet(result.candidate, str(options.ratchet), outcome.accepted)
    return result.exit_code


def _against_itself(options: GateOptions, scores: Sequence[Scores]) -> tuple[GateOptions, list[Scores]]:
    """The trials of the candidate in two halves, each a system."""
    from surefoot.release_gate.repeats import split_trials

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


def _add_rule(group: Any, name: str, default: object, help: str) -> None:
    flag, help = f"--{name.replace('_', '-')}", help.replace("%", "%%")
    if isinstance(default, tuple):
        group.add_argument(flag, type=inputs.names, metavar="LIST", help=help)
    elif name in CHOICES:
        help = f"{help.partition(':')[0]} (default: {default})"
        group.add_argument(flag, choices=CHOICES[name], help=help)
    else:
        shown = "" if default is None else f" (default: {default:g})"
        group.add_argument(flag, type=inputs.number, metavar="X", help=f"{help}{shown}")


def _report_ratchet(candidate: str, path: str, accepted: bool) -> None:
    if accepted:
        print(f"accepted: {candidate} is the new baseline in {path}", file=sys.stderr)
    else:
        print(f"not accepted: {path} keeps its baseline, and counts the try", file=sys.stderr)


def _write(result: GateResult, arguments: argparse.Namespace) -> None:
    from surefoot.io.atomic import write_text
    from surefoot.release_gate.render import render_gate, render_junit, render_markdown

    if arguments.junit:
        write_text(arguments.junit, render_junit(result))
    if arguments.markdown:
        write_text(arguments.markdown, render_markdown(result))
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    sys.stdout.write(render_gate(result, arguments.format, width=width, color=color))
