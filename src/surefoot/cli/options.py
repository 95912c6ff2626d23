"""Commands and options as values, and the options that several commands share.

The parser, the help and the shell completion of a command come from its `Command`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import Field, dataclass, replace
from typing import TYPE_CHECKING, Any

from surefoot.cli import sentence
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.analysis.design import Population

DEFAULT_MEASURE = "nDCG@10"
FORMATS = ("table", "csv", "json", "md", "latex")


@dataclass(frozen=True)
class Option:
    """An option or a positional argument: its flags, and its keyword arguments for `argparse`."""

    flags: tuple[str, ...]
    settings: Mapping[str, Any]
    group: str = ""

    @property
    def name(self) -> str:
        """The name of its value among the arguments, which `argparse` derives from the first long flag."""
        flag = next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])
        return str(self.settings.get("dest") or flag.lstrip("-").replace("-", "_"))

    def but(self, **settings: Any) -> Option:
        """The option with other settings."""
        return replace(self, settings={**self.settings, **settings})


@dataclass(frozen=True)
class Command:
    """A command: its options and the function that runs it; or its kinds, each of them a command."""

    run: Callable[[argparse.Namespace], int] | None = None
    options: Sequence[Option] = ()
    examples: str | None = None
    kinds: Callable[[], Mapping[str, Command]] | None = None
    summary: str = ""

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the options, or a parser for each kind, to a parser."""
        parser.epilog = self.examples or _examples(parser.prog.removeprefix("surefoot "))
        if self.kinds is None:
            parser.set_defaults(run=self.run)
            add_options(parser, self.options)
            return
        kinds = self.kinds()
        metavar = "KIND" if len(kinds) > 2 else "|".join(kinds)
        parsers = parser.add_subparsers(dest="kind", metavar=metavar, title="kinds", required=True)
        for name, kind in kinds.items():
            kind.add_to(parsers.add_parser(name, help=kind.summary, description=sentence(kind.summary)))


def _examples(command: str) -> str | None:
    """The examples of a command in ``examples.txt``; None if it has none."""
    with open(f"{os.path.dirname(__file__)}/examples.txt", encoding="utf-8") as file:  # noqa: PTH120, PTH123
        return file.read().partition(f"\n[{command}]\n")[2].partition("\n\n[")[0].rstrip("\n") or None


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    """Add options to a parser, each to its group, and ``--force`` to the group of the first output file."""
    groups: dict[str, Any] = {"": parser}
    for each in options:
        if each.group not in groups:
            groups[each.group] = parser.add_argument_group(each.group)
        group = groups[each.group]
        group.add_argument(*each.flags, **each.settings)
        kind = each.settings.get("type")
        if isinstance(kind, type) and issubclass(kind, NewFile) and "--force" not in parser._option_string_actions:
            group.add_argument("--force", action="store_true", help="overwrite existing files")


def option(*flags: str, **settings: Any) -> Option:
    """An option, declared as for `argparse`."""
    return Option(flags, settings)


def field_option(field: Field[Any], choices: Sequence[str] = (), **settings: Any) -> Option:
    """The option for a field of a dataclass; its help, flags, choices and metavar are metadata of the field."""
    own, default, kind = field.metadata, {} if field.default is NO_DEFAULT else field.default, str(field.type)
    shown = f"{default:g}" if isinstance(default, float) else default
    text = own["help"].partition(":")[0] if choices else own["help"]
    settings["help"] = text.replace("%", "%%") + ("" if default in (None, (), {}) else f" (default: {shown})")
    flags = own.get("flags") or (f"--{field.name.replace('_', '-')}",)
    if kind == "bool":
        return Option(flags, settings | {"action": argparse.BooleanOptionalAction})
    if choices := choices or own.get("choices", ()):
        return Option(flags, settings | {"choices": choices})
    settings["metavar"] = own.get("metavar") or ("LIST" if default == () else "X")
    if default == {}:
        return Option(flags, settings | {"action": "append"})
    types = {"tuple": names, "float": number, "int": rank if field.name == "truncation" else int}
    return Option(flags, {"type": next((types[name] for name in types if name in kind), str), **settings})


