"""The command line. It loads only the module of the command that runs."""

from __future__ import annotations

import argparse
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

import surefoot._process as _process
from surefoot._lazy import install_hint, lab_hint, plugins
from surefoot._names import escape_commands, one_line
from surefoot._version import __version__
from surefoot.errors import SurefootError, did_you_mean

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from typing import Any, NoReturn, TextIO

COMPARE, DECIDE, SAFE, RESEARCH = "compare and explore", "decide", "make safe", "research"
GROUPS = (COMPARE, DECIDE, SAFE, RESEARCH)
"""The groups of commands in the help."""

COMMANDS = {
    "compare": (COMPARE, "gate", "two versions in one sentence: is the new one better, what got worse, may it ship?"),
    "evaluate": (COMPARE, "evaluate", "the risk of every system against a baseline, and against all others"),
    "explore": (COMPARE, "explore", "one system against one baseline, topic by topic: which queries got worse?"),
    "explain": (COMPARE, "explore", "groups of queries that carry the loss: found on one half, confirmed on the other"),
    "report": (COMPARE, "explore", "one interactive HTML file for the team"),
    "figure": (COMPARE, "figure", "a figure of the papers, made from your own data"),
    "scores": (COMPARE, "evaluate", "the effectiveness of runs topic by topic, as a table"),
    "cross": (COMPARE, "evaluate", "every system as the baseline in turn: does that choice change the order?"),
    "agreement": (
        COMPARE,
        "evaluate",
        "agreement of judges, systems and rankings: kappa, PCA, tau, RBO, normality, G²",
    ),
    "doctor": (COMPARE, "doctor", "what files hold, what is odd about them, and which commands take them"),
    "collect": (COMPARE, "collect", "send queries to Elasticsearch, OpenSearch or Solr, and write a run"),
    "completion": (COMPARE, "agents", "print the shell's completion script"),
    "schema": (COMPARE, "agents", "the JSON Schema of what a command prints with --format json"),
    "gate": (DECIDE, "gate", "may a candidate ship? ship, don't ship or not enough evidence, for CI"),
    "judge": (DECIDE, "judge", "the documents whose judgment would most likely settle the verdict, in order"),
    "power": (DECIDE, "judge", "how many topics are needed to see a risk of this size?"),
    "mcp": (DECIDE, "agents", "a server of the Model Context Protocol: compare, gate, evaluate, explore for agents"),
    "guard": (SAFE, "guard", "make any ranker safe: blend it with its baseline, with a certificate"),
    "train": (SAFE, "train", "learn a ranker that avoids risk: LambdaMART under risk-sensitive objectives"),
    "predict": (SAFE, "train", "rank documents with a trained model"),
    "export": (SAFE, "train", "a trained model for other services: JSON, Treelite, ONNX"),
}
"""The group, the module and the summary of each command. The module has the `Command` in its own ``COMMANDS``."""

LONGEST_MESSAGE = 1000

ABOUT = "Which queries did the new ranker make worse, and is that noise?"
EXAMPLES = """examples:
  surefoot compare old.run new.run --qrels qrels.txt
  surefoot evaluate runs/*.run --qrels qrels.txt --measure nDCG@10 --baseline bm25 --alpha 0,1,5
  surefoot explore --scores err20.csv --candidate new --baseline old
  surefoot train --train train.txt --valid vali.txt --objective ucro --alpha 2 --baseline feature:110 -o model/

`surefoot COMMAND --help` shows the options of each."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0: success; 1: the gate refuses; 2: wrong use or bad input; 3: not enough evidence; 70: an error in Surefoot.
    """
    _limit_threads()
    is_script = argv is None
    argv = list(sys.argv[1:] if argv is None else argv)
    _refuse_files_like_options(argv)
    parser = build_parser([argument for argument in argv[:1] if not argument.startswith("-")])
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.refuse_unknown(arguments, unknown[0])
    if arguments.command is None:
        parser.print_help()
        return 0
    from surefoot.cli.options import refuse_to_overwrite

    _guard_outputs()
    _process.in_command, _process.in_script = True, is_script and arguments.command in COMMANDS
    try:
        refuse_to_overwrite(arguments)
        code: int = arguments.run(arguments)
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
    except Exception as error:  # Python's own exit code, 1, means that the gate refuses
        if isinstance(error, ModuleNotFoundError) and (hint := install_hint(error)):
            return _report_error(arguments.command, hint, 2)
        import traceback

        traceback.print_exc()
        return _report_error(arguments.command, "an error of Surefoot itself; please report the lines above", 70)
    finally:
        _process.in_command = False


def _limit_threads() -> None:
    """Use one thread for matrix products, unless the environment says otherwise: they are too small for more."""
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def _refuse_files_like_options(argv: Sequence[str]) -> None:
    """Exit if an option is also the name of a file in this folder: the shell may have expanded a pattern to it."""
    for argument in argv[: argv.index("--") if "--" in argv else None]:
        if argument.startswith("-") and os.path.lexists(argument):
            name = one_line(argument)
            hint = "rename the file, or write ./ before file names"
            raise SystemExit(_report_error("", f"{name} may be an option or a file of that name; {hint}", 2))


