"""Which trial of a search to recommend, and what it costs and saves beside the best gain-only trial."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.summary import ModelMeasures, summarise

GIVE_UP = 0.01
"""The fraction of the gain-only model's effectiveness that may be given up for less risk."""


def pareto_front(mean: npt.ArrayLike, risk: npt.ArrayLike) -> BoolArray:
    """Which points no other dominates: none has at least the mean and at most the risk, and one of them better.

    >>> pareto_front([0.5, 0.4, 0.45, 0.5], [0.03, 0.01, 0.03, 0.02])
    array([False,  True, False,  True])
    """
    m, r = np.asarray(mean, dtype=np.float64), np.asarray(risk, dtype=np.float64)
    as_good = (m[:, None] >= m) & (r[:, None] <= r)
    better = as_good & ((m[:, None] > m) | (r[:, None] < r))
    return np.asarray(~better.any(axis=0))


def recommend(
    mean: npt.ArrayLike, risk: npt.ArrayLike, alphas: npt.ArrayLike, give_up: float = GIVE_UP
) -> tuple[int, int]:
    """The indices of the best gain-only trial (the largest mean at alpha 0) and of the trial to recommend.

    Recommended is the trial of least risk among those whose mean is at most a fraction ``give_up`` below the gain-only
    one's; of equal ones the more effective. It lies on the front or ties with a point of it.

    >>> recommend([0.40, 0.399, 0.38], [0.03, 0.02, 0.01], [0, 2, 10])
    (0, 1)
    """
    m, r, a = (np.asarray(column, dtype=np.float64) for column in (mean, risk, alphas))
    if not (a == 0).any():
        raise SurefootError("a recommendation is measured against a gain-only model; add alpha 0")
    best = int(np.argmax(np.where(a == 0, m, -np.inf)))
    allowed = np.flatnonzero(m >= (1 - give_up) * m[best])
    return best, int(allowed[np.lexsort((-m[allowed], r[allowed]))[0]])


def describe_choice(scores: Scores, gain_only: str, chosen: str, alpha: float, bootstrap: BootstrapMethod) -> str:
    """The chosen trial beside the best gain-only one, with intervals of the differences."""
    if gain_only == chosen:
        return "no trial has less risk at so small a price; stay with the gain-only model"
    measures = [ModelMeasures.of(scores, name) for name in (gain_only, chosen)]
    found = difference_intervals(
        scores, chosen, gain_only, scores.systems[0], 0.0, measures=("mean", "frisk"), **asdict(bootstrap),
    )  # fmt: skip
    (mean_low, risk_low), (mean_high, risk_high) = found["low"], found["high"]
    confidence = 100 * (1 - bootstrap.level)
    return (
        f"{summarise(alpha, scores.measure, *measures)} ({confidence:g} % intervals of the differences: "
        f"{scores.measure} {mean_low:+.4f} to {mean_high:+.4f}, F_Risk {risk_low:+.4f} to {risk_high:+.4f})"
    )
