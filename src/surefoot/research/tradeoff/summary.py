"""What a choice of alpha costs and saves, in words with the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.risk import loss_share
from surefoot.risk.statistics import Comparison
from surefoot.scores import FloatArray

SAME = 0.0005
"""A change of less than this share is none to speak of."""
WORDS = {"halves": (0.45, 0.55), "cuts to a third": (0.31, 0.36), "doubles": (1.9, 2.1)}
"""Words for a new count over an old one."""


@dataclass(frozen=True)
class Outcome:
    """How a model fares: its mean effectiveness, its mean loss, and how many queries it hurts by more than 20 %."""

    mean: float
    frisk: float
    loss20: int

    @classmethod
    def of(cls, system: FloatArray, baseline: FloatArray) -> Outcome:
        """The outcome of a model's scores against a baseline's."""
        compared = Comparison.of(system, baseline)
        return cls(float(np.mean(system)), float(loss_share(compared)), int(compared.loss20))


def verdict(alpha: float, measure: str, gain_only: Outcome, chosen: Outcome) -> str:
    """What an alpha costs and saves beside the gain-only model, as one sentence.

    >>> verdict(2, "ndcg@10", Outcome(0.400, 0.02, 34), Outcome(0.3988, 0.012, 17))
    'alpha = 2 loses 0.3 % ndcg@10 and halves the queries hurt by more than 20 % (from 34 to 17); F_Risk falls by 40 %'
    """
    but = "but" if chosen.loss20 > gain_only.loss20 and chosen.mean >= gain_only.mean else "and"
    hurt = count_change(gain_only.loss20, chosen.loss20, "the queries hurt by more than 20 %")
    who = f"alpha = {alpha:g}" if alpha else "alpha = 0 with other trees"
    return (
        f"{who} {mean_change(gain_only.mean, chosen.mean, measure)} {but} {hurt}; "
        f"F_Risk {_rise_or_fall(gain_only.frisk, chosen.frisk)}"
    )


def mean_change(before: float, after: float, measure: str) -> str:
    """How effectiveness changes.

    >>> mean_change(0.4, 0.41, "map"), mean_change(0.4, 0.4, "map")
    ('gains 2.5 % map', 'keeps map')
    """
    if abs(after - before) < SAME * before or before == after:
        return f"keeps {measure}"
    word = "gains" if after > before else "loses"
    return f"{word} {_percent(before, after)}{measure}" if before > 0 else f"{word} {measure}"


def count_change(before: int, after: int, what: str) -> str:
    """How a number of things changes.

    >>> count_change(9, 3, "losses"), count_change(4, 5, "losses")
    ('cuts losses to a third (from 9 to 3)', 'raises losses by 25 % (from 4 to 5)')
    """
    if before == after:
        return f"leaves {what} as they are ({after})"
    numbers = f"(from {before} to {after})"
    if after == 0 or before == 0:
        return f"{'does away with' if after == 0 else 'raises'} {what} {numbers}"
    word = next((word for word, (low, high) in WORDS.items() if low <= after / before <= high), None)
    if word is not None:
        verb, *rest = word.split(maxsplit=1)
        return " ".join([verb, what, *rest, numbers])
    return f"{'cuts' if after < before else 'raises'} {what} by {_percent(before, after)}{numbers}"


def _rise_or_fall(before: float, after: float) -> str:
    if abs(after - before) <= SAME * before:
        return f"stays at {after:.4f}"
    if before == 0:
        return f"rises from 0 to {after:.4f}"
    return f"{'falls' if after < before else 'rises'} by {_percent(before, after).rstrip()}"


def _percent(before: float, after: float) -> str:
    share = 100 * abs(after / before - 1)
    return f"{share:.1f} % " if share < 9.95 and f"{share:.1f}"[-1] != "0" else f"{share:.0f} % "
