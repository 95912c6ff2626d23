"""Which trial of a search to recommend, and its cost and benefit beside the gain-only model in one sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray
from surefoot.analysis.evaluate import evaluate
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod

NEGLIGIBLE = 0.0005
"""A relative change below this is reported as none."""
RATIOS = {"halves": (0.45, 0.55), "cuts to a third": (0.31, 0.36), "doubles": (1.9, 2.1)}
"""Verbs for ranges of a new count over an old one."""


@dataclass(frozen=True)
class ModelMeasures:
    """A model's mean effectiveness, its F_Risk, and how many queries it hurts by more than 20 %."""

    mean: float
    frisk: float
    loss20: int

    @classmethod
    def of(cls, scores: Scores, model: str) -> ModelMeasures:
        """The measures of a model against the baseline, the first system of the scores."""
        (row,) = evaluate(scores, scores.systems[0], 0.0, systems=[model]).rows()
        return cls(row["mean"], row["frisk"], row["loss20"])


def summarise(alpha: float, measure: str, gain_only: ModelMeasures, chosen: ModelMeasures) -> str:
    """The cost and the benefit of an alpha, compared with the gain-only model.

    >>> summarise(2, "ndcg@10", ModelMeasures(0.400, 0.02, 34), ModelMeasures(0.3988, 0.012, 17))
    'alpha = 2 loses 0.3 % ndcg@10 and halves the queries hurt by more than 20 % (from 34 to 17); F_Risk falls by 40 %'
    """
    conjunction = "but" if chosen.loss20 > gain_only.loss20 and chosen.mean >= gain_only.mean else "and"
    hurt = count_change(gain_only.loss20, chosen.loss20, "the queries hurt by more than 20 %")
    subject = f"alpha = {alpha:g}" if alpha else "alpha = 0 with other trees"
    return (
        f"{subject} {mean_change(gain_only.mean, chosen.mean, measure)} {conjunction} {hurt}; "
        f"F_Risk {_risk_change(gain_only.frisk, chosen.frisk)}"
    )


def mean_change(before: float, after: float, measure: str) -> str:
    """How effectiveness changes.

    >>> mean_change(0.4, 0.41, "map"), mean_change(0.4, 0.4, "map")
    ('gains 2.5 % map', 'keeps map')
    """
    if abs(after - before) < NEGLIGIBLE * before or before == after:
        return f"keeps {measure}"
    verb = "gains" if after > before else "loses"
    return f"{verb} {_percent(before, after)}{measure}" if before > 0 else f"{verb} {measure}"


def count_change(before: int, after: int, what: str) -> str:
    """How a count changes.

    >>> count_change(9, 3, "losses"), count_change(4, 5, "losses")
    ('cuts losses to a third (from 9 to 3)', 'raises losses by 25 % (from 4 to 5)')
    """
    if before == after:
        return f"leaves {what} as they are ({after})"
    numbers = f"(from {before} to {after})"
    if after == 0 or before == 0:
        return f"{'does away with' if after == 0 else 'raises'} {what} {numbers}"
    phrase = next((phrase for phrase, (low, high) in RATIOS.items() if low <= after / before <= high), None)
    if phrase is not None:
        verb, *rest = phrase.split(maxsplit=1)
        return " ".join([verb, what, *rest, numbers])
    return f"{'cuts' if after < before else 'raises'} {what} by {_percent(before, after)}{numbers}"


def _risk_change(before: float, after: float) -> str:
    if abs(after - before) <= NEGLIGIBLE * before:
        return f"stays at {after:.4f}"
    if before == 0:
        return f"rises from 0 to {after:.4f}"
    return f"{'falls' if after < before else 'rises'} by {_percent(before, after).rstrip()}"


def _percent(before: float, after: float) -> str:
    percent = 100 * abs(after / before - 1)
    return f"{percent:.1f} % " if percent < 9.95 and f"{percent:.1f}"[-1] != "0" else f"{percent:.0f} % "


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
        return "no trial has less risk at this price; stay with the gain-only model"
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
