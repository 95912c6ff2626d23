"""Does the value function decide who looks safe? Linear against smooth, over growing sets of systems."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk.values import Family, Linear
from surefoot.scores import Scores
from surefoot.stats.agreement.rbo import RBO, ranking, rbo


def value_agreement(
    scores: Scores,
    baseline: str,
    alpha: float = 1.0,
    *,
    value: str | Family = "smooth",
    step: int = 5,
    p: float = 0.9,
    ties: str = "order",
) -> Result:
    """RBO between the ranking of systems by linear and by smooth values, for the best 5, 10, 15 … systems, and all.

    Sets grow in the order of mean effectiveness. The safest system ranks first: the largest U_Risk, Z_Risk or GeoRisk,
    the smallest Geo- as printed. The ranking by U_Risk leaves the baseline out, whose own U_Risk is 0 by definition;
    the others rank the whole set, which is also the population of Z_Risk and GeoRisk.

    Benham, Moffat and Culpepper, *On the pluses and minuses of risk*, ECIR 2020, figure 4 (their alpha-hat is
    1 + alpha).

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    value
        ``"smooth"``, fitted to all systems, or a family of value functions to compare with linear ones.
    step
        By how many systems the sets grow.
    p
        The parameter of `rbo`.
    ties
        ``"order"`` breaks ties in both rankings by the order of ``scores``, so that copies of a run agree with
        themselves; ``"share"`` treats a tie as an order that is not known.

    Returns
    -------
    Result
        Columns ``systems`` (how many are in the set), ``measure`` (``urisk``, ``zrisk``, ``georisk``,
        ``geominus_published``) and ``minimum, residual, extrapolated`` (see `rbo`).

    Examples
    --------
    >>> from surefoot.risk.values import Smooth
    >>> scores = Scores(np.random.default_rng(4).random((7, 20)), "abcdefg", range(20))
    >>> found = value_agreement(scores, "a", value=Smooth)
    >>> [(row["systems"], round(row["minimum"], 3)) for row in found.rows() if row["measure"] == "urisk"]
    [(5, 0.434), (7, 0.539)]

    """
    if step < 2 or len(scores.systems) < 2:
        raise SurefootError(f"rankings to compare need 2 or more systems; got {len(scores.systems)} in steps of {step}")
    design = Design.of(scores, baseline, value=value)
    best = np.argsort(-scores.values.mean(axis=1), kind="stable")
    rows = []
    for size in [*range(step, len(best), step), len(best)]:
        # In the order of the table, not of the means, so that ties break the same way in every set.
        members = np.sort(best[:size])
        linear, other = (_safety(design, members, alpha, family) for family in (Linear, design.family))
        rows += [(size, measure, _overlap(linear[measure], other[measure], p, ties)) for measure in linear]
    return Result(
        signature(
            "value_agreement",
            measure=scores.measure,
            baseline=baseline,
            alpha=alpha,
            value=design.value,
            p=p,
            ties=ties,
            topics=len(scores.topics),
        ),
        _columns(rows),
        (*scores.notes, *_notes(scores)),
    )


def _safety(design: Design, members: npt.NDArray[np.intp], alpha: float, family: Family) -> dict[str, dict[str, float]]:
    """By measure, the values of a set of systems, larger meaning safer."""
    matrix = design.scores.values[members]
    names = [design.systems[member] for member in members]

    def named(values: FloatArray) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    urisk = named(risk.urisk(matrix, np.asarray(design.baselines), alpha, family))
    urisk.pop(design.baseline_names[0], None)
    if design.scores.values.min() < 0:
        return {"urisk": urisk}
    return {
        "urisk": urisk,
        "zrisk": named(risk.zrisk(matrix, alpha, family)),
        "georisk": named(risk.georisk(matrix, alpha, family)),
        "geominus_published": named(-risk.geominus_published(matrix, alpha, family)),
    }


def _overlap(first: dict[str, float], second: dict[str, float], p: float, ties: str) -> RBO:
    return rbo(ranking(first, ties=ties), ranking(second, ties=ties), p)


def _columns(rows: list[tuple[int, str, RBO]]) -> dict[str, list[object]]:
    return {
        "systems": [size for size, _, _ in rows],
        "measure": [measure for _, measure, _ in rows],
        "minimum": [found.minimum for _, _, found in rows],
        "residual": [found.residual for _, _, found in rows],
        "extrapolated": [found.extrapolated for _, _, found in rows],
    }


def _notes(scores: Scores) -> list[str]:
    return ["Z_Risk and GeoRisk are undefined: some scores are below 0"] if scores.values.min() < 0 else []
