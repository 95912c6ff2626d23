"""Does a system look safe because it resembles its baseline? The thesis of ECIR 2014 as an analysis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.agreement import correlation


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
    finding = _finding(found[known], urisk[known], means[known])
    return Result(signature("baseline-bias", measure=scores.measure, **fields), columns, (*scores.all_notes, finding))


def _finding(found: FloatArray, urisk: FloatArray, means: FloatArray) -> str:
    if len(found) < 4:
        return f"a partial correlation needs 4 systems or more; there are {len(found)}"
    partial = partial_correlation(found, urisk, means)
    return (
        f"partial correlation of U_Risk with the correlation, given the mean, over {len(found)} systems: {partial:.2f}"
    )


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
