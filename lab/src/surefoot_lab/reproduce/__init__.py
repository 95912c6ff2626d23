"""The published tables, and the code that recomputes each cell of them.

`reproduce` puts every published value beside the recomputed one and says whether they are equal to the printed digit,
or the proof of the difference, or that one copy of two runs would give it, or that it is unexplained. No cell is left
out, and every reason carries its power: how many printed values it accepts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import SurefootError, did_you_mean
from surefoot.results import Column, Result, signature
from surefoot.scores import Scores
from surefoot_lab.reproduce import arithmetic, claims, ecir2014, ecir2020, learned, risk_task, sigir2014, sigir2016
from surefoot_lab.reproduce.cells import CONSISTENT, VERDICTS, Cell, printed
from surefoot_lab.reproduce.copies import DECIMALS, JointCheck, Recompute, rounding
from surefoot_lab.reproduce.learned import Experiment, read_experiments

COLLECTION = "trec-web-2012"
SHOWN = ("row", "column", "published", "recomputed", "difference", "verdict", "reason", "accepts")
"""The columns that describe a cell."""
NEEDS_SCORES = f"needs the scores of TREC 2012: surefoot data get {COLLECTION}"


@dataclass(frozen=True)
class Evidence:
    """The data that tables are recomputed from; the check of the copies runs once, when a table needs it."""

    scores: Scores | None
    experiment: Experiment

    @cached_property
    def copies(self) -> JointCheck | None:
        """The copies of two runs that the papers may have had."""
        return None if self.scores is None else JointCheck(self.scores)


@dataclass(frozen=True)
class Table:
    """A published table: its title, and how its cells are recomputed."""

    title: str
    cells: Callable[[Evidence], list[Cell]]
    waits_for_scores: bool = False


Explain = Callable[[Cell, Cell], Cell]
"""Explains the difference of a cell, given its twin, which is recomputed with the fitted copies."""


def _of_scores(title: str, files: tuple[str, ...], recompute: Recompute, explain: Explain | None = None) -> Table:
    """A table that needs the scores of TREC 2012."""

    def cells(evidence: Evidence) -> list[Cell]:
        return _as_printed(files) if evidence.scores is None else _judged(evidence, recompute, explain)

    return Table(title, cells, waits_for_scores=True)


def _judged(evidence: Evidence, recompute: Recompute, explain: Explain | None) -> list[Cell]:
    """The cells of a table, explained by errors of the paper, the fitted copies, or the decimals of the scores."""
    copies, scores = evidence.copies, evidence.scores
    assert copies is not None
    assert scores is not None
    cells = list(recompute(scores))
    if all(cell.equal for cell in cells):
        return cells
    return [
        _judge(cell, twin, off, copies, explain)
        for cell, twin, off in zip(cells, recompute(copies.scores), rounding(recompute, scores).tolist(), strict=True)
    ]


def _judge(cell: Cell, twin: Cell, off: float, copies: JointCheck, explain: Explain | None) -> Cell:
    if explain and (known := explain(cell, twin)) is not cell:
        return known
    if twin.recomputed != cell.recomputed:
        return cell.consistent(copies.reason, twin) if copies.met == copies.cells else cell
    value = cell.recomputed
    return cell.prove(DECIMALS, value - off, value + off) if isinstance(value, float) else cell


def _of_print(title: str, recompute: Callable[[], Iterable[Cell]]) -> Table:
    """A table that needs no data."""
    return Table(title, lambda _: list(recompute()))


def _of_experiment(title: str, recompute: Callable[[Experiment], Iterable[Cell]]) -> Table:
    """A table of learned rankers."""
    return Table(title, lambda evidence: list(recompute(evidence.experiment)))


def _claims(evidence: Evidence) -> list[Cell]:
    if evidence.scores is None:
        return _as_printed(claims.FILES, labels=2)
    return _judged(evidence, lambda scores: claims.claims(scores, evidence.experiment), claims.explain)


def _as_printed(files: tuple[str, ...], labels: int = 1) -> list[Cell]:
    """The cells of a table that can't be recomputed here; the first columns of a file name a row."""
    return [
        Cell(" ".join(list(line.values())[:labels]), column, value, None, NEEDS_SCORES)
        for file in files
        for line in printed(file)
        for column, value in list(line.items())[labels:]
        if value
    ]


