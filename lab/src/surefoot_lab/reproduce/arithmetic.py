"""Identities between printed cells, which hold for any data and are checked without data.

Tolerances are those of rounding: half a unit of the last digit of each printed cell that takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist, median

import numpy as np

from surefoot_lab.reproduce.cells import Cell, printed, printed_cell
from surefoot_lab.reproduce.ecir2014 import VIRTUAL_TABLE, swap_reason, swapped_with
from surefoot_lab.reproduce.sigir2016 import NO_MATRIX

ROUNDED = "the printed cells are rounded"
OTHER_BASELINES = "so T*-FARO's rows are not against the same four baselines as the others"
MISPRINT = "a misprint of the sign: its own GeoRisk and mean give a positive Z_Risk"
HALF = 5e-5
"""Half a unit of the fourth decimal."""


def arithmetic() -> Iterator[Cell]:
    """All identities, a cell for each printed row that must satisfy one."""
    yield from _means_behind("mean")
    yield from _means_behind("median")
    yield from _maxima()
    yield from _weighted_z()
    yield from _z_behind_georisk()
    yield from _baselines_of_learners()


def _means() -> dict[str, float]:
    """ERR@20 of the nine runs of ECIR 2014 with the four decimals of SIGIR 2014; indriCASP's is SIGIR 2016's."""
    found = {line["system"]: float(line["err20"]) for line in printed("sigir2014-table1-standard-errors")}
    return found | {"indriCASP": float(printed_cell("sigir2016-table6-trec2012", "indriCASP", "err20"))}


def _means_behind(virtual: str) -> Iterator[Cell]:
    """U(5) and U(10) give the gain, 2 U(5) - U(10); a run's mean minus its gain is the baseline's mean, in every row.

    Nobody printed that mean: the median of the rows stands for it.
    """
    means, lines = _means(), printed(VIRTUAL_TABLE)

    def behind(name: str, source: str) -> float:
        five, ten = (float(printed_cell(VIRTUAL_TABLE, source, f"{virtual}_a{alpha}")) for alpha in (5, 10))
        return means[name] - 2 * five + ten

    published = f"{median(behind(line['system'], line['system']) for line in lines):.4f}"
    for name in (line["system"] for line in lines):
        found, other = behind(name, name), swapped_with(name, virtual)
        cell = Cell(f"ecir2014-table3 {name}", f"mean of {virtual.upper()}, from its cells", published, found)
        right = behind(name, other)
        reason = ROUNDED if other == name else swap_reason(name, virtual)
        yield cell.prove(reason, right - 4 * HALF, right + 4 * HALF)


def _maxima() -> Iterator[Cell]:
    """No run beats MAX, so U = (1 + alpha)(mean - mean of MAX): one constant, the middle of what all cells allow."""
    means, lines, alphas = _means(), printed(VIRTUAL_TABLE), (5, 10)
    found = np.array([[means[line["system"]] - float(line[f"max_a{a}"]) / (1 + a) for a in alphas] for line in lines])
    slack = HALF + HALF / (1 + np.array(alphas))
    constant = float((found - slack).max() + (found + slack).min()) / 2
    for line in lines:
        for alpha in alphas:
            value, off = (1 + alpha) * (means[line["system"]] - constant), (1 + alpha) * HALF
            cell = Cell(f"ecir2014-table3 {line['system']}", f"max_a{alpha}", line[f"max_a{alpha}"], value)
            yield cell.prove(ROUNDED, value - off, value + off)


def _weighted_z() -> Iterator[Cell]:
    """For any matrix the sum of sqrt(S_i) Z_i at alpha 0 is 0, as x - e sums to 0 over each topic."""
    lines = printed("sigir2016-table6-trec2012")
    total = sum(np.sqrt(50 * float(line["err20"])) * float(line["zrisk_a0"]) for line in lines)
    yield Cell("sigir2016-table6", "sum of sqrt(S) Z_Risk, alpha 0", "0.00", float(total)).remark(NO_MATRIX)


def _z_behind_georisk() -> Iterator[Cell]:
    """GeoRisk is the root of mean x Phi(Z / c), so GeoRisk and the mean of a row give its Z_Risk."""
    for line in printed("sigir2016-table6-trec2012"):
        geo, mean = float(line["georisk_a0"]), float(line["err20"])
        low, found, high = (
            50 * NormalDist().inv_cdf((geo + side * HALF) ** 2 / (mean - side * HALF)) for side in (-1, 0, 1)
        )
        cell = Cell(f"sigir2016-table6 {line['system']}", "zrisk_a0, from georisk_a0", line["zrisk_a0"], found)
        yield cell.prove(ROUNDED, low, high).prove(MISPRINT, low, high, of=line["zrisk_a0"].removeprefix("-"))


def _baselines_of_learners() -> Iterator[Cell]:
    """NDCG - (reward - risk) is the mean of the baselines, the same in all rows that are compared with the same."""
    lines = printed("sigir2016-table7-mslr")
    for group in ("bm25", "learned4"):
        rows = [line for line in lines if line["compared_to"] == group]
        found = [float(line["ndcg10"]) - float(line["reward"]) + float(line["risk"]) for line in rows]
        published = f"{median(found):.3f}"
        for line, value in zip(rows, found, strict=True):
            row = f"sigir2016-table7 {group} {line['learner']} {line['alpha']}"
            cell = Cell(row, "NDCG of the baselines", published, value).prove(ROUNDED, value - 1e-3, value + 1e-3)
            yield cell.remark(OTHER_BASELINES) if cell.verdict == "unexplained" else cell
