"""Objectives of the differences to one baseline: U-CRO and its kin, T_Risk itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot.learn.objectives.base import LambdaMART, QueryMetrics
from surefoot.learn.pair_weights import PairWeights, by_line, by_step, by_t, columns_of, row_of
from surefoot.risk import measures
from surefoot.risk.measures import Risk
from surefoot.risk.statistics import Mean
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray


@dataclass
class UCRO(LambdaMART):
    """dM' = v(d + dM) - v(d) with the linear value function: U_Risk itself.

    This one line is all of the cases of Wang, Bennett and Collins-Thompson, *Robust ranking models via
    risk-sensitive optimization*, SIGIR 2012.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "ucro"
    fewest_baselines: ClassVar[int] = 1

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        return by_line(self.alpha, d, -d)

    def own_measure(self) -> Risk:
        return measures.URISK


@dataclass
class UCROEq9(UCRO):
    """dM' = (1 + alpha) dM where the swap ends below the baseline, else dM.

    As Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*, SIGIR
    2016, state U-CRO in their equation 9: a swap across the baseline counts whole, not by the part below it.
    """

    name: ClassVar[str] = "ucro-eq9"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        return by_step(self.alpha, metrics.x - metrics.b)


@dataclass
class SmoothUCRO(UCRO):
    """dM' = v(d + dM) - v(d) with the smooth value function of Benham, Moffat and Culpepper, ECIR 2020.

    The fences are those of their TREC 2012 runs unless given; see `surefoot.risk.values.Smooth`.
    """

    lower: float = -0.241
    upper: float = 0.292
    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        Smooth(self.alpha, self.lower, self.upper)  # validates them

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        coefficients = Smooth(self.alpha, self.lower, self.upper).coefficients
        return PairWeights("cubic", columns_of(metrics.x - metrics.b), row_of(*coefficients))

    def own_measure(self) -> Risk:
        """The mean of v(d)."""

        def values(system: FloatArray, baseline: FloatArray, weights: Any = None, values: Any = None) -> Mean:
            return Mean.of(Smooth(self.alpha, self.lower, self.upper)(system - baseline), weights)

        return Risk("usmooth", "smooth U_Risk", needs="baseline", higher_is_better=True, statistic=values,
                    compute=lambda mean, _: mean.value)  # fmt: skip


@dataclass
class Upside(UCRO):
    """dM' = w(d + dM) - w(d), w(d) = (1 + alpha) d for a gain and d for a loss: U_Gain + alpha F_Reward.

    The mirror image of U-CRO, for those who seek risk: named in the discussion of SIGIR 2012.
    """

    name: ClassVar[str] = "upside"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        return by_line(-self.alpha, d, -d, 1 + self.alpha)

    def own_measure(self) -> Risk:
        """U_Gain + alpha F_Reward."""
        return Risk("upside", needs="baseline", higher_is_better=True,
                    compute=lambda c, alpha: (1 + alpha) * c.freward - c.frisk)  # fmt: skip


@dataclass
class TRisk(UCRO):
    """dM' = the change of T_Risk itself, scaled by sqrt(c) s so that it is U-CRO's where the spread s stays.

    T_Risk is not consistent: to raise the score of a query that leads far also raises the spread. Such a change is
    dropped. Dinçer, Macdonald and Ounis name the objective in the discussion of SIGIR 2014.
    """

    name: ClassVar[str] = "trisk"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        values = Linear(self.alpha)(d)
        c, total = metrics.sum(np.ones_like(d), values)
        centred = values - total / max(c, 1)
        (squares,) = metrics.sum(centred**2)
        if squares <= 0:
            return by_line(self.alpha, d, -d)
        return by_t(self.alpha, d, 2 * centred / squares, ((1 - 1 / c) / squares, total))

    def own_measure(self) -> Risk:
        return measures.TRISK
