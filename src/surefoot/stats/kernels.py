"""The inner loop of the bootstrap; compiled."""

from __future__ import annotations

from surefoot._numba import kernel
from surefoot._typing import Array, FloatArray


@kernel
def count_draws(drawn: Array, weights: FloatArray) -> None:
    """Add to the weights, resamples × topics, how often each resample draws each topic."""
    for resample in range(len(drawn)):
        own = weights[resample]
        for topic in drawn[resample]:
            own[topic] += 1.0
