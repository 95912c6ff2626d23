"""The published tables, and the code that recomputes each cell of them.

`reproduce` puts every published value beside the recomputed one and says whether they are equal to the printed digit,
or why not. No cell is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.errors import SurefootError
from surefoot.research.reproduce import claims, ecir2014, ecir2020, sigir2014, sigir2016
from surefoot.research.reproduce.cells import Cell, printed
from surefoot.results import Column, Result, signature
from surefoot.scores import Scores

VERDICTS = ("equal", "explained", "unexplained")


@dataclass(frozen=True)
class Table:
    """A published table: its title, the files of its printed values, and the function that recomputes its cells.

    The first ``labels`` columns of the file name a row. ``recompute`` is None for tables of learned rankers, which
    only an experiment on MSLR-WEB10K can recompute.
    """

    title: str
    files: tuple[str, ...]
    recompute: Callable[..., Iterable[Cell]] | None
    needs_scores: bool = True
    labels: int = 1

    def cells(self, scores: Scores | None) -> list[Cell]:
        """Every cell; marked as not run where the data that it needs are missing."""
        if self.recompute is None:
            return self._as_printed(claims.NEEDS_MSLR)
        if not self.needs_scores:
            return list(self.recompute())
        return self._as_printed(NEEDS_SCORES) if scores is None else list(self.recompute(scores))

    @property
    def waits_for_scores(self) -> bool:
        """Whether recomputing it needs the scores of TREC 2012."""
        return self.needs_scores and self.recompute is not None

    def _as_printed(self, reason: str) -> list[Cell]:
        return [
            Cell(" ".join(list(line.values())[: self.labels]), column, value, None, reason)
            for file in self.files
            for line in printed(file)
            for column, value in list(line.items())[self.labels :]
            if value
        ]


COLLECTION = "trec-web-2012"
NEEDS_SCORES = f"needs the scores of TREC 2012: surefoot data get {COLLECTION}"


TABLES = {
    "sigir2014-table1": Table(
        "SIGIR 2014, table 1: U_Risk and its standard errors", ("sigir2014-table1-standard-errors",), sigir2014.table1
    ),
    "sigir2014-table2": Table(
        "SIGIR 2014, table 2: T_Risk and p", ("sigir2014-table2-trisk-pvalues",), sigir2014.table2
    ),
    "sigir2014-table3": Table(
        "SIGIR 2014, table 3: learned rankers on MSLR", ("sigir2014-table3-mslr",), None, labels=2
    ),
    "ecir2014-table1": Table(
        "ECIR 2014, table 1: U_Risk against indriCASP", ("ecir2014-table1-urisk",), ecir2014.table1
    ),
    "ecir2014-table2": Table(
        "ECIR 2014, table 2: every run as the baseline, alpha = 10",
        ("ecir2014-table2-every-run-as-baseline-a10", "ecir2014-table2-ranks"),
        ecir2014.table2,
    ),
    "ecir2014-table3": Table(
        "ECIR 2014, table 3: MEAN, MEDIAN and MAX as the baseline",
        ("ecir2014-table3-mean-median-max",),
        ecir2014.table3,
    ),
    "sigir2016-table3": Table(
        "SIGIR 2016, table 3: margins of the example", ("sigir2016-table3-example-matrix",), sigir2016.table3, False
    ),
    "sigir2016-table4": Table(
        "SIGIR 2016, table 4: z against a single baseline",
        ("sigir2016-table4-single-baseline",),
        sigir2016.table4,
        False,
    ),
    "sigir2016-table5": Table(
        "SIGIR 2016, table 5: Z_Risk and GeoRisk of the example",
        ("sigir2016-table5-zrisk-georisk",),
        sigir2016.table5,
        False,
    ),
    "sigir2016-table6": Table(
        "SIGIR 2016, table 6: all measures on TREC 2012", ("sigir2016-table6-trec2012",), sigir2016.table6
    ),
    "sigir2016-table7": Table(
        "SIGIR 2016, table 7: learned rankers on MSLR", ("sigir2016-table7-mslr",), None, labels=3
    ),
    "ecir2020-table2": Table(
        "ECIR 2020, table 2: linear and smooth values", ("ecir2020-table2-linear-vs-smooth",), ecir2020.table2
    ),
    "claims": Table("What the papers say in their text", ("claims", "ecir2014-implied-taus"), claims.claims, labels=2),
}


@dataclass(frozen=True, kw_only=True)
class Reproduction(Result):
    """One row for each cell; ``waiting`` are the tables that were not run because the scores are missing."""

    summary: dict[str, int]
    waiting: tuple[str, ...]

    def tables(self) -> dict[str, Result]:
        """The rows of each table."""
        names = dict.fromkeys(self.columns["table"])
        return {name: self._only(name) for name in names}

    def _only(self, table: str) -> Result:
        rows = [row for row in self.rows() if row["table"] == table]
        return Result(
            self.signature, {column: [row[column] for row in rows] for column in rows[0] if column != "table"}
        )

    def to_json(self) -> dict[str, Any]:
        """The summary, and the tables with their cells."""
        tables = [
            {"table": name, "title": TABLES[name].title, "cells": result.rows()}
            for name, result in self.tables().items()
        ]
        return {"signature": self.signature, "summary": self.summary, "tables": tables, "waiting": list(self.waiting)}


def load_scores() -> Scores | None:
    """ERR@20 of the TREC 2012 Web runs; None if the collection is not on this machine."""
    from surefoot.io.tables import read_scores
    from surefoot.research.datasets.store import locate

    folder = locate(COLLECTION)
    return None if folder is None else read_scores(folder / "err20.csv", measure="ERR@20")


def reproduce(scores: Scores | None = None, tables: Sequence[str] = ()) -> Reproduction:
    """Recompute the published tables (all, or those named) from ERR@20 of the TREC 2012 Web runs.

    Parameters
    ----------
    scores
        ERR@20 of the runs; without them, only the tables that need none are recomputed.
    tables
        The names of tables, as in `TABLES`.

    Returns
    -------
    Reproduction
        One row for each published cell; ``waiting`` names the tables that were not recomputed.

    Examples
    --------
    >>> reproduce(tables=["sigir2016-table5"]).summary
    {'cells': 72, 'equal': 72, 'explained': 0, 'unexplained': 0, 'not run': 0}

    """
    chosen = list(tables) or list(TABLES)
    unknown = [name for name in chosen if name not in TABLES]
    if unknown:
        raise SurefootError(f"no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    cells = {name: TABLES[name].cells(scores) for name in chosen}
    every = [(name, cell) for name, own in cells.items() for cell in own]
    count = Counter(cell.verdict for _, cell in every)
    columns: dict[str, Column] = {
        "table": [name for name, _ in every],
        "row": [cell.row for _, cell in every],
        "column": [cell.column for _, cell in every],
        "published": [cell.published for _, cell in every],
        "recomputed": [cell.recomputed for _, cell in every],
        "difference": [cell.difference for _, cell in every],
        "verdict": [cell.verdict for _, cell in every],
        "reason": [cell.reason for _, cell in every],
    }
    return Reproduction(
        signature=signature("reproduce", tables=chosen),
        columns=columns,
        summary={"cells": len(every), **{verdict: count[verdict] for verdict in (*VERDICTS, "not run")}},
        waiting=tuple(name for name in chosen if scores is None and TABLES[name].waits_for_scores),
    )
