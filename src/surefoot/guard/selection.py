"""Which guard to take, from what each did on queries that it did not see.

The mean of a metric moves by half a percent between two halves of a query set, more than a guard may cost, so the
best mean is mostly luck. What is compared instead is U_Risk, in which a guard's gain is systematic (losses shrink),
query by query against the candidate alone; a guard must improve it by more than its standard error, and of those that
do the one with the largest lower bound is taken, not the one with the largest estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot._typing import FloatArray

ALPHA = 0.5
"""How many points of the mean a point of F_Risk is worth."""

ERRORS = 1.0
"""Standard errors between the estimate and the lower bound."""


@dataclass(frozen=True)
class Selection:
    """The guard that was taken: its row, and the gain in U_Risk of each guard with its standard error."""

    index: int
    gain: FloatArray
    error: FloatArray


def select(
    guarded: FloatArray, candidate: FloatArray, baseline: FloatArray, alpha: float = ALPHA, errors: float = ERRORS
) -> Selection:
    """Select among guards (rows) by their metric on each query; row 0 is the candidate left alone.

    ``errors`` below 0 turn the burden of proof: a guard is taken unless it lowers U_Risk by more than so many standard
    errors, for where there is reason to expect that it helps.

    >>> b, c = np.full(40, 0.5), np.linspace(0.3, 0.9, 40)
    >>> select(np.stack([c, np.maximum(c, 0.45), c - 0.2]), c, b).index
    1
    """
    gains = values(guarded, baseline, alpha) - values(candidate, baseline, alpha)
    gain = gains.mean(axis=1)
    error = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1]) if gains.shape[1] > 1 else np.full(gain.size, np.inf)
    lower = gain - errors * error
    lower[0] = 0.0
    return Selection(int(np.argmax(lower)), gain, error)


def values(x: FloatArray, baseline: FloatArray, alpha: float) -> FloatArray:
    """The linear values of the differences to the baseline, whose mean is U_Risk."""
    d = x - baseline
    return np.asarray(d + alpha * np.minimum(d, 0.0))