def _guard_outputs() -> None:
    """Keep the exit code if the reader closes the output: drop what can't be written."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # so that no file gets a descriptor that native code writes to
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal whose encoding lacks a character shows ?
        if sys.stdout is sys.__stdout__:
            sys.stdout = _surviving(sys.stdout, _Output, sys.stdout.isatty())
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = _surviving(sys.stderr, _Messages, line_buffering=True)


def _nowhere() -> TextIO:
    """The null device, in place of a closed output."""
    return open(os.devnull, "w")  # noqa: PTH123 (pathlib is not loaded yet)


def _surviving(output: TextIO, kind: type[io.FileIO], line_buffering: bool) -> TextIO:
    raw = io.BufferedWriter(kind(output.fileno(), "w", closefd=False))
    in_file = stat.S_ISREG(os.fstat(output.fileno()).st_mode)
    text = io.TextIOWrapper if in_file else _Text
    return text(raw, encoding=output.encoding, errors=output.errors, line_buffering=line_buffering)


class _Text(io.TextIOWrapper):
    """Output with escaped commands, so that names in the user's files can't control GitHub."""

    begins_line = True

    def write(self, text: str, /) -> int:
        """Write the text with the commands in its lines escaped."""
        head = "" if self.begins_line else "."  # no line begins here
        lines = [escape_commands(line) for line in f"{head}{text}".split("\n")]
        self.begins_line = not lines[-1].strip()
        super().write("\n".join(lines).removeprefix(head))
        return len(text)


class _Output(io.FileIO):
    """Standard output that drops writes to a closed pipe, and reports other errors once."""

    reported = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not (self.reported or isinstance(error, BrokenPipeError)):
                self.reported = True
                raise
            return len(data)


class _Messages(_Output):
    """Standard error: its own errors can't be reported."""

    reported = True


def _report_error(command: str, message: str, code: int) -> int:
    """Print one line to standard error, without control characters, and return the exit code."""
    plain = one_line(message)
    if len(plain) > LONGEST_MESSAGE:  # because it quotes the input
        plain = f"{plain[: LONGEST_MESSAGE // 2]} … {plain[-LONGEST_MESSAGE // 2 :]}"
    print(f"{f'surefoot {command}'.strip()}: {plain}", file=sys.stderr)
    return code


def installed_commands(of: str = "") -> dict[str, tuple[str, str, str]]:
    """The group, the full module name and the summary of each command, or of each kind of a command.

    Other distributions register a table like `COMMANDS` by the entry-point group ``surefoot.commands``; in it
    ``agreement g2`` is a kind of ``agreement``.
    """
    found = _commands_of(__name__, COMMANDS)
    for _, package, table in plugins("surefoot.commands"):
        found |= _commands_of(package, table)
    return {name: command for name, command in found.items() if name.rpartition(" ")[0] == of}


def _commands_of(package: str, table: dict[str, tuple[str, str, str]]) -> dict[str, tuple[str, str, str]]:
    return {name: (group, f"{package}.{module}", summary) for name, (group, module, summary) in table.items()}


def build_parser(loaded: Iterable[str]) -> Parser:
    """The parser of these commands, with their options; of all commands if another distribution has one of them."""
    loaded = set(loaded)
    parser = Program(prog="surefoot", description=ABOUT, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"surefoot {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    is_own = loaded and loaded <= COMMANDS.keys()
    parser.commands = _commands_of(__name__, COMMANDS) if is_own else installed_commands()
    for name, (_, module, summary) in parser.commands.items():
        if is_own and name not in loaded:
            continue
        subparser = subparsers.add_parser(name, help=summary, description=sentence(summary))
        if name in loaded:
            import_module(module).COMMANDS[name].add_to(subparser)
    return parser


def sentence(summary: str) -> str:
    """A summary as a sentence."""
    return f"{summary[0].upper()}{summary[1:]}{'' if summary.endswith('?') else '.'}"


class Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of examples, and reports errors in one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        self._negative_number_matcher = re.compile(r"-\.?\d|-feature:")  # values of options, not flags

    def error(self, message: str) -> NoReturn:
        """Print one line, without the usage, and exit."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def refuse_unknown(self, arguments: argparse.Namespace, unknown: str) -> NoReturn:
        """Report an option that the command doesn't have."""
        parser, option = self, unknown.partition("=")[0]
        for action in (action for action in self._actions if isinstance(action, argparse._SubParsersAction)):
            parser = action.choices.get(getattr(arguments, action.dest, None) or "", self)
        if parser is not self:
            parser.refuse_unknown(arguments, unknown)
        what = "option" if option.startswith("-") else "argument"
        self.error(f"unknown {what} {option}{did_you_mean(option, self._option_string_actions)}")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings and "--" in arg_strings:  # argparse would drop it and leave no value
            raise argparse.ArgumentError(action, "expected a value, got '--'")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint, more = did_you_mean(value, action.choices), ""
            if isinstance(action, argparse._SubParsersAction):
                more = lab_hint()
            known = ", ".join(action.choices)
            raise argparse.ArgumentError(action, f"{value!r} is unknown{hint}; choose from {known}{more}")


class Program(Parser):
    """The parser of the program; its help groups the commands."""

    commands: dict[str, tuple[str, str, str]]

    def format_help(self) -> str:
        """The help: usage, commands by group, options, examples."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        (subparsers,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        for title in GROUPS:
            formatter.start_section(title)
            formatter.add_arguments(one for one in subparsers._choices_actions if self.commands[one.dest][0] == title)
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(action for action in self._actions if action is not subparsers)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()
