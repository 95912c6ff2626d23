"""surefoot gate: may this candidate replace the baseline?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.errors import SurefootError, listed
from surefoot.release_gate.rules import Rules

if TYPE_CHECKING:
    from surefoot.release_gate.verdict import GateResult
    from surefoot.scores import Scores

EXAMPLES = """examples:
  surefoot gate old.run new.run --qrels qrels.txt --measure nDCG@10 --candidate new --baseline old
  surefoot gate --scores err20.csv --candidate new --baseline old,bm25 --markdown comment.md --junit gate.xml
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json             (against what was accepted last)
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json --accept    (and remember it if it passes)

Exit code 0: pass, or warnings only; 1: fail; 2: wrong use or bad input. Options may stand in surefoot.toml, in the
table [gate], under their names without the dashes; flags win."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--candidate", metavar="NAME", help="the system to judge (default: the only one that is left)")
    parser.add_argument(
        "--baseline", type=inputs.names, metavar="LIST", help="systems to compare with, or MEAN, MEDIAN, MAX; by comma"
    )
    rules = parser.add_argument_group("rules")
    for option in fields(Rules):
        _add_rule(rules, option.name, option.default, option.metadata["meaning"])
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
    output.add_argument("--junit", metavar="FILE", help="write JUnit XML, a test case a rule")
    output.add_argument("--markdown", metavar="FILE", help="write Markdown for a pull-request comment")


def run(arguments: argparse.Namespace) -> int:
    """Read, gate, write, print; 1 if the candidate is refused."""
    from surefoot.release_gate.ratchet import accept, read_accepted, write_accepted

    options = _options(arguments)
    accepting = arguments.accept or arguments.accept_warnings
    if accepting and "ratchet" not in options:
        raise SurefootError("--accept needs the file that remembers: give it with --ratchet FILE")
    rules = Rules(**{option.name: options[option.name] for option in fields(Rules) if option.name in options})
    scores = inputs.load_one(arguments)
    result = _gate(scores, options, rules, arguments.missing, accepting)
    _write(result, arguments)
    if accepting and result.verdict in ("pass", "warn" if arguments.accept_warnings else "pass"):
        before = read_accepted(options["ratchet"]) if Path(options["ratchet"]).exists() else None
        write_accepted(options["ratchet"], accept(scores, result, before, arguments.missing))
        print(f"accepted: {result.candidate} is the new baseline in {options['ratchet']}", file=sys.stderr)
    elif accepting:
        print(f"not accepted: {options['ratchet']} stays as it was", file=sys.stderr)
    return result.exit_code


def _add_rule(group: Any, name: str, default: object, meaning: str) -> None:
    flag, meaning = f"--{name.replace('_', '-')}", meaning.replace("%", "%%")
    if isinstance(default, tuple):
        group.add_argument(flag, type=inputs.names, metavar="LIST", help=meaning)
    else:
        group.add_argument(flag, type=inputs.number, metavar="X", help=f"{meaning} (default: {default:g})")


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of the file, and over them those of the flags."""
    from surefoot.io.maps import read_names
    from surefoot.release_gate.config import KEYS, find_config, read_config

    path = arguments.config or find_config()
    options = read_config(path) if path else {}
    options |= {key: getattr(arguments, key) for key in KEYS if getattr(arguments, key) is not None}
    if "protected_file" in options:
        names = read_names(options["protected_file"])
        if not names:
            raise SurefootError(
                f"{options['protected_file']}: names no query to protect; remove the option, or fill it"
            )
        options["protected"] = [*options.get("protected", []), *names]
    if "segment_by" in options and "segments" not in options:
        raise SurefootError("--segment-by names a column of the segments file: give that with --segments FILE")
    return options


def _gate(scores: Scores, options: dict[str, Any], rules: Rules, missing: Any, accepting: bool) -> GateResult:
    from surefoot.io.maps import read_segments
    from surefoot.release_gate.ratchet import first_of, gate_accepted, read_accepted
    from surefoot.release_gate.verdict import gate, merge

    baselines, ratchet = options.get("baseline", []), options.get("ratchet")
    segments = read_segments(options["segments"], options.get("segment_by")) if "segments" in options else None
    candidate = options.get("candidate") or _only(scores, baselines)
    remembered = bool(ratchet) and Path(str(ratchet)).exists()
    if ratchet and not remembered and not accepting:
        raise SurefootError(f"{ratchet}: no such file; the first time, add --accept to remember the candidate")
    results = [gate(scores, candidate, baselines, rules, segments)] if baselines else []
    if remembered:
        results.append(gate_accepted(scores, candidate, read_accepted(str(ratchet)), rules, segments, missing))
    if results:
        return merge(results)
    if not ratchet:
        raise SurefootError("nothing to compare with: name a --baseline, or give a --ratchet FILE")
    return first_of(scores, candidate)


def _only(scores: Scores, baselines: list[str]) -> str:
    """The candidate where only one system can be meant."""
    others = [system for system in scores.systems if system not in baselines]
    if len(others) != 1:
        raise SurefootError(f"name the --candidate: one of {listed(others or scores.systems)}")
    return others[0]


def _write(result: GateResult, arguments: argparse.Namespace) -> None:
    from surefoot.io.atomic import write_text
    from surefoot.show.gate import render_gate, render_junit, render_markdown

    if arguments.junit:
        write_text(arguments.junit, render_junit(result))
    if arguments.markdown:
        write_text(arguments.markdown, render_markdown(result))
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    sys.stdout.write(render_gate(result, arguments.format, width=width, color=color))
