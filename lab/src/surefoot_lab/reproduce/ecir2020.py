"""Benham, Moffat and Culpepper, On the pluses and minuses of risk, ECIR 2020."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.analysis.evaluate import evaluate
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import Scores
from surefoot_lab.reproduce.cells import Cell, cells_of, printed

BASELINE = "indriCASP"
FORMS = {"u": "uminus", "t": "tminus", "z": "zminus", "geo": "geominus_published"}


def table2(scores: Scores) -> Iterator[Cell]:
    """U-, T-, Z- and Geo- at alpha-hat = 2, linear and smooth, all 49 runs as the population, Geo- as published."""
    found: dict[str, dict[str, float | None]] = {name: {} for name in scores.systems}
    for name, family in (("linear", Linear), ("smooth", Smooth)):
        for row in evaluate(scores, BASELINE, 1.0, value=family, minus=True).rows():
            found[row["system"]] |= {f"{short}_{name}": row[form] for short, form in FORMS.items()}
    for line in printed("ecir2020-table2-linear-vs-smooth"):
        yield from cells_of(line, found[line["system"]])
