"""What a sample shows of one loss: the probability that it is within its limit, and whether it may be noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from surefoot._typing import FloatArray
from surefoot.release_gate.finding import SLACK
from surefoot.release_gate.no_effect import Contrast
from surefoot.risk.distributions import normal_cdf, normal_quantile, student_p

PRIOR = 3
"""True changes of the mean are expected to be within about so many tolerances."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one loss: the estimate with its standard error, and whether it may be noise.

    ``probability`` is that of a loss within the limit; ``p`` that of a loss as large if there were no effect.
    """

    loss: float
    error: float
    probability: float
    p: float

    @classmethod
    def average(cls, evidence: Sequence[Evidence]) -> Evidence:
        """The evidence over several draws of what is in doubt; the spread between them adds to the error."""
        loss, error, probability, p = np.array([(one.loss, one.error, one.probability, one.p) for one in evidence]).T
        total = sqrt(float(np.mean(error**2) + np.var(loss)))
        return cls(float(loss.mean()), total, float(probability.mean()), float(p.mean()))

    def bound(self, level: float, side: int) -> float:
        """The end of an interval, which is wrong in one direction at most at the level."""
        return self.loss + side * normal_quantile(1 - level) * self.error


def mean_evidence(loss: FloatArray, limit: float, p: float) -> Evidence:
    """The evidence on a mean loss: Student's, made careful by two imaginary queries, and shrunk a little.

    The imaginary queries lose and win as much as any query did, so that a sample without a large loss does not rule
    one out. The shrinkage is that of a normal prior of `PRIOR` limits.
    """
    n, largest = len(loss), float(np.abs(loss).max())
    mean = float(loss.sum()) / (n + 2)
    squares = float(loss @ loss) + 2 * largest**2 - (n + 2) * mean**2
    variance = max(squares / (n + 1) / (n + 2), SLACK**2)
    kept = (PRIOR * limit) ** 2 / ((PRIOR * limit) ** 2 + variance) if limit else 1.0
    error = sqrt(variance * kept)
    return Evidence(float(loss.mean()), error, _student_cdf((limit - mean * kept) / error, n + 1), p)


def tail_evidence(limit: float, contrast: Contrast) -> Evidence:
    """The evidence on the tail, whose spread is that of a change without effect."""
    spread = max(contrast.spread, SLACK)
    return Evidence(contrast.value, spread, float(normal_cdf((limit - contrast.value) / spread)), contrast.p)


def share_evidence(lost: int, of: int, limit: float, p: float) -> Evidence:
    """The evidence on a share: normal, after one more success and failure (Agresti and Coull)."""
    share = (lost + 1) / (of + 2)
    error = sqrt(share * (1 - share) / (of + 2))
    return Evidence(lost / of if of else 0.0, error, float(normal_cdf((limit - share) / error)), p)


def student_p_of(loss: FloatArray) -> float:
    """The one-sided p of Student's test of a mean loss of 0: for a weighed loss, chance is that of the sample only."""
    n, mean = len(loss), float(loss.mean())
    if n < 2:
        return 1.0
    error = float(np.std(loss, ddof=1)) / sqrt(n)
    return 1 - _student_cdf(mean / error, n - 1) if error else float(mean <= 0)


def _student_cdf(t: float, df: float) -> float:
    half = float(student_p(t, df)) / 2
    return half if t < 0 else 1 - half


def sign_test(lost: int, won: int) -> float:
    """The probability of so many losses or more, if each of the changed queries loses with probability 1/2."""
    of = lost + won
    if of > 1000:
        return float(normal_cdf((of / 2 - lost + 0.5) / sqrt(of / 4)))
    return float(sum(comb(of, number) for number in range(lost, of + 1)) / 2**of)
