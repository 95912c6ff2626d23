"""Distributions that evaluations and gates need: scipy takes longer to import than two runs take to be evaluated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.native import kernel


def normal_cdf(x: npt.ArrayLike) -> FloatArray:
    """Phi, the probability that a normal variable is at most x.

    >>> normal_cdf([0.0, 1.96]).round(4)
    array([0.5  , 0.975])
    """
    return _of_each("normal_cdf", x)


def normal_quantile(p: float) -> float:
    """The x that a normal variable is at most with probability p, strictly between 0 and 1.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def logistic(x: npt.ArrayLike) -> FloatArray:
    """1 / (1 + exp(-x)), the probability of log odds.

    >>> logistic([-np.inf, 0.0, 2.0]).round(4)
    array([0.    , 0.5   , 0.8808])
    """
    return _of_each("logistic", x)


def logit(p: npt.ArrayLike) -> FloatArray:
    """log(p / (1 - p)) of a probability.

    >>> logit([0.0, 0.5, 0.9]).round(4)
    array([  -inf, 0.    , 2.1972])
    """
    return _of_each("logit", p)


def _of_each(name: str, x: npt.ArrayLike) -> FloatArray:
    values = np.asarray(x, np.float64, order="C")
    found = np.empty_like(values)
    kernel(name)(values.reshape(-1), found.reshape(-1))
    return found


def student_p(t: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    """The two-sided p of a t statistic with ``df`` degrees of freedom.

    >>> student_p([0.0, -2.0, 2.0], 10).round(4)
    array([1.    , 0.0734, 0.0734])
    """
    shape = np.broadcast_shapes(np.shape(t), np.shape(df))
    values, degrees = (np.asarray(np.broadcast_to(one, shape), np.float64, order="C") for one in (t, df))
    found = np.empty(shape)
    kernel("student_p")(values.reshape(-1), degrees.reshape(-1), found.reshape(-1))
    return found
