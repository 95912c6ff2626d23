"""surefoot completion: a script with which the shell completes commands, options and files."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  surefoot completion bash > ~/.local/share/bash-completion/completions/surefoot
  surefoot completion zsh > ~/.zfunc/_surefoot"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(arguments: argparse.Namespace) -> int:
    """Print the script, which is generated from the parser."""
    import shtab

    from surefoot.cli import COMMANDS, build_parser

    print(shtab.complete(build_parser(COMMANDS), arguments.shell))
    return 0
