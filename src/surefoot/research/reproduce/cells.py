"""A published value beside the recomputed one, and the verdict on the pair."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

UNKNOWN = "unknown"
"""The reason of the few cells that nothing explains so far."""


@dataclass(frozen=True)
class Cell:
    """One cell of a published table. ``recomputed`` is None where the data that it needs are missing."""

    row: str
    column: str
    published: str
    recomputed: float | str | None
    reason: str = ""

    @property
    def equal(self) -> bool:
        """Whether the recomputed value, rounded as printed, is the printed one.

        >>> Cell("s1", "mean", "0.30", 0.3049).equal, Cell("s1", "mean", "0.30", 0.3051).equal
        (True, False)
        """
        if self.recomputed is None or isinstance(self.recomputed, str):
            return self.recomputed == self.published
        half_a_digit = 0.5 * 10.0 ** -len(self.published.partition(".")[2])
        return abs(self.recomputed - float(self.published)) <= half_a_digit + 1e-9

    @property
    def difference(self) -> float | None:
        """Recomputed minus published; None if they are not numbers."""
        if self.recomputed is None or isinstance(self.recomputed, str):
            return None
        return self.recomputed - float(self.published)

    @property
    def verdict(self) -> str:
        """equal, explained, unexplained or not run."""
        if self.equal:
            return "equal"
        if self.reason:
            return "explained" if self.recomputed is not None else "not run"
        return "unexplained"

    def explain(self, reason: str, within: float, of: float | None = None) -> Cell:
        """The cell with a reason why it differs, unless it has one or the reason does not cover the difference.

        A reason explains values ``within`` this distance of the published one, or of another value (``of``).
        """
        if self.reason or self.equal or self.recomputed is None or isinstance(self.recomputed, str):
            return self
        near = abs(self.recomputed - (float(self.published) if of is None else of)) <= within
        return replace(self, reason=reason) if near else self

    def not_run(self, reason: str) -> Cell:
        """The cell as not run, with what is missing as the reason."""
        return replace(self, recomputed=None, reason=reason)


@cache
def printed(name: str) -> tuple[dict[str, str], ...]:
    """The lines of a published table, values as printed."""
    text = (files("surefoot.research.reproduce") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


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
