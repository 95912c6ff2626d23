"""How far a cell can move with the copies of two runs that the papers had, and with the decimals of the public scores.

The papers of 2014 and 2016 print other means for two runs than the public scores give; ECIR 2020 prints the public one.
Nobody has those copies. So each cell is recomputed with every copy that has the printed mean and differs from the
public one on a single topic, whichever that is: what these give is the range in which the copies explain a printed
value. The range follows from the printed means alone, not from the difference that it has to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray
from surefoot.scores import Scores
from surefoot_lab.reproduce.cells import Cell

PRINTED_MEANS = {"DFalah121A": 0.2920, "irra12c": 0.1723}
"""ERR@20 in SIGIR 2014, table 1, and in SIGIR 2016, table 6; the public scores have 0.2992 and 0.1725."""

OTHER_COPIES = {
    "DFalah121A": "the papers' copy of DFalah121A averages 0.2920, the public one 0.2992",
    "irra12c": "the papers' copy of irra12c averages 0.1723, the public one 0.1725",
}
MIXED = "mixes in DFalah121A and irra12c, whose public copies differ from the papers'"
DECIMALS = "the public scores have five decimals"
HALF_DECIMAL = 5e-6

Recompute = Callable[[Scores], Iterable[Cell]]


@dataclass(frozen=True)
class Reach:
    """Between which values a cell lies, and why."""

    low: float
    high: float
    reason: str

    def explain(self, cell: Cell) -> Cell:
        """The cell, explained if the published value is within reach."""
        return cell.explain(self.reason, self.low, self.high)


def reaches(recompute: Recompute, scores: Scores) -> dict[tuple[str, str], Reach]:
    """The reach of each cell by its row and column."""
    cells = list(recompute(scores))
    values = _values(cells)
    effects = {
        name: np.array([_values(recompute(copy)) - values for copy in _copies(scores, name)])
        for name in PRINTED_MEANS
        if name in scores.systems
    }
    rounding = sum((np.abs(_values(recompute(nudged)) - values) for nudged in _nudged(scores)), np.zeros(len(cells)))
    low, high = values - rounding, values + rounding
    for effect in effects.values():
        if effect.size:
            low, high = low + np.minimum(effect.min(axis=0), 0), high + np.maximum(effect.max(axis=0), 0)
    moved = {name: np.any(effect, axis=0).tolist() for name, effect in effects.items() if effect.size}
    return {
        (cell.row, cell.column): Reach(
            float(low[index]), float(high[index]), _reason([name for name, own in moved.items() if own[index]])
        )
        for index, cell in enumerate(cells)
    }


def _reason(movers: list[str]) -> str:
    return DECIMALS if not movers else OTHER_COPIES[movers[0]] if len(movers) == 1 else MIXED


def _values(cells: Iterable[Cell]) -> FloatArray:
    return np.array([np.nan if not isinstance(cell.recomputed, float) else cell.recomputed for cell in cells])


def _copies(scores: Scores, name: str) -> Iterator[Scores]:
    """The copies of a run that have its printed mean and differ from it on one topic."""
    row, topics = scores.row(name), len(scores.topics)
    gap = topics * (PRINTED_MEANS[name] - float(scores[name].mean()))
    for topic in range(topics):
        if 0 <= scores.values[row, topic] + gap <= 1:
            values = scores.values.copy()
            values[row, topic] += gap
            yield Scores(values, scores.systems, scores.topics, scores.measure)


def _nudged(scores: Scores) -> Iterator[Scores]:
    """The scores with those of one run half a decimal higher, for each run; a 0 is exact."""
    for row in range(len(scores.systems)):
        values = scores.values.copy()
        values[row] += HALF_DECIMAL * (values[row] > 0)
        yield Scores(values, scores.systems, scores.topics, scores.measure)
