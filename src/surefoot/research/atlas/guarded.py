"""Rerankers before and after a guard, out of sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot._typing import Progress
from surefoot.errors import InputError
from surefoot.guard.runs import fit_guard_to_runs
from surefoot.research.atlas.collections import FAMILIES, MEASURE, AtlasCollection
from surefoot.research.atlas.risk import table_of
from surefoot.results import Result


def guarded_pairs(atlas: Sequence[AtlasCollection], progress: Progress | None = None) -> Result:
    """Each reranker left alone and guarded by its first stage: nested cross-validation with all defaults."""
    rows, refused = [], []
    for one in atlas:
        pairs = list(one.reranked())
        for done, (run, first) in enumerate(pairs):
            if progress is not None:
                progress(done, len(pairs), f"Guarding {one.name}: {run}")
            try:
                fit = fit_guard_to_runs(one.ranking(first), one.ranking(run), one.qrels, measure=MEASURE)
            except InputError as error:
                refused.append(f"{one.name}, {run}: {error.message}")
                continue
            found = {row["guard"]: row for row in fit.rows()}
            rows.append({"collection": one.name, "run": run, "family": one.family(run), "first stage": first,
                         **_row(found["none"], found["chosen"])})  # fmt: skip
    return table_of("guards", rows, atlas, *refused)


def _row(alone: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    return {
        "mean": alone["mean"],
        "guarded mean": chosen["mean"],
        "change": chosen["mean_change"],
        "low": chosen["mean_low"],
        "high": chosen["mean_high"],
        "frisk": alone["frisk"],
        "guarded frisk": chosen["frisk"],
        "losses": alone["losses"],
        "guarded losses": chosen["losses"],
    }


def guarded_families(pairs: Result, atlas: Sequence[AtlasCollection]) -> Result:
    """The same on average over the rerankers of a family."""
    rows = []
    for one in atlas:
        for family in FAMILIES:
            own = [row for row in pairs.rows() if (row["collection"], row["family"]) == (one.name, family)]
            if not own:
                continue
            mean = {
                name: float(np.mean([row[name] for row in own]))
                for name in ("mean", "guarded mean", "frisk", "guarded frisk")
            }
            rows.append(
                {"collection": one.name, "family": family, "pairs": len(own), **mean}
                | {name: int(sum(row[name] for row in own)) for name in ("losses", "guarded losses")}
                | {"worse by more than noise": sum(row["high"] < 0 for row in own)}
            )
    return table_of("guarded-families", rows, atlas)
