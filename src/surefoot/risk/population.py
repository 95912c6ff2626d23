"""Risk measures against a population of systems, as pure functions of matrices of systems × topics.

Further axes may lead the matrix. ``alpha`` may be a number or a sweep, whose axis then leads the result. ``value`` is a
family of value functions, such as `Linear`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk.measures import GEOMINUS_PUBLISHED, GEORISK, ZRISK, Risk
from surefoot.risk.moments import chunks
from surefoot.risk.statistics import Expectation, shares_of, zscores_of
from surefoot.risk.values import Family, Linear, validate_alphas, value_functions


def zscores(matrix: npt.ArrayLike) -> FloatArray:
    """z_ij = (x_ij - e_ij) / sqrt(e_ij), e_ij = S_i T_j / N; 0 where the expected score is 0.

    S_i is the total of system i, T_j that of topic j, N the sum of all scores. So e_ij is the score expected if systems
    and topics do not interact.

    Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*, SIGIR 2016.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.

    Returns
    -------
    FloatArray
        z of each system and topic.

    Examples
    --------
    >>> zscores([[0.05, 0.55], [0.40, 0.20]]).round(3)
    array([[-0.369,  0.286],
           [ 0.369, -0.286]])

    """
    x = _matrix(matrix)
    return zscores_of(x, expected(x))


def expected(matrix: npt.ArrayLike) -> FloatArray:
    """e_ij = S_i T_j / N: the expected score of system i on topic j if systems and topics do not interact.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.

    Returns
    -------
    FloatArray
        The expected score of each system and topic.

    Examples
    --------
    >>> expected([[0.1, 0.3], [0.2, 0.2]]).round(3)
    array([[0.15, 0.25],
           [0.15, 0.25]])

    """
    x = _matrix(matrix)
    return np.asarray(shares_of(x)[..., np.newaxis] * x.sum(axis=-2, keepdims=True))


def zrisk(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """Z_Risk(i) = sum_j v(x_ij - e_ij) / sqrt(e_ij): a system's z over all topics, losses weighted by 1 + alpha.

    The baseline is the score expected from all systems of the matrix (see `zscores`). SIGIR 2016; the smooth form is
    that of ECIR 2020.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.
    alpha
        The additional weight of losses; one or several.
    value
        The family of value functions.

    Returns
    -------
    FloatArray
        One value for each alpha (if several) and system.

    Examples
    --------
    >>> zrisk([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([-0.452, -0.203])

    """
    return _against_population(ZRISK, matrix, alpha, value)


def georisk(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """GeoRisk(i) = sqrt(S_i / c × Phi(Z_Risk(i) / c)): the geometric mean of effectiveness and of safety.

    Phi is the normal distribution function. Beyond alpha of about 2 it is not consistent: a better score on one topic
    can lower it, since a larger S_i raises the expected scores on all others. SIGIR 2016.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.
    alpha
        The additional weight of losses; one or several.
    value
        The family of value functions.

    Returns
    -------
    FloatArray
        One value for each alpha (if several) and system.

    Examples
    --------
    >>> georisk([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([0.351, 0.371])

    """
    return _against_population(GEORISK, matrix, alpha, value)


def geominus_published(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """Geo- as ECIR 2020 printed it, -sqrt(S/c × Phi(Z-/c)) with Z- = -Z_Risk: it *rewards* risk.

    For reproduction only. The consistent Geo- is -`georisk`; likewise U-, T- and Z- are -`urisk`, -`trisk`, -`zrisk`.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.
    alpha
        The additional weight of losses; one or several.
    value
        The family of value functions.

    Returns
    -------
    FloatArray
        One value for each alpha (if several) and system.

    Examples
    --------
    >>> geominus_published([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([-0.421, -0.403])

    """
    return _against_population(GEOMINUS_PUBLISHED, matrix, alpha, value)


def g_squared(matrix: npt.ArrayLike) -> tuple[float, int]:
    """G² = the sum of all z², the chi-square statistic of the matrix, and its (r - 1)(c - 1) degrees of freedom.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.

    Returns
    -------
    tuple[float, int]
        The statistic and its degrees of freedom.

    Examples
    --------
    >>> statistic, df = g_squared([[0.05, 0.55], [0.40, 0.20]])
    >>> round(statistic, 3), df
    (0.436, 1)

    """
    x = _matrix(matrix)
    if x.ndim != 2:
        raise SurefootError(f"G² takes one matrix of systems × topics; got {x.ndim} axes")
    shares, totals = shares_of(x)[:, np.newaxis], x.sum(axis=0)
    parts = chunks(x.shape[1], x.shape[0])
    statistic = sum(float(np.square(zscores_of(x[:, part], shares * totals[part])).sum()) for part in parts)
    return statistic, (x.shape[0] - 1) * (x.shape[1] - 1)


def _against_population(measure: Risk, matrix: npt.ArrayLike, alpha: npt.ArrayLike, value: Family) -> FloatArray:
    sweep = validate_alphas(alpha)
    return measure.compute(Expectation.of(_matrix(matrix), values=value_functions(value, sweep)), sweep)


def _matrix(matrix: npt.ArrayLike) -> FloatArray:
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim < 2 or 0 in x.shape:
        raise SurefootError(f"Z_Risk and GeoRisk take a matrix of systems × topics; got shape {x.shape}")
    if not x.min() >= 0 or x.max() == np.inf:
        raise SurefootError(f"Z_Risk and GeoRisk need finite scores of 0 or more; got {x.min():g} to {x.max():g}")
    return x
