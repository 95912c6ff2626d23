"""Linear, smooth and monotone values on real runs: does the cubic exist, and does the choice change who looks safe?

The baseline is the run of median effectiveness, by rule, so that nothing is chosen by looking. RBO is its minimum at
p = 0.9 between the rankings of all systems by linear values and by the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from surefoot_lab.agreement.normality import normality
from surefoot_lab.agreement.rankings import value_agreement

from studies.real_runs import real_scores
from surefoot import Scores, SurefootError
from surefoot.results import Result, by_column, signature
from surefoot.risk import Monotone, Smooth
from surefoot.risk.values import fences

ALPHAS = (1.0, 5.0)


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    collections = list(real_scores() if less == 1 else real_scores(("nDCG@10",)))
    yield "For how many baselines does the cubic of ECIR 2020 exist?", _table("existence", map(_existence, collections))
    rows = [row for name, scores in collections for alpha in ALPHAS for row in _overlaps(name, scores, alpha)]
    yield "RBO of linear with other values, baseline of median effectiveness", _table("overlap", rows)
    yield (
        "Systems whose mean value is close to normal, alpha = 1",
        _table("normality", (_normal(name, scores, 2000 // less) for name, scores in collections)),
    )


def _table(kind: str, rows: Any) -> Result:
    listed = list(rows)
    return Result(signature(f"values-{kind}"), by_column(listed))


def _of(name: str, scores: Scores) -> dict[str, Any]:
    systems, topics = scores.values.shape
    return {"collection": name, "measure": scores.measure, "systems": systems, "topics": topics}


def _existence(pair: tuple[str, Scores]) -> dict[str, Any]:
    name, scores = pair
    found = {f"smooth, alpha {alpha:g}": sum(_exists(scores, row, alpha) for row in range(len(scores.systems)))
             for alpha in ALPHAS}  # fmt: skip
    return {**_of(name, scores), **found, "monotone": len(scores.systems)}


def _exists(scores: Scores, row: int, alpha: float) -> bool:
    others = np.delete(scores.values, row, axis=0) - scores.values[row]
    Monotone(alpha, *fences(others))(others)  # exists for all; an error would stop the study
    try:
        Smooth(alpha, *fences(others))
    except SurefootError:
        return False
    return True


def _median(scores: Scores) -> str:
    order = np.argsort(scores.values.mean(axis=1), kind="stable")
    return scores.systems[order[len(order) // 2]]


def _overlaps(name: str, scores: Scores, alpha: float) -> Iterator[dict[str, Any]]:
    for value in ("smooth", "monotone"):
        try:
            rows = value_agreement(scores, _median(scores), alpha, value=value).rows()[-4:]
            found = {row["measure"]: f"{row['minimum']:.3f}" for row in rows}
        except SurefootError:
            found = {}
        shown = {word: found.get(word, "–") for word in ("urisk", "zrisk", "georisk")}
        yield {"collection": name, "measure": scores.measure, "alpha": f"{alpha:g}", "value": value, **shown}


def _normal(name: str, scores: Scores, n_resamples: int) -> dict[str, Any]:
    baseline = _median(scores)
    close: dict[str, int | str] = dict.fromkeys(("none", "linear", "smooth", "monotone"), 0)
    fitted = Monotone.fitted(np.delete(scores.values, scores.row(baseline), axis=0) - scores[baseline])
    others = [system for system in scores.systems if system != baseline]
    for system in others:
        rows = normality(scores, system, baseline, 1.0, n_resamples).rows()
        for row in rows:
            close[row["value"]] += bool(row["close"])  # type: ignore[operator]
        if all(row["value"] != "smooth" for row in rows):
            close["smooth"] = "–"
        own = normality(scores, system, baseline, 1.0, n_resamples, smooth=fitted).rows()
        close["monotone"] += any(  # type: ignore[operator]
            bool(row["close"]) for row in own if row["value"] == "smooth"
        )
    return {"collection": name, "measure": scores.measure, "of": len(others), **close}
