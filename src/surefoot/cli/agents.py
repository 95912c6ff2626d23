"""The commands for programs: schema (JSON output), mcp (Model Context Protocol), completion (shells)."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any

from surefoot._version import __version__
from surefoot.cli import COMMANDS as SUMMARIES
from surefoot.cli import build_parser, installed_commands, main, sentence
from surefoot.cli.options import Command, NewFile, Option, number, option
from surefoot.errors import SurefootError
from surefoot.show.schemas import commands, schema_of

TOOLS = ("compare", "gate", "evaluate", "explore")
"""The commands that the server offers."""
REFUSED = frozenset(
    "--format --caption --label --config --acknowledge --why --ratchet --accept --pin --loosen --holdout "
    "--sequential".split()
)
"""Options that write files, or that shape text for people."""
VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol, the newest first."""
FAILED = 2
"""The exit code of wrong use and bad input."""


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the schema of a command, or of all."""
    name = " ".join(arguments.of)
    found = schema_of(name) if name else {each: schema_of(each) for each in commands()}
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0


def run_mcp(_: argparse.Namespace) -> int:
    """Answer requests on standard input, one JSON object on each line, until it ends."""
    for line in sys.stdin:
        if line.strip() and (answer := respond(line)) is not None:
            print(json.dumps({"jsonrpc": "2.0", **answer}), flush=True)
    return 0


def respond(line: str) -> dict[str, Any] | None:
    """The answer to one line; None for a notification."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": {"code": -32700, "message": "not JSON"}}
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return {"id": None, "error": {"code": -32600, "message": "expected a request with a method"}}
    if "id" not in request:
        return None
    if not isinstance(request["id"], str | int):
        return {"id": None, "error": {"code": -32600, "message": "expected text or a whole number as the id"}}
    given = request.get("params") or {}
    try:
        return {"id": request["id"], "result": _result(request["method"], given if isinstance(given, dict) else {})}
    except LookupError:
        return {"id": request["id"], "error": {"code": -32601, "message": f"unknown method {request['method']}"}}
    except SurefootError as error:
        return {"id": request["id"], "error": {"code": -32602, "message": str(error)}}


