"""surefoot reproduce: published, recomputed, difference, reason."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.research.reproduce import Reproduction

ATLAS = "neural"
EXAMPLES = """examples:
  surefoot reproduce
  surefoot reproduce sigir2016-table5 ecir2020-table2
  surefoot reproduce sigir2016-table7 --experiment mslr-2016/
  surefoot reproduce --format md > reproduction.md
  surefoot reproduce neural -o atlas/
  surefoot reproduce neural --collection "DL 2019" --part families

Most tables need the scores of the TREC 2012 Web track: surefoot data get trec-web-2012"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="such as sigir2016-table5 (default: all); neural is the atlas of neural rankers",
    )
    atlas = parser.add_argument_group("the atlas: surefoot reproduce neural")
    atlas.add_argument(
        "--collection",
        action="append",
        default=[],
        metavar="NAME",
        help="of the atlas, or of `surefoot data list` if its runs are here; may be repeated (default: all)",
    )
    atlas.add_argument("--part", action="append", default=[], metavar="NAME", help="a table of it; may be repeated")
    atlas.add_argument("-o", "--output", metavar="FOLDER", help="write its tables and figures; a stopped run goes on")
    parser.add_argument(
        "--experiment",
        action="append",
        default=[],
        metavar="FOLDER",
        help="what surefoot experiment -o wrote on MSLR-WEB10K, for the tables of learned rankers; may be repeated",
    )
    parser.add_argument("--format", choices=("table", "csv", "json", "md"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace) -> int:
    """Recompute and print; 1 if a cell differs without a reason."""
    if ATLAS in arguments.tables:
        from surefoot.cli import atlas

        if len(arguments.tables) > 1 or arguments.experiment or arguments.format == "csv":
            raise SurefootError(
                "the atlas is made alone, as table, md or json: surefoot reproduce neural; -o writes CSV"
            )
        return atlas.run(arguments)
    if arguments.collection or arguments.part or arguments.output:
        raise SurefootError("--collection, --part and -o are for the atlas: surefoot reproduce neural")
    from surefoot.research.reproduce import load_scores, reproduce

    result = reproduce(load_scores(), arguments.tables, experiments=arguments.experiment)
    if arguments.format == "json":
        print(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    elif arguments.format == "csv":
        from surefoot.io.results import print_result

        print_result(result, "csv")
    else:
        _print_tables(result, arguments.format)
    if result.waiting:
        print(
            f"not recomputed, for want of data: {', '.join(result.waiting)}\n"
            "get it with: surefoot data get trec-web-2012",
            file=sys.stderr,
        )
    return 1 if result.summary["unexplained"] else 0


def _print_tables(result: Reproduction, layout: str) -> None:
    from surefoot.io.results import print_result
    from surefoot.research.reproduce import TABLES
    from surefoot.show.reproduction import readable, summary_line

    if layout == "md":
        print(f"# Published and recomputed\n\nMade by `surefoot reproduce --format md`. {summary_line(result)}.\n")
    for name, table in result.tables().items():
        print(f"{'## ' if layout == 'md' else ''}{TABLES[name].title}\n")
        print_result(readable(table), layout)
        print()
    if layout == "table":
        print(summary_line(result))
