"""Risk measures: pure functions of arrays, topics along the last axis.

``system`` may hold one system or many (any leading axes), ``baseline`` one row or one for each system. ``alpha`` may
be a number or a sweep, whose axes then lead the result. ``value`` is a family of value functions
(`surefoot.risk.values`). Measures against many baselines take a matrix of systems × topics (further axes may lead).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from surefoot.errors import SurefootError
from surefoot.risk.statistics import Comparison, Moments, chunks, moments_of_values
from surefoot.risk.values import Family, Linear
from surefoot.scores import FloatArray

LARGEST_ALPHA = 1e6
"""Beyond it nothing but the losses would be left to see."""


def frisk(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Risk = mean(max(0, b - s)): how much is lost on average, the gains left out (SIGIR 2012).

    >>> float(frisk([0.2, 0.5], [0.4, 0.1]))
    0.1
    """
    return loss_share(compare(system, baseline))


def freward(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Reward = mean(max(0, s - b)): how much is won on average, the losses left out (SIGIR 2012).

    >>> float(freward([0.2, 0.5], [0.4, 0.1]))
    0.2
    """
    return gain_share(compare(system, baseline))


def ugain(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """U_Gain = F_Reward - F_Risk = mean(s - b): the plain difference of means.

    >>> float(ugain([0.2, 0.5], [0.4, 0.1]).round(6))
    0.1
    """
    return urisk(system, baseline, alpha=0.0)


def urisk(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> FloatArray:
    """U_Risk = mean(v(s - b)) = U_Gain - alpha F_Risk: the mean difference, losses weighing 1 + alpha.

    Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive optimization*, SIGIR 2012.

    >>> urisk([0.2, 0.5], [0.4, 0.1], alpha=[0, 1, 5])
    array([ 0.1,  0. , -0.4])
    """
    return value_moments(system, baseline, alpha, value).mean


def trisk(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> FloatArray:
    """T_Risk = U_Risk / SE, SE = s_x / sqrt(c), over x = v(s - b) on c topics, s_x with c - 1.

    At alpha = 0 it is the paired t statistic. NaN where it is undefined: one topic, or all x alike.

    Dinçer, Macdonald and Ounis, *Hypothesis testing for the risk-sensitive evaluation of retrieval systems*,
    SIGIR 2014.

    >>> float(trisk([0.2, 0.5, 0.3], [0.4, 0.1, 0.2], alpha=0).round(4))
    0.5774
    """
    return t_of(value_moments(system, baseline, alpha, value))


def t_of(moments: Moments) -> FloatArray:
    """The t statistic of a mean; NaN where the sample does not vary or is too small."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(moments.se > 0, moments.mean / moments.se, np.nan)


def win_loss(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """Wins over losses; infinite without a loss, NaN without either.

    >>> float(win_loss([0.2, 0.5, 0.9], [0.4, 0.1, 0.8])), float(win_loss([0.5], [0.1]))
    (2.0, inf)
    """
    compared = compare(system, baseline)
    return _ratio(compared.wins, compared.losses.n)


def reward_risk(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """F_Reward over F_Risk; infinite without a loss, NaN without either.

    >>> float(reward_risk([0.2, 0.5], [0.4, 0.1]).round(6))
    2.0
    """
    compared = compare(system, baseline)
    return _ratio(gain_share(compared), loss_share(compared))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.divide(above, below))


def tail(system: npt.ArrayLike, baseline: npt.ArrayLike, share: float = 0.1) -> FloatArray:
    """Tail risk: the mean difference over the worst ceil(share × c) topics, signed like the difference.

    The conditional value at risk that Wang, Bennett and Collins-Thompson discuss (SIGIR 2012).

    >>> float(tail([0.1, 0.5, 0.3, 0.4], [0.4, 0.4, 0.4, 0.4], share=0.5).round(6))
    -0.2
    """
    if not 0 < share <= 1:
        raise SurefootError(f"the tail's share must lie above 0 and be at most 1; got {share:g}")
    s, b = np.broadcast_arrays(*_arrays(system, baseline))
    if s.ndim > 1:
        return np.stack([tail(one, base, share) for one, base in zip(s, b, strict=True)])
    count = int(tail_count(len(s), share))
    return np.asarray(np.partition(s - b, count - 1)[:count].mean())


def tail_count(topics: npt.ArrayLike, share: float) -> FloatArray:
    """How many topics a tail holds: ceil(share × c), rounded first, as 0.07 × 100 is a hair above 7 in floating point.

    >>> int(tail_count(100, 0.07)), int(tail_count(50, 0.05))
    (7, 3)
    """
    return np.asarray(np.ceil(np.round(share * np.asarray(topics, dtype=np.float64), 9)))


GMEAN_FLOOR = 1e-5


def gmean(scores: npt.ArrayLike, floor: float = GMEAN_FLOOR) -> FloatArray:
    """The geometric mean over topics, scores below ``floor`` counted as ``floor`` (GMAP; trec_eval's 0.00001).

    Robertson, *On GMAP: and other transformations*, CIKM 2006.

    >>> float(gmean([0.01, 1.0]).round(6))
    0.1
    """
    return np.asarray(np.exp(np.log(np.maximum(np.asarray(scores, dtype=np.float64), floor)).mean(axis=-1)))


def zscores(matrix: npt.ArrayLike) -> FloatArray:
    """z_ij = (x_ij - e_ij) / sqrt(e_ij), e_ij = S_i T_j / N; 0 where nothing is expected.

    S_i is the row's total, T_j the column's, N the sum of all: each score against what its system and its topic make
    one expect. Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*,
    SIGIR 2016.

    >>> zscores([[0.05, 0.55], [0.40, 0.20]]).round(3)
    array([[-0.369,  0.286],
           [ 0.369, -0.286]])
    """
    x = _matrix(matrix)
    return _Expectation(x).z(x, slice(None))


def expected(matrix: npt.ArrayLike) -> FloatArray:
    """e_ij = S_i T_j / N: what system i and topic j make one expect, if they did not interact.

    >>> expected([[0.1, 0.3], [0.2, 0.2]]).round(3)
    array([[0.15, 0.25],
           [0.15, 0.25]])
    """
    margins = _Expectation(_matrix(matrix))
    return np.asarray(margins.rows * margins.columns)


def zrisk(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """Z_Risk(i) = sum_j v(x_ij - e_ij) / sqrt(e_ij): a system's z over all topics, losses weighing 1 + alpha.

    The baseline is what all systems of the matrix make one expect (see `zscores`). SIGIR 2016; the smooth form is
    that of ECIR 2020.

    >>> zrisk([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([-0.452, -0.203])
    """
    x = _matrix(matrix)
    margins = _Expectation(x)
    if value is Linear:
        gains, losses = margins.sum(x, _gains_and_losses)
        return np.asarray(gains + np.multiply.outer(1 + alphas_of(alpha), losses))

    def at(one: float) -> FloatArray:
        worth = value(one)
        return np.asarray(margins.sum(x, lambda difference: worth(difference)[np.newaxis])[0])

    return _sweep(alpha, at)


def georisk(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """GeoRisk(i) = sqrt(S_i / c × Phi(Z_Risk(i) / c)): the geometric mean of effectiveness and of safety.

    Phi is the normal distribution function. Beyond alpha of about 2 it is not consistent: a better score on one topic
    can lower it, since a larger S_i raises what is expected on all others. SIGIR 2016.

    >>> georisk([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([0.351, 0.371])
    """
    return geo(_matrix(matrix), zrisk(matrix, alpha, value))


def geo(matrix: FloatArray, z: FloatArray) -> FloatArray:
    """The square root of a matrix's mean effectiveness times Phi(z / c), for a z computed elsewhere."""
    return geo_of(matrix.mean(axis=-1), z, matrix.shape[-1])


def geo_of(mean: FloatArray, z: FloatArray, topics: int) -> FloatArray:
    """The same of means and a number of topics."""
    return np.asarray(np.sqrt(mean * ndtr(z / topics)))


def geominus_published(matrix: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear) -> FloatArray:
    """Geo- as ECIR 2020 printed it, -sqrt(S/c × Phi(Z-/c)) with Z- = -Z_Risk: it *rewards* risk.

    For reproduction only. The consistent Geo- is -`georisk`; likewise U-, T- and Z- are -`urisk`, -`trisk`, -`zrisk`.

    >>> geominus_published([[0.05, 0.55], [0.40, 0.20]], alpha=1).round(3)
    array([-0.421, -0.403])
    """
    return -geo(_matrix(matrix), -zrisk(matrix, alpha, value))


def g_squared(matrix: npt.ArrayLike) -> tuple[float, int]:
    """G² = the sum of all z², the chi-square statistic of the matrix, and its (r - 1)(c - 1) degrees of freedom.

    >>> statistic, df = g_squared([[0.05, 0.55], [0.40, 0.20]])
    >>> round(statistic, 3), df
    (0.436, 1)
    """
    x = _matrix(matrix)
    if x.ndim != 2:
        raise SurefootError(f"G² takes one matrix of systems × topics; got {x.ndim} axes")
    margins = _Expectation(x)
    statistic = sum(float(np.square(margins.z(x, part)).sum()) for part in chunks(x.shape[1], x.shape[0]))
    return statistic, (x.shape[0] - 1) * (x.shape[1] - 1)


def compare(system: npt.ArrayLike, baseline: npt.ArrayLike) -> Comparison:
    """The sufficient statistics of system against baseline: wins, losses, and the moments of each."""
    return Comparison.of(*_arrays(system, baseline))


def value_moments(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: npt.ArrayLike = 1.0, value: Family = Linear
) -> Moments:
    """Count, mean and squared deviations of x = v(s - b), for each alpha."""
    if value is Linear:
        return compare(system, baseline).at(alphas_of(alpha))
    s, b = _arrays(system, baseline)
    parts = {float(one): moments_of_values(s, b, value(float(one))) for one in np.ravel(alpha)}
    first = next(iter(parts.values()))
    mean, m2 = _sweep(alpha, lambda one: parts[one].mean), _sweep(alpha, lambda one: parts[one].m2)
    return Moments(first.n, mean, m2, first.noise)


def gain_share(compared: Comparison) -> FloatArray:
    """F_Reward of a comparison."""
    return compared.gains.n * compared.gains.mean / compared.topics


def loss_share(compared: Comparison) -> FloatArray:
    """F_Risk of a comparison."""
    return compared.losses.n * np.abs(compared.losses.mean) / compared.topics


_Worth = Callable[[FloatArray], FloatArray]
"""Turns differences into one or more stacked arrays of what they are worth."""


class _Expectation:
    """e_ij = S_i T_j / N of a matrix, kept as its margins."""

    def __init__(self, x: FloatArray) -> None:
        total = x.sum(axis=(-2, -1), keepdims=True)
        self.rows = x.sum(axis=-1, keepdims=True) / np.where(total > 0, total, 1.0)
        self.columns = x.sum(axis=-2, keepdims=True)

    def z(self, x: FloatArray, part: slice) -> FloatArray:
        z: FloatArray = self.weighed(x, part, lambda difference: difference[np.newaxis])[0]
        return z

    def weighed(self, x: FloatArray, part: slice, worth: _Worth) -> FloatArray:
        expected = self.rows * self.columns[..., part]
        root = np.sqrt(expected)
        some = root > 0
        return np.where(some, worth(x[..., part] - expected) / np.where(some, root, 1.0), 0.0)

    def sum(self, x: FloatArray, worth: _Worth) -> FloatArray:
        """The sum over topics of worth(x - e) / sqrt(e), by chunks."""
        parts = chunks(x.shape[-1], x.size // x.shape[-1])
        return np.asarray(np.sum([self.weighed(x, part, worth).sum(axis=-1) for part in parts], axis=0))


def _gains_and_losses(difference: FloatArray) -> FloatArray:
    return np.stack([np.maximum(difference, 0), np.minimum(difference, 0)])


def _sweep(alpha: npt.ArrayLike, at: Callable[[float], FloatArray]) -> FloatArray:
    """The result at each alpha, the axes of alpha leading."""
    sweep = alphas_of(alpha)
    results = np.stack([at(float(one)) for one in sweep.ravel()])
    return results.reshape(sweep.shape + results.shape[1:])


def alphas_of(alpha: npt.ArrayLike) -> FloatArray:
    """The alphas as an array; each must be a number of 0 or more."""
    try:
        sweep = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError(f"alpha must be a number of 0 or more, or several; got {alpha!r}") from None
    wrong = ~((sweep >= 0) & (sweep <= LARGEST_ALPHA))
    if wrong.any() or sweep.size == 0 or sweep.ndim > 1:
        found = f"{sweep[wrong].flat[0]:g}" if wrong.any() else f"an array of shape {sweep.shape}"
        raise SurefootError(f"alpha must be a number of 0 or more, up to {LARGEST_ALPHA:g}, or several; got {found}")
    return sweep


def sweep_of(alpha: npt.ArrayLike) -> FloatArray:
    """The alphas of an analysis that takes one or several: a row of them, each once.

    >>> sweep_of([1, 5, 1])
    array([1., 5.])
    """
    return np.array(list(dict.fromkeys(np.atleast_1d(alphas_of(alpha)).tolist())))


def one_alpha(alpha: float) -> float:
    """The alpha of an analysis that takes only one."""
    sweep = alphas_of(alpha)
    if sweep.ndim:
        raise SurefootError(f"one alpha is needed here; got {sweep.size}")
    return float(sweep)


def _arrays(system: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if s.ndim == 0 or s.shape[-1] == 0 or b.shape[-1:] != s.shape[-1:]:
        raise SurefootError(f"system and baseline need scores on the same topics; got shapes {s.shape} and {b.shape}")
    return s, b


def _matrix(matrix: npt.ArrayLike) -> FloatArray:
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim < 2 or 0 in x.shape:
        raise SurefootError(f"Z_Risk and GeoRisk take a matrix of systems × topics; got shape {x.shape}")
    if not x.min() >= 0 or x.max() == np.inf:
        raise SurefootError(f"Z_Risk and GeoRisk need finite scores of 0 or more; got {x.min():g} to {x.max():g}")
    return x
