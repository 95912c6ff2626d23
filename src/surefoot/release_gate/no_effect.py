"""How far statistics of the differences move when a change has no effect.

Without an effect, candidate and baseline are exchangeable: the trials of a query can be dealt again to the two systems.
With one trial each, a deal keeps or flips the sign of the query's difference. A statistic is compared with its
distribution over many deals; no assumption about the distribution of scores is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot import risk
from surefoot._random import generator
from surefoot._typing import FloatArray
from surefoot.release_gate.finding import SLACK, ScoredPair
from surefoot.risk.distributions import normal_cdf

DEALS = 4000
FEWEST = 200
CELLS = 20_000_000
"""How often trials are dealt, at least and at most, and how many scores are dealt in all."""
MANY = 5000
"""With more changed queries the sums over signs are taken for normal."""


@dataclass(frozen=True)
class Contrast:
    """A statistic beyond its centre under no effect, the spread that it has there, and how often it is as large.

    ``value`` is the excess over the centre, ``p`` the one-sided p.
    """

    value: float
    spread: float
    p: float


@dataclass(frozen=True)
class Contrasts:
    """The contrasts of a pair: of the mean loss, and of the tail (see `tail_of`)."""

    mean: Contrast
    tail: Contrast


def contrasts(pair: ScoredPair, tail_share: float, deals: int = DEALS, seed: int = 0) -> Contrasts:
    """The mean loss and the tail of a pair against what no effect gives."""
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
    """What the worst queries lost on average, less what the best ones won: 0 on average if a change has no effect.

    >>> round(tail_of(np.array([0.5, 0.3, 0.0, -0.1, -0.2]), 1), 9)
    0.3
    """
    return worst_loss(loss, count) - worst_loss(-loss, count)


def worst_loss(loss: FloatArray, count: int) -> float:
    """What the worst queries lost on average; a gain counts 0."""
    return float(np.maximum(np.partition(loss, -count)[-count:], 0.0).mean())


def _flipped(size: FloatArray, topics: int, count: int, deals: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Mean loss and tail under random signs; the sizes come sorted, so that the order of topics plays no role.

    All signs of up to eleven changed queries are enumerated.
    """
    if 2 ** len(size) <= deals:
        lost = (np.arange(2 ** len(size))[:, None] >> np.arange(len(size))) & 1 == 1
    else:
        lost = generator(seed).integers(0, 2, (max(FEWEST, min(deals, CELLS // len(size))), len(size)), np.int8) == 1
    means = np.where(lost, size, -size).sum(axis=1) / topics
    worst = lost & (np.cumsum(lost, axis=1, dtype=np.int32) <= count)
    best = ~lost & (np.cumsum(~lost, axis=1, dtype=np.int32) <= count)
    return means, (worst.astype(np.float64) - best) @ size / count


def _tail_weights(size: FloatArray, count: int) -> FloatArray:
    """What each size adds to the tail if it is a loss: its excess over the largest size that is in neither tail."""
    threshold = size[2 * count] if len(size) > 2 * count else 0.0
    return np.asarray(np.maximum(size - threshold, 0.0) / count)


def _normal(value: float, weights: FloatArray) -> Contrast:
    spread = float(np.sqrt(weights @ weights))
    return Contrast(value, spread, float(normal_cdf(-value / spread)) if spread else float(value <= SLACK))


def _contrast(value: float, null: FloatArray, centre: float = 0.0, is_complete: bool = False) -> Contrast:
    """The contrast by the values that the deals give; a p beyond their reach is that of a normal variable."""
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
