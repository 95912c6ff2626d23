"""What a sample shows of a loss: the probability that it is within its limit, and whether it may be noise.

Without an effect, candidate and baseline are exchangeable: the trials of a query can be dealt again to the two systems.
With one trial each, a deal keeps or flips the sign of the query's difference. A statistic is compared with its
distribution over many deals; no assumption about the distribution of scores is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from surefoot import risk
from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.release_gate.finding import SLACK, ScoredPair
from surefoot.risk.distributions import normal_cdf, normal_quantile, student_p
from surefoot.risk.moments import Moments

DEALS, FEWEST, CELLS = 4000, 200, 20_000_000
"""The number of deals, at most and at least, and the number of scores dealt in all."""
MANY = 5000
"""With more changed queries, sums over random signs are approximated by a normal distribution."""


@dataclass(frozen=True)
class Contrast:
    """A statistic less its mean under no effect (``value``), its spread under no effect, and its one-sided p."""

    value: float
    spread: float
    p: float


@dataclass(frozen=True)
class Contrasts:
    """The contrasts of the mean loss and of the tail (see `tail_of`) of a pair."""

    mean: Contrast
    tail: Contrast


def contrasts(pair: ScoredPair, tail_share: float, deals: int = DEALS, seed: int = 0) -> Contrasts:
    """The mean loss and the tail of a pair against their distributions under no effect; no tail if its share is 0."""
    count = int(risk.tail_count(len(pair.topics), tail_share))
    if pair.has_repeats:
        return _by_deals(pair, count, deals, seed)
    size = np.sort(np.abs(pair.delta))[::-1]
    size = size[size > 0]
    mean, tail = float(pair.loss.mean()), tail_of(pair.loss, count)
    if len(size) > MANY:
        return Contrasts(_normal(mean, size / len(pair.topics)), _normal(tail, _tail_weights(size, count)))
    means, tails = _flipped(size, len(pair.topics), count, deals, seed)
    is_complete = len(means) == 2 ** len(size)
    return Contrasts(_contrast(mean, means, 0.0, is_complete), _contrast(tail, tails, 0.0, is_complete))


def tail_of(loss: FloatArray, count: int) -> float:
    """The mean loss of the worst queries less the mean gain of the best ones: 0 on average if a change has no effect.

    >>> round(tail_of(np.array([0.5, 0.3, 0.0, -0.1, -0.2]), 1), 9)
    0.3
    """
    return worst_loss(loss, count) - worst_loss(-loss, count)


def worst_loss(loss: FloatArray, count: int) -> float:
    """The mean loss of the worst queries; a gain counts 0."""
    return float(np.maximum(np.partition(loss, -count)[-count:], 0.0).mean()) if count else 0.0


def _flipped(size: FloatArray, topics: int, count: int, deals: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Mean loss and tail under random signs, or under all signs if these are few.

    The sizes are sorted, so that the order of topics plays no role.
    """
    if 2 ** len(size) <= deals:
        lost = (np.arange(2 ** len(size))[:, None] >> np.arange(len(size))) & 1 == 1
    else:
        lost = generator(seed).integers(0, 2, (max(FEWEST, min(deals, CELLS // len(size))), len(size)), np.int8) == 1
    means = np.where(lost, size, -size).sum(axis=1) / topics
    if not count:
        return means, np.zeros(len(means))
    worst = lost & (np.cumsum(lost, axis=1, dtype=np.int32) <= count)
    best = ~lost & (np.cumsum(~lost, axis=1, dtype=np.int32) <= count)
    return means, (worst.astype(np.float64) - best) @ size / count


def _tail_weights(size: FloatArray, count: int) -> FloatArray:
    """The part of each size in the tail if it is a loss: its excess over the largest size that is in neither tail."""
    if not count:
        return np.zeros(1)
    threshold = size[2 * count] if len(size) > 2 * count else 0.0
    return np.asarray(np.maximum(size - threshold, 0.0) / count)


def _normal(value: float, weights: FloatArray) -> Contrast:
    spread = float(np.sqrt(weights @ weights))
    return Contrast(value, spread, float(normal_cdf(-value / spread)) if spread else float(value <= SLACK))


def _contrast(value: float, null: FloatArray, centre: float = 0.0, is_complete: bool = False) -> Contrast:
    """The contrast with the values of the deals; a p too small for their number is that of a normal variable."""
    spread = float(np.sqrt(np.mean((null - centre) ** 2)))
    larger = int(np.sum(null >= value - SLACK))
    p = larger / len(null) if is_complete else (1 + larger) / (1 + len(null))
    if not larger:
        p = min(p, float(normal_cdf((centre - value) / max(spread, SLACK))))
    return Contrast(value - centre, spread, p)


def _by_deals(pair: ScoredPair, count: int, deals: int, seed: int) -> Contrasts:
    """With repeats the worst loss is compared with its own deals: the noise is known, so gains need not mirror it."""
    found = [(float(loss.mean()), worst_loss(loss, count)) for loss in _dealt(pair, deals, seed)]
    means, worst = np.array(found).T
    tail = _contrast(worst_loss(pair.loss, count), worst, float(worst.mean()))
    return Contrasts(_contrast(float(pair.loss.mean()), means), tail)


def _dealt(pair: ScoredPair, deals: int, seed: int) -> Iterator[FloatArray]:
    """The loss of each topic, the trials dealt again; topics are ordered by their scores, not by name."""
    own, base = pair.trials
    pooled = np.sort(np.concatenate([own, base]), axis=0)
    counts = np.array([np.sum(~np.isnan(one), axis=0) for one in (own, base)])
    order = np.lexsort((*counts, *pooled))
    pooled, (of_own, of_base) = pooled[:, order], counts[:, order]
    place = np.arange(len(pooled))[:, None]
    random = generator(seed)
    for _ in range(max(FEWEST, min(deals, CELLS // pooled.size))):
        keys = np.where(np.isnan(pooled), np.inf, random.random(pooled.shape))
        dealt = np.nan_to_num(np.take_along_axis(pooled, np.argsort(keys, axis=0), axis=0))
        to_own = np.where(place < of_own, dealt, 0.0).sum(axis=0)
        yield (dealt.sum(axis=0) - to_own) / of_base - to_own / of_own


PRIOR = 3
"""True changes of the mean are expected to be within about so many tolerances."""


@dataclass(frozen=True)
class Evidence:
    """The evidence on one loss: the estimate and its standard error.

    ``probability`` is that of a loss within the limit, ``p`` that of a loss as large if there were no effect.
    """

    loss: float
    error: float
    probability: float
    p: float

    @classmethod
    def average(cls, evidence: Sequence[Evidence]) -> Evidence:
        """The evidence over several draws of the grades; the spread between them adds to the error."""
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
    """The one-sided p of Student's test of a mean loss of 0."""
    moments = Moments.of(loss)
    if np.isnan(moments.t):
        return float(len(loss) < 2 or moments.mean <= 0)
    return 1 - _student_cdf(float(moments.t), len(loss) - 1)


def _student_cdf(t: float, df: float) -> float:
    half = float(student_p(t, df)) / 2
    return half if t < 0 else 1 - half


def sign_test(lost: int, won: int) -> float:
    """The probability of so many losses or more, if each of the changed queries loses with probability 1/2."""
    of = lost + won
    if of > 1000:
        return float(normal_cdf((of / 2 - lost + 0.5) / sqrt(of / 4)))
    return float(sum(comb(of, number) for number in range(lost, of + 1)) / 2**of)
