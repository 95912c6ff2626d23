"""The risk-sensitive task of the TREC Web track, 2013 and 2014: NIST's official U_Risk, run by run.

Without the baselines' runs two things can be checked. U_Risk is linear in alpha, so two of the four alphas of 2013
follow from the other two. And a run's mean minus its U_Risk at alpha 0 is the baseline's mean, one constant for
all runs: the constant that fits most columns of the public scores, whose runs are not named, names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot._typing import BoolArray, FloatArray
from surefoot.io.tables import read_scores
from surefoot_lab.datasets.store import locate
from surefoot_lab.reproduce.cells import Cell, printed

FILES = {"ERR@20": "err20.csv", "NDCG@20": "ndcg20.csv"}
NEAR = 1.1e-5
"""Half a printed digit, the rounding of the scores and that of the constant."""

LINEAR = "U_Risk is linear in alpha; the cells at alpha 0 and 10 are rounded"
CONSTANT = "the baseline's mean is known to five decimals"
NO_SCORES = "needs the public scores: surefoot data get trec-web-2013"
NO_RUN = "needs the track's baseline run and the run itself; the notes of surefoot data list have the address"

Printed = dict[tuple[str, str], dict[str, str]]
"""U_Risk by alpha, by run and measure."""


@dataclass(frozen=True)
class Names:
    """The baseline's mean by measure, each run's column, and how many columns the next best constant would fit."""

    constants: dict[str, float]
    columns: dict[str, int]
    next_best: dict[str, int]
    means: dict[str, FloatArray]


def official(year: str, baseline: str) -> Printed:
    """NIST's figures of a year against a baseline."""
    found: Printed = defaultdict(dict)
    for line in printed("trec-web-risk-task-official"):
        if (line["year"], line["baseline"]) == (year, baseline):
            found[line["run"], line["measure"]][line["alpha"]] = line["urisk"]
    return dict(found)


def names_of(figures: Printed, means: dict[str, FloatArray]) -> Names:
    """The runs that one constant in each measure identifies with a column of scores."""
    fits: dict[str, BoolArray] = {}
    constants, next_best = {}, {}
    runs = list(dict.fromkeys(run for run, _ in figures))
    for measure, own in means.items():
        urisk = np.array([float(figures[run, measure]["0"]) for run in runs])
        gaps = own[:, None] - urisk
        counts = np.array([(np.abs(gaps - gap) < NEAR).any(axis=1).sum() for gap in gaps.flat])
        best = gaps.flat[counts.argmax()]
        constants[measure] = float(np.median(gaps[np.abs(gaps - best) < NEAR]))
        fits[measure] = np.abs(gaps - constants[measure]) < NEAR
        next_best[measure] = int(counts[np.abs(gaps.ravel() - best) > 3 * NEAR].max())
    both = np.logical_and.reduce(list(fits.values()))
    return Names(
        constants, {runs[run]: int(both[:, run].argmax()) for run in np.flatnonzero(both.any(axis=0))}, next_best, means
    )


def web2013() -> Iterator[Cell]:
    """The cells of 2013: alpha 0 from the constant, 1 and 5 from 0 and 10, and 10 needs the baseline's run."""
    figures, folder = official("2013", "track baseline"), locate("trec-web-2013")
    names = None
    if folder is not None:
        means = {measure: read_scores(folder / file).values.mean(axis=1) for measure, file in FILES.items()}
        names = names_of(figures, means)
    for (run, measure), urisk in figures.items():
        yield _at_zero(Cell(run, f"{measure} a0", urisk["0"], None), run, measure, names)
        first, last = float(urisk["0"]), float(urisk["10"])
        for alpha in ("1", "5"):
            value = first + int(alpha) / 10 * (last - first)
            cell = Cell(run, f"{measure} a{alpha}", urisk[alpha], value)
            yield cell.prove(LINEAR, value - cell.half_digit, value + cell.half_digit)
        yield Cell(run, f"{measure} a10", urisk["10"], None, NO_RUN)


def _at_zero(cell: Cell, run: str, measure: str, names: Names | None) -> Cell:
    if names is None or run not in names.columns:
        return cell.not_run(NO_SCORES if names is None else NO_RUN)
    value = float(names.means[measure][names.columns[run]]) - names.constants[measure]
    found = Cell(run, cell.column, cell.published, value)
    return found.prove(CONSTANT, value - NEAR, value + NEAR)


def web2014() -> Iterator[Cell]:
    """The cells of 2014: two alphas, so that nothing follows without the baselines' runs."""
    for baseline in ("rm", "terrier"):
        for (run, measure), urisk in official("2014", baseline).items():
            for alpha, value in urisk.items():
                yield Cell(f"{run} against {baseline}", f"{measure} a{alpha}", value, None, NO_RUN)
