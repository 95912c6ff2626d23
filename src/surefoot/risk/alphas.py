"""Validation of alpha, the weight of losses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

LARGEST_ALPHA = 1e6
"""Beyond it the gains vanish beside the losses."""


def validate_alphas(alpha: npt.ArrayLike) -> FloatArray:
    """One alpha or several as an array; each must be a number of 0 or more."""
    try:
        sweep = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError(f"alpha must be a number of 0 or more, or several; got {alpha!r}") from None
    wrong = ~((sweep >= 0) & (sweep <= LARGEST_ALPHA))
    if wrong.any() or sweep.size == 0 or sweep.ndim > 1:
        found = f"{sweep[wrong].flat[0]:g}" if wrong.any() else f"an array of shape {sweep.shape}"
        raise SurefootError(f"alpha must be a number of 0 or more, up to {LARGEST_ALPHA:g}, or several; got {found}")
    return sweep


def normalise_alphas(alpha: npt.ArrayLike) -> FloatArray:
    """One alpha or several as a 1-d array without duplicates.

    >>> normalise_alphas([1, 5, 1])
    array([1., 5.])
    """
    return np.array(list(dict.fromkeys(np.atleast_1d(validate_alphas(alpha)).tolist())))


def validate_alpha(alpha: float) -> float:
    """The alpha of an analysis that takes only one."""
    sweep = validate_alphas(alpha)
    if sweep.ndim:
        raise SurefootError(f"one alpha is needed here; got {sweep.size}")
    return float(sweep)
