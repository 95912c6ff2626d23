"""The options that commands share: what to read, and how to print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from surefoot.cli.outputs import NewFile, add_file
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError, listed

if TYPE_CHECKING:
    from surefoot.analysis.design import Population
    from surefoot.io.document_lists import Run
    from surefoot.judgments.credibility import Assessors
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.results import Result
    from surefoot.risk.values import Family
    from surefoot.scores import Scores

VALUES = ("linear", "smooth", "monotone")
DEFAULT_MEASURE = "nDCG@10"
FORMATS = ("table", "csv", "json", "md", "latex")
ENDINGS = {"csv": "csv", "json": "json", "md": "md", "tex": "latex"}
"""The format of a file by its ending."""


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """What to read: runs with judgments, or tables of scores."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "runs", nargs="*", metavar="RUN", help="runs: TREC, JSON, Parquet or CSV, any compression; - is standard input"
    )
    group.add_argument(
        "--qrels",
        metavar="FILE",
        help="judgments for the runs: TREC, BEIR, CSV, JSON, judgment lists; irds:NAME of ir_datasets",
    )
    group.add_argument(
        "--repeats",
        action="append",
        default=[],
        metavar="NAME=GLOB",
        help="runs of one system that ran several times, such as new='new.*.run'; repeatable",
    )
    group.add_argument(
        "--scores",
        nargs="+",
        metavar="FILE",
        help="score tables instead of runs: CSV, TSV, Parquet, or "
        "the output of trec_eval -q, gdeval, ndeval, ir_measures; folders of MTEB's results",
    )
    group.add_argument(
        "--measure",
        "--metric",
        action="append",
        metavar="NAME",
        help=f"effectiveness measure as ir_measures names it (default for runs: {DEFAULT_MEASURE})",
    )
    group.add_argument("--names", choices=("file", "tag"), default="file", help="name runs by file or by tag")
    group.add_argument(
        "--duplicates",
        choices=("error", "first", "best"),
        default="error",
        help="which counts of a document that a run lists twice for a topic (default: error)",
    )
    group.add_argument(
        "--missing",
        choices=("error", "zero", "drop"),
        default="error",
        help="topics that some system of a score table lacks (default: error)",
    )


def add_output(parser: argparse.ArgumentParser, to_file: bool = True) -> None:
    """How to print, and where to."""
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=FORMATS, default="table", help="(default: table, or by the ending of -o)")
    group.add_argument(
        "--columns",
        type=names,
        metavar="LIST",
        help="the columns to show, by comma (default: all); evaluate adds correlation, rank_urisk, se_jackknife_urisk",
    )
    group.add_argument("--caption", metavar="TEXT", help="of a LaTeX table, which becomes a float")
    group.add_argument("--label", metavar="NAME", help="of a LaTeX table, to refer to it")
    if to_file:
        add_file(group, "-o", "--output", metavar="FILE", help="write to a file instead of standard output")


def add_unjudged(parser: argparse.ArgumentParser) -> None:
    """What becomes of documents that nobody judged."""
    parser.add_argument(
        "--unjudged",
        choices=("zero", "skip", "bounds"),
        default="zero",
        help="documents of runs that nobody judged: not relevant, as in trec_eval (default), left out of the rankings, "
        "or not relevant, and the least and largest difference over all their grades added",
    )


def add_credible(parser: argparse.ArgumentParser) -> None:
    """Whether a loss is one for other assessors too."""
    parser.add_argument(
        "--credible",
        action="store_true",
        help="add the probability that a loss is one for another assessor too, with all documents judged; needs runs",
    )
    add_assessors(parser, "dl2019 with --credible, else off")


def add_assessors(group: Any, default: str) -> None:
    """How assessors differ."""
    group.add_argument(
        "--assessors",
        nargs="*",
        metavar="QRELS",
        help="grades in doubt: none (of unjudged documents only), off, dl2019 (also those that another assessor may "
        "change, as in TREC DL 2019; the same without a value), the share of grades that another assessor changes, or "
        f"qrels of other assessors (default: {default})",
    )


def add_alpha(parser: argparse.ArgumentParser, several: bool) -> None:
    """The risk sensitivity: one, or a sweep; alpha-hat is ECIR 2020's way to write it."""
    read, default, more = (numbers, [1.0], "; several by comma") if several else (number, 1.0, "")
    metavar = "LIST" if several else "A"
    about = f"risk sensitivity: a loss weighs 1 + alpha{more} (default: 1)"
    parser.add_argument("--alpha", type=read, default=default, metavar=metavar, help=about)
    parser.add_argument(
        "--alpha-hat",
        dest="alpha",
        type=hats if several else hat,
        default=argparse.SUPPRESS,
        metavar=metavar,
        help="instead of --alpha, 1 + alpha, as ECIR 2020 writes it",
    )


