"""Dinçer, Ounis and Macdonald, Tackling biased baselines in the risk-sensitive evaluation, ECIR 2014."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from surefoot import risk
from surefoot.analysis.cross import cross
from surefoot.scores import Scores
from surefoot_lab.reproduce.cells import Cell, cells_of, printed, printed_cell, ranks

BASELINE = "indriCASP"
VIRTUAL_TABLE = "ecir2014-table3-mean-median-max"
SWAPPED = {"median": ("indriCASP", "qutwb"), "mean": ("srchvrs12c09", "DFalah121A")}
"""The runs whose cells of table 3 are swapped in print, by virtual baseline."""


def swapped_with(system: str, column: str) -> str:
    """The run whose cell of table 3 stands in the place of this one; the run itself where nothing is swapped.

    >>> swapped_with("qutwb", "median_a5"), swapped_with("qutwb", "mean_a5")
    ('indriCASP', 'qutwb')
    """
    pair = SWAPPED.get(column.partition("_")[0], ())
    return next((other for other in pair if system in pair and other != system), system)


def mended(system: str, column: str) -> str:
    """A cell of table 3 as it should have been printed."""
    return printed_cell(VIRTUAL_TABLE, swapped_with(system, column), column)


def swap_reason(system: str, column: str) -> str:
    """The reason for the difference of a swapped cell."""
    virtual = column.partition("_")[0]
    return f"the {virtual.upper()} cells of {' and '.join(SWAPPED[virtual])} are swapped in print"


def table1(scores: Scores) -> Iterator[Cell]:
    """U_Risk against indriCASP, and the ranks."""
    lines = printed("ecir2014-table1-urisk")
    others = [line["system"] for line in lines if line["system"] != BASELINE]
    urisk = {
        alpha: {name: float(risk.urisk(scores[name], scores[BASELINE], alpha)) for name in [*others, BASELINE]}
        for alpha in (1, 5, 10)
    }
    by_mean = ranks({name: float(scores[name].mean()) for name in others})
    by_urisk = {alpha: ranks({name: values[name] for name in others}) for alpha, values in urisk.items()}
    for line in lines:
        name = line["system"]
        found: dict[str, float | None] = {"err20": float(scores[name].mean()), "rank_err20": by_mean.get(name)}
        for alpha, values in urisk.items():
            found |= {f"urisk_a{alpha}": values[name], f"rank_a{alpha}": by_urisk[alpha].get(name)}
        yield from cells_of(line, found)


def table2(scores: Scores) -> Iterator[Cell]:
    """Every run as the baseline at alpha = 10, and the ranks within each column."""
    lines, rank_lines = printed("ecir2014-table2-every-run-as-baseline-a10"), printed("ecir2014-table2-ranks")
    systems = [line["system"] for line in lines]
    table = cross(scores, alpha=10, systems=systems)
    for row, (line, rank_line) in enumerate(zip(lines, rank_lines, strict=True)):
        for column, baseline in enumerate(systems):
            yield Cell(line["system"], baseline, line[baseline], float(table.urisk[row, column]))
            if rank_line[baseline]:
                yield Cell(line["system"], f"rank {baseline}", rank_line[baseline], float(table.ranks[row, column]))


def table3(scores: Scores) -> Iterator[Cell]:
    """U_Risk against the MEAN, MEDIAN and MAX of the nine runs; every cell depends on the two runs that differ."""
    lines = printed(VIRTUAL_TABLE)
    nine = [line["system"] for line in lines]
    baselines = {virtual: scores.baseline(virtual.upper(), over=nine) for virtual in ("mean", "median", "max")}
    for line in lines:
        found: dict[str, float | None] = {
            f"{virtual}_a{alpha}": float(risk.urisk(scores[line["system"]], baseline, alpha))
            for virtual, baseline in baselines.items()
            for alpha in (5, 10)
        }
        yield from cells_of(line, found)


def explain_table3(cell: Cell, twin: Cell) -> Cell:
    """Four pairs of cells are swapped, as `arithmetic` proves; put right, they are equal with the fitted copies."""
    right = mended(cell.row, cell.column)
    if right == cell.published or not replace(twin, published=right).equal:
        return cell
    return cell.prove(swap_reason(cell.row, cell.column), float(right), float(right), of=right)
