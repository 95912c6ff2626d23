"""A published value beside the recomputed one, and the verdict on the pair."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

PROVED = "proved"
CONSISTENT = "consistent with one copy"
VERDICTS = ("equal", PROVED, CONSISTENT, "unexplained", "not run")


@dataclass(frozen=True)
class Cell:
    """One cell of a published table.

    ``recomputed`` is None where the data that it needs are missing. ``reason`` says why the two differ, or
    adds a remark to a difference that nothing explains. ``accepts`` counts the printed values that the reason admits.
    """

    row: str
    column: str
    published: str
    recomputed: float | str | None
    reason: str = ""
    standing: str = "unexplained"
    accepts: int | None = None

    @property
    def half_digit(self) -> float:
        """Half a unit of the last printed digit.

        >>> Cell("s1", "mean", "0.30", 0.3).half_digit
        0.005
        """
        return 0.5 * 10.0 ** -len(self.published.partition(".")[2])

    @property
    def equal(self) -> bool:
        """Whether the recomputed value, rounded as printed, is the printed one, or below it where that is a bound.

        >>> Cell("s1", "mean", "0.30", 0.3049).equal, Cell("s1", "mean", "0.30", 0.3051).equal
        (True, False)
        >>> Cell("s1", "p", "< 0.05", 0.04).equal, Cell("s1", "p", "< 0.05", 0.06).equal
        (True, False)
        """
        if self.recomputed is None or isinstance(self.recomputed, str):
            return self.recomputed == self.published
        if self.published.startswith("<"):
            return self.recomputed < float(self.published[1:])
        return abs(self.recomputed - float(self.published)) <= self.half_digit + 1e-9

    @property
    def difference(self) -> float | None:
        """Recomputed minus published; None if they are not numbers."""
        if self.recomputed is None or isinstance(self.recomputed, str) or self.published.startswith("<"):
            return None
        return self.recomputed - float(self.published)

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.equal:
            return "equal"
        if self.recomputed is None:
            return "not run"
        return self.standing

    def prove(self, reason: str, low: float, high: float, of: str | None = None) -> Cell:
        """The cell with a proof of why it differs, unless it has one or the proof does not reach far enough.

        A proof says between which values the cell must lie. It holds for a published value among them, or for what
        should have been printed instead (``of``).
        """
        if self.reason or self.equal or self.recomputed is None or isinstance(self.recomputed, str):
            return self
        wanted = float(self.published if of is None else of)
        low, high, digit = low - self.half_digit - 1e-9, high + self.half_digit + 1e-9, 2 * self.half_digit
        if not low <= wanted <= high:
            return self
        accepts = math.floor(high / digit) - math.ceil(low / digit) + 1
        return replace(self, reason=reason, standing=PROVED, accepts=accepts)

    def consistent(self, reason: str, twin: Cell) -> Cell:
        """The cell as consistent with one copy of the runs, if the twin that was recomputed with it is equal."""
        return replace(self, reason=reason, standing=CONSISTENT) if twin.equal and not self.equal else self

    def remark(self, hint: str) -> Cell:
        """The cell as unexplained, with a remark."""
        return self if self.equal else replace(self, reason=hint, standing="unexplained")

    def not_run(self, reason: str) -> Cell:
        """The cell as not run; the reason names the missing data."""
        return replace(self, recomputed=None, reason=reason)


@cache
def printed(name: str) -> tuple[dict[str, str], ...]:
    """The lines of a published table, values as printed."""
    text = (files("surefoot_lab.reproduce") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def printed_cell(name: str, system: str, column: str) -> str:
    """One printed value."""
    return next(line[column] for line in printed(name) if line["system"] == system)


def ranks(values: dict[str, float]) -> dict[str, float]:
    """1 for the largest; equal values share the better rank.

    >>> ranks({"a": 0.3, "b": 0.5, "c": 0.3})
    {'a': 2.0, 'b': 1.0, 'c': 2.0}
    """
    return {name: 1.0 + sum(other > own for other in values.values()) for name, own in values.items()}


def cells_of(line: dict[str, str], found: dict[str, float | None]) -> Iterator[Cell]:
    """The cells of a line whose columns were recomputed; empty columns were not printed."""
    name = line["system"]
    return (Cell(name, column, line[column], value) for column, value in found.items() if line[column])
