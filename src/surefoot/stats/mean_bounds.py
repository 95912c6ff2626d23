"""Bounds of a mean that hold for few topics and for rare large values, and tests of it by betting.

The upper bound adds one observation at the largest value that is possible, gives all observations random weights (as
the Bayesian bootstrap does: standard exponential, divided by their sum), and takes a quantile of the weighted mean
(Gaffke 2005; Learned-Miller and Thomas 2019). For a fraction it equals the exact bound of Clopper and Pearson; for many
topics it tends to Student's. That it holds for every distribution is a conjecture without a known counterexample.

A gambler who believes that the mean of values in 0..1 is below ``m`` bets on every next value being below it. If the
mean is ``m`` or more the expected capital never grows, so by Ville's inequality it exceeds 1 / error at any time with
probability at most ``error``. The stake may depend on the values before: the smaller their variance, the larger the
stake. So the test adapts to the variance, which Hoeffding's bound does not. Waudby-Smith and Ramdas, *Estimating
means of bounded random variables by betting*, JRSS B 2024.
"""

from __future__ import annotations

from heapq import heappop, heappush, heappushpop
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk.distributions import normal_quantile
from surefoot.stats.inference import LEVEL

LARGEST_STAKE = 0.95
"""The largest stake, as a share of the possible loss; all of it would end the game at the first value of 1."""
ITERATIONS = 50
PRECISION = 1e-9
GAPS = (1.0, 2.0, 4.0)
"""The gains that the gamblers of `betting_capital` expect, in units of the gap."""
CELLS = 48
"""How finely `tail_capital` searches the threshold above which gains count as the best."""
SMALLEST = 1e-9


def upper_mean_bound(values: npt.ArrayLike, highest: float, level: float = LEVEL) -> float:
    """An upper bound of the mean of a population from a sample of it.

    Parameters
    ----------
    values
        The sample.
    highest
        The largest value that is possible, also of values not seen.
    level
        How often the bound may lie below the mean, below 0.5.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    Nothing was lost on 100 queries: at most 3 % of all queries lose everything.

    >>> round(upper_mean_bound([0.0] * 100, highest=1), 4)
    0.0297

    """
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        raise SurefootError("a bound of a mean needs at least one value; got none")
    if not sample.max() <= highest:
        raise SurefootError(f"the highest possible value was given as {highest:g}; found {sample.max():g}")
    if not 0 < level < 0.5:
        raise SurefootError(f"the level of a bound must lie between 0 and 0.5; got {level:g}")
    found, counts = np.unique(np.append(sample, highest), return_counts=True)
    low, high = float(np.average(found, weights=counts)), float(highest)
    wanted, position = -normal_quantile(level), 0.5
    precision = PRECISION * (high - low)
    bound = low + wanted * float(sample.std()) / np.sqrt(sample.size)
    while high - low > precision:
        bound = bound if low < bound < high else (low + high) / 2
        root, slope, position = _signed_root(found - bound, counts, position)
        low, high = (bound, high) if root < wanted else (low, bound)
        if abs(wanted - root) <= precision * slope:
            return float(bound)
        bound += (wanted - root) / slope
    return high


def lower_mean_bound(values: npt.ArrayLike, lowest: float, level: float = LEVEL) -> float:
    """A lower bound of the mean of a population from a sample of it.

    Parameters
    ----------
    values
        The sample.
    lowest
        The smallest value that is possible, also of values not seen.
    level
        How often the bound may lie above the mean, below 0.5.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(lower_mean_bound([1.0] * 100, lowest=0), 4)
    0.9703

    """
    return 0.0 - upper_mean_bound(-np.asarray(values, dtype=np.float64), -lowest, level)


def _signed_root(weights: FloatArray, counts: npt.NDArray[np.int64], position: float) -> tuple[float, float, float]:
    """The r for which a sum of exponentials times their weights lies above 0 with the probability of a normal above r.

    A weight that occurs n times stands for n exponentials. The approximation is Lugannani and Rice's (1980), as
    Barndorff-Nielsen writes it: r = w + log(u / w) / w. The cumulant function is K(t) = -sum log(1 - t x), and the
    saddlepoint the root of its derivative, which increases from below 0 to infinity at the pole. Newton's method finds
    it, from its ``position`` between 0 and the pole, and within an interval that holds it. Also returns how fast w
    changes as all weights fall (K changes by t times their number), and the position.
    """
    pole = 1 / float(weights[-1])
    low, high, theta = 0.0, pole, position * pole
    for _ in range(ITERATIONS):
        ratio = weights / (1 - theta * weights)
        derivative, curvature = float(counts @ ratio), float(counts @ ratio**2)
        low, high = (theta, high) if derivative < 0 else (low, theta)
        step = derivative / curvature
        if abs(step) <= PRECISION * min(theta, pole - theta):
            break
        theta = theta - step if low < theta - step < high else (low + high) / 2
    w = np.sqrt(max(2 * float(counts @ np.log1p(-theta * weights)), PRECISION**2))
    u = theta * np.sqrt(curvature)
    return float(w + np.log(u / w) / w), float(theta * counts.sum() / w), theta / pole