def rank(text: str) -> int | None:
    """A rank, or None for all."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a rank of 1 or more, or all; got {text!r}")
    return int(text)


def grouped(group: str, *options: Option) -> tuple[Option, ...]:
    """The options as a group with a title in the help."""
    return tuple(replace(each, group=group) for each in options)


class Once(argparse.Action):
    """An option that may be given only once: a second value would silently replace the first."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: object, flag: str | None = None) -> None:
        if getattr(namespace, self.dest, None) is not None:
            raise argparse.ArgumentError(self, "is given twice; this command takes one")
        setattr(namespace, self.dest, value)


class NewFile(str):
    """An output file, or ``-`` for standard output. An existing file is overwritten only with ``--force``."""

    __slots__ = ()

    def exists(self) -> bool:
        """Whether writing would overwrite it; writing to pipes and devices does not."""
        return self != "-" and os.path.isfile(self)  # noqa: PTH113 (pathlib is slow to load)


class NewModel(NewFile):
    """An output folder for a model; it may exist, but not hold a model."""

    __slots__ = ()

    def exists(self) -> bool:
        """Whether the folder holds a model."""
        return os.path.isfile(os.path.join(self, "card.json"))  # noqa: PTH113, PTH118


def refuse_to_overwrite(arguments: argparse.Namespace) -> None:
    """Raise if an output file exists, unless ``--force`` was given."""
    if getattr(arguments, "force", False) or getattr(arguments, "resume", False):
        return
    for value in vars(arguments).values():
        if isinstance(value, NewFile) and value.exists():
            raise SurefootError(f"{value} exists; name another, or overwrite it with --force")


def numbers(text: str) -> list[float]:
    """Numbers of 0 or more, separated by commas."""
    return [number(part) for part in text.split(",")]


def counts(text: str) -> list[int]:
    """Whole numbers of 0 or more, separated by commas."""
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"expected whole numbers, got {text!r}")
    return [int(part) for part in text.split(",")]


