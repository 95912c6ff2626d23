"""Do systems and topics interact? G², the statistic behind Z_Risk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.results import Result, signature
from surefoot.risk.distributions import chi_square_p
from surefoot.risk.population import g_squared, zscores
from surefoot.scores import Scores, ScoresLike


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
        signature("independence", measure=scores.measure, systems=len(chosen.systems), topics=len(scores.topics)),
        {
            "system": chosen.systems,
            "mean": chosen.values.mean(axis=1),
            "g2": parts,
            "share": parts / statistic if statistic else np.full(len(parts), np.nan),
        },
        (*scores.all_notes, f"G² = {statistic:.4f}, {degrees} of freedom, p = {p:.3g}"),
    )
