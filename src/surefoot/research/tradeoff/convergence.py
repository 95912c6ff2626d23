"""How many iterations a training needs to converge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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


def iterations_to_fraction(values: npt.ArrayLike, fraction: float = FRACTION) -> int:
    """The first iteration, counted from 1, that reaches a fraction of the last value.

    >>> iterations_to_fraction([0.30, 0.40, 0.41, 0.42])
    2
    """
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or not curve.size or not curve[-1] >= 0 or not 0 < fraction <= 1:
        raise SurefootError("convergence needs a curve of values that ends at 0 or more, and a fraction of at most 1")
    found = iterations_to(curve, fraction * float(curve[-1]))
    return curve.size if found is None else found
