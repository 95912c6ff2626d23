"""Which guard to take, from what each did on queries that it did not see.

The mean of a metric moves by half a percent between two halves of a query set, more than a guard may cost, so the
best mean is mostly luck. What is compared instead is U_Risk, in which a guard's gain is systematic (losses shrink).
And the guard with the largest U_Risk is mostly luck too where there are few queries: so there is one that is taken by
default, and another is taken only if it is better by more than a standard error of the difference. If what is taken
has no larger U_Risk than the candidate alone, the candidate is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray

ALPHA = 0.5
"""How many points of the mean a point of F_Risk is worth."""

ERRORS = 1.0
"""Standard errors by which a guard must be better than the default."""


STRENGTHS = (0.25, 0.5, 0.75, 1.0)
"""How strong the second stage of a recipe may be, from weak to strong."""

PRICE = 0.01
"""The fraction of the mean that it may cost out of bag. The bags keep the iteration that is best on the queries that
they hold out, so they look better there than they are, and moving away from them dearer: docs/recipe.md has by how
much."""


@dataclass(frozen=True)
class Selection:
    """The row of the guard that was taken, and its gain in U_Risk over the candidate alone with its standard error."""

    index: int
    gain: float
    error: float


def select(guarded: FloatArray, baseline: FloatArray, default: int, alpha: float = ALPHA) -> Selection:
    """Select among guards (rows) by their metric on each query; row 0 is the candidate left alone.

    >>> b, c = np.full(40, 0.5), np.linspace(0.3, 0.9, 40)
    >>> select(np.stack([c, np.maximum(c, 0.45), c - 0.2]), b, default=2).index
    1
    """
    values = values_of(guarded, baseline, alpha)
    ahead, error = _mean_and_error(values - values[default])
    lower = ahead - ERRORS * error
    lower[default], lower[0] = 0.0, -np.inf
    index = int(np.argmax(lower))
    gain, error = _mean_and_error(values[index] - values[0])
    return Selection(index if gain > 0 else 0, float(gain), float(error))


def affordable(guarded: FloatArray, candidate: FloatArray, price: float = PRICE) -> int:
    """How many ever stronger guards (rows), from the first on, cost no more than this fraction of the mean.

    >>> affordable(np.array([[0.50, 0.5], [0.48, 0.5], [0.9, 0.9]]), np.array([0.5, 0.5]))
    1
    """
    dear = guarded.mean(axis=-1) < (1 - price) * candidate.mean()
    return int(np.argmax(dear)) if dear.any() else len(guarded)


def values_of(x: FloatArray, baseline: FloatArray, alpha: float) -> FloatArray:
    """The linear values of the differences to the baseline, whose mean is U_Risk."""
    d = x - baseline
    return np.asarray(d + alpha * np.minimum(d, 0.0))


def _mean_and_error(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    queries = differences.shape[-1]
    return differences.mean(axis=-1), differences.std(axis=-1, ddof=1) / np.sqrt(queries)
