"""GeoRisk as an objective: the model is one row beside the rows of several baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.lambdas.gradients import PairWeights, by_factor, columns_of, row_of
from surefoot.learn.objectives.base import LambdaMART, QueryMetrics
from surefoot.risk import measures
from surefoot.risk.measures import Risk
from surefoot.risk.values import Linear

MILLS = np.sqrt(np.pi / 2)


@dataclass
class GeoRisk(LambdaMART):
    """dM' = the change of GeoRisk, the model being one row beside the baselines' rows (SIGIR 2016).

    It is scaled by 2 c GeoRisk / Phi(Z / c), so that dM' = dM where Z does not move and learning rates keep their
    meaning. As in the paper only the z of the query that changes is updated, with e' = S (T_q + dM) / (N + dM). This
    surrogate never punishes an improvement; GeoRisk itself does beyond alpha = 2.
    """

    alpha: float = 1.0
    full: ClassVar[bool] = False
    name: ClassVar[str] = "georisk"
    fewest_baselines: ClassVar[int] = 1
    takes_negative: ClassVar[bool] = False  # it divides by the root of the expected score

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        x = metrics.x
        column = x + metrics.baselines.sum(axis=0)
        S, N, c = metrics.sum(x, column, np.ones_like(x))
        e = S * column / N if N > 0 else np.zeros_like(x)
        root = np.sqrt(e)
        inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
        z = (x - e) * inverse
        falls = np.where(z < 0, 1 + self.alpha, 1.0) * (x + e) * inverse / 2
        Z, K = metrics.sum(Linear(self.alpha)(z), falls)
        if S <= 0:
            return by_factor(np.ones(x.size))  # GeoRisk is 0, and so is every change of it
        linear = S + column - e if self.full else S * (N - column) / N
        others = -(K - falls) * (1 / S - 1 / N) if self.full else np.zeros_like(x)
        own = columns_of(x, root, inverse, linear, np.maximum(z, 0), np.maximum(-z, 0), others)
        return PairWeights("georisk", own, row_of(self.alpha, float(self.full), N, S, c, *_log_phi(Z / c)))

    def own_measure(self) -> Risk:
        return measures.GEORISK


@dataclass
class GeoRiskFull(GeoRisk):
    """GeoRisk with the moves of S, T_q and N in all other queries, to first order. A wrong sign is dropped."""

    full: ClassVar[bool] = True
    name: ClassVar[str] = "georisk-full"


def _log_phi(z: float) -> tuple[float, float, float, float]:
    """The coefficients of the Taylor series of log Phi around z, of orders 1 to 4."""
    from scipy.special import erfcx

    first = 1 / (MILLS * erfcx(-z / np.sqrt(2)))
    second = -first * (z + first)
    third = -first - (z + 2 * first) * second
    fourth = -second - (1 + 2 * second) * second - (z + 2 * first) * third
    return float(first), float(second / 2), float(third / 6), float(fourth / 24)
