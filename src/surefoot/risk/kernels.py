"""The inner loop of weighted Z_Risk, compiled."""

from __future__ import annotations

import numpy as np

from surefoot._numba import kernel
from surefoot._typing import FloatArray


@kernel
def weighted_z(
    weights: FloatArray, scaled: FloatArray, root: FloatArray, root_share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The weighted sums of positive and of negative z, for each row and resample.

    With T the column totals, ``scaled`` = x / sqrt(T), ``root`` = sqrt(T) and ``root_share`` = sqrt(S / N):
    z = (x - e) / sqrt(e) = scaled / root_share - root_share × root; 0 where the expected score is 0.
    """
    resamples, topics = weights.shape
    rows = len(scaled)
    gains, losses = np.zeros((rows, resamples)), np.zeros((rows, resamples))
    for resample in range(resamples):
        for row in range(rows):
            own = root_share[row, resample]
            if own > 0.0:
                inverse, gain, loss = 1.0 / own, 0.0, 0.0
                for topic in range(topics):
                    z = weights[resample, topic] * (scaled[row, topic] * inverse - own * root[topic])
                    gain += max(z, 0.0)
                    loss += min(z, 0.0)
                gains[row, resample], losses[row, resample] = gain, loss
    return gains, losses
