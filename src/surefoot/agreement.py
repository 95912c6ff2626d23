"""How far rankings and systems agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: chi-square statistic, degrees of freedom, p, and Kendall's W (0 no agreement, 1 full)."""

    statistic: float
    df: int
    p: float
    w: float


def friedman(matrix: npt.ArrayLike) -> Friedman:
    """Do treatments (rows) differ consistently over blocks (columns)? Friedman 1937.

    >>> result = friedman([[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], [0.3, 0.5, 0.6]])
    >>> result.df, round(result.statistic, 3), round(result.p, 3), round(result.w, 3)
    (2, 6.0, 0.05, 1.0)
    """
    from scipy.stats import friedmanchisquare

    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 3 or x.shape[1] < 2:
        raise SurefootError(f"Friedman's test needs at least 3 treatments and 2 blocks; got {x.shape}")
    treatments, blocks = x.shape
    statistic, p = friedmanchisquare(*x)
    return Friedman(float(statistic), treatments - 1, float(p), float(statistic) / (blocks * (treatments - 1)))
