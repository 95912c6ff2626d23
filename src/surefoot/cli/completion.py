"""surefoot completion: a script with which the shell completes commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from surefoot.cli.options import Command, option

WORDS = """\
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
    "bash": WORDS + """\
_surefoot() {{
    local words=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
    COMPREPLY=($(compgen -W "$(_surefoot_complete "$2" surefoot "${{words[@]}}")" -- "$2"))
}}
complete -o default -F _surefoot surefoot
""",
    "zsh": "#compdef surefoot\n" + WORDS + """\
_surefoot() {{
    local found=$(_surefoot_complete "${{words[CURRENT]}}" surefoot "${{(@)words[2,CURRENT-1]}}")
    compadd -- ${{=found}} || _files
}}
_surefoot
""",
}  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print the script, generated from the parser."""
    from surefoot.cli import build_parser, installed_commands

    found = _words(build_parser(installed_commands()))
    cases = "\n".join(f'        "{key}") echo "{words}" ;;' for key, words in found)
    print(SCRIPTS[arguments.shell].format(cases=cases), end="")
    return 0


def _words(parser: argparse.ArgumentParser, at: str = "surefoot") -> Iterator[tuple[str, str]]:
    """The words that can follow: the commands at ``at``, the options at ``at -``, the values of an option."""
    yield f"{at} -", " ".join(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield at, " ".join(action.choices)
            for name, subparser in action.choices.items():
                yield from _words(subparser, f"{at} {name}")
        elif action.choices is not None:
            choices = " ".join(map(str, action.choices))
            yield from ((f"{at} {word}", choices) for word in action.option_strings)
            if not action.option_strings:
                yield at, choices


COMMANDS = {
    "completion": Command(
        run,
        [option("shell", choices=tuple(SCRIPTS))],
    ),
}
