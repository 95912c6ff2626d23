"""Does the value function decide who looks safe? Linear against smooth, over ever longer heads of the two rankings."""

from __future__ import annotations

from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk.alphas import normalise_alphas
from surefoot.risk.measures import GEOMINUS_PUBLISHED, GEORISK, URISK, ZRISK
from surefoot.risk.values import Family
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement.rbo import RBO, Ranking, ranking, rbo


def value_agreement(
    scores: ScoresLike,
    baseline: str,
    alpha: float = 1.0,
    *,
    value: str | Family = "smooth",
    step: int = 5,
    p: float = 0.9,
    ties: str = "order",
) -> Result:
    """RBO between the rankings by linear and by smooth values: of their first 5, 10, 15 … systems, and of all.

    Each ranking has its own head, so that the two may hold different systems. The longer the heads, the more is
    certain: the minimum rises, minimum + residual falls, and the truth lies between. The safest system ranks first: the
    largest U_Risk, Z_Risk or GeoRisk, the smallest Geo- as printed. The ranking by U_Risk leaves the baseline out,
    whose own U_Risk is 0 by definition; the population of the others is all systems.

    Benham, Moffat and Culpepper, *On the pluses and minuses of risk*, ECIR 2020, figure 4 (their alpha-hat is
    1 + alpha).

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    value
        ``"smooth"`` or ``"monotone"``, fitted to all systems, or a family of value functions to compare with linear
        ones.
    step
        By how many systems the heads grow.
    p
        The parameter of `rbo`.
    ties
        ``"order"`` breaks ties in both rankings by the order of ``scores``, so that copies of a run agree with
        themselves; ``"share"`` treats a tie as an order that is not known (a tie at the end of a head is cut by the
        order of ``scores``).

    Returns
    -------
    Result
        Columns ``systems`` (the length of the heads), ``measure`` (``urisk``, ``zrisk``, ``georisk``,
        ``geominus_published``) and ``minimum, residual, extrapolated`` (see `rbo`).

    Examples
    --------
    >>> import numpy as np
    >>> from surefoot.risk.values import Smooth
    >>> scores = Scores(np.random.default_rng(4).random((7, 20)), "abcdefg", range(20))
    >>> found = value_agreement(scores, "a", value=Smooth)
    >>> [(row["systems"], round(row["minimum"], 3)) for row in found.rows() if row["measure"] == "urisk"]
    [(5, 0.434), (7, 0.539)]

    """
    scores = Scores.of(scores)
    if step < 2 or len(scores.systems) < 2:
        raise SurefootError(f"rankings to compare need 2 or more systems; got {len(scores.systems)} in steps of {step}")
    designs = [Design.of(scores, baseline, value=family) for family in ("linear", value)]
    linear, other = (_safety(design, alpha) for design in designs)
    rows = [
        (size, measure, _overlap(linear[measure], other[measure], size, p, ties))
        for size in [*range(step, len(scores.systems), step), len(scores.systems)]
        for measure in linear
    ]
    return Result(
        signature(
            "value_agreement",
            measure=scores.measure,
            baseline=baseline,
            alpha=alpha,
            value=designs[1].value,
            p=p,
            ties=ties,
            topics=len(scores.topics),
        ),
        _columns(rows),
        (*scores.all_notes, *_notes(scores)),
    )


def _safety(design: Design, alpha: float) -> dict[str, dict[str, float]]:
    """By measure, the value of each system, larger meaning safer."""
    measures = [URISK] if design.scores.values.min() < 0 else [URISK, ZRISK, GEORISK, GEOMINUS_PUBLISHED]
    values = design.values(measures, normalise_alphas(alpha))
    found = {
        measure.name: dict(zip(design.systems, (values[measure.name][0] * sign).tolist(), strict=True))
        for measure in measures
        for sign in [-1 if measure is GEOMINUS_PUBLISHED else 1]
    }
    found["urisk"].pop(design.baseline_names[0], None)
    return found


def _overlap(first: dict[str, float], second: dict[str, float], size: int, p: float, ties: str) -> RBO:
    def head(values: dict[str, float]) -> Ranking:
        names = [str(name) for name in ranking(values, ties="order")[:size]]
        return ranking({name: values[name] for name in names}, ties=ties)

    return rbo(head(first), head(second), p)


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
