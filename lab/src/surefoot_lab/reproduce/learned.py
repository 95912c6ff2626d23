"""The tables of learned rankers: results of experiments on MSLR-WEB10K, and ratios of printed cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from surefoot._typing import PathLike
from surefoot.errors import InputError
from surefoot_lab.reproduce.cells import Cell, printed

NEEDS_MSLR = "needs MSLR-WEB10K: surefoot experiment, then reproduce --experiment FOLDER"
RETRAINED = "trained again with other software than the paper's; nothing says how far that may differ"
OTHER_RATIO = "the ratio of the counts printed in the same table"

Key = tuple[str, str, str, float, str]
"""The paper, the baselines of a learned ranker, its name, alpha and the measure."""


@dataclass(frozen=True)
class Experiment:
    """The results of experiments on MSLR-WEB10K, by cell of a table, and by paper and claim."""

    cells: Mapping[Key, float] = field(default_factory=dict)
    claims: Mapping[tuple[str, str], float] = field(default_factory=dict)


def read_experiments(folders: Iterable[PathLike]) -> Experiment:
    """Read ``published.csv`` and ``ucro-claims.csv`` in the folders of `surefoot experiment`."""
    cells: dict[Key, float] = {}
    claims: dict[tuple[str, str], float] = {}
    for folder in map(Path, folders):
        tables, texts = folder / "published.csv", sorted(folder.glob("*-claims.csv"))
        if not tables.is_file() and not texts:
            raise InputError(
                tables,
                "no such file; an experiment writes it if data and plan are a paper's: MSLR-WEB10K, a published plan",
            )
        for row in _rows(tables, "compared_to", "learner", "alpha", "measure") if tables.is_file() else ():
            paper = row["signature"].partition("plan=")[2].partition("|")[0]
            key = (paper, row["compared_to"].lower(), row["learner"], float(row["alpha"]), row["measure"])
            cells[key] = float(row["ours"])
            if row["learner"] == "BM25":
                claims[paper, "mslr_bm25_ndcg10"] = float(row["ours"])
        for path in texts:
            # A note says that the value is of other data, or that there is none.
            found = (row for row in _rows(path, "claim", "note") if not row["note"])
            claims |= {("sigir2012", row["claim"]): float(row["ours"]) for row in found}
    return Experiment(cells, claims)


def _rows(path: Path, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a file that have a value of ours."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = {*columns, "ours", "signature"}
    if not rows or wanted - set(rows[0]):
        raise InputError(path, f"expected rows with the columns {', '.join(sorted(wanted))}")
    return (row for row in rows if row["ours"])


def sigir2014_table3(found: Experiment) -> Iterator[Cell]:
    """A measure of an objective, with an alpha in each column; alpha 0 is plain LambdaMART."""
    lines = printed("sigir2014-table3-mslr")
    counts = {(line["measure"], line["objective"]): line for line in lines}
    columns, learners = _names()
    for line in lines:
        measure, objective = line["measure"], line["objective"]
        for column in list(line)[2:]:
            if line[column]:
                alpha = float(column[1:])
                learner = learners[objective] if alpha else "LambdaMART"
                key = ("sigir2014", "bm25", learner, alpha, columns.get(measure, measure))
                cell = Cell(f"{measure} {objective}", column, line[column], found.cells.get(key))
                if cell.recomputed is None and measure == "loss_over_win":
                    lost, won = (float(counts[count, objective][column]) for count in ("loss", "win"))
                    yield Cell(cell.row, column, cell.published, lost / won).remark(OTHER_RATIO)
                else:
                    yield _judged(cell)


def sigir2016_table7(found: Experiment) -> Iterator[Cell]:
    """A learner, with a measure in each column; ratios against BM25 follow from the other printed cells."""
    columns, learners = _names()
    for line in printed("sigir2016-table7-mslr"):
        learner, alpha = learners.get(line["learner"], line["learner"]), float(line["alpha"])
        for column in list(line)[3:]:
            key = ("sigir2016", line["compared_to"], learner, alpha, columns.get(column, column))
            row = f"{line['compared_to']} {line['learner']} {line['alpha']}"
            cell = Cell(row, column, line[column], found.cells.get(key))
            if cell.recomputed is None and "_over_" in column and line["compared_to"] == "bm25" and "20" not in column:
                yield _ratio(cell, line)
            else:
                yield _judged(cell)


def _ratio(cell: Cell, line: Mapping[str, str]) -> Cell:
    """A ratio of two printed cells; against the four learned baselines it is a mean of ratios, and does not follow."""
    names = ("wins", "losses") if cell.column.startswith("win") else ("reward", "risk")
    (above, below), (off, other) = zip(
        *((float(line[n]), Cell("", n, line[n], 0.0).half_digit) for n in names), strict=True
    )
    low, high = (above - off) / (below + other), (above + off) / (below - other)
    found = Cell(cell.row, cell.column, cell.published, above / below)
    return found.prove("reward and risk are rounded to three decimals", low, high)


def _judged(cell: Cell) -> Cell:
    return cell.not_run(NEEDS_MSLR) if cell.recomputed is None else cell.remark(RETRAINED)


@cache
def _names() -> tuple[dict[str, str], dict[str, str]]:
    """The experiments' names of measures and learners, where they differ from the papers'."""
    from surefoot_lab.experiments.tables import COLUMNS, LEARNERS

    return COLUMNS, LEARNERS
