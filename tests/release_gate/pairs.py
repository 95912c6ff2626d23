"""Pairs of a candidate and a baseline, by their differences."""

from collections.abc import Sequence

import numpy as np

from surefoot._typing import FloatArray
from surefoot.release_gate.finding import ScoredPair


def pair_of(delta: Sequence[float] | FloatArray, base: float = 0.5) -> ScoredPair:
    baseline = np.full(len(delta), base)
    topics = tuple(f"q{i}" for i in range(len(delta)))
    return ScoredPair("new", "old", "nDCG@10", topics, baseline + np.asarray(delta), baseline)


def repeated(own: FloatArray, base: FloatArray) -> ScoredPair:
    """A pair with trials, trials × topics."""
    topics = tuple(f"q{i}" for i in range(own.shape[1]))
    return ScoredPair("new", "old", "score", topics, np.nanmean(own, 0), np.nanmean(base, 0), own, base)


def spread(mean: float, size: float, topics: int = 2000) -> FloatArray:
    """Differences with a mean, half of them above it and half below by a size."""
    return mean + size * np.tile([1.0, -1.0], topics // 2)
