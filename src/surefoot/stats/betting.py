"""A test of the mean of bounded values by betting against it: valid for every sample size and distribution.

A gambler who believes that the mean of values in 0..1 is below ``m`` bets on every next value being below it. If the
mean is ``m`` or more the expected capital never grows, so by Ville's inequality it exceeds 1 / error at any time with
probability at most ``error``. What the gambler stakes may depend on the values before: the smaller their variance, the
larger the stake, which makes the test adapt to it where Hoeffding's bound can't. Waudby-Smith and Ramdas, *Estimating
means of bounded random variables by betting*, JRSS B 2024.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

LARGEST_STAKE = 0.95
"""Of what could be lost at most; all of it would end the game at the first value of 1."""


def betting_p_value(values: npt.ArrayLike, mean: npt.ArrayLike, error: float = 0.1) -> FloatArray:
    """The p value of the hypothesis that the mean of values in 0..1 is ``mean`` or more.

    It is valid if the values are exchangeable draws, in the order given; ``error`` is the level at which it is to be
    most powerful.

    Parameters
    ----------
    values
        Values in 0..1.
    mean
        The hypothetical mean, or several.
    error
        The level of the test to be made.

    Returns
    -------
    FloatArray
        One p value for each mean.

    Examples
    --------
    >>> float(betting_p_value(np.zeros(300), 0.01)) < 0.1
    True
    """
    x, means = _validate_unit(values), np.asarray(mean, dtype=np.float64)[..., np.newaxis]
    if not ((means > 0) & (means < 1)).all():
        raise SurefootError("the hypothetical mean must lie between 0 and 1")
    steps = np.arange(2.0, x.size + 2)
    running = (np.cumsum(x) + means) / steps  # the prior observation is what the hypothesis says
    variance = (np.cumsum((x - running) ** 2, axis=-1) + means / 4) / steps
    before = np.concatenate([np.broadcast_to(means / 4, (*variance.shape[:-1], 1)), variance[..., :-1]], axis=-1)
    stake = np.minimum(np.sqrt(2 * np.log(1 / error) / (x.size * before)), LARGEST_STAKE / (1 - means))
    capital = np.cumsum(np.log1p(stake * (means - x)), axis=-1).max(axis=-1)
    return np.asarray(np.exp(-np.maximum(capital, 0.0)))


def _validate_unit(values: npt.ArrayLike) -> FloatArray:
    """Values as an array, if all lie in 0..1 and there are any."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size or not ((x >= 0) & (x <= 1)).all():
        raise SurefootError("bets are made on a list of one or more values from 0 to 1")
    return x
