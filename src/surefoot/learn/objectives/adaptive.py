"""Objectives whose alpha adapts to each query by how far its difference is from noise: SARO, FARO and T*-FARO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from surefoot.errors import choose
from surefoot.lambdas.gradients import PairWeights, by_factor, by_line, by_step
from surefoot.learn.objectives.base import UCRO, QueryMetrics
from surefoot.risk import measures
from surefoot.risk.distributions import normal_cdf
from surefoot.risk.measures import Risk
from surefoot.risk.values import Linear
from surefoot.scores import FloatArray


@dataclass
class SARO(UCRO):
    """U-CRO with alpha'_q = alpha (1 - Phi(T_q)) in place of alpha: queries that lose significantly weigh most.

    Dinçer, Macdonald and Ounis, *Hypothesis testing for the risk-sensitive evaluation of retrieval systems*, SIGIR
    2014. ``spread``: "sd" is their equation 21, T_q = v(d) / s with s the standard deviation of v(d) over queries;
    "se" is their text, T_q = d / (s / sqrt(c)), which sends Phi to 0 or 1 once there are thousands of queries, so it
    is not the default. ``each`` estimates s in each iteration instead of once, after the first tree. "jforests" is the
    authors' own code: T_q = d / s with s = (1 + alpha) sd(b), the spread of a model that scores 0 everywhere, fixed
    before the first tree. T_q then shrinks as alpha grows, and alpha'_q tends to alpha / 2 for all queries. The first
    tree differs: before it their code takes M = 0 for every query.
    """

    spread: Literal["sd", "se", "jforests"] = "sd"
    each: bool = False
    kept_spread: float | None = field(default=None, init=False, repr=False)
    name: ClassVar[str] = "saro"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.spread, ("sd", "se", "jforests"), "spread")

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_line(self.alphas(d, metrics), d, -d)

    def baseline(self, metrics: QueryMetrics) -> FloatArray:
        return metrics.b

    def alphas(self, d: FloatArray, metrics: QueryMetrics) -> FloatArray:
        """alpha'_q; half of alpha for all queries while the spread is 0 or unknown."""
        values = Linear(self.alpha)(d)
        spread, count = self._spread(-(1 + self.alpha) * (metrics.x - d) if self._fixed else values, metrics)
        if not metrics.started:
            # A training begins; the object may have been used before.
            self.kept_spread = spread if self._fixed else None
        elif self.each or self.kept_spread is None:
            self.kept_spread = spread
        if not self.kept_spread:
            return np.full(d.size, self.alpha / 2)
        t = values if self.spread == "sd" else d * np.sqrt(count) if self.spread == "se" else d
        return np.asarray(self.alpha * normal_cdf(-t / self.kept_spread))

    @property
    def _fixed(self) -> bool:
        """Whether the spread is fixed before the first tree."""
        return self.spread == "jforests"

    def _spread(self, values: FloatArray, metrics: QueryMetrics) -> tuple[float, float]:
        """The standard deviation over all queries, and their number."""
        count, total = metrics.sum(np.ones_like(values), values)
        (squares,) = metrics.sum((values - total / max(count, 1)) ** 2)
        return (float(np.sqrt(squares / (count - 1))) if count > 1 else 0.0), count

    def own_measure(self) -> Risk:
        return measures.TRISK

    @property
    def state(self) -> dict[str, float]:
        return {} if self.kept_spread is None else {"kept_spread": self.kept_spread}

    @state.setter
    def state(self, kept: Mapping[str, float]) -> None:
        self.kept_spread = kept.get("kept_spread")


@dataclass
class SAROEq9(SARO):
    """SARO as SIGIR 2016 states it: dM' = (1 + alpha'_q) dM where the swap ends below the baseline, else dM."""

    name: ClassVar[str] = "saro-eq9"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_step(self.alphas(d, metrics), d)


@dataclass
class FARO(SARO):
    """dM' = (1 + alpha'_q) dM for every swap of the query, alpha'_q as in SARO (SIGIR 2014)."""

    name: ClassVar[str] = "faro"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_factor(1 + self.alphas(d, metrics))


@dataclass
class TStarFARO(FARO):
    """FARO against the per-query mean of several baselines (SIGIR 2016)."""

    name: ClassVar[str] = "tstar-faro"

    def baseline(self, metrics: QueryMetrics) -> FloatArray:
        return np.asarray(metrics.baselines.mean(axis=0))
