"""How many iterations a training needs to converge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

FRACTION = 0.95


def iterations_to(values: npt.ArrayLike, target: float) -> int | None:
    """The first iteration, counted from 1, whose value reaches the target; None if none does.

    Wang, Bennett and Collins-Thompson (SIGIR 2012) compare trainings at different alphas by it.

    >>> iterations_to([0.30, 0.41, 0.43, 0.42], 0.42)
    3
    """
    reached = np.flatnonzero(np.asarray(values, dtype=np.float64) >= target)
    return int(reached[0]) + 1 if reached.size else None


def iterations_to_fraction(values: npt.ArrayLike, fraction: float = FRACTION) -> int | None:
    """The first iteration, counted from 1, that reaches a fraction of the last value; None if that is not above 0.

    Give the *gain* over the baseline: of a metric that starts high, 95 % says nothing.

    >>> iterations_to_fraction([0.01, 0.05, 0.10, 0.102]), iterations_to_fraction([0.1, -0.1])
    (3, None)
    """
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or not curve.size or not np.isfinite(curve).all() or not 0 < fraction <= 1:
        raise SurefootError("convergence needs a curve of numbers, and a fraction of at most 1")
    return iterations_to(curve, fraction * float(curve[-1])) if curve[-1] > 0 else None


def gains(history: Sequence[Mapping[str, float]]) -> FloatArray | None:
    """The gain over the baseline after each iteration of a training, where its history has it."""
    if not history or "freward" not in history[0]:
        return None
    return np.array([measures["freward"] - measures["frisk"] for measures in history])
