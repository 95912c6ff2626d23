"""How far risk measures put the systems into the same order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from surefoot.analysis.evaluate import evaluate
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk.measures import get_risk
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement import kendall, ranking, rbo

USUAL = ("mean", "urisk", "trisk", "zrisk", "georisk")


def rank_agreement(
    scores: ScoresLike, baseline: str | None = None, alpha: float = 1.0, *, measures: Sequence[str] = (), p: float = 0.9
) -> Result:
    """Kendall's tau and RBO between the orders of the systems by each two measures; the baseline's own row is left out.

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    measures
        Names of measures; the mean, U_Risk, T_Risk, Z_Risk and GeoRisk by default.
    p
        The parameter of `rbo`.

    Returns
    -------
    Result
        Columns ``measure, other, tau, p, weighted_tau, rbo_minimum, rbo_residual`` (`kendall`, `rbo`).

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((6, 30)), "abcdef", range(30))
    >>> rank_agreement(scores, "a", 5, measures=["mean", "urisk"])["tau"].round(2)
    array([0.8])

    """
    scores = Scores.of(scores)
    names = list(measures) or [name for name in USUAL if baseline is not None or get_risk(name).needs != "baseline"]
    directed = [get_risk(name) for name in names]
    if len(names) < 2 or any(one.higher_is_better is None for one in directed):
        raise SurefootError(f"orders need two measures or more in which one value is better; got {', '.join(names)}")
    found = evaluate(scores, baseline, alpha, extra=names)
    kept = found["system"] != (baseline or "")
    orders = {one.name: found[one.name][kept] * (1 if one.higher_is_better else -1) for one in directed}
    if np.isnan(list(orders.values())).any():
        raise SurefootError("some measure is undefined for some system; choose other measures or systems")
    pairs = [(one, two, kendall(orders[one], orders[two]), rbo(ranking(orders[one]), ranking(orders[two]), p))
             for one, two in combinations(orders, 2)]  # fmt: skip
    fields = {"baseline": baseline, "alpha": float(alpha), "p": p, "systems": int(kept.sum())}
    return Result(
        signature("rank-agreement", measure=scores.measure, **fields, topics=len(scores.topics)),
        {
            "measure": [one for one, *_ in pairs],
            "other": [two for _, two, *_ in pairs],
            "tau": np.array([tau.tau for _, _, tau, _ in pairs]),
            "p": np.array([tau.p for _, _, tau, _ in pairs]),
            "weighted_tau": np.array([tau.weighted for _, _, tau, _ in pairs]),
            "rbo_minimum": np.array([overlap.minimum for *_, overlap in pairs]),
            "rbo_residual": np.array([overlap.residual for *_, overlap in pairs]),
        },
        scores.all_notes,
    )
