"""Why a recomputed value may differ from the printed one; each reason was checked against the public data."""

from __future__ import annotations

from surefoot.research.reproduce.cells import Cell

OTHER_COPIES = {
    "DFalah121A": "the papers' copy of DFalah121A averages 0.2920, the public one 0.2992",
    "irra12c": "the papers' copy of irra12c averages 0.1723, the public one 0.1725",
}
MIXED = "mixes in DFalah121A and irra12c, whose public copies differ from the papers'"
FIVE_DECIMALS = "the public scores have five decimals"


def explain_by_copies(cell: Cell, *systems: str, within: float) -> Cell:
    """Explain a cell by the systems it is made of, where the papers used other copies of them.

    ``within`` is the largest change that the more different copy, that of DFalah121A, makes to such cells; ranks change
    by one.
    """
    for system in systems:
        if system in OTHER_COPIES:
            cell = cell.explain(OTHER_COPIES[system], 1.0 if "rank" in cell.column else within)
    return cell
