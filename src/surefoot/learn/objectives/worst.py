"""Objectives of the queries that lose most: the tail, and the largest regret."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.objectives.base import QueryMetrics
from surefoot.learn.objectives.differences import UCRO
from surefoot.learn.pair_weights import PairWeights, by_line
from surefoot.risk import measures, tail_count
from surefoot.risk.measures import Risk
from surefoot.risk.moments import Statistic
from surefoot.risk.statistics import Mean
from surefoot.scores import FloatArray


@dataclass
class Tail(UCRO):
    """dM' = the change of mean d + alpha × the sum of the worst ceil(share c) values of d, over c: conditional risk.

    Only queries in the worst share weigh more, and one more or less as it enters or leaves it: Wang, Bennett and
    Collins-Thompson name such an objective in the discussion of SIGIR 2012.
    """

    share: float = 0.1
    name: ClassVar[str] = "tail"
    ranks_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise SurefootError(f"share must lie above 0 and at most at 1; got {self.share:g}")

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        if d.size == 0:
            return by_line(self.alpha, d, -d)
        count = int(tail_count(d.size, self.share))
        order = np.argsort(d, kind="stable")
        last_in = d[order[count - 1]]
        first_out = d[order[count]] if count < d.size else np.inf
        inside = np.zeros(d.size, np.bool_)
        inside[order[:count]] = True
        return by_line(self.alpha, np.where(inside, 0, d - last_in), np.where(inside, first_out - d, 0))

    def own_measure(self) -> Risk:
        return replace(measures.tail_risk(self.share), name="tail")


@dataclass
class MinimaxRegret(UCRO):
    """dM' = the change of mean d - alpha × the largest regret, times c; the regret of a query is max(0, b - x).

    U_Risk with the largest loss in place of the mean loss: only the worst query weighs more. With several baselines,
    ``virtual_baseline`` MAX makes b the best of them. Named in the discussion of SIGIR 2012.
    """

    name: ClassVar[str] = "minimax-regret"
    ranks_queries: ClassVar[bool] = True

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        if d.size == 0:
            return by_line(self.alpha, d, -d)
        worst, second = (*np.sort(d)[:2], np.inf)[:2]
        is_worst = np.arange(d.size) == np.argmin(d)
        kink = np.minimum(np.where(is_worst, second, worst), 0)  # where the largest regret begins to follow the query
        return by_line(self.alpha * d.size, d - kink, kink - d)

    def own_measure(self) -> Risk:
        """U_Gain - alpha × the largest regret."""

        def worst(system: FloatArray, baseline: FloatArray, weights: Any = None, values: Any = None) -> Worst:
            d = system - baseline
            return Worst(Mean.of(d, weights), np.minimum(d.min(axis=-1), 0))

        return Risk("regret", needs="baseline", higher_is_better=True, statistic=worst,
                    compute=lambda found, alpha: found.gain.value + alpha * found.lowest)  # fmt: skip


@dataclass(frozen=True)
class Worst(Statistic):
    """The mean difference, and the lowest one below 0."""

    gain: Mean
    lowest: FloatArray
