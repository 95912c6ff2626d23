"""Agreement of risk measures about the order of systems, and the independence of systems and topics (G²)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot.analysis.design import Design
from surefoot.analysis.evaluate import evaluate
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.risk.distributions import chi_square_p
from surefoot.risk.measures import GEOMINUS_PUBLISHED, GEORISK, URISK, ZRISK, get_risk, usual
from surefoot.risk.population import g_squared, zscores
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement import correlation, kendall
from surefoot.stats.agreement.rbo import RBO, Ranking, ranking, rbo


def rank_agreement(
    scores: ScoresLike, baseline: str | None = None, alpha: float = 1.0, *, measures: Sequence[str] = (), p: float = 0.9
) -> Result:
    """Kendall's tau and RBO between the orders of the systems by each two measures; the baseline's own row is left out.

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    measures
        Names of measures; by default the usual ones (`Risk.usual`).
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
    directed = [get_risk(name) for name in measures] or [
        one for one in usual(baseline is not None) if one.higher_is_better is not None
    ]
    names = [one.name for one in directed]
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
        signature("rank-agreement", scores, **fields, topics=len(scores.topics)),
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
    notes = ["Z_Risk and GeoRisk are undefined: some scores are below 0"] if scores.values.min() < 0 else []
    return Result(
        signature(
            "value_agreement",
            scores,
            baseline=baseline,
            alpha=alpha,
            value=designs[1].value,
            p=p,
            ties=ties,
            topics=len(scores.topics),
        ),
        {
            "systems": [size for size, _, _ in rows],
            "measure": [measure for _, measure, _ in rows],
            **{
                name: [getattr(found, name) for _, _, found in rows] for name in ("minimum", "residual", "extrapolated")
            },
        },
        (*scores.all_notes, *notes),
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


def baseline_bias(
    scores: ScoresLike,
    baseline: str,
    alpha: float = 1.0,
    *,
    systems: Sequence[str] | None = None,
    method: str = "pearson",
) -> Result:
    """Each system's correlation with the baseline beside its mean and its U_Risk, and how the three hang together.

    Of two systems of the same mean the one that fails where the baseline fails loses less against it. The partial
    correlation of U_Risk with the correlation, the mean held fixed, says how far that goes. Dinçer, Ounis and
    Macdonald, *Tackling biased baselines in the risk-sensitive evaluation of retrieval systems*, ECIR 2014.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        The additional weight of losses.
    systems
        The systems to compare; all but the baseline by default.
    method
        ``"pearson"`` or ``"spearman"``, of the topics' scores.

    Returns
    -------
    Result
        Columns ``system, baseline, alpha, correlation, mean, urisk``; the note has the partial correlation.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((6, 30)), "abcdef", range(30))
    >>> baseline_bias(scores, "a", 5).notes[-1]
    'partial correlation of U_Risk with the correlation, given the mean, over 5 systems: 0.94'

    """
    scores = Scores.of(scores)
    chosen = [name for name in (scores.systems if systems is None else scores.select(systems).systems)
              if name != baseline]  # fmt: skip
    rows, base = scores.select(chosen).values, scores.baseline(baseline)
    found, means = correlation(rows, base, method), rows.mean(axis=1)
    urisk = risk.urisk(rows, base, risk.validate_alpha(alpha))
    known = np.isfinite(found)
    fields = {"baseline": baseline, "alpha": alpha, "method": method, "topics": len(scores.topics)}
    columns: dict[str, Column] = {
        "system": chosen,
        "baseline": [baseline] * len(chosen),
        "alpha": [float(alpha)] * len(chosen),
        "correlation": found,
        "mean": means,
        "urisk": urisk,
    }
    count = int(known.sum())
    finding = f"a partial correlation needs 4 systems or more; there are {count}"
    if count >= 4:
        partial = partial_correlation(found[known], urisk[known], means[known])
        finding = (
            f"partial correlation of U_Risk with the correlation, given the mean, over {count} systems: {partial:.2f}"
        )
    return Result(signature("baseline-bias", scores, **fields), columns, (*scores.all_notes, finding))


def partial_correlation(x: npt.ArrayLike, y: npt.ArrayLike, given: npt.ArrayLike) -> float:
    """The correlation of x and y that is left when both are freed of what a third variable says of them linearly.

    r = (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)); NaN where the third determines one of the two.

    Parameters
    ----------
    x, y, given
        Values of the same items.

    Returns
    -------
    float
        The partial correlation.

    Examples
    --------
    >>> round(partial_correlation([1, 2, 3, 5], [2, 1, 4, 3], [1, 3, 2, 4]), 3)
    0.953

    """
    rows = np.array([x, y, given], dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise SurefootError(f"a partial correlation needs three values of 3 or more items; got shape {rows.shape}")
    xy, xz, yz = (float(correlation(rows[one], rows[two])) for one, two in ((0, 1), (0, 2), (1, 2)))
    left = (1 - xz**2) * (1 - yz**2)
    return (xy - xz * yz) / left**0.5 if left > 1e-12 else float("nan")


def independence(scores: ScoresLike, *, systems: Sequence[str] | None = None) -> Result:
    """G² = the sum of all z², its degrees of freedom and p, and the share of each system in it.

    For counts without interaction of system and topic, G² is about its degrees of freedom. Scores are not counts, so G²
    is far below its degrees of freedom and p is near 1 for all data. It is reported because SIGIR 2016 derives Z_Risk
    from it. Only the shares can be interpreted: a large share belongs to a system with unexpected scores, good or bad.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure, 0 or more.
    systems
        The systems to look at; all by default.

    Returns
    -------
    Result
        Columns ``system, mean, g2, share``; the note has the sum, the degrees of freedom and p.

    Examples
    --------
    >>> found = independence(Scores([[0.05, 0.55], [0.40, 0.20]], ["a", "b"], ["q1", "q2"]))
    >>> found.notes[-1]
    'G² = 0.4356, 1 degree of freedom, p = 0.509'

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    statistic, df = g_squared(chosen.values)
    parts = np.square(zscores(chosen.values)).sum(axis=1)
    p = chi_square_p(statistic, df) if df else float("nan")
    degrees = "1 degree" if df == 1 else f"{df:,} degrees"
    return Result(
        signature("independence", scores, systems=len(chosen.systems), topics=len(scores.topics)),
        {
            "system": chosen.systems,
            "mean": chosen.values.mean(axis=1),
            "g2": parts,
            "share": parts / statistic if statistic else np.full(len(parts), np.nan),
        },
        (*scores.all_notes, f"G² = {statistic:.4f}, {degrees} of freedom, p = {p:.3g}"),
    )
