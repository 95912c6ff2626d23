"""Is there a system effect, or one of a group of queries? Permutation tests, and Student's t test of risk.

The null hypothesis of the permutation tests: on each topic, the two scores are exchangeable. To exchange them flips the
sign of the difference d, so U_Risk without a system effect is known at any alpha: it is below 0, because losses weigh
more. T_Risk in contrast is compared with 0. Tests take ``alternative``: "two-sided",
or "worse" for a one-sided test that the system is worse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import BoolArray, FloatArray, Progress
from surefoot.errors import SurefootError, choose
from surefoot.risk.measures import GEORISK, Risk
from surefoot.risk.moments import CHUNK
from surefoot.risk.values import Family, Linear, validate_alphas, value_functions
from surefoot.stats.inference import ALTERNATIVES, differences, reported, t_inference

ROUNDING = 1e-12
"""Statistics that differ by less than this are taken to be equal."""
GROUP_ROUNDING = 1e-9
"""The same for Welch's t, whose variances are differences of sums."""
GROUP_CHUNK = 4_000_000
"""The number of values that are permuted at once."""


def t_test(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 0.0,
    value: Family = Linear,
    alternative: str = "two-sided",
) -> FloatArray:
    """The p of T_Risk under E[v(d)] = 0; at alpha = 0, of the paired t test.

    Parameters
    ----------
    system, baseline
        Scores on the same topics, one system or several.
    alpha, value
        The additional weight of losses, one or several, and the family of value functions.
    alternative
        ``"two-sided"``, or ``"worse"`` for the system.

    Returns
    -------
    FloatArray
        p for each alpha (if several) and system.

    Examples
    --------
    >>> float(t_test([0.2, 0.5, 0.3], [0.4, 0.1, 0.2]).round(3))
    0.622

    """
    found = t_inference(system, baseline, alpha, value)
    if choose(alternative, ALTERNATIVES, "alternative") == "two-sided":
        return found.p
    return np.where(found.trisk > 0, 1 - found.p / 2, found.p / 2)[()]


@dataclass(frozen=True)
class FlipTest:
    """U_Risk, its mean without a system effect (``centre``), p, and p adjusted for all systems tested."""

    urisk: FloatArray
    centre: FloatArray
    p: FloatArray
    p_max: FloatArray
    exact: bool


