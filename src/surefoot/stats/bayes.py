"""A Bayesian model of scores: score = mean + topic + system + noise, all Gaussian (Benham and others, SIGIR 2020).

The mean is normal around 1/2 with a standard deviation of 1; the standard deviations of topics, systems and noise are
half-t with three degrees of freedom and scale 1, as inverse gammas of an inverse gamma (Makalic and Schmidt 2016). All
conditionals are then conjugate. A table without gaps is balanced, so that mean, topics and systems are drawn exactly
and at once given the three variances, from the means of its rows and columns: the chain moves in the variances only.
The effects of topics enter it only by two sums of squares, which two numbers give, however many topics there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

CENTRE, SPREAD = 0.5, 1.0
DEGREES, SCALE = 3.0, 1.0
WARM_UP = 200


@dataclass(frozen=True)
class Posterior:
    """Draws of the mean of each system (draws × systems), and of the standard deviations."""

    systems: FloatArray
    topic_sd: FloatArray
    system_sd: FloatArray
    noise_sd: FloatArray

    def differences(self, baseline: int, topics: int, rng: np.random.Generator) -> FloatArray:
        """Predicted score differences from a baseline on the same topics: draws × systems × topics.

        A topic is equally hard for both, so its effect cancels; the noise of the two is added.
        """
        noise = rng.standard_normal((*self.systems.shape, topics)) * self.noise_sd[:, None, None]
        scores = self.systems[:, :, None] + noise
        found: FloatArray = scores - scores[:, baseline, None]
        return found


def posterior(scores: npt.ArrayLike, n_draws: int = 24_000, seed: int = 0) -> Posterior:
    """Draw from the posterior of a table of systems × topics by Gibbs sampling, after a warm-up of 200 draws."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise SurefootError("a Bayesian model needs at least two systems and two topics, and a score for each")
    if not isinstance(n_draws, int | np.integer) or n_draws < 1:
        raise SurefootError(f"n_draws must be a whole number of 1 or more; got {n_draws!r}")
    rng = generator(seed)
    grand = float(table.mean())
    sides = [table.mean(axis=1) - grand, table.mean(axis=0) - grand]  # systems, topics
    sizes, length = np.array(table.shape), sqrt(np.square(sides[1]).sum())
    left = float(np.square(table - grand - sides[0][:, None] - sides[1]).sum())
    variances, extras = np.full(3, 0.1), np.ones(3)
    draws, sds = np.empty((n_draws, sizes[0])), np.empty((n_draws, 3))
    for step in range(-WARM_UP, n_draws):
        squares = [0.0, 0.0, left]
        mean, *levels = _levels(grand, sizes, variances, rng)
        squares[2] += table.size * (grand - mean - sum(levels)) ** 2
        known = variances[2] / sizes[::-1]
        shrink = variances[:2] / (variances[:2] + known)
        spread = np.sqrt(shrink * known)
        noise = rng.standard_normal(sizes[0])
        own = shrink[0] * sides[0] + spread[0] * (noise - noise.mean())
        systems = mean + levels[0] + own
        # The effects of topics: their length along the means of the columns, and the square of that across them.
        along = shrink[1] * length + spread[1] * rng.standard_normal()
        across = spread[1] ** 2 * 2 * rng.standard_gamma((sizes[1] - 2) / 2)
        squares[0] = float(np.square(own + levels[0]).sum())
        squares[1] = along**2 + across + sizes[1] * levels[1] ** 2
        squares[2] += sizes[1] * float(np.square(sides[0] - own).sum()) + sizes[0] * ((length - along) ** 2 + across)
        counts = np.array([*sizes, table.size])
        variances = (np.array(squares) / 2 + DEGREES / extras) / rng.standard_gamma((counts + DEGREES) / 2)
        extras = (1 / SCALE**2 + DEGREES / variances) / rng.standard_gamma((DEGREES + 1) / 2, 3)
        if step >= 0:
            draws[step], sds[step] = systems, np.sqrt(variances)
    return Posterior(draws, sds[:, 1], sds[:, 0], sds[:, 2])


def _levels(grand: float, sizes: npt.NDArray[np.int_], variances: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The mean, and the averages of the effects of systems and of topics, whose sum the grand mean observes."""
    prior = np.array([SPREAD**2, *(variances[:2] / sizes)])
    drawn = np.array([CENTRE, 0.0, 0.0]) + np.sqrt(prior) * rng.standard_normal(3)
    noise = float(variances[2] / sizes.prod())
    gap = grand + sqrt(noise) * rng.standard_normal() - drawn.sum()
    found: FloatArray = drawn + prior / (prior.sum() + noise) * gap
    return found
