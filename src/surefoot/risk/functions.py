"""Risk measures against a baseline, as pure functions of arrays, topics along the last axis.

``system`` may hold one system or many (any leading axes), ``baseline`` one row or one for each system. ``alpha`` may
be a number or a sweep, whose axis then leads the result. ``value`` is a family of value functions, such as `Linear`.
One system at one alpha gives a number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.risk.measures import GMEAN, GMEAN_FLOOR, TRISK, URISK, Risk, validate_fraction
from surefoot.risk.moments import Tail
from surefoot.risk.statistics import Mean, compare, paired
from surefoot.risk.values import Family, Linear, validate_alphas


def frisk(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Risk = mean(max(0, b - s)): the mean loss, gains counting 0 (SIGIR 2012).

    Parameters
    ----------
    system, baseline
        Scores on the same topics.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(frisk([0.2, 0.5], [0.4, 0.1]))
    0.1

    """
    return _unwrapped(compare(system, baseline).frisk)


def freward(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Reward = mean(max(0, s - b)): the mean gain, losses counting 0 (SIGIR 2012).

    Parameters
    ----------
    system, baseline
        Scores on the same topics.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(freward([0.2, 0.5], [0.4, 0.1]))
    0.2

    """
    return _unwrapped(compare(system, baseline).freward)


def ugain(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """U_Gain = F_Reward - F_Risk = mean(s - b): the difference of means.

    Parameters
    ----------
    system, baseline
        Scores on the same topics.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(ugain([0.2, 0.5], [0.4, 0.1]).round(6))
    0.1

    """
    return urisk(system, baseline, alpha=0.0)


def urisk(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> FloatArray:
    """U_Risk = mean(v(s - b)) = U_Gain - alpha F_Risk: the mean difference, losses weighted by 1 + alpha.

    Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive optimization*, SIGIR 2012.

    Parameters
    ----------
    system, baseline
        Scores on the same topics.
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
    >>> urisk([0.2, 0.5], [0.4, 0.1], alpha=[0, 1, 5])
    array([ 0.1,  0. , -0.4])

    """
    return _against_baseline(URISK, system, baseline, alpha, value)


def trisk(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> FloatArray:
    """T_Risk = U_Risk / SE, SE = s_x / sqrt(c), over x = v(s - b) on c topics, s_x with c - 1.

    At alpha = 0 it is the paired t statistic. NaN where it is undefined: one topic, or all x equal.

    Dinçer, Macdonald and Ounis, *Hypothesis testing for the risk-sensitive evaluation of retrieval systems*,
    SIGIR 2014.

    Parameters
    ----------
    system, baseline
        Scores on the same topics.
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
    >>> float(trisk([0.2, 0.5, 0.3], [0.4, 0.1, 0.2], alpha=0).round(4))
    0.5774

    """
    return _against_baseline(TRISK, system, baseline, alpha, value)


def win_loss(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """Wins over losses; infinite without a loss, NaN without either.

    Parameters
    ----------
    system, baseline
        Scores on the same topics.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(win_loss([0.2, 0.5, 0.9], [0.4, 0.1, 0.8])), float(win_loss([0.5], [0.1]))
    (2.0, inf)

    """
    compared = compare(system, baseline)
    return _ratio(compared.wins, compared.losses.n)


def reward_risk(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Reward over F_Risk; infinite without a loss, NaN without either.

    Parameters
    ----------
    system, baseline
        Scores on the same topics.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(reward_risk([0.2, 0.5], [0.4, 0.1]).round(6))
    2.0

    """
    compared = compare(system, baseline)
    return _ratio(compared.freward, compared.frisk)


def tail(system: npt.ArrayLike, baseline: npt.ArrayLike, fraction: float = 0.1) -> FloatArray:
    """Tail risk: the mean difference over the worst ceil(fraction × c) topics, signed like the difference.

    The conditional value at risk that Wang, Bennett and Collins-Thompson discuss (SIGIR 2012).

    Parameters
    ----------
    system, baseline
        Scores on the same topics.
    fraction
        The fraction of topics in the tail, above 0 and at most 1.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(tail([0.1, 0.5, 0.3, 0.4], [0.4, 0.4, 0.4, 0.4], fraction=0.5).round(6))
    -0.2

    """
    validate_fraction(fraction)
    return _unwrapped(Tail.of(*paired(system, baseline), fraction=fraction).value)


def gmean(scores: npt.ArrayLike, floor: float = GMEAN_FLOOR) -> FloatArray:
    """The geometric mean over topics, scores below ``floor`` counted as ``floor`` (GMAP; trec_eval's 0.00001).

    Robertson, *On GMAP: and other transformations*, CIKM 2006.

    Parameters
    ----------
    scores
        Scores of one system or several.
    floor
        The least score that counts.

    Returns
    -------
    FloatArray
        One value for each system.

    Examples
    --------
    >>> float(gmean([0.01, 1.0]).round(6))
    0.1

    """
    logs = np.log(np.maximum(np.asarray(scores, dtype=np.float64), floor))
    return _unwrapped(GMEAN.compute(Mean.of(logs), np.zeros(())))


def _against_baseline(
    measure: Risk, system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike, value: Family
) -> FloatArray:
    sweep = validate_alphas(alpha)
    return _unwrapped(measure.compute(compare(system, baseline, sweep, value), sweep))


def _unwrapped(values: FloatArray) -> FloatArray:
    """A 0-d array as a scalar; other arrays as they are."""
    return values[()]


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return _unwrapped(np.asarray(np.divide(above, below)))
