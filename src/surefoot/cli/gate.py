"""surefoot gate: may this candidate replace the baseline?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.errors import SurefootError
from surefoot.release_gate.rules import Rules

if TYPE_CHECKING:
    from surefoot.release_gate.verdict import GateResult

EXAMPLES = """examples:
  surefoot gate old.run new.run --qrels qrels.txt --measure nDCG@10 --candidate new --baseline old
  surefoot gate --scores err20.csv --candidate new --baseline old,bm25 --markdown comment.md --junit gate.xml
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json             (against what was accepted last)
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json --accept    (and remember it if it passes)

Exit code 0: pass, or warnings only; 1: fail; 2: wrong use or bad input. Options may stand in surefoot.toml, in the
table [gate], under their names without the dashes; flags win."""


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
    rules.add_argument("--protected-file", metavar="FILE", help="protected queries, one a line")
    rules.add_argument("--segments", metavar="FILE", help="CSV of topic,segment")
    rules.add_argument("--segment-by", metavar="COLUMN", help="which column of the segments, where there are several")
    rules.add_argument("--config", metavar="FILE", help="options (default: surefoot.toml, if there is one)")
    ratchet = parser.add_argument_group("ratchet")
    ratchet.add_argument("--ratchet", metavar="FILE", help="compare with the candidate that this file remembers")
    ratchet.add_argument("--accept", action="store_true", help="remember the candidate in the file if it passes")
    ratchet.add_argument("--accept-warnings", action="store_true", help="remember it also if there are warnings")
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=("table", "json", "md"), default="table", help="(default: table)")
    add_file(output, "--junit", metavar="FILE", help="write JUnit XML, a test case a rule")
    add_file(output, "--markdown", metavar="FILE", help="write Markdown for a pull-request comment")


def run(arguments: argparse.Namespace) -> int:
    """Read, gate, write, print; the exit code is 1 if the candidate is refused."""
    from surefoot.release_gate.config import KEYS, read_options
    from surefoot.release_gate.ratchet import update_accepted

    options = read_options(arguments.config, {key: getattr(arguments, key) for key in KEYS})
    accept = arguments.accept or arguments.accept_warnings
    if accept and options.ratchet is None:
        raise SurefootError("--accept needs the file that remembers: give it with --ratchet FILE")
    scores = inputs.load_one(arguments)
    result = options.run(scores, missing=arguments.missing, may_be_first=accept)
    _write(result, arguments)
    if accept and options.ratchet is not None:
        missing, warnings = arguments.missing, arguments.accept_warnings
        accepted = update_accepted(options.ratchet, scores, result, warnings=warnings, missing=missing)
        _report_ratchet(result.candidate, options.ratchet, accepted)
    return result.exit_code


def _add_rule(group: Any, name: str, default: object, help: str) -> None:
    flag, help = f"--{name.replace('_', '-')}", help.replace("%", "%%")
    if isinstance(default, tuple):
        group.add_argument(flag, type=inputs.names, metavar="LIST", help=help)
    else:
        group.add_argument(flag, type=inputs.number, metavar="X", help=f"{help} (default: {default:g})")


def _report_ratchet(candidate: str, path: str, accepted: bool) -> None:
    if accepted:
        print(f"accepted: {candidate} is the new baseline in {path}", file=sys.stderr)
    else:
        print(f"not accepted: {path} stays as it was", file=sys.stderr)


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
