"""Read the inputs of a command, print its results, and show progress."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from surefoot._names import csv_text, one_line, visible
from surefoot.cli.options import DEFAULT_MEASURE, INPUTS, UNJUDGED, NewFile
from surefoot.errors import SurefootError, choose

if TYPE_CHECKING:
    from surefoot._typing import Progress
    from surefoot.io.document_lists import Run
    from surefoot.judgments.credibility import Assessors
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.results import Result
    from surefoot.risk.values import Family
    from surefoot.scores import Scores

TABLE_OF_VALUES = "table:"
ENDINGS = {"csv": "csv", "json": "json", "md": "md", "tex": "latex"}
"""The format of a file by its ending."""
OF_RUNS = ("names", "duplicates", "ties", "unjudged")
"""Options that only change how runs are read or scored."""
NOT_WRITTEN = ("html", "jsonl", "parquet", "tsv", "xlsx")
"""Endings of other formats, which a table for the terminal must not have."""
LOG_INTERVAL = 20.0
"""Seconds between two lines of a periodic log."""
REFRESH_INTERVAL = 0.1
"""Seconds between two updates of a terminal's line."""
WARM_UP = 1.0
"""Seconds that the estimate of the time left ignores: resumed work finds its first steps done."""


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Options by name, as keyword arguments for the library."""
    return {name: getattr(arguments, name) for name in names}


def value_function(arguments: argparse.Namespace) -> str | Family:
    """The value functions of --value, with the --fences."""
    from surefoot.risk.values import FITTED, VALUES

    name, fences = str(arguments.value), arguments.fences
    if fences:
        if name not in FITTED:
            raise SurefootError(f"--fences are for --value {' or '.join(FITTED)}; linear values have none")
        return partial(FITTED[name], lower=fences[0], upper=fences[1])
    if not name.startswith(TABLE_OF_VALUES):
        return choose(name, (*VALUES, f"{TABLE_OF_VALUES}FILE"), "--value")
    from surefoot.io.containers import in_file
    from surefoot.io.small_files import read_points
    from surefoot.risk.values import Custom

    path = name.removeprefix(TABLE_OF_VALUES)
    with in_file(path):
        points = read_points(path)
        return Custom.table([difference for difference, _ in points], [value for _, value in points])


def repeated_runs(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """The files of each system with repeats, in natural order for each pattern."""
    from pathlib import Path

    from surefoot._names import natural_order
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
    """The scores by each measure."""
    groups = repeated_runs(arguments)
    if arguments.scores and (arguments.runs or groups or arguments.qrels or llm_qrels(arguments)):
        raise SurefootError("give runs with --qrels, or --scores; not both")
    if arguments.scores:
        from surefoot.io.tables import read_scores_by

        _refuse_options(arguments, OF_RUNS, "for runs; leave it out with --scores")
        return list(read_scores_by(arguments.scores, arguments.measure or (), arguments.missing).values())
    if not arguments.runs and not groups:
        raise SurefootError("nothing to read: give run files with --qrels, or a table with --scores")
    if not arguments.qrels:
        _refuse_tables(arguments.runs)
        raise SurefootError("runs need judgments: give them with --qrels FILE")
    _refuse_options(arguments, ["missing"], "for --scores; a query that a run lacks counts 0")
    from surefoot.effectiveness.scoring import score_runs_by

    more = given(arguments, "names", "duplicates", "ties") | {"repeats": groups, "llm_qrels": llm_qrels(arguments)}
    more["unjudged"] = "skip" if getattr(arguments, "unjudged", "zero") == "skip" else "zero"
    with progress("Scoring runs", log="none") as report:
        measures = arguments.measure or [DEFAULT_MEASURE]
        found = score_runs_by(arguments.runs, arguments.qrels, measures, progress=report, **more)
    return list(found.values())


def _refuse_options(arguments: argparse.Namespace, names: Collection[str], reason: str) -> None:
    """Raise if one of these options for inputs is given."""
    for each in (*INPUTS, UNJUDGED):
        default = each.settings.get("default")
        if each.name in names and getattr(arguments, each.name, default) != default:
            raise SurefootError(f"{each.flags[0]} is {reason}")


def llm_qrels(arguments: argparse.Namespace) -> list[str]:
    """The files of grades by language models."""
    return getattr(arguments, "llm_qrels", None) or []


def _refuse_tables(paths: Sequence[str]) -> None:
    """Raise if one of the runs is a table of scores."""
    from surefoot.io.tables import is_score_file

    for path in paths:
        if is_score_file(path):
            raise SurefootError(f"{path} is a table of scores, not a run: give it with --scores {path}")


def assessors(given: Sequence[str] | None, default: str = "dl2019") -> Assessors:
    """The value of --assessors: "none", "off", "dl2019", a share, or qrels; the default if it is not given."""
    from surefoot.judgments.assessors import parse_assessors

    return parse_assessors(default if given is None else list(given))


def credible_assessors(arguments: argparse.Namespace) -> Assessors:
    """How assessors differ, by --credible and --assessors; "off" without both."""
    default = "dl2019" if arguments.credible else "none" if llm_qrels(arguments) else "off"
    found = assessors(arguments.assessors, default)
    if found == "off" and arguments.credible:
        raise SurefootError("--credible doubts the judgments, and --assessors off does not; leave out one of them")
    return found


def judged_runs(scores: Scores) -> JudgedRuns:
    """The runs and judgments that scores come from."""
    from surefoot.judgments.judged_runs import JudgedRuns

    _refuse_repeats(scores.trials)
    with progress("Reading runs", log="none"):
        return JudgedRuns.of(scores)


def _refuse_repeats(repeats: object) -> None:
    """Raise if a system has several rankings, since documents need a single one."""
    if repeats:
        raise SurefootError("documents and doubts about judgments need single rankings; leave out --repeats")


def load_runs(scores: Scores, systems: Collection[str] | None = None) -> dict[str, Run]:
    """The rankings of some systems, or of all, by name."""
    _refuse_repeats(scores.trials)
    if scores.source is None:
        raise SurefootError("rankings of documents need run files with --qrels; a table has only scores")
    return scores.source.load(systems)


def load_queries(arguments: argparse.Namespace) -> dict[str, str] | None:
    """The texts of queries, if they are given."""
    from surefoot.io.texts import read_queries

    return read_queries(arguments.queries) if arguments.queries else None


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to standard error, a line each."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def write(text: str, output: str | None) -> None:
    """Write a text to a file, or to standard output."""
    from surefoot.io.atomic import write_text

    if output:
        write_text(output, text)
    else:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def write_csv(header: Iterable[object], rows: Iterable[Iterable[object]], output: str | None) -> None:
    """Write a table as CSV."""
    refuse_ending(output, ("csv",))
    write(csv_text([[*header], *map(list, rows)]), output)


def refuse_ending(output: str | None, written: Collection[str]) -> None:
    """Raise if the ending of an output is that of a format that is not written."""
    ending = str(output).rpartition(".")[2]
    if ending in {*ENDINGS, *NOT_WRITTEN}.difference(written):
        raise SurefootError(f"{output}: .{ending} is not written; name it .{', .'.join(written)} or .txt")


def load_one(arguments: argparse.Namespace) -> Scores:
    """The scores of one measure, for commands that show only one."""
    if arguments.measure and len(arguments.measure) > 1:
        raise SurefootError(f"{arguments.command} shows one measure; got {', '.join(arguments.measure)}")
    return load(arguments)[0]


def _output(arguments: argparse.Namespace) -> NewFile | None:
    """The output file; folders, such as those of experiments, are none."""
    output = getattr(arguments, "output", None)
    return output if isinstance(output, NewFile) else None


def format_of(arguments: argparse.Namespace) -> str:
    """The format of the output: that of ``--format``, or of the ending of ``-o``."""
    output = _output(arguments)
    refuse_ending(output, ENDINGS)
    return ENDINGS.get(str(output).rpartition(".")[2], "table") if arguments.format == "table" else arguments.format


def show(result: Result, arguments: argparse.Namespace) -> None:
    """Print or write a result; the notes of CSV go to standard error."""
    from surefoot.show.tables import print_result, render

    output = _output(arguments)
    kind = format_of(arguments)
    options: dict[str, Any] = {name: getattr(arguments, name, None) for name in ("columns", "caption", "label")}
    if kind != "latex" and (options["caption"] or options["label"]):
        raise SurefootError("--caption and --label are for LaTeX: add --format latex, or write to -o FILE.tex")
    result = result if kind in ("csv", "json") else result.readable()
    if output:
        write(render(result, kind, **options), output)
    else:
        print_result(result, kind, **options)
    print_notes(result.notes if kind == "csv" else ())


@contextmanager
def progress(first: str, log: Literal["periodic", "each", "none"] = "periodic") -> Iterator[Progress]:
    """Show progress on standard error; yields a function of the amount done, the total and a message.

    A terminal shows one line, erased at the end; ``first`` is its first message. Elsewhere messages are printed as
    lines: one every 20 seconds (``periodic``), each new message, or none.
    """
    is_terminal, begin = sys.stderr.isatty(), time.monotonic()
    interval = {"periodic": LOG_INTERVAL, "each": 0.0, "none": math.inf}[log]
    seen: set[str] = set()
    start, done_at_start, shown = begin, 0, 0.0 if is_terminal else begin

    def report(done: int, total: int | None, message: object) -> None:
        nonlocal start, done_at_start, shown
        now, text, left = time.monotonic(), str(message), ""
        if now - begin < WARM_UP:
            start, done_at_start = now, done
        if total is not None and done_at_start < done < total:
            left = f", {time_left((now - start) / (done - done_at_start) * (total - done))}"
        if now - shown < (REFRESH_INTERVAL if is_terminal else interval) or (log == "each" and text in seen):
            return
        shown = now
        seen.add(text)
        if is_terminal:
            _overwrite(f"{f'{100 * min(done / total, 1):3.0f} %  ' if total else ''}{one_line(text)}{left}")
        else:
            print(text if log == "each" else f"{text}{left}", file=sys.stderr, flush=True)

    if is_terminal:
        report(0, None, first)
    try:
        yield report
    finally:
        if is_terminal:
            _overwrite("")


def _overwrite(line: str) -> None:
    """Write over the last line of the terminal."""
    from shutil import get_terminal_size

    print(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)


def time_left(seconds: float) -> str:
    """The time left, in a suitable unit.

    >>> time_left(42), time_left(200), time_left(9000)
    ('42 s left', '3 min left', '2.5 h left')
    """
    if seconds < 60:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 3600 else f"{seconds / 3600:.1f} h left"