TABLES = {
    "sigir2014-table1": _of_scores(
        "SIGIR 2014, table 1: U_Risk and its standard errors",
        ("sigir2014-table1-standard-errors",),
        sigir2014.table1,
    ),
    "sigir2014-table2": _of_scores(
        "SIGIR 2014, table 2: T_Risk and p", ("sigir2014-table2-trisk-pvalues",), sigir2014.table2
    ),
    "sigir2014-table3": _of_experiment("SIGIR 2014, table 3: learned rankers on MSLR", learned.sigir2014_table3),
    "ecir2014-table1": _of_scores(
        "ECIR 2014, table 1: U_Risk against indriCASP", ("ecir2014-table1-urisk",), ecir2014.table1
    ),
    "ecir2014-table2": _of_scores(
        "ECIR 2014, table 2: every run as the baseline, alpha = 10",
        ("ecir2014-table2-every-run-as-baseline-a10", "ecir2014-table2-ranks"),
        ecir2014.table2,
    ),
    "ecir2014-table3": _of_scores(
        "ECIR 2014, table 3: MEAN, MEDIAN and MAX as the baseline",
        (ecir2014.VIRTUAL_TABLE,),
        ecir2014.table3,
        ecir2014.explain_table3,
    ),
    "sigir2016-table3": _of_print("SIGIR 2016, table 3: margins of the example", sigir2016.table3),
    "sigir2016-table4": _of_print("SIGIR 2016, table 4: z against a single baseline", sigir2016.table4),
    "sigir2016-table5": _of_print("SIGIR 2016, table 5: Z_Risk and GeoRisk of the example", sigir2016.table5),
    "sigir2016-table6": _of_scores(
        "SIGIR 2016, table 6: all measures on TREC 2012",
        ("sigir2016-table6-trec2012",),
        sigir2016.table6,
        sigir2016.explain_table6,
    ),
    "sigir2016-table7": _of_experiment("SIGIR 2016, table 7: learned rankers on MSLR", learned.sigir2016_table7),
    "ecir2020-table2": _of_scores(
        "ECIR 2020, table 2: linear and smooth values", ("ecir2020-table2-linear-vs-smooth",), ecir2020.table2
    ),
    "trec-web-2013": _of_print("TREC 2013 Web track, risk-sensitive task: official U_Risk", risk_task.web2013),
    "trec-web-2014": _of_print("TREC 2014 Web track, risk-sensitive task: official U_Risk", risk_task.web2014),
    "claims": Table("Claims in the text of the papers", _claims, waits_for_scores=True),
    "arithmetic": _of_print("Identities between printed cells", arithmetic.arithmetic),
}


@dataclass(frozen=True, kw_only=True)
class Reproduction(Result):
    """One row for each cell; ``waiting`` are the tables that were not run because the scores are missing.

    ``new`` counts the unexplained cells without a remark; ``controls`` are lines on the check of the copies.
    """

    summary: dict[str, int]
    waiting: tuple[str, ...]
    new: int
    controls: tuple[str, ...]

    def reasons(self) -> Result:
        """Each reason with its cells, and its power: the median number of printed values that it accepts for one."""
        groups: dict[tuple[str, str], list[int | None]] = {}
        for row in self.rows():
            if row["reason"]:
                groups.setdefault((row["verdict"], row["reason"]), []).append(row["accepts"])
        order = sorted(groups, key=lambda key: (VERDICTS.index(key[0]), -len(groups[key])))
        found = [[one for one in groups[key] if one is not None] for key in order]
        return Result(
            self.signature,
            {
                "verdict": [verdict for verdict, _ in order],
                "cells": [len(groups[key]) for key in order],
                "accepts": [median_low(own) if own else None for own in found],
                "reason": [reason for _, reason in order],
            },
        )

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
        return {
            "signature": self.signature, "summary": self.summary, "controls": list(self.controls), "tables": tables,
            "waiting": list(self.waiting),
        }  # fmt: skip


def load_scores() -> Scores | None:
    """ERR@20 of the TREC 2012 Web runs; None if the collection is not on this machine."""
    from surefoot.io.tables import read_scores
    from surefoot_lab.datasets.store import locate

    folder = locate(COLLECTION)
    return None if folder is None else read_scores(folder / "err20.csv", measure="ERR@20")


def reproduce(
    scores: Scores | None = None, tables: Sequence[str] = (), *, experiments: Sequence[PathLike] = ()
) -> Reproduction:
    """Recompute the published tables (all, or those named) from ERR@20 of the TREC 2012 Web runs.

    Parameters
    ----------
    scores
        ERR@20 of the runs; without them, only the tables that need none are recomputed.
    tables
        The names of tables, as in `TABLES`.
    experiments
        Folders that `surefoot experiment` wrote on MSLR-WEB10K, for the tables of learned rankers.

    Returns
    -------
    Reproduction
        One row for each published cell; ``waiting`` names the tables that were not recomputed.

    Examples
    --------
    >>> reproduce(tables=["sigir2016-table5"]).summary
    {'cells': 72, 'equal': 72, 'proved': 0, 'consistent with one copy': 0, 'unexplained': 0, 'not run': 0}

    """
    chosen = list(tables) or list(TABLES)
    unknown = [name for name in chosen if name not in TABLES]
    if unknown:
        hint = did_you_mean(unknown[0], TABLES)
        raise SurefootError(f"no table {unknown[0]!r}{hint}; there are {', '.join(TABLES)}")
    evidence = Evidence(scores, read_experiments(experiments))
    cells = {name: TABLES[name].cells(evidence) for name in chosen}
    every = [(name, cell) for name, own in cells.items() for cell in own]
    count = Counter(cell.verdict for _, cell in every)
    columns: dict[str, Column] = {
        "table": [name for name, _ in every],
        **{name: [getattr(cell, name) for _, cell in every] for name in SHOWN},
    }
    return Reproduction(
        signature=signature("reproduce", tables=chosen),
        columns=columns,
        summary={"cells": len(every), **{verdict: count[verdict] for verdict in VERDICTS}},
        waiting=tuple(name for name in chosen if scores is None and TABLES[name].waits_for_scores),
        new=sum(cell.verdict == "unexplained" and not cell.reason for _, cell in every),
        controls=tuple(evidence.copies.lines()) if count[CONSISTENT] and evidence.copies else (),
    )
