"""Published and recomputed figures side by side, for readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surefoot.results import Result

if TYPE_CHECKING:
    from surefoot_lab.reproduce import Reproduction


def readable(table: Result) -> Result:
    """The cells of one table with two digits more than were printed, and verdict and reason in one column."""
    rows = table.rows()
    verdicts = [f"{row['verdict']}: {row['reason']}" if row["reason"] else row["verdict"] for row in rows]
    return Result(
        table.signature,
        {
            **{name: [row[name] for row in rows] for name in ("row", "column", "published")},
            **{name: [_digits(row, name) for row in rows] for name in ("recomputed", "difference")},
            "verdict": verdicts,
        },
    )


def summary_line(result: Reproduction) -> str:
    """How many cells, and how they fared."""
    counts = ", ".join(f"{count} {name}" for name, count in result.summary.items() if name != "cells")
    return f"{result.summary['cells']} cells: {counts.replace('equal', 'equal to the printed digit', 1)}"


def _digits(row: dict[str, Any], column: str) -> str:
    value = row[column]
    if value is None or isinstance(value, str):
        return value or "–"
    _, point, decimals = row["published"].partition(".")
    return f"{value:.{len(decimals) + 2}f}" if point else f"{value:g}"