def _result(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        asked = given.get("protocolVersion")
        version = asked if asked in VERSIONS else VERSIONS[0]
        info = {"name": "surefoot", "version": __version__}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/call":
        return _call(given.get("name"), given.get("arguments") or {})
    if method == "tools/list":
        return {"tools": [_tool(name) for name in TOOLS]}
    return {"ping": {}}[method]


def _options(name: str) -> dict[str, Option]:
    """The options of a command that write nothing, by their names as arguments of a tool."""
    declared: Sequence[Option] = import_module(f"surefoot.cli.{SUMMARIES[name][1]}").COMMANDS[name].options
    return {each.flags[0].lstrip("-").replace("-", "_"): each for each in declared
            if not REFUSED & {*each.flags} and each.settings.get("type") is not NewFile}  # fmt: skip


def _tool(name: str) -> dict[str, Any]:
    """The declaration of a tool: its arguments are the command's options, its result is the command's JSON."""
    properties = {key: _argument(each) for key, each in _options(name).items()}
    return {
        "name": name,
        "description": f"{sentence(SUMMARIES[name][2])} Files are paths on this machine.",
        "inputSchema": {"type": "object", "properties": properties, "additionalProperties": False},
        "outputSchema": schema_of(name),
        "annotations": {"readOnlyHint": True},
    }


def _argument(each: Option) -> dict[str, Any]:
    own = each.settings
    one: dict[str, Any] = {"type": "number" if own.get("type") in (int, number) else "string"}
    if "choices" in own:
        one = {"enum": list(own["choices"])}
    if own.get("action") == "store_true":
        one = {"type": "boolean"}
    elif own.get("nargs") in ("*", "+", 2) or own.get("action") in ("append", "extend"):
        one = {"type": "array", "items": one}
    return {**one, "description": own.get("help", "").replace("%%", "%")}


def _words(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The arguments of a tool as words of the command line."""
    known = _options(name)
    for key, value in given.items():
        if key not in known:
            raise SurefootError(f"{name} has no argument {key!r}")
        values = [str(one) for one in (value if isinstance(value, list) else [value]) if one is not None]
        if "-" in values:
            raise SurefootError(f"{key} can't be standard input, which the protocol uses")
        flag, settings = known[key].flags[0], known[key].settings
        if "nargs" in settings:
            if any(one.startswith("-") for one in values):
                raise SurefootError(f"{key} takes values that do not begin with a dash")
            yield from [flag, *values] if flag.startswith("-") else values
        elif settings.get("action") == "store_true":
            yield from [flag] if value is True else []
        else:
            yield from (f"{flag}={one}" for one in values)


def _call(name: Any, given: Any) -> dict[str, Any]:
    """Run a command; if it fails, its message is the result."""
    from surefoot.release_gate.config import read_options

    if not isinstance(given, dict):
        raise SurefootError("arguments must be an object")
    if name not in TOOLS:
        raise SurefootError(f"unknown tool {name!r}; there are {', '.join(TOOLS)}")
    if name == "gate" and ((options := read_options()).ratchet or options.sequential):
        raise SurefootError("surefoot.toml names a file that is only written by surefoot gate")
    runs_first = sorted(given.items(), key=lambda item: item[0] != "runs")  # after --scores they would be scores
    words = [name, *_words(name, dict(runs_first)), "--format=json"]
    out, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(messages):
        try:
            code = main(words)
        except SystemExit:
            code = FAILED
    if code in (0, 1, 3):
        return {"content": [{"type": "text", "text": out.getvalue()}], "structuredContent": json.loads(out.getvalue())}
    return {"content": [{"type": "text", "text": messages.getvalue().strip()}], "isError": True}


COMPLETE = """\
_surefoot_words() {{
    case "$1" in
{cases}
    esac
}}
_surefoot_complete() {{  # the word to complete, then the words before it
    local current=$1 at=$2 last=$2 word
    shift 2
    for word in "$@"; do
        [[ " $(_surefoot_words "$at") " == *" $word "* ]] && at="$at $word"
        last=$word
    done
    [[ $current == -* ]] && word="$at -" || word=$at
    _surefoot_words "$at $last" | grep . || _surefoot_words "$word"
}}
"""
SCRIPTS = {
    "bash": COMPLETE + """\
_surefoot() {{
    local words=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
    COMPREPLY=($(compgen -W "$(_surefoot_complete "$2" surefoot "${{words[@]}}")" -- "$2"))
}}
complete -o default -F _surefoot surefoot
""",
    "zsh": "#compdef surefoot\n" + COMPLETE + """\
_surefoot() {{
    local found=$(_surefoot_complete "${{words[CURRENT]}}" surefoot "${{(@)words[2,CURRENT-1]}}")
    compadd -- ${{=found}} || _files
}}
_surefoot
""",
}  # fmt: skip


def run_completion(arguments: argparse.Namespace) -> int:
    """Print a script for shell completion of commands, options and files, generated from the parser."""
    found = _completions(build_parser(installed_commands()))
    cases = "\n".join(f'        "{key}") echo "{words}" ;;' for key, words in found)
    print(SCRIPTS[arguments.shell].format(cases=cases), end="")
    return 0


def _completions(parser: argparse.ArgumentParser, at: str = "surefoot") -> Iterator[tuple[str, str]]:
    """The words that can follow: commands at ``at``, options at ``at -``, and the values of each option."""
    yield f"{at} -", " ".join(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield at, " ".join(action.choices)
            for name, subparser in action.choices.items():
                yield from _completions(subparser, f"{at} {name}")
        elif action.choices is not None:
            choices = " ".join(map(str, action.choices))
            yield from ((f"{at} {word}", choices) for word in action.option_strings)
            if not action.option_strings:
                yield at, choices


COMMANDS = {
    "schema": Command(
        run_schema,
        (option("of", nargs="*", metavar="COMMAND", help="such as gate, or agreement pca (default: all)"),),
    ),
    "mcp": Command(
        run_mcp,
    ),
    "completion": Command(
        run_completion,
        [option("shell", choices=tuple(SCRIPTS))],
    ),
}  # fmt: skip