def number(text: str) -> float:
    """A number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got {text!r}")
    return value


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def population(text: str) -> Population:
    """PAIR, or names separated by commas."""
    return "PAIR" if text == "PAIR" else names(text)


def noun(text: str) -> str:
    """A plural in lower case, such as items."""
    if not text.isalpha() or not text.islower() or len(text) < 3 or not text.endswith("s"):
        raise argparse.ArgumentTypeError(f"expected a plural such as items or tasks, got {text!r}")
    return text


QRELS = option(
    "--qrels", metavar="FILE",
    help="judgments for the runs: TREC, BEIR, CSV, JSON, judgment lists; irds:NAME of ir_datasets",
)  # fmt: skip
LLM_QRELS = option(
    "--llm-qrels", action="append", metavar="FILE",
    help="grades by a language model, calibrated on documents that --qrels judges too; repeatable",
)  # fmt: skip
NAMES = option("--names", choices=("file", "tag"), default="file", help="name runs by file (default) or by tag")
MISSING = option(
    "--missing", choices=("error", "zero", "drop"), default="error",
    help="how to treat topics that a system of a score table lacks (default: error)",
)  # fmt: skip
INPUTS = grouped(
    "input",
    option("runs", nargs="*", metavar="RUN",
           help="runs: TREC, JSON, Parquet or CSV, any compression; - is standard input"),
    QRELS,
    option("--repeats", action="append", default=[], metavar="NAME=GLOB",
           help="runs of one system that ran several times, such as new='new.*.run'; repeatable"),
    option("--scores", nargs="+", metavar="FILE",
           help="score tables instead of runs: CSV, TSV, Parquet, or the output of trec_eval -q, gdeval, ndeval, "
           "ir_measures; logs of Inspect, lm-eval, promptfoo, deepeval, HELM, ragas; folders of MTEB's results"),
    option("--measure", "--metric", action="append", metavar="NAME",
           help=f"effectiveness measure as ir_measures names it (default for runs: {DEFAULT_MEASURE})"),
    NAMES,
    option("--duplicates", choices=("error", "first", "best"), default="error",
           help="how to treat a document that a run lists twice for a topic (default: error)"),
    option("--ties", choices=("exact", "trec_eval"), default="exact",
           help="compare the scores of documents as they are (default), or rounded to float32 as trec_eval does"),
    MISSING,
)  # fmt: skip
"""The inputs: runs with judgments, or tables of scores."""

OUTPUT = option("-o", "--output", type=NewFile, metavar="FILE", help="write to a file instead of standard output")
TABLE = grouped(
    "output",
    option("--format", choices=FORMATS, default="table", help="output format (default: table, or by the ending of -o)"),
    option("--columns", type=names, metavar="LIST",
           help="columns to show, by comma, or all"),
    option("--caption", metavar="TEXT", help="caption of a LaTeX table, which becomes a float; %% _ # & are escaped"),
    option("--label", metavar="NAME", help="label of a LaTeX table"),
)  # fmt: skip
"""How to print a table."""
TABLE_FILE = (*TABLE, *grouped("output", OUTPUT))

CANDIDATE = option("--candidate", "--system", action=Once, metavar="NAME", help="the system in question")
SYSTEM = CANDIDATE.but(dest="system")
SYSTEMS = option("--systems", type=names, metavar="LIST", help="systems to compare, by comma (default: all)")
BASELINE = option("--baseline", action=Once, metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic")
BASELINES = BASELINE.but(action="extend", type=names, metavar="LIST",
                         help="systems to compare with, or MEAN, MEDIAN, MAX; by comma, or repeated")  # fmt: skip
PAIR = (CANDIDATE.but(required=True), BASELINE.but(required=True))
ALPHA = option("--alpha", type=number, default=1.0, metavar="A",
               help="risk sensitivity: a loss weighs 1 + alpha (default: 1)")  # fmt: skip
ALPHAS = ALPHA.but(type=numbers, default=[1.0], metavar="LIST",
                   help="risk sensitivity: a loss weighs 1 + alpha; several by comma (default: 1)")  # fmt: skip
VALUE = (
    option("--value", default="linear", metavar="NAME",
           help="value function of differences: linear (default), smooth, monotone, or table:FILE, a CSV of "
           "difference,value whose losses alpha weighs"),
    option("--fences", nargs=2, type=float, metavar=("LOW", "HIGH"),
           help="differences beyond these are large, for smooth and monotone values (default: fitted to the "
           "differences)"),
)  # fmt: skip
POPULATION = option(
    "--population", type=population, metavar="LIST",
    help="systems behind Z_Risk, GeoRisk and virtual baselines, by comma; PAIR: only system and baseline (default: all "
    "that were read)",
)  # fmt: skip
UNJUDGED = option(
    "--unjudged", choices=("zero", "skip", "bounds"), default="zero",
    help="how to treat unjudged documents of runs: as not relevant, as in trec_eval (default); skip: leave them out of "
    "the rankings; bounds: as not relevant, and add the least and the largest difference over all their grades",
)  # fmt: skip
ASSESSORS = option(
    "--assessors", nargs="*", metavar="QRELS",
    help="grades in doubt: off; none: only of unjudged documents; dl2019, or no value: all, as other assessors of TREC "
    "DL 2019 differ; a share: all, as another assessor changes this share; or qrels of other assessors (default: "
    "{default})",
)  # fmt: skip
CREDIBLE = (
    option("--credible", action="store_true",
           help="add the probability that another assessor, who judges all documents, sees the loss too; needs runs"),
    ASSESSORS.but(help=ASSESSORS.settings["help"].format(default="dl2019 with --credible, else off")),
)  # fmt: skip
QUERIES = option(
    "--queries",
    metavar="FILE",
    help="texts of the queries: lines of topic, tab, text; CSV with a header; JSONL; Parquet; TREC topics; irds:NAME",
)
TEXTS = (
    QUERIES,
    option("--documents-text", metavar="FILE", help="texts of the documents: lines of id, tab, text; JSONL; Parquet"),
)
SEGMENTS = (
    option("--segments", metavar="FILE", help="CSV of topic,segment"),
    option("--segment-by", metavar="COLUMN", help="the column of the segments file, if it has several"),
)
NOUN = option(
    "--noun", type=noun, metavar="WORD",
    help="the word for queries in sentences, such as tasks (default: queries; items for evaluation logs)",
)  # fmt: skip
SEED = option("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
N_RESAMPLES = option(
    "--n-resamples", type=int, default=10_000, metavar="N", help="bootstrap resamples and permutations (default: 10000)"
)
RESAMPLING = (N_RESAMPLES, SEED)