def add_value(parser: argparse.ArgumentParser) -> None:
    """The value function, and the population of Z_Risk."""
    add_value_function(parser)
    add_population(parser)


def add_value_function(parser: argparse.ArgumentParser) -> None:
    """What a difference is worth."""
    parser.add_argument("--value", choices=VALUES, default="linear", help="what a difference is worth")
    parser.add_argument(
        "--fences",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="beyond which a difference is large, for smooth and monotone values (default: those of the differences)",
    )


def add_population(parser: argparse.ArgumentParser) -> None:
    """The systems behind Z_Risk and virtual baselines."""
    parser.add_argument(
        "--population",
        type=population,
        metavar="LIST",
        help="systems behind Z_Risk, GeoRisk and virtual baselines, by comma; PAIR: system and baseline "
        "alone (default: all that were read)",
    )


def add_texts(parser: argparse.ArgumentParser) -> None:
    """The texts of queries and documents."""
    parser.add_argument(
        "--queries", metavar="FILE", help="the queries' texts: lines of topic, tab, text; JSONL; Parquet"
    )
    parser.add_argument(
        "--documents-text", metavar="FILE", help="the documents' texts: lines of id, tab, text; JSONL; Parquet"
    )


def value_function(arguments: argparse.Namespace) -> str | Family:
    """The value functions asked for, with the fences that were given."""
    if not arguments.fences:
        return str(arguments.value)
    from functools import partial

    from surefoot.risk.values import FITTED

    if arguments.value not in FITTED:
        raise SurefootError(f"--fences are for --value {' or '.join(FITTED)}; linear values have none")
    return partial(FITTED[arguments.value], lower=arguments.fences[0], upper=arguments.fences[1])


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """The number of resamples, and their seed."""
    parser.add_argument(
        "--n-resamples", type=int, default=10_000, metavar="N", help="of bootstraps and permutations (default: 10000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of all that is drawn (default: 0)")


def numbers(text: str) -> list[float]:
    """Numbers of 0 or more, separated by commas."""
    return [number(part) for part in text.split(",")]


def number(text: str) -> float:
    """A number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got {text!r}")
    return value


def hats(text: str) -> list[float]:
    """Alphas from values of alpha-hat, separated by commas."""
    return [hat(part) for part in text.split(",")]


def hat(text: str) -> float:
    """The alpha of an alpha-hat."""
    alpha = number(text) - 1
    if alpha < 0:
        raise argparse.ArgumentTypeError(f"alpha-hat is 1 + alpha, 1 or more; got {text!r}")
    return alpha


def names(text: str) -> list[str]:
    """Names separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def population(text: str) -> Population:
    """PAIR, or names separated by commas."""
    return "PAIR" if text == "PAIR" else names(text)


