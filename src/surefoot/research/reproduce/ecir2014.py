"""Dinçer, Ounis and Macdonald, Tackling biased baselines in the risk-sensitive evaluation, ECIR 2014."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot import risk
from surefoot.analysis.cross import cross
from surefoot.research.reproduce.cells import Cell, cells_of, printed, ranks
from surefoot.research.reproduce.reasons import MIXED, explain_by_copies
from surefoot.scores import Scores

BASELINE = "indriCASP"
SWAPPED = "the MEDIAN cells of indriCASP and qutwb are swapped in print"
OFF_ITS_MEAN = "the printed MEAN cells of srchvrs12c09 do not fit its own mean"
MEANS_OF_SRCHVRS = {"mean_a5": -0.1801, "mean_a10": -0.4235}
"""What the public data give for these two cells."""


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
        yield from (explain_by_copies(cell, name, within=0.015) for cell in cells_of(line, found))


def table2(scores: Scores) -> Iterator[Cell]:
    """Every run as the baseline at alpha = 10, and the ranks within each column."""
    lines, rank_lines = printed("ecir2014-table2-every-run-as-baseline-a10"), printed("ecir2014-table2-ranks")
    systems = [line["system"] for line in lines]
    table = cross(scores, alpha=10, systems=systems)
    for row, (line, rank_line) in enumerate(zip(lines, rank_lines, strict=True)):
        for column, baseline in enumerate(systems):
            cell = Cell(line["system"], baseline, line[baseline], float(table.urisk[row, column]))
            yield explain_by_copies(cell, line["system"], baseline, within=0.08)
            if rank_line[baseline]:
                cell = Cell(line["system"], f"rank {baseline}", rank_line[baseline], float(table.ranks[row, column]))
                yield explain_by_copies(cell, line["system"], baseline, within=0.08).explain(MIXED, within=1)


def table3(scores: Scores) -> Iterator[Cell]:
    """U_Risk against the MEAN, MEDIAN and MAX of the nine runs; every cell depends on the two runs that differ."""
    lines = printed("ecir2014-table3-mean-median-max")
    nine = [line["system"] for line in lines]
    for line in lines:
        name = line["system"]
        found: dict[str, float | None] = {}
        for virtual in ("MEAN", "MEDIAN", "MAX"):
            baseline = scores.baseline(virtual, over=nine)
            for alpha in (5, 10):
                found[f"{virtual.lower()}_a{alpha}"] = float(risk.urisk(scores[name], baseline, alpha))
        for cell in cells_of(line, found):
            yield _explain(cell, {other["system"]: float(other[cell.column]) for other in lines})


def _explain(cell: Cell, column: dict[str, float]) -> Cell:
    swapped = {"indriCASP": "qutwb", "qutwb": "indriCASP"}
    if cell.column.startswith("median") and cell.row in swapped:
        return cell.explain(SWAPPED, within=0.03, of=column[swapped[cell.row]])
    if cell.row == "srchvrs12c09" and cell.column in MEANS_OF_SRCHVRS:
        return cell.explain(OFF_ITS_MEAN, within=5e-4, of=MEANS_OF_SRCHVRS[cell.column])
    return explain_by_copies(cell, cell.row, within=0.06).explain(MIXED, within=0.03)
