"""The trade-off as a table: the risk and the gain of each alpha on the test queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import interval_columns
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.risk import get_risk
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.curve import ORIGIN, Points, concatenate
from surefoot_lab.tradeoff.hull import area_between, nearest_alpha
from surefoot_lab.tradeoff.sweep import Sweep

MEASURES = ("urisk", "frisk", "freward", "wins", "losses", "loss20")
WITH_INTERVAL = ("ugain", "frisk")
"""Columns that a terminal table shows with intervals; CSV and JSON have those of U_Risk too."""


@dataclass(frozen=True, eq=False)
class TradeoffTable(Result):
    """One row for each alpha; see `tradeoff_table` for the columns."""

    def readable(self) -> Result:
        """Each interval in one column, and only those of gain and risk."""
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if name in WITH_INTERVAL:
                ends = zip(self[f"{name}_low"], self[f"{name}_high"], strict=True)
                columns |= {name: column, f"{name} 95 %": [f"{low:z.3f} to {high:z.3f}" for low, high in ends]}
            elif not name.endswith(("_low", "_high")):
                columns[name] = column
        return Result(self.signature, columns, self.notes)


def tradeoff_table(sweep: Sweep, bootstrap: BootstrapMethod | None = None) -> TradeoffTable:
    """The risk and the gain of each alpha, one row for each.

    Parameters
    ----------
    sweep
        The models of a trade-off.
    bootstrap
        How intervals are computed; studentised with 10,000 resamples by default.

    Returns
    -------
    TradeoffTable
        The columns explained below.

    Notes
    -----
    ``mean`` is the model's effectiveness, ``ugain`` how much that is above the baseline's, ``frisk`` and ``freward``
    the mean loss and the mean gain, ``urisk`` U_Gain - alpha F_Risk at the row's own alpha. ``churn`` is the mean
    Kendall distance to the baseline's ranking, ``best`` the fraction of queries on which no other alpha does better
    (tied alphas divide a query), ``to95`` the iterations to 95 % of the last one's gain. Bounds are those of
    bootstrap intervals.

    """
    bootstrap = bootstrap or BootstrapMethod()
    design = Design.of(sweep.test, sweep.baseline, sweep.models)
    found = design.values(map(get_risk, MEASURES), sweep.alphas)
    bounds = interval_columns(design, sweep.alphas, ("urisk", "frisk"), bootstrap)
    own = np.arange(len(sweep.alphas))
    columns: dict[str, Column] = {
        "alpha": sweep.alphas,
        "trees": np.array(sweep.trees),
        "mean": sweep.test.values[1:].mean(axis=1),
        "ugain": found["urisk"][0],
        "ugain_low": bounds["urisk_low"][0],
        "ugain_high": bounds["urisk_high"][0],
        "frisk": found["frisk"][0],
        "frisk_low": bounds["frisk_low"][0],
        "frisk_high": bounds["frisk_high"][0],
        "freward": found["freward"][0],
        "urisk": found["urisk"][own, own],
        "urisk_low": bounds["urisk_low"][own, own],
        "urisk_high": bounds["urisk_high"][own, own],
        **{name: found[name][0].astype(np.int64) for name in ("wins", "losses", "loss20")},
        "churn": np.full(own.size, np.nan) if sweep.churn is None else sweep.churn.values.mean(axis=1),
        "best": best_fractions(sweep.test.values[1:]),
        "to95": np.array(sweep.converged()),
    }
    stated = signature(
        "tradeoff", measure=sweep.test.measure, objective=sweep.objective, baseline=sweep.baseline,
        alpha=sweep.alphas.tolist(), topics=len(sweep.test.topics), **bootstrap.signature_fields(),
    )  # fmt: skip
    return TradeoffTable(stated, columns, (*sweep.notes, *_notes(sweep)))


def _notes(sweep: Sweep) -> list[str]:
    """The baseline's own mean, the limit of alpha, and how far the curve lies above simpler methods."""
    mean = float(sweep.test.values[0].mean())
    notes = [f"{sweep.baseline} itself: {sweep.test.measure} {mean:.4f} over {len(sweep.test.topics):,} test queries"]
    nearest = nearest_alpha(sweep.alphas, sweep.limit)
    notes.append(
        f"on the training queries the gain-only model gains {sweep.limit:.3g} times what it risks, alpha's limit; for "
        f"less risk than alpha = {nearest:g} has, the nearest one computed, flip a coin between it and the baseline"
    )
    gain_only = concatenate(ORIGIN, sweep.curve[:1])
    notes.append(_compared(sweep.curve, gain_only, "flipping a coin between the gain-only model and the baseline"))
    if sweep.selective is not None and sweep.feature is not None:
        notes.append(_compared(sweep.curve, sweep.selective.points, f"re-ranking only where {sweep.feature.systems[0]} "
                               "is below a threshold"))  # fmt: skip
    return notes


def _compared(curve: Points, other: Points, what: str) -> str:
    found = area_between(concatenate(ORIGIN, curve), other)
    side = "above" if found.height >= 0 else "below"
    return (
        f"the curve lies {abs(found.height):.4f} {side} {what}, on average over risks from {found.low:.4f} to "
        f"{found.high:.4f}"
    )


def best_fractions(systems: npt.ArrayLike) -> FloatArray:
    """The fraction of queries on which each system (row) is the best; tied systems divide a query evenly.

    >>> best_fractions([[0.2, 0.5, 0.3], [0.4, 0.5, 0.1]])
    array([0.5, 0.5])
    """
    x = np.asarray(systems, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise SurefootError(f"the best system needs a matrix of systems × queries; got shape {x.shape}")
    best = x == x.max(axis=0)
    return np.asarray((best / best.sum(axis=0)).mean(axis=1))
