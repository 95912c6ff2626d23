"""surefoot data: list and download public collections."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from surefoot.cli.progress import progress
from surefoot.errors import listed

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from pathlib import Path

    from surefoot.research.datasets.registry import Collection

EXAMPLES = """examples:
  surefoot data list
  surefoot data get trec-web-2012
  surefoot evaluate --scores $(surefoot data get trec-web-2012)/err20.csv --baseline indriCASP

What SUREFOOT_DATA's folder has already is used. The rest is downloaded to the user's cache (SUREFOOT_CACHE names
another folder), from SUREFOOT_MIRROR if that is set; an interrupted download continues."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    actions = parser.add_subparsers(dest="action", metavar="list|get", required=True)
    listing = actions.add_parser("list", help="what there is, under which licence, and what is here")
    listing.add_argument("names", nargs="*", metavar="NAME", help="tell all about these (default: a line for each)")
    listing.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")
    getting = actions.add_parser("get", help="download, verify, and print the folder")
    getting.add_argument("names", nargs="+", metavar="NAME", help="a collection, as `surefoot data list` calls it")


def run(arguments: argparse.Namespace) -> int:
    """List or download collections."""
    from surefoot.research.datasets import collection, collections

    named = [collection(name) for name in arguments.names]
    if arguments.action == "get":
        for wanted in named:
            print(_get(wanted), flush=True)
    elif arguments.format == "json":
        print(_as_json(named or collections()))
    else:
        print(_in_full(named) if named else _as_table(collections()))
    return 0


def _get(wanted: Collection) -> Path:
    from surefoot.research.datasets import fetch, locate

    found = locate(wanted.name)
    if found is not None:
        _say(f"{wanted.name} is already in {found}")
        return fetch(wanted.name)  # which removes what a killed process left
    if not wanted.ask:
        size = f", {_size(wanted)}" if wanted.size else ""
        _say(f"{wanted.name}: {wanted.title}{size}\nlicence: {wanted.licence} ({wanted.page})")
    with progress(wanted.name, log="none", in_bytes=True) as report:
        folder = fetch(wanted.name, report)
    _print_receipt(folder)
    return folder


def _print_receipt(folder: Path) -> None:
    """Print the notes of the receipt, and hashes that could not be verified."""
    from surefoot.research.datasets.prepare import RECEIPT

    receipt = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
    for note in receipt["notes"]:
        _say(f"note: {note}")
    unknown = [source for source in receipt["sources"] if not source["was_known"]]
    if unknown:
        hashes = listed((f"{source['path']} sha256:{source['sha256']}" for source in unknown), most=3)
        _say(f"note: no published hash to compare with: {hashes} (all in {folder / RECEIPT})")


def _as_json(chosen: Sequence[Collection]) -> str:
    from dataclasses import asdict

    return json.dumps({"rows": [{**asdict(each), "folder": _folder(each)} for each in chosen]}, indent=1)


def _as_table(chosen: Sequence[Collection]) -> str:
    """One line for each collection."""
    head = ("name", "size", "here", "title")
    rows = [(each.name, _size(each), "yes" if _folder(each) else "no", each.title) for each in chosen]
    name_width, size_width, here_width, _ = (max(map(len, column)) for column in zip(head, *rows, strict=True))
    lines = (
        f"{name:{name_width}}  {size:>{size_width}}  {here:{here_width}}  {title}"
        for name, size, here, title in (head, *rows)
    )
    return "\n".join(lines)


def _in_full(chosen: Sequence[Collection]) -> str:
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


def _folder(each: Collection) -> str | None:
    from surefoot.research.datasets import locate

    folder = locate(each.name)
    return None if folder is None else str(folder)


def _size(each: Collection) -> str:
    size = float(each.size or 0)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if each.size else "unknown"
        size /= 1000
    return f"{size:.1f} GB"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
