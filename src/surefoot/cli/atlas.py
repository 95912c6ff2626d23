"""surefoot reproduce neural: the atlas, as tables on the screen and as a folder of tables and figures."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli.progress import progress

if TYPE_CHECKING:
    from surefoot.research.atlas.atlas import Atlas

LONG = ("official", "runs")
"""Tables that only a folder gets in full; the screen has their notes."""


def run(arguments: argparse.Namespace) -> int:
    """Make the atlas, print it, write it; 1 if a mean of TREC DL 2019 differs from the published one."""
    from surefoot.research.atlas.atlas import make_atlas

    with progress("Reading runs", log="each") as report:
        atlas = make_atlas(arguments.collection, parts=arguments.part, folder=arguments.output or None, progress=report)
    _print(atlas, arguments.format, set() if arguments.part else set(LONG))
    if arguments.output:
        _write(atlas, Path(arguments.output))
    if atlas.missing:
        print(f"not in the atlas, for want of data: {'; '.join(atlas.missing)}", file=sys.stderr)
    return 1 if atlas.differing else 0


def _print(atlas: Atlas, layout: str, without_rows: set[str]) -> None:
    from surefoot.io.results import print_result
    from surefoot.research.atlas.atlas import PARTS

    if layout == "json":
        tables = {
            name: {"signature": table.signature, "notes": table.notes, "rows": table.rows()}
            for name, table in atlas.tables.items()
        }
        print(json.dumps({"tables": tables, "missing": atlas.missing}, indent=1, ensure_ascii=False))
        return
    for name, table in atlas.tables.items():
        print(f"{'## ' if layout == 'md' else ''}{PARTS[name].title}\n")
        if name in without_rows:
            print("\n".join([*table.notes, f"{len(table)} rows: --part {name}, or {name}.csv of -o"]), end="\n\n")
        elif len(table):
            print_result(table, layout)
            print()


def _write(atlas: Atlas, folder: Path) -> None:
    from surefoot.research.atlas.atlas import write_tables
    from surefoot.show.plots.atlas import atlas_figures
    from surefoot.show.plots.style import save_plot

    write_tables(atlas, folder)
    for name, axes in atlas_figures(atlas).items():
        for ending in ("svg", "pdf", "png"):
            save_plot(axes, folder / f"{name}.{ending}")
    print(f"{folder}: {len(atlas.tables)} tables as CSV and in tables.md; figures as SVG, PDF and PNG", file=sys.stderr)