def flip_test(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 1.0,
    value: Family = Linear,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> FlipTest:
    """The sign-flip permutation test: U_Risk against its distribution if d and -d were equally likely on each topic.

    Only the odd part o(d) = (v(d) - v(-d)) / 2 of v(d) changes its sign with d. The mean of the even part is the
    ``centre``, the mean of U_Risk over all flips. So p counts the flips with |sum ±o| at least |sum o| ("worse": with
    sum ±o at most sum o). For linear values o(d) = (1 + alpha / 2) d: **the test is the same at every alpha**. All
    systems share their flips. ``p_max`` compares each with the largest |sum ±o| / sqrt(sum o²) of any system, which
    bounds the chance of any false alarm among them, as Dunnett's test does (Westfall and Young 1993, single step).

    If there are no more flips than ``n_resamples`` all are counted and p is exact, else p = (1 + count) / (1 + n). NaN
    where no topic differs.

    Parameters
    ----------
    system, baseline
        Scores on the same topics, one system or several.
    alpha, value
        The additional weight of losses, one or several, and the family of value functions.
    alternative
        ``"two-sided"``, or ``"worse"`` for the system.
    n_resamples, seed
        The number of flips that are drawn if not all are counted, and the random seed.
    progress
        Called with the number of flips done, their total, and a message.

    Returns
    -------
    FlipTest
        U_Risk, its mean over all flips, p, and p adjusted for all systems.

    Examples
    --------
    >>> found = flip_test([0.2, 0.5, 0.3, 0.7], [0.4, 0.1, 0.2, 0.4], alpha=5)
    >>> float(found.urisk.round(6)), float(found.centre.round(6)), float(found.p), found.exact
    (-0.1, -0.625, 0.375, True)

    """
    choose(alternative, ALTERNATIVES, "alternative")
    d, sweep = differences(system, baseline), validate_alphas(alpha)
    odd, even = _odd_and_even(d, sweep, value)
    # Linear values make the same test at every alpha, so one of them is enough.
    tested = odd.reshape(sweep.size, -1, d.shape[-1])[: 1 if value is Linear else None]
    p, p_max, exact = _flipped(tested, alternative, n_resamples, seed, progress)
    shape = odd.shape[:-1]
    return FlipTest(
        urisk=(odd + even).mean(axis=-1),
        centre=even.mean(axis=-1),
        p=np.broadcast_to(p, (sweep.size, p.shape[1])).reshape(shape)[()],
        p_max=np.broadcast_to(p_max, (sweep.size, p.shape[1])).reshape(shape)[()],
        exact=exact,
    )


def flip_centre(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> FloatArray:
    """U_Risk without a system effect: its mean over all flips of `flip_test`.

    >>> float(flip_centre([0.2, 0.5, 0.3, 0.7], [0.4, 0.1, 0.2, 0.4], alpha=5).round(6))
    -0.625
    """
    _, even = _odd_and_even(differences(system, baseline), validate_alphas(alpha), value)
    return np.asarray(even.mean(axis=-1))


def _odd_and_even(d: FloatArray, alphas: FloatArray, value: Family) -> tuple[FloatArray, FloatArray]:
    """The odd and the even part of v(d); the axes of alpha lead."""
    families = [value(float(alpha)) for alpha in alphas.ravel()]
    there, back = np.stack([v(d) for v in families]), np.stack([v(-d) for v in families])
    shape = alphas.shape + d.shape
    return ((there - back) / 2).reshape(shape), ((there + back) / 2).reshape(shape)


def _flipped(
    odd: FloatArray, alternative: str, n: int, seed: int, progress: Progress | None
) -> tuple[FloatArray, FloatArray, bool]:
    """Both p of each alpha and system of an array alphas × systems × topics."""
    alphas, systems, _ = odd.shape
    odd = odd.reshape(alphas * systems, -1)
    length = np.sqrt(np.square(odd).sum(axis=1))
    unit = odd / np.where(length > 0, length, 1.0)[:, np.newaxis]
    unit = unit[:, (unit != 0).any(axis=0)]
    observed = _extremity(unit.sum(axis=1), alternative) - ROUNDING
    single, largest, drawn = np.zeros(len(odd)), np.zeros(len(odd)), 0
    for flips in _patterns(unit.shape[1], n, seed, len(odd), progress):
        extremity = _extremity((1.0 - 2.0 * flips) @ unit.T, alternative)
        extremity[:, length == 0] = -np.inf  # systems without a test do not count
        most = extremity.reshape(-1, alphas, systems).max(axis=2).repeat(systems, axis=1)
        single += (extremity >= observed).sum(axis=0)
        largest += (most >= observed).sum(axis=0)
        drawn += len(flips)
    exact = _enumerable(unit.shape[1], n)
    p, p_max = (np.where(length > 0, _p_of(count, drawn, exact), np.nan) for count in (single, largest))
    return p.reshape(alphas, systems), p_max.reshape(alphas, systems), exact


@dataclass(frozen=True)
class SwapTest:
    """The difference of two systems in a measure and its p, at each alpha."""

    difference: FloatArray
    p: FloatArray
    exact: bool


def swap_test(
    matrix: npt.ArrayLike,
    row: int,
    other: int,
    alpha: npt.ArrayLike = 1.0,
    value: Family = Linear,
    *,
    measure: Risk = GEORISK,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SwapTest:
    """The topic-swap permutation test: do two systems of a population differ in GeoRisk?

    On each topic the two rows exchange their scores or not. The topics' totals and the grand total stay as they are;
    the two systems' totals, expected scores and GeoRisk change. Exchanges are counted as the flips of `flip_test`.

    Parameters
    ----------
    matrix
        Scores of systems × topics, 0 or more.
    row, other
        The rows of the two systems.
    alpha, value
        The additional weight of losses, one or several, and the family of value functions.
    measure
        The measure compared, one that needs a population.
    alternative
        ``"two-sided"``, or ``"worse"`` for the first system.
    n_resamples, seed
        The number of exchanges that are drawn if not all are counted, and the random seed.
    progress
        Called with the number of exchanges done, their total, and a message.

    Returns
    -------
    SwapTest
        The difference in the measure and its p, for each alpha.

    Examples
    --------
    >>> scores = [[0.05, 0.15, 0.55, 0.30], [0.40, 0.35, 0.20, 0.10], [0.30, 0.30, 0.10, 0.20]]
    >>> found = swap_test(scores, 0, 1, alpha=[0, 5])
    >>> found.difference.round(4), found.p
    (array([ 0.0006, -0.0484]), array([1.  , 0.75]))

    """
    choose(alternative, ALTERNATIVES, "alternative")
    x, sweep = np.asarray(matrix, dtype=np.float64), validate_alphas(alpha)
    if x.ndim != 2 or not (x.min() >= 0 and x.max() < np.inf):
        raise SurefootError("the swap test takes a matrix of systems × topics with finite scores of 0 or more")
    if measure.needs != "population":
        raise SurefootError(f"the swap test takes a measure that needs a population; got {measure.name}")
    pair = x[[row, other]]
    differs = pair[0] != pair[1]
    totals, values = x.sum(axis=0), value_functions(value, sweep)

    def compared(pair: FloatArray) -> FloatArray:
        """The measure of the first less that of the second, alphas × resamples, of two × resamples × topics."""
        shares = pair.sum(axis=-1) / (totals.sum() or 1.0)
        found = measure.compute(measure.source(pair, shares=shares, totals=totals, values=values), sweep.ravel())
        return np.asarray(found[:, 0] - found[:, 1])

    count, drawn, difference = np.zeros(sweep.size), 0, compared(pair[:, np.newaxis])[:, 0]
    observed = _extremity(difference, alternative) - ROUNDING
    for swaps in _patterns(int(differs.sum()), n_resamples, seed, 4 * x.shape[1], progress):
        swapped = np.repeat(pair[:, np.newaxis], len(swaps), axis=1)
        swapped[..., differs] = np.where(swaps, swapped[::-1][..., differs], swapped[..., differs])
        count += (observed <= _extremity(compared(swapped), alternative).T).sum(axis=0)
        drawn += len(swaps)
    exact = _enumerable(int(differs.sum()), n_resamples)
    p = _p_of(count, drawn, exact) if differs.any() else np.full(sweep.size, np.nan)
    return SwapTest(difference.reshape(sweep.shape)[()], p.reshape(sweep.shape)[()], exact)


def _extremity(statistic: FloatArray, alternative: str) -> FloatArray:
    """The evidence of a statistic against the null hypothesis."""
    return np.abs(statistic) if alternative == "two-sided" else -statistic


def _enumerable(topics: int, n_resamples: int) -> bool:
    return topics < 63 and 1 << topics <= n_resamples


def _patterns(
    topics: int, n_resamples: int, seed: int, width: int, progress: Progress | None
) -> Iterator[npt.NDArray[np.bool_]]:
    """Which topics to exchange: all patterns if there are at most ``n_resamples``, else this number of random ones.

    They come in chunks whose size is bounded for work with ``width`` numbers for each pattern.
    """
    if n_resamples < 1:
        raise SurefootError(f"n_resamples must be at least 1; got {n_resamples}")
    exact = _enumerable(topics, n_resamples)
    count = 1 << topics if exact else n_resamples
    at_once = max(1, CHUNK // max(topics, width))
    random = generator(seed)

    def drawn(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        if exact:
            return np.asarray((codes[:, np.newaxis] >> np.arange(topics)) & 1 == 1)
        return np.asarray(random.integers(0, 2, (len(codes), topics), dtype=np.int8) == 1)

    chunks = (drawn(np.arange(start, min(start + at_once, count))) for start in range(0, count, at_once))
    return reported(chunks, count, progress, "permutations")


def _p_of(count: FloatArray, drawn: int, exact: bool) -> FloatArray:
    return count / drawn if exact else (1 + count) / (1 + drawn)


def welch_t(values: FloatArray, groups: BoolArray) -> FloatArray:
    """Welch's t of each group against the others; values may be rows of draws.

    Infinite where neither side varies but the means differ, 0 where they are equal too.

    Parameters
    ----------
    values
        A value for each item, or draws × items.
    groups
        Which items belong to each group, groups × items; each group has two items or more, and so have the others.

    Returns
    -------
    FloatArray
        t of each group, or draws × groups.

    Examples
    --------
    >>> welch_t(np.array([3.0, 5.0, 1.0, 1.0, 4.0]), np.array([[True, True, False, False, False]])).round(4)
    array([1.4142])
    """
    inside = groups.T.astype(np.float64)
    size = inside.sum(axis=0)
    rest = groups.shape[1] - size
    total, squares = values @ inside, values**2 @ inside
    other = values.sum(axis=-1, keepdims=True) - total
    other_squares = (values**2).sum(axis=-1, keepdims=True) - squares
    difference = total / size - other / rest
    variance = _variance_of_mean(total, squares, size) + _variance_of_mean(other, other_squares, rest)
    flat, equal = variance <= GROUP_ROUNDING**2, np.abs(difference) <= GROUP_ROUNDING
    t = difference / np.sqrt(np.where(flat, 1.0, variance))
    return np.asarray(np.where(flat, np.where(equal, 0.0, np.copysign(np.inf, difference)), t))


def _variance_of_mean(total: FloatArray, squares: FloatArray, size: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(squares / size - (total / size) ** 2, 0.0) / (size - 1))


def group_test(values: FloatArray, groups: BoolArray, n_resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """One-sided p of each group: how often do randomly permuted values give a t at least as high?

    Exact if the values of a group are exchangeable with those of the others. As t is studentised, it also holds for
    large groups with the same mean and another spread (Chung and Romano, Annals of Statistics 41(2), 2013).

    Parameters
    ----------
    values, groups
        As in `welch_t`, without draws.
    n_resamples, seed
        The number of permutations, and the random seed.

    Returns
    -------
    FloatArray
        p of each group, (1 + count) / (1 + n_resamples).

    Examples
    --------
    >>> values = np.array([0.9, 0.8, 0.7, 0.1, 0.2, 0.0, 0.1, 0.0])
    >>> float(group_test(values, np.array([[True] * 3 + [False] * 5]), 999)[0]) < 0.05
    True
    """
    observed = welch_t(values, groups)
    observed = observed - GROUP_ROUNDING * np.where(np.isfinite(observed), np.maximum(np.abs(observed), 1.0), 0.0)
    random, count = generator(seed), np.zeros(len(groups))
    at_once = max(1, GROUP_CHUNK // values.size)
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        drawn = random.permuted(np.broadcast_to(values, (size, values.size)), axis=1)
        count += (welch_t(drawn, groups) >= observed).sum(axis=0)
    return np.asarray((1 + count) / (1 + n_resamples))