def repeated_runs(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """The files of each system that ran several times, in natural order for each pattern."""
    from pathlib import Path

    from surefoot._order import natural_order
    from surefoot.io.files import files_matching

    found: dict[str, list[str]] = {}
    for text in arguments.repeats:
        name, _, pattern = text.partition("=")
        if not name or not pattern:
            raise SurefootError(f"--repeats takes NAME=GLOB, such as new='new.*.run'; got {text!r}")
        files = natural_order(files_matching(pattern))
        if not files:
            raise SurefootError(f"--repeats {text}: no file matches")
        found[name] = list(dict.fromkeys([*found.get(name, ()), *files]))
    single = {Path(run) for run in arguments.runs}
    twice = [file for files in found.values() for file in files if Path(file) in single]
    if twice:
        raise SurefootError(f"{twice[0]} is named as a run and by --repeats; name it once")
    return found


def load(arguments: argparse.Namespace) -> list[Scores]:
    """The scores of each measure asked for."""
    groups = repeated_runs(arguments)
    if arguments.scores and (arguments.runs or groups or arguments.qrels):
        raise SurefootError("give runs with --qrels, or --scores; not both")
    if arguments.scores:
        from surefoot.io.tables import read_scores_by

        return list(read_scores_by(arguments.scores, arguments.measure or (), arguments.missing).values())
    if not arguments.runs and not groups:
        raise SurefootError("nothing to read: give run files with --qrels, or a table with --scores")
    if not arguments.qrels:
        _refuse_tables(arguments.runs)
        raise SurefootError("runs need judgments: give them with --qrels FILE")
    from surefoot.effectiveness import score_runs_by

    measures: Sequence[str] = arguments.measure or [DEFAULT_MEASURE]
    with progress("Scoring runs", log="none") as report:
        found = score_runs_by(
            arguments.runs,
            arguments.qrels,
            measures,
            names=arguments.names,
            progress=report,
            duplicates=arguments.duplicates,
            unjudged="skip" if getattr(arguments, "unjudged", "zero") == "skip" else "zero",
            repeats=groups,
        )
    return list(found.values())


def _refuse_tables(paths: Sequence[str]) -> None:
    """Raise if a file that was given as a run is a table of scores."""
    from surefoot.io.files import STDIN
    from surefoot.io.tables import parse_score_file

    for path in paths:
        try:
            is_table = path != STDIN and parse_score_file(path) is not None
        except SurefootError:
            continue
        if is_table:
            raise SurefootError(f"{path} is a table of scores, not a run: give it with --scores {path}")


def assessors(given: Sequence[str] | None, default: str = "dl2019") -> Assessors:
    """How assessors differ: "none", "off", "dl2019", a share, or qrels; the default if the option is not given."""
    from surefoot.judgments.assessors import parse_assessors

    return parse_assessors(default if given is None else list(given))


def credible_assessors(arguments: argparse.Namespace) -> Assessors:
    """How assessors differ, for --credible and --assessors of commands that add columns; "off" without both."""
    found = assessors(arguments.assessors, "dl2019" if arguments.credible else "off")
    if found == "off" and arguments.credible:
        raise SurefootError(
            "--credible doubts the judgments, and --assessors off doubts nothing; leave out one of them"
        )
    return found


def judged_runs(scores: Scores) -> JudgedRuns:
    """The runs and judgments that scores come from."""
    from surefoot.judgments.judged_runs import JudgedRuns

    _refuse_repeats(scores.trials)
    with progress("Reading runs", log="none"):
        return JudgedRuns.of(scores)


def _refuse_repeats(repeats: object) -> None:
    """Raise where documents are asked for, and a system has several rankings."""
    if repeats:
        raise SurefootError("documents and doubts about judgments are those of single rankings; leave out --repeats")


def load_runs(arguments: argparse.Namespace, systems: Collection[str] | None = None) -> dict[str, Run]:
    """The rankings of some systems, or of all, by name."""
    from surefoot.io.files import STDIN, name_of
    from surefoot.io.trec import read_run

    _refuse_repeats(arguments.repeats)
    if not arguments.runs:
        raise SurefootError("rankings of documents need run files with --qrels; a table has only scores")
    if STDIN in arguments.runs:
        raise SurefootError("rankings of documents are read a second time, which standard input can't be; name a file")
    wanted = None if systems is None else set(systems)
    by_file = arguments.names == "file" and wanted is not None
    paths = [path for path in arguments.runs if not by_file or name_of(path) in (wanted or ())]
    runs = {run.name: run for run in (read_run(path, arguments.names, arguments.duplicates) for path in paths)}
    absent = [name for name in systems or () if name not in runs]
    if absent:
        raise SurefootError(f"no run of {listed(absent)}; documents are those of two runs, such as {listed(runs, 3)}")
    return {name: run for name, run in runs.items() if wanted is None or name in wanted}


def load_queries(arguments: argparse.Namespace) -> dict[str, str] | None:
    """The texts of queries, if they are given."""
    from surefoot.io.texts import read_queries

    return read_queries(arguments.queries) if arguments.queries else None


def load_one(arguments: argparse.Namespace) -> Scores:
    """The scores of the one measure that the command can show."""
    if arguments.measure and len(arguments.measure) > 1:
        raise SurefootError(f"{arguments.command} shows one measure; got {', '.join(arguments.measure)}")
    return load(arguments)[0]


def show(result: Result, arguments: argparse.Namespace) -> None:
    """Print or write a result; CSV has no notes, so they go to standard error."""
    from surefoot.io.results import print_result, render

    output = arguments.output if isinstance(getattr(arguments, "output", None), NewFile) else None
    kind = ENDINGS.get(str(output).rpartition(".")[2], "table") if arguments.format == "table" else arguments.format
    options: dict[str, Any] = {name: getattr(arguments, name, None) for name in ("columns", "caption", "label")}
    result = result if kind in ("csv", "json") else result.readable()
    if output:
        from surefoot.io.atomic import write_text

        write_text(output, render(result, kind, **options))
    else:
        print_result(result, kind, **options)
    if kind == "csv":
        for note in result.notes:
            print(f"note: {note}", file=sys.stderr)
