"""surefoot demo: a search task from the standard library's docstrings, rankers for it, and what they show."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from surefoot.cli.progress import progress

if TYPE_CHECKING:
    from surefoot.research.retrieval.collection import Collection
    from surefoot.research.retrieval.ranking import Ranking

MEASURE, BASELINE = "nDCG@10", "BM25"

EXAMPLES = """examples:
  surefoot demo
  surefoot demo -o /tmp/demo

Needs no download: the documents are the docstrings of Python's own library, a query is the first sentence of one,
and the answer is the object that it describes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="surefoot-demo",
        help="folder for runs, judgments and queries (default: surefoot-demo)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build the task, rank, write and score the runs, print the commentary."""
    from surefoot.io.atomic import make_folder, write_text

    make_folder(arguments.output)
    with progress("Reading the standard library ...", log="none") as report_progress:

        def say(message: str) -> None:
            report_progress(0, None, f"{message} ...")

        from surefoot.effectiveness import score_runs
        from surefoot.research.demo.files import write
        from surefoot.research.demo.story import candidate_of, tell
        from surefoot.research.demo.task import collection
        from surefoot.show.report import Rankings, report

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
        write_text(page, report(scores, BASELINE, candidate=candidate, queries=task.queries, rankings=rankings))
    print("\n".join(tell(scores, task.queries, files, BASELINE, _program())))
    print(f"And open {page} in a browser: every query and every system, at any alpha.")
    return 0


def _learned(task: Collection, say: Callable[[str], None]) -> dict[str, Ranking]:
    """Rankers trained on the models' scores; none where the packages for learning are not installed."""
    from importlib.util import find_spec

    if find_spec("lightgbm") is None:
        from surefoot.learn.engines import INSTALL

        print(f"No ranker is trained here: {INSTALL}", file=sys.stderr)
        return {}
    from surefoot.research.demo.learned import learn

    say("Making features")
    return learn(task, say)


def _program() -> str:
    """The command that starts Surefoot: its name, or the path by which it was called if the name is not on PATH."""
    return "surefoot" if shutil.which("surefoot") else os.path.relpath(sys.argv[0])
