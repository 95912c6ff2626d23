"""Rerankers against their first stage: which losses survive doubts about judgments, and the effect of a guard."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from studies.atlas.collections import FAMILIES, MEASURE, AtlasCollection
from studies.atlas.risk import SEED, table_of
from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import InputError
from surefoot.guard.runs import fit_guard_to_runs
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.bounds import delta_bounds
from surefoot.judgments.credibility import NO_CHANGE, credibility
from surefoot.results import Result

DRAWS = 1_000
SIZES = (0.05, 0.1, 0.2)
"""Between which sizes differences are counted apart."""


def doubted_pairs(atlas: Sequence[AtlasCollection]) -> Result:
    """Each reranker's losses against its first stage, and how many survive."""
    rows = []
    for one in atlas:
        pairs = list(one.reranked())
        if not pairs or one.is_complete:
            continue
        disagreement = (
            Disagreement.fit(one.judged, one.assessors) if one.assessors else Disagreement.shipped(one.judged.levels)
        )
        rows += [_pair(one, run, first, disagreement) for run, first in pairs]
    return table_of("doubts", rows, atlas, _NOTE)


_NOTE = (
    "not an artefact: a loss whatever the grades of unjudged documents; three assessors: a loss for both further ones "
    "too; contradicted: a win for one of them; credible: a loss for another assessor with 95 % probability"
)


def _pair(one: AtlasCollection, run: str, first: str, disagreement: Disagreement) -> dict[str, Any]:
    pair = one.judged.pair(run, first)
    found = credibility(one.judged, run, first, assessors=disagreement, n_draws=DRAWS, seed=SEED)
    bounds = delta_bounds(pair)
    lost, won = pair.delta < -NO_CHANGE, pair.delta > NO_CHANGE
    further = one.further_deltas(run, first)
    return {
        "collection": one.name,
        "run": run,
        "family": one.family(run),
        "first stage": first,
        "judged": float(one.judged.judged(run).mean()),
        "losses": int(lost.sum()),
        "losses, not an artefact": int((lost & (bounds.high < -NO_CHANGE)).sum()),
        **_agreement("losses", lost, -further),
        "credible losses": int((lost & (found["credible"] == "loss")).sum()),
        "wins": int(won.sum()),
        "wins, not an artefact": int((won & (bounds.low > NO_CHANGE)).sum()),
        **_agreement("wins", won, further),
        "credible wins": int((won & (found["credible"] == "win")).sum()),
    }


def by_size(atlas: Sequence[AtlasCollection]) -> Result:
    """How many losses and wins of each size the further assessors see too: are losses doubted more than wins?"""
    rows = []
    for one in (one for one in atlas if one.assessors):
        pairs = list(one.reranked())
        delta = np.concatenate([one.delta(*pair) for pair in pairs])
        further = np.concatenate([one.further_deltas(*pair) for pair in pairs], axis=1)
        for low, high in pairwise((NO_CHANGE, *SIZES, np.inf)):
            size = f"{low:.2f} or more" if high == np.inf else f"{low:.2f} to {high:.2f}"
            row: dict[str, Any] = {"collection": one.name, "size": size}
            for kind, sign in (("losses", -1), ("wins", 1)):
                inside = (sign * delta >= low) & (sign * delta < high)
                row |= {kind: int(inside.sum()), **_agreement(kind, inside, sign * further)}
            rows.append(row)
    return table_of("sizes", rows, [one for one in atlas if one.assessors])


def _agreement(kind: str, which: BoolArray, further: FloatArray) -> dict[str, int | None]:
    """Of some differences, those of the same sign for all further assessors, and of the other sign for one of them."""
    if not len(further):
        return {f"{kind}, three assessors": None, f"{kind}, contradicted": None}
    return {
        f"{kind}, three assessors": int((which & (further > NO_CHANGE).all(axis=0)).sum()),
        f"{kind}, contradicted": int((which & (further < -NO_CHANGE).any(axis=0)).sum()),
    }


def doubted_families(pairs: Result, atlas: Sequence[AtlasCollection]) -> Result:
    """The same, summed over the rerankers of a family."""
    rows = []
    for one in atlas:
        for family in FAMILIES:
            own = [row for row in pairs.rows() if (row["collection"], row["family"]) == (one.name, family)]
            if own:
                counts = {name: _sum([row[name] for row in own]) for name in list(own[0])[5:]}
                judged = float(np.mean([row["judged"] for row in own]))
                rows.append({"collection": one.name, "family": family, "pairs": len(own), "judged": judged, **counts})
    return table_of("doubted-families", rows, atlas, _NOTE)


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def guarded_pairs(atlas: Sequence[AtlasCollection]) -> Result:
    """Each reranker without and with a guard by its first stage: nested cross-validation with all defaults."""
    rows, refused = [], []
    for one in atlas:
        for run, first in one.reranked():
            try:
                fit = fit_guard_to_runs(one.ranking(first), one.ranking(run), one.qrels, measure=MEASURE, anyway=True)
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
