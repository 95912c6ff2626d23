"""The plane of risk and gain, where a model is a point and the baseline the origin.

Risk is F_Risk, the mean loss against the baseline; gain is U_Gain, the difference of the means. Both are means over
queries, so choosing between two rankers at random for each query reaches, in expectation, any point of the line between
theirs. After Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive optimization*, SIGIR 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import BoolArray, FloatArray
from surefoot.errors import SurefootError
from surefoot.risk import compare, validate_alpha


@dataclass(frozen=True, eq=False)
class Points:
    """Points of the plane, such as a curve."""

    risk: FloatArray
    gain: FloatArray

    def __len__(self) -> int:
        return self.risk.size

    def __getitem__(self, which: slice | npt.NDArray[np.intp] | BoolArray) -> Points:
        return Points(self.risk[which], self.gain[which])


ORIGIN = Points(np.zeros(1), np.zeros(1))
"""The baseline itself."""


def points(systems: npt.ArrayLike, baseline: npt.ArrayLike) -> Points:
    """The point (F_Risk, U_Gain) of each system: rows of scores, queries along the last axis. SIGIR 2012.

    >>> found = points([[0.2, 0.5], [0.4, 0.3]], [0.4, 0.1])
    >>> found.risk, found.gain
    (array([0.1, 0. ]), array([0.1, 0.1]))
    """
    compared = compare(systems, baseline)
    risk, reward = np.atleast_1d(compared.frisk), np.atleast_1d(compared.freward)
    return Points(risk, reward - risk)


def concatenate(*parts: Points) -> Points:
    """Points one after the other."""
    return Points(np.concatenate([part.risk for part in parts]), np.concatenate([part.gain for part in parts]))


def break_even(risk: npt.ArrayLike, alpha: float) -> FloatArray:
    """The gain that pays for a risk at alpha: U_Risk = U_Gain - alpha F_Risk = 0, so gain = alpha × risk. SIGIR 2012.

    Models above this line through the origin are better than the baseline if a loss weighs 1 + alpha times a gain.

    >>> break_even([0.0, 0.02], alpha=5)
    array([0. , 0.1])
    """
    return validate_alpha(alpha) * np.asarray(risk, dtype=np.float64)


def proportional_reduction(model: Points, fraction: npt.ArrayLike) -> Points:
    """The points of using a model on a random fraction of the queries and the baseline on the others. SIGIR 2012.

    Risk and gain fall in proportion: these are the points between the model's and the origin. Only models above this
    line trade better than chance.

    >>> half = proportional_reduction(Points(np.array([0.02]), np.array([0.1])), 0.5)
    >>> half.risk, half.gain
    (array([0.01]), array([0.05]))
    """
    fractions = np.atleast_1d(np.asarray(fraction, dtype=np.float64))
    if len(model) != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise SurefootError("a proportional reduction takes one model, and fractions from 0 to 1")
    return Points(fractions * model.risk, fractions * model.gain)


def alpha_limit(gain_only: npt.ArrayLike, baseline: npt.ArrayLike) -> float:
    """U_Gain / F_Risk of the gain-only model: the largest alpha at which it is no worse than the baseline. SIGIR 2012.

    Beyond it U_Risk of the gain-only model is below 0, so that doing nothing is better. It is infinite for a model
    that loses nowhere, and 0 for one that gains nothing.

    >>> round(alpha_limit([0.2, 0.8], [0.4, 0.1]), 6)
    2.5
    """
    found = points(gain_only, baseline)
    risk, gain = float(found.risk[0]), float(found.gain[0])
    if gain <= 0:
        return 0.0
    return gain / risk if risk > 0 else float("inf")
