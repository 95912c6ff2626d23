"""The commands of collections: demo, data."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, option
from surefoot.errors import listed

if TYPE_CHECKING:
    from pathlib import Path

    from surefoot_lab.datasets.registry import Collection as PublicCollection
    from surefoot_lab.retrieval.collection import Collection
    from surefoot_lab.retrieval.ranking import Ranking

MEASURE, BASELINE = "nDCG@10", "BM25"


def run_demo(arguments: argparse.Namespace) -> int:
    """Build the task, rank, write and score the runs, print the commentary."""
    from surefoot.io.atomic import make_folder, write_text

    make_folder(arguments.output)
    with progress("Reading the standard library ...", log="none") as report_progress:

        def say(message: str) -> None:
            report_progress(0, None, f"{message} ...")

        from surefoot.effectiveness import score_runs
        from surefoot.show.report import Rankings, report
        from surefoot_lab.demo.files import write
        from surefoot_lab.demo.story import candidate_of, commentary
        from surefoot_lab.demo.task import collection

        task = collection()
        learned = _learned(task, say)
        say("Ranking with every model")
        files = write(arguments.output, task, learned)
        say("Scoring the runs")
        scores = score_runs(list(files.runs.values()), files.qrels, MEASURE)
        say("Writing the report")
        page = files.directory / "report.html"
        candidate = candidate_of(scores, BASELINE)
        rankings = Rankings.read(files.runs.values(), files.qrels, files.documents)
        rules = {"alpha": 1}  # as in the commentary
        made = report(scores, BASELINE, candidate=candidate, queries=task.queries, rankings=rankings, rules=rules)
        write_text(page, made)
    print("\n".join(commentary(scores, task.queries, files, BASELINE, _program())))
    print(f"And open {page} in a browser: every query and every system, at any alpha.")
    return 0


def _learned(task: Collection, say: Callable[[str], None]) -> dict[str, Ranking]:
    """Rankers trained on the models' scores; none where the packages for learning are not installed."""
    from importlib.util import find_spec

    if find_spec("lightgbm") is None:
        print("No ranker is trained here: pip install 'surefoot[learn]'", file=sys.stderr)
        return {}
    from surefoot_lab.demo.learned import learn

    say("Making features")
    return learn(task, say)


def _program() -> str:
    """The command that starts Surefoot: its name, or the path by which it was called if the name is not on PATH."""
    return "surefoot" if shutil.which("surefoot") else os.path.relpath(sys.argv[0])


def run_get(arguments: argparse.Namespace) -> int:
    """Download collections, and print their folders."""
    from surefoot_lab.datasets import collection

    for wanted in [collection(name) for name in arguments.names]:
        print(_get(wanted), flush=True)
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """List collections."""
    from surefoot_lab.datasets import collection, collections

    named = [collection(name) for name in arguments.names]
    if arguments.format == "json":
        print(_as_json(named or collections()))
    else:
        print(_in_full(named) if named else _as_table(collections()))
    return 0


def _get(wanted: PublicCollection) -> Path:
    from surefoot_lab.datasets import fetch, locate

    found = locate(wanted.name)
    if found is not None:
        _say(f"{wanted.name} is already in {found}")
        return fetch(wanted.name)  # removes files of a killed process
    if not wanted.ask:
        size = f", {_size(wanted)}" if wanted.size else ""
        _say(f"{wanted.name}: {wanted.title}{size}\nlicence: {wanted.licence} ({wanted.page})")
    with progress(wanted.name, log="none") as report:
        folder = fetch(wanted.name, report)
    _print_receipt(folder)
    return folder


def _print_receipt(folder: Path) -> None:
    """Print the notes of the receipt, and hashes that could not be verified."""
    from surefoot_lab.datasets.prepare import RECEIPT

    receipt = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
    for note in receipt["notes"]:
        _say(f"note: {note}")
    unknown = [source for source in receipt["sources"] if not source["was_known"]]
    if unknown:
        hashes = listed((f"{source['path']} sha256:{source['sha256']}" for source in unknown), most=3)
        _say(f"note: no published hash to compare with: {hashes} (all in {folder / RECEIPT})")


def _as_json(chosen: Sequence[PublicCollection]) -> str:
    from dataclasses import asdict

    return json.dumps({"rows": [{**asdict(each), "folder": _folder(each)} for each in chosen]}, indent=1)


def _as_table(chosen: Sequence[PublicCollection]) -> str:
    """One line for each collection."""
    head = ("name", "size", "here", "title")
    rows = [(each.name, _size(each), "yes" if _folder(each) else "no", each.title) for each in chosen]
    name_width, size_width, here_width, _ = (max(map(len, column)) for column in zip(head, *rows, strict=True))
    lines = (
        f"{name:{name_width}}  {size:>{size_width}}  {here:{here_width}}  {title}"
        for name, size, here, title in (head, *rows)
    )
    return "\n".join(lines)


def _in_full(chosen: Sequence[PublicCollection]) -> str:
    return "\n\n".join(
        f"{each.name}: {each.title}\n"
        f"  size     {_size(each)}\n"
        f"  licence  {each.licence}\n"
        f"  page     {each.page}\n"
        f"  becomes  {each.becomes}\n"
        f"  note     {each.note}\n"
        f"  folder   {_folder(each) or ('ask its owner, at the page above' if each.ask else 'not here')}"
        for each in chosen
    )


def _folder(each: PublicCollection) -> str | None:
    from surefoot_lab.datasets import locate

    folder = locate(each.name)
    return None if folder is None else str(folder)


def _size(each: PublicCollection) -> str:
    size = float(each.size or 0)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if each.size else "unknown"
        size /= 1000
    return f"{size:.1f} GB"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


KINDS = {
    "list": Command(
        run_list,
        (
            option("names", nargs="*", metavar="NAME", help="show these in full (default: a line for each)"),
            option("--format", choices=("table", "json"), default="table", help="(default: table)"),
        ),
        summary="list the collections, their licences, and which are here",
    ),
    "get": Command(
        run_get,
        [option("names", nargs="+", metavar="NAME", help="a collection, as `surefoot data list` calls it")],
        summary="download, verify, and print the folder",
    ),
}
COMMANDS = {
    "demo": Command(
        run_demo,
        [option("-o", "--output", metavar="DIR", default="surefoot-demo",
                help="folder for runs, judgments and queries (default: surefoot-demo)")],
        """examples:
  surefoot demo
  surefoot demo -o /tmp/demo

Needs no download: the documents are the docstrings of Python's own library, a query is the first sentence of one,
and the answer is the object that it describes.""",
    ),
    "data": Command(
        examples="""examples:
  surefoot data list
  surefoot data get trec-web-2012
  surefoot evaluate --scores $(surefoot data get trec-web-2012)/err20.csv --baseline indriCASP

A collection in the folder SUREFOOT_DATA is used as it is. Others are downloaded to the user's cache (SUREFOOT_CACHE
names another folder), from SUREFOOT_MIRROR if that is set; an interrupted download continues.""",
        kinds=lambda: KINDS,
    ),
}  # fmt: skip
