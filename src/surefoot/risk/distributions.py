"""The normal and Student's distribution, which every evaluation needs: scipy takes longer to import than both runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.risk import kernels


def normal_cdf(x: npt.ArrayLike) -> FloatArray:
    """Phi, the probability that a normal variable is at most x.

    >>> normal_cdf([0.0, 1.96]).round(4)
    array([0.5  , 0.975])
    """
    values = np.asarray(x, np.float64, order="C")
    found = np.empty_like(values)
    kernels.normal_cdf(values.reshape(-1), found.reshape(-1))
    return found


def student_p(t: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    """The two-sided p of a t statistic with ``df`` degrees of freedom.

    >>> student_p([0.0, -2.0, 2.0], 10).round(4)
    array([1.    , 0.0734, 0.0734])
    """
    values, degrees = (np.asarray(one, np.float64, order="C") for one in np.broadcast_arrays(t, df))
    found = np.empty_like(values)
    kernels.student_p(values.reshape(-1), degrees.reshape(-1), found.reshape(-1))
    return found
