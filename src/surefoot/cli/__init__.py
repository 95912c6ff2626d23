"""The command line. Only the module of the command that is run is loaded."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from surefoot._version import __version__
from surefoot.cli.outputs import refuse_to_overwrite
from surefoot.errors import SurefootError, did_you_mean
from surefoot.io.text import one_line

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from typing import Any, NoReturn, TextIO

COMMANDS = {
    "evaluate": "the risk of every system against a baseline, and against all others",
    "scores": "the effectiveness of runs topic by topic, as a table",
    "explore": "one system against one baseline, topic by topic: which queries got worse?",
    "explain": "which groups of queries carry the loss, in words: found on one half, confirmed on the other",
    "cross": "every system as the baseline in turn: does that choice change the order?",
    "agreement": "how far rankings, systems and assumptions agree: tau, RBO, correlation, PCA, normality, G²",
    "figure": "a figure of the papers, made from your own data",
    "report": "one interactive HTML file for the team",
    "gate": "may a candidate ship? ship, don't ship or not enough evidence, for continuous integration",
    "judge": "the documents whose judgment would most likely settle the verdict, in order",
    "guard": "make any ranker safe: blend it with its baseline, chosen on unseen queries, with a certificate",
    "train": "learn a ranker that avoids risk: LambdaMART under risk-sensitive objectives",
    "predict": "rank documents with a trained model",
    "export": "a trained model for other services: JSON, Treelite, ONNX",
    "tradeoff": "what each alpha costs and brings, and which to choose",
    "experiment": "the published learning experiments, or your own, resumable at any time",
    "power": "how many topics are needed to see a risk of this size?",
    "reproduce": "the published tables, cell by cell: published, recomputed, difference, reason",
    "demo": "rank and judge an embedded collection, and say in words what was learned",
    "data": "list or get public collections",
    "completion": "print the shell's completion script",
}

LONGEST_MESSAGE = 1000

ABOUT = "Which queries did the new ranker make worse, and is that noise?"
EXAMPLES = """examples:
  surefoot demo
  surefoot evaluate runs/*.run --qrels qrels.txt --measure nDCG@10 --baseline bm25 --alpha 0,1,5
  surefoot explore --scores err20.csv --system new --baseline old
  surefoot train --train train.txt --valid vali.txt --objective ucro --alpha 2 --baseline feature:110 -o model/

`surefoot COMMAND --help` tells more of each."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0 fine, 1 refused by the gate, 2 wrong use or bad input, 3 not enough evidence, 70 an error of Surefoot's own.
    """
    _calm_threads()
    argv = _join_negated(sys.argv[1:] if argv is None else argv)
    parser = build_parser(argument for argument in argv if argument in COMMANDS)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.refuse_unknown(arguments, unknown[0])
    if arguments.command is None:
        parser.print_help()
        return 0
    _outlive_readers()
    try:
        refuse_to_overwrite(arguments)
        code: int = _module(arguments.command).run(arguments)
        sys.stdout.flush()
        return code
    except SurefootError as error:
        return _report_error(arguments.command, str(error), 2)
    except OSError as error:
        return _report_error(arguments.command, f"{error.filename or 'output'}: {error.strerror or error}", 2)
    except MemoryError:
        return _report_error(arguments.command, "not enough memory for this input", 2)
    except KeyboardInterrupt:
        return _report_error(arguments.command, "stopped", 130)
    except Exception:  # Python's own exit code would be that of a refused release
        import traceback

        traceback.print_exc()
        return _report_error(arguments.command, "an error of Surefoot itself; please report the lines above", 70)


def _calm_threads() -> None:
    """One thread for matrices, unless the user asks for more: at this size more gain nothing but waiting."""
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def _join_negated(argv: Sequence[str]) -> list[str]:
    """The arguments with ``--baseline -feature:25`` as one: argparse would take the second for a flag.

    >>> _join_negated(["train", "--baseline", "-feature:25", "-o", "model"])
    ['train', '--baseline=-feature:25', '-o', 'model']
    """
    joined: list[str] = []
    for argument in argv:
        if argument.startswith("-feature:") and joined and joined[-1].startswith("--"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _outlive_readers() -> None:
    """Whoever reads or keeps what is printed may be gone: what a command decides still reaches its exit code."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # so that no file gets a descriptor that native code prints to
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal whose encoding lacks a character shows ?
        if sys.stdout is sys.__stdout__:
            sys.stdout = _surviving(sys.stdout, _Pipe, sys.stdout.isatty())
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = _surviving(sys.stderr, _Messages, line_buffering=True)


def _nowhere() -> TextIO:
    """In place of an output that was closed."""
    return open(os.devnull, "w")  # noqa: PTH123 (pathlib is not loaded yet)


def _surviving(output: TextIO, kind: type[io.FileIO], line_buffering: bool) -> TextIO:
    raw = io.BufferedWriter(kind(output.fileno(), "w", closefd=False))
    return io.TextIOWrapper(raw, encoding=output.encoding, errors=output.errors, line_buffering=line_buffering)


class _Messages(io.FileIO):
    """Standard error, which drops what can't be written: there is nowhere to tell it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Pipe(io.FileIO):
    """A file that drops what nobody reads any more, or what can't be written once that has been reported."""

    failed = False

    def write(self, data: Any, /) -> int:
        if self.failed:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)
        except OSError:
            self.failed = True
            raise


def _report_error(command: str, message: str, code: int) -> int:
    """Print one line to standard error, without control characters; returns the exit code."""
    plain = one_line(message)
    if len(plain) > LONGEST_MESSAGE:  # it quotes the input
        plain = f"{plain[: LONGEST_MESSAGE // 2]} … {plain[-LONGEST_MESSAGE // 2 :]}"
    print(f"surefoot {command}: {plain}", file=sys.stderr)
    return code


def build_parser(commands: Iterable[str]) -> Parser:
    """The parser of all commands, with the options of those named."""
    parser = Parser(prog="surefoot", description=ABOUT, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"surefoot {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    loaded = set(commands)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=_sentence(summary))
        if name in loaded:
            module = _module(name)
            subparser.epilog = module.EXAMPLES
            module.add_arguments(subparser)
    return parser


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}{'' if summary.endswith('?') else '.'}"


class Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of its examples, and says in one line what is wrong."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Print one line, without the usage, and exit."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def refuse_unknown(self, arguments: argparse.Namespace, unknown: str) -> NoReturn:
        """The error of an option that the command doesn't have, in the words of the command."""
        parser, option = self, unknown.partition("=")[0]
        for action in (action for action in self._actions if isinstance(action, argparse._SubParsersAction)):
            parser = action.choices.get(getattr(arguments, action.dest, None) or "", self)
        if parser is not self:
            parser.refuse_unknown(arguments, unknown)
        what = "option" if option.startswith("-") else "argument"
        self.error(f"unknown {what} {option}{did_you_mean(option, self._option_string_actions)}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings and "--" in arg_strings:  # argparse would drop it, and leave no value
            raise argparse.ArgumentError(action, "expected a value, got '--'")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(value, action.choices)
            raise argparse.ArgumentError(action, f"{value!r} is unknown{hint}; choose from {', '.join(action.choices)}")


def _module(command: str) -> Any:
    return import_module(f"surefoot.cli.{command}")
