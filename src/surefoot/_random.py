"""The one way to make random numbers."""

from __future__ import annotations

import numpy as np

from surefoot.errors import SurefootError


def generator(seed: int) -> np.random.Generator:
    """A generator of random numbers.

    >>> int(generator(0).integers(100))
    85
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise SurefootError(f"seed must be a whole number of 0 or more; got {seed!r}")
    return np.random.default_rng(int(seed))
