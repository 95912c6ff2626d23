"""Objectives of the differences to one baseline: U-CRO and its kin, T_Risk, the worst queries, churn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surefoot.errors import SurefootError
from surefoot.lambdas.gradients import PairWeights, by_line, by_step, by_t, columns_of, row_of
from surefoot.lambdas.metrics import QueryMetric
from surefoot.learn.baseline import Baselines
from surefoot.learn.objectives.base import UCRO, LambdaMART, QueryMetrics
from surefoot.risk import measures, tail_count
from surefoot.risk.measures import Risk
from surefoot.risk.moments import Statistic
from surefoot.risk.statistics import Mean
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray


@dataclass
class UCROEq9(UCRO):
    """dM' = (1 + alpha) dM where the swap ends below the baseline, else dM.

    As Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*, SIGIR
    2016, state U-CRO in their equation 9: a swap across the baseline counts as a whole, not only its part below.
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

    The mirror image of U-CRO, which seeks risk; named in the discussion of SIGIR 2012.
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

    T_Risk is not consistent: raising the score of a query that leads by far also raises the spread. Such changes are
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


@dataclass
class Tail(UCRO):
    """dM' = the change of mean d + alpha × the sum of the worst ceil(share c) values of d, over c: conditional risk.

    Only queries in the worst share weigh more. Wang, Bennett and Collins-Thompson name such an objective in the
    discussion of SIGIR 2012.
    """

    share: float = 0.1
    name: ClassVar[str] = "tail"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise SurefootError(f"share must be above 0 and at most 1; got {self.share:g}")

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        (queries,) = metrics.sum(np.ones_like(d))
        if not queries:
            return by_line(self.alpha, d, -d)
        count = int(tail_count(queries, self.share))
        last_in = metrics.smallest(d, count)
        first_out = metrics.smallest(d, count + 1) if count < queries else np.inf
        inside = d <= last_in  # where values tie across the border, both sides have the same weights
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

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        (queries,) = metrics.sum(np.ones_like(d))
        if not queries:
            return by_line(self.alpha, d, -d)
        worst = metrics.smallest(d, 1)
        second = metrics.smallest(d, 2) if queries > 1 else np.inf
        kink = np.minimum(np.where(d == worst, second, worst), 0)  # where the largest regret begins to follow the query
        return by_line(self.alpha * queries, d - kink, kink - d)

    def own_measure(self) -> Risk:
        """U_Gain - alpha × the largest regret."""

        def worst(system: FloatArray, baseline: FloatArray, weights: Any = None, values: Any = None) -> Worst:
            d = system - baseline
            return Worst(Mean.of(d, weights), np.minimum(d.min(axis=-1), 0))

        return Risk("regret", needs="baseline", higher_is_better=True, statistic=worst,
                    compute=lambda found, alpha: found.gain.value + alpha * found.lowest)  # fmt: skip


@dataclass(frozen=True)
class Worst(Statistic):
    """The mean difference, and the lowest difference if it is below 0."""

    gain: Mean
    lowest: FloatArray


@dataclass
class Churn(LambdaMART):
    """dM' = dM + alpha × the change of agreement with the baseline's ranking, itself an NDCG.

    Agreement: the gain of a document is the discount of the rank that the baseline gives it. A swap away from the
    baseline costs, so documents of similar relevance keep the order that users know. Named in the discussion of SIGIR
    2012. Unlike the others it is not consistent: it may prefer the known order to a better one.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "churn"
    fewest_baselines: ClassVar[int] = 1

    def metric(self, trained: QueryMetric, baselines: Baselines) -> QueryMetric:
        """The sum of the gains of relevance and of agreement: a swap changes both by gains times discounts."""
        if trained.metric.measure.form != "sum":
            raise SurefootError(f"churn adds gains of ndcg; it can't be trained for {trained.metric.name}")
        bounds = trained.bounds
        queries = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        ranked = np.lexsort((-baselines.ranking(), queries))  # stable: ties in the order of the rows
        sizes = np.diff(bounds)
        discount = trained.metric.measure.discounts(int(sizes.max(initial=1)))[
            np.arange(queries.size) - bounds[queries]
        ]
        agreement = np.empty_like(discount)
        agreement[ranked] = discount
        ideal = np.bincount(queries, weights=discount**2)
        return replace(trained, gains=trained.gains + self.alpha * agreement / ideal[queries])

    def own_measure(self) -> Risk:
        """U_Risk: agreement with the baseline is not effectiveness."""
        return measures.URISK
