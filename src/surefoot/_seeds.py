"""Random generators and the validation of their seeds."""

from __future__ import annotations

import math

import numpy as np

from surefoot.errors import SurefootError


def generator(seed: int) -> np.random.Generator:
    """A random generator.

    >>> int(generator(0).integers(100))
    85
    """
    return np.random.default_rng(validate_seed(seed))


def validate_seed(seed: int, largest: float = math.inf) -> int:
    """Return the seed if it is a whole number within the range, else raise.

    >>> validate_seed(7)
    7
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise SurefootError(f"seed must be a whole number of 0 or more; got {seed!r}")
    if seed > largest:
        raise SurefootError(f"seed must be at most {largest}; got {seed}")
    return int(seed)
