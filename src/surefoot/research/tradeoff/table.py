"""The trade-off as a table: what each alpha costs and brings on the test queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.analysis.design import Setting
from surefoot.analysis.figures import against_one
from surefoot.research.tradeoff.changes import best_shares
from surefoot.research.tradeoff.curve import ORIGIN, Points, joined
from surefoot.research.tradeoff.hull import Area, area_between
from surefoot.research.tradeoff.sweep import Sweep
from surefoot.results import Column, Result, signature
from surefoot.scores import FloatArray
from surefoot.stats.intervals import How, interval_columns

SHOWN = ("ugain", "frisk")
"""Columns whose intervals people see; CSV and JSON have those of U_Risk too."""


@dataclass(frozen=True, eq=False)
class TradeoffTable(Result):
    """A row for each alpha; see `tradeoff_table` for the columns."""

    def readable(self) -> Result:
        """Each interval in one column, and only those of gain and risk."""
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if name in SHOWN:
                ends = zip(self[f"{name}_low"], self[f"{name}_high"], strict=True)
                columns |= {name: column, f"{name} 95 %": [f"{low:z.3f} to {high:z.3f}" for low, high in ends]}
            elif not name.endswith(("_low", "_high")):
                columns[name] = column
        return Result(self.signature, columns, self.notes)


def tradeoff_table(sweep: Sweep, how: How | None = None) -> TradeoffTable:
    """What each alpha costs and brings, a row for each.

    ``mean`` is the model's effectiveness, ``ugain`` how much that is above the baseline's, ``frisk`` and ``freward``
    the mean loss and the mean gain, ``urisk`` U_Gain - alpha F_Risk at the row's own alpha. ``churn`` is the mean
    Kendall distance to the baseline's ranking, ``best`` the share of queries on which no other alpha does better (ties
    share a query), ``to95`` the iterations to 95 % of the last value. Bounds are those of bootstrap intervals.
    """
    how = how or How()
    setting = Setting.of(sweep.test, sweep.baseline, sweep.models)
    found = against_one(setting, sweep.alphas)
    bounds = interval_columns(setting, sweep.alphas, ("urisk", "frisk"), how)
    own = np.arange(len(sweep.alphas))
    columns: dict[str, Column] = {
        "alpha": sweep.alphas,
        "trees": np.array(sweep.trees),
        "mean": sweep.test.values[1:].mean(axis=1),
        "ugain": found["urisk"][0],
        "ugain_low": bounds["urisk_low"][0],
        "ugain_high": bounds["urisk_high"][0],
        "frisk": found["frisk"],
        "frisk_low": bounds["frisk_low"][0],
        "frisk_high": bounds["frisk_high"][0],
        "freward": found["freward"],
        "urisk": found["urisk"][own, own],
        "urisk_low": bounds["urisk_low"][own, own],
        "urisk_high": bounds["urisk_high"][own, own],
        **{name: found[name] for name in ("wins", "losses", "loss20")},
        "churn": np.full(own.size, np.nan) if sweep.churn is None else sweep.churn.values.mean(axis=1),
        "best": best_shares(sweep.test.values[1:]),
        "to95": np.array(sweep.converged()),
    }
    stated = signature(
        "tradeoff", measure=sweep.test.measure, objective=sweep.objective, baseline=sweep.baseline,
        alpha=sweep.alphas.tolist(), topics=len(sweep.test.topics), **how.stated(),
    )  # fmt: skip
    return TradeoffTable(stated, columns, (*sweep.notes, *_notes(sweep)))


def _notes(sweep: Sweep) -> list[str]:
    """What the lines and the hull say, in words."""
    mean = float(sweep.test.values[0].mean())
    notes = [f"{sweep.baseline} itself: {sweep.test.measure} {mean:.4f} over {len(sweep.test.topics):,} test queries"]
    inside: FloatArray = sweep.alphas[sweep.alphas <= sweep.limit]
    notes.append(
        f"on the training queries the gain-only model gains {sweep.limit:.3g} times what it risks; for less risk than "
        f"alpha = {inside[-1]:g} has, flip a coin between it and the baseline"
    )
    gain_only = joined(ORIGIN, sweep.curve[:1])
    notes.append(_compared(sweep.curve, gain_only, "flipping a coin between the gain-only model and the baseline"))
    if sweep.selective is not None and sweep.feature is not None:
        notes.append(_compared(sweep.curve, sweep.selective.points, f"re-ranking only where {sweep.feature.systems[0]} "
                               "is below a threshold"))  # fmt: skip
    return notes


def _compared(curve: Points, other: Points, what: str) -> str:
    found: Area = area_between(joined(ORIGIN, curve), other)
    side = "above" if found.height >= 0 else "below"
    return (
        f"the curve lies {abs(found.height):.4f} {side} {what}, on average over risks from {found.low:.4f} to "
        f"{found.high:.4f}"
    )
