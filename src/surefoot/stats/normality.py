"""Is a mean close to normal? Bootstrap replicates against normal quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.risk.distributions import probit
from surefoot.risk.moments import CHUNK

LEAST_PPCC, MOST_SKEWNESS, MOST_KURTOSIS = 0.995, 0.35, 0.5
"""The bounds of "close to normal". By Edgeworth's expansion, a mean with skewness and excess kurtosis within these
bounds falls beyond 1.96 standard errors on either side with probability 1.1 to 3.6 %, where the normal has 2.5 %."""


def bootstrap_means(values: npt.ArrayLike, n_resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """The means of ``n_resamples`` samples of the topics (the last axis), drawn with replacement.

    The replicates are the new last axis. Leading axes share the draws, so that replicate k of each row saw the same
    topics. Efron, *Bootstrap methods: another look at the jackknife*, Annals of Statistics 1979.

    >>> bootstrap_means([[0.0, 1.0], [1.0, 0.0]], n_resamples=4).sum(axis=0)
    array([1., 1., 1., 1.])
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] < 1 or n_resamples < 1:
        raise SurefootError(f"a bootstrap needs topics and 1 or more resamples; got {x.shape} and {n_resamples}")
    random, topics = generator(seed), x.shape[-1]
    means = np.empty((*x.shape[:-1], n_resamples))
    at_once = max(1, CHUNK // x.size)
    for start in range(0, n_resamples, at_once):
        drawn = random.integers(0, topics, (min(at_once, n_resamples - start), topics))
        means[..., start : start + len(drawn)] = x[..., drawn].mean(axis=-1)
    return means


def normal_quantiles(n: int) -> FloatArray:
    """Where n normal values are expected, in order: the normal quantiles of Filliben's m_1 … m_n.

    These are the medians of n ordered uniform values: m_i = (i - 0.3175) / (n + 0.365), but m_n = 0.5^(1/n) and
    m_1 = 1 - m_n. Filliben, *The probability plot correlation coefficient test for normality*, Technometrics 1975.

    >>> normal_quantiles(3).round(3)
    array([-0.819,  0.   ,  0.819])
    """
    medians = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    medians[-1] = 0.5 ** (1 / n)
    medians[0] = 1 - medians[-1]
    return probit(medians)


@dataclass(frozen=True, eq=False)
class QQ:
    """A sample in order against normal quantiles, and how far it is from normal."""

    theoretical: FloatArray
    ordered: FloatArray
    ppcc: float
    skewness: float
    kurtosis: float

    @property
    def close(self) -> bool | None:
        """Whether all three statistics are within the bounds of this module; None if the sample does not vary."""
        if np.isnan(self.ppcc):
            return None
        return self.ppcc >= LEAST_PPCC and abs(self.skewness) <= MOST_SKEWNESS and abs(self.kurtosis) <= MOST_KURTOSIS


def qq(sample: npt.ArrayLike) -> QQ:
    """The normal Q-Q plot of a sample: its points, skewness m_3 / m_2^1.5, kurtosis m_4 / m_2² - 3 and PPCC.

    m_k are the central moments; PPCC, the probability plot correlation coefficient, is the correlation of the ordered
    sample with `normal_quantiles`: 1 on a straight line. NaN where the sample does not vary.

    >>> found = qq([0.1, 0.2, 0.3, 0.4, 0.9])
    >>> round(found.ppcc, 3), round(found.skewness, 3), round(found.kurtosis, 3), found.close
    (0.924, 1.039, -0.331, False)
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    if ordered.ndim != 1 or ordered.size < 3 or not np.isfinite(ordered).all():
        raise SurefootError(f"a Q-Q plot needs 3 or more finite values in a row; got shape {ordered.shape}")
    theoretical = normal_quantiles(ordered.size)
    deviation = ordered - ordered.mean()
    spread = np.sqrt(np.mean(deviation**2))
    if spread <= 1e-13 * np.abs(ordered).max():
        return QQ(theoretical, ordered, np.nan, np.nan, np.nan)
    z = deviation / spread
    ppcc = (z @ theoretical) / np.sqrt(ordered.size * (theoretical @ theoretical))
    return QQ(theoretical, ordered, float(ppcc), float(np.mean(z**3)), float(np.mean(z**4)) - 3.0)
