"""Systems and their baseline: correlation, its effect on U_Risk, and the independence of systems and topics (G²)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot.errors import SurefootError, listed
from surefoot.results import Column, Result, signature
from surefoot.risk.distributions import chi_square_p
from surefoot.risk.population import g_squared, zscores
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.ranks import correlation


def baseline_correlations(
    scores: ScoresLike, baseline: str, *, systems: Sequence[str] | None = None, method: str = "pearson"
) -> Result:
    """The `correlation` of each system with a baseline: a system, or MEAN, MEDIAN or MAX over all systems.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    systems
        The systems to show; all by default.
    method
        ``"pearson"`` or ``"spearman"``.

    Returns
    -------
    Result
        Columns ``system, baseline, correlation``.

    Examples
    --------
    >>> scores = Scores([[0.1, 0.2, 0.4], [0.3, 0.2, 0.1]], ["old", "new"], ["q1", "q2", "q3"])
    >>> baseline_correlations(scores, "old", systems=["new"]).columns["correlation"].round(3)
    array([-0.982])

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    found = correlation(chosen.values, scores.baseline(baseline), method)
    undefined = [name for name, r in zip(chosen.systems, found, strict=True) if np.isnan(r)]
    note = (f"no correlation where all topics score alike: {listed(undefined)}",) if undefined else ()
    return Result(
        signature("correlation", scores, baseline=baseline, method=method, topics=len(scores.topics)),
        {"system": chosen.systems, "baseline": [baseline] * len(found), "correlation": found},
        (*scores.all_notes, *note),
    )


def baseline_bias(
    scores: ScoresLike,
    baseline: str,
    alpha: float = 1.0,
    *,
    systems: Sequence[str] | None = None,
    method: str = "pearson",
) -> Result:
    """Each system's correlation with the baseline, its mean and its U_Risk, and how the three are related.

    Of two systems with the same mean, the one that fails where the baseline fails loses less against it. The partial
    correlation of U_Risk with the correlation, the mean held fixed, measures this effect. Dinçer, Ounis and
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
    """The correlation of x and y after the linear effect of a third variable is removed from both.

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
