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
from surefoot.release_gate.rules import UNDECIDED, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surefoot.release_gate.config import GateOptions
    from surefoot.release_gate.verdict import GateResult, PLoss
    from surefoot.scores import Scores

DRAWS = 500
"""How often grades are drawn to doubt a loss; its probability is then known to about 0.01."""

EXAMPLES = """examples:
  surefoot gate old.run new.run --qrels qrels.txt --measure nDCG@10 --candidate new --baseline old
  surefoot gate --scores err20.csv --candidate new --baseline old,bm25 --markdown comment.md --junit gate.xml
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json             (against what was accepted last)
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json --accept    (and remember it if it passes)

Exit code 0: pass; 1: fail; 2: wrong use or bad input. Where the queries can't tell it is 0 with a warning, unless
--undecided says otherwise: 1 for fail, 3 for exit3. Options may stand in surefoot.toml, in the table [gate], under
their names without the dashes; flags win."""


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
    rules.add_argument(
        "--assessors",
        nargs="+",
        metavar="QRELS",
        help="how assessors differ, so that a loss may not be real: qrels of other assessors, how often another one "
        "gives another grade, dl2019 (default), none: only unjudged documents are in doubt, or off: nothing is",
    )
    rules.add_argument("--protected-file", metavar="FILE", help="protected queries, one a line")
    rules.add_argument("--segments", metavar="FILE", help="CSV of topic,segment")
    rules.add_argument("--segment-by", metavar="COLUMN", help="which column of the segments, where there are several")
    rules.add_argument("--config", metavar="FILE", help="options (default: surefoot.toml, if there is one)")
    ratchet = parser.add_argument_group("ratchet")
    ratchet.add_argument("--ratchet", metavar="FILE", help="compare with the candidate that this file remembers")
    ratchet.add_argument("--accept", action="store_true", help="remember the candidate in the file if it passes")
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
    """Read, gate, write, print; the exit code tells the verdict."""
    from surefoot.io.texts import read_queries
    from surefoot.release_gate.config import KEYS, read_options
    from surefoot.release_gate.ratchet import write_accepted

    options = read_options(arguments.config, {key: getattr(arguments, key) for key in KEYS})
    if arguments.scores and not arguments.qrels:
        options = replace(options, qrels=None)  # those of the file are for runs
    arguments.measure, arguments.qrels = list(options.measure) or None, options.qrels
    scores = inputs.load(arguments)
    p_loss = _p_loss(arguments, options, scores)
    outcome = options.run(scores, missing=arguments.missing, accept=arguments.accept, p_loss=p_loss)
    result = outcome.result
    if options.queries:
        result = result.with_texts(read_queries(options.queries))
    if outcome.ratchet is not None and options.ratchet is not None:
        write_accepted(options.ratchet, outcome.ratchet)
    _write(result, arguments)
    if arguments.accept:
        _report_ratchet(result.candidate, str(options.ratchet), outcome.accepted)
    return result.exit_code


def _p_loss(arguments: argparse.Namespace, options: GateOptions, scores: Sequence[Scores]) -> PLoss | None:
    """The probability that each loss against a run is real, where runs and judgments can be read again.

    Judgments that name relevant documents alone are no pool: whatever they leave out was not looked at, or is not
    relevant, and nothing tells which. Then nothing is doubted.
    """
    from surefoot.io.files import STDIN

    if not arguments.runs or STDIN in (*arguments.runs, arguments.qrels) or list(options.assessors) == ["off"]:
        return None
    from surefoot.effectiveness.measures import parse_measure
    from surefoot.effectiveness.sources import load_qrels
    from surefoot.judgments.credibility import credibility

    qrels = load_qrels(arguments.qrels)
    if not qrels.are_whole or qrels.are_relevant_only:
        return None
    candidate, found = options.candidate_of(scores[0]), {}
    for part in (part for part in scores if parse_measure(part.measure).form is not None):
        runs = inputs.load_judged(arguments, part.measure)
        for name in (name for name in options.baseline if name in part.systems and name != candidate):
            with progress(f"Doubting the judgments of {part.measure}", log="none"):
                doubts = credibility(
                    runs, candidate, name, assessors=inputs.assessors(options.assessors), n_draws=DRAWS
                )
            found[part.measure, name] = dict(zip(doubts["topic"].tolist(), doubts["p_loss"].tolist(), strict=True))
    return found


def _add_rule(group: Any, name: str, default: object, help: str) -> None:
    flag, help = f"--{name.replace('_', '-')}", help.replace("%", "%%")
    if isinstance(default, tuple):
        group.add_argument(flag, type=inputs.names, metavar="LIST", help=help)
    elif isinstance(default, str):
        group.add_argument(flag, choices=tuple(UNDECIDED), help=f"{help.partition(':')[0]} (default: {default})")
    else:
        group.add_argument(flag, type=inputs.number, metavar="X", help=f"{help} (default: {default:g})")


def _report_ratchet(candidate: str, path: str, accepted: bool) -> None:
    if accepted:
        print(f"accepted: {candidate} is the new baseline in {path}", file=sys.stderr)
    else:
        print(f"not accepted: {path} keeps what it remembers, and counts the try", file=sys.stderr)


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
