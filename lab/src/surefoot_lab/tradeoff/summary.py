"""What a choice of alpha costs and saves beside the gain-only model, as one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.analysis.evaluate import evaluate
from surefoot.scores import Scores

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
    """What an alpha costs and saves beside the gain-only model.

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
