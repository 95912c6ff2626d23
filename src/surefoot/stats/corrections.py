"""Corrections of p values for many tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import choose


def correct(p: npt.ArrayLike, method: str) -> FloatArray:
    """Adjust p values for all tests in the array together.

    Parameters
    ----------
    p
        The p values; NaN (no test) stays and does not count.
    method
        ``holm`` and ``bonferroni`` bound the probability of any false positive, ``bh`` (Benjamini and Hochberg 1995)
        the fraction of false positives among the positives.

    Returns
    -------
    FloatArray
        The adjusted p values.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])

    """
    choose(method, ("holm", "bonferroni", "bh"), "correct")
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    tested = np.isfinite(raw)
    adjusted[tested] = np.minimum(_CORRECTIONS[method](raw[tested]), 1.0)
    return adjusted


def _bonferroni(p: FloatArray) -> FloatArray:
    return p * p.size


def _holm(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _unsorted(steps, order)


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")[::-1]
    steps = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    return _unsorted(steps, order)


def _unsorted(steps: FloatArray, order: npt.NDArray[np.intp]) -> FloatArray:
    result = np.empty_like(steps)
    result[order] = steps
    return result


_CORRECTIONS = {"bonferroni": _bonferroni, "holm": _holm, "bh": _benjamini_hochberg}