def betting_p_value(values: npt.ArrayLike, mean: npt.ArrayLike, error: float = 0.1) -> FloatArray:
    """The p value of the hypothesis that the mean of values in 0..1 is ``mean`` or more.

    It is valid if the values are exchangeable draws, in the order given; ``error`` is the level at which it is to be
    most powerful.

    Parameters
    ----------
    values
        Values in 0..1.
    mean
        The hypothetical mean, or several.
    error
        The level of the test to be made.

    Returns
    -------
    FloatArray
        One p value for each mean.

    Examples
    --------
    >>> float(betting_p_value(np.zeros(300), 0.01)) < 0.1
    True
    """
    capital = fixed_capital(_validate_unit(values), mean, error).max(axis=-1)
    return np.asarray(np.exp(-np.maximum(capital, 0.0)))


def fixed_capital(x: FloatArray, mean: npt.ArrayLike, error: float) -> FloatArray:
    """The log capital after each of a known number of values (the last axis), of a bet against each mean."""
    means = np.asarray(mean, dtype=np.float64)[..., np.newaxis]
    if not ((means > 0) & (means < 1)).all():
        raise SurefootError("the hypothetical mean must lie between 0 and 1")
    size = x.shape[-1]
    steps = np.arange(2.0, size + 2)
    running = (np.cumsum(x, axis=-1) + means) / steps  # the prior observation is the hypothetical mean
    variance = (np.cumsum((x - running) ** 2, axis=-1) + means / 4) / steps
    before = np.concatenate([np.broadcast_to(means / 4, (*variance.shape[:-1], 1)), variance[..., :-1]], axis=-1)
    stake = np.minimum(np.sqrt(2 * np.log(1 / error) / (size * before)), LARGEST_STAKE / (1 - means))
    return np.asarray(np.cumsum(np.log1p(stake * (means - x)), axis=-1))


def betting_capital(values: FloatArray, mean: float, highest: float | FloatArray, gap: float) -> FloatArray:
    """The log capital after each value of gamblers who bet that the mean lies below ``mean``.

    If every value has an expectation of ``mean`` or more, given those before it, then the capital exceeds 1 / error at
    any time with probability at most ``error``. Each gambler expects a mean some gaps (`GAPS`) below, and
    makes the best stake for that and for the variance of the values before; the capital is the average of theirs.

    Parameters
    ----------
    values
        The values, in the order of arrival along the last axis.
    mean
        The hypothetical mean.
    highest
        The largest value that is possible, of each value or of all; it may depend on the values before.
    gap
        How far below the hypothetical mean the mean may lie: the scale of the bets.

    Examples
    --------
    >>> bool(betting_capital(np.zeros(200), 0.02, 1.0, gap=0.02)[-1] > np.log(20))
    True
    """
    before = np.arange(values.shape[-1])
    total, squares = (np.cumsum(one, axis=-1) - one for one in (values, values**2))
    spread = np.maximum(squares - total**2 / np.maximum(before, 1), 0.0)
    room = np.maximum(highest - mean, SMALLEST)
    variance = (spread + gap * room) / (before + 1)
    capital = np.full(values.shape, -np.inf)
    for expected in np.multiply(GAPS, gap):
        stake = np.minimum(expected / (variance + expected**2), LARGEST_STAKE / room)
        capital = np.logaddexp(capital, np.cumsum(np.log1p(stake * (mean - values)), axis=-1))
    return np.asarray(capital - np.log(len(GAPS)))


def tail_capital(loss: FloatArray, limit: float, share: float, largest: float) -> FloatArray:
    """The log capital of bets that the worst queries' loss exceeds the best queries' gain by less than ``limit``.

    With X the loss of a query, the worst share s loses L = min over c of c + E[max(X - c, 0)] / s (Rockafellar and
    Uryasev 2000), the best gains G = min over g of g + E[max(-X - g, 0)] / s. If L - G is the limit or more, then so is
    the expectation of c - g + (max(X - c, 0) - max(-X - g, 0)) / s for every c and the g that is best; c may be chosen
    by the losses before. A gambler bets against each cell of possible g, and the poorest of them counts.
    """
    threshold = _running_threshold(loss, share)
    worst = threshold + np.maximum(loss - threshold, 0.0) / share
    highest = threshold + (largest - threshold) / share
    poorest = np.full(loss.shape, np.inf)
    for start, end in pairwise((np.linspace(0, 1, CELLS + 1) ** 2 * largest).tolist()):
        values = worst - start - np.maximum(-loss - end, 0.0) / share
        poorest = np.minimum(poorest, betting_capital(values, limit, highest - start, abs(limit) or largest / 5))
    return poorest


def _running_threshold(loss: FloatArray, share: float) -> FloatArray:
    """The smallest of the worst losses before each one, at least 0."""
    found = np.zeros(loss.shape)
    for own, path in zip(np.atleast_2d(found), np.atleast_2d(loss), strict=True):
        worst: list[float] = []
        others: list[float] = []  # with opposite signs: a heap has its smallest first
        for place, value in enumerate(path.tolist()):
            if place:
                while len(worst) <= min(int(place * share), place - 1):
                    heappush(worst, -heappop(others))
                own[place] = max(worst[0], 0.0)
            heappush(others, -heappushpop(worst, value))
    return found


def _validate_unit(values: npt.ArrayLike) -> FloatArray:
    """Values as an array; they must be a list of one or more numbers in 0..1."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size or not ((x >= 0) & (x <= 1)).all():
        raise SurefootError("bets are made on a list of one or more values from 0 to 1")
    return x
