"""An objective that keeps the order that users know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines
from surefoot.learn.metrics import QueryMetric
from surefoot.learn.objectives.base import LambdaMART
from surefoot.risk import measures
from surefoot.risk.measures import Risk


@dataclass
class Churn(LambdaMART):
    """dM' = dM + alpha × the change of agreement with the baseline's ranking, itself an NDCG.

    Agreement: the gain of a document is the discount of the rank that the baseline gives it. A swap that moves away
    from the baseline costs, so where relevance says little the order that users know stays. Named in the discussion
    of SIGIR 2012. Unlike the others it is not consistent: it may prefer the known order to a better one.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "churn"
    fewest_baselines: ClassVar[int] = 1

    def metric(self, trained: QueryMetric, baselines: Baselines) -> QueryMetric:
        """Gains of relevance and of agreement added up: a swap changes both by gains times discounts."""
        if trained.metric.name != "ndcg":
            raise SurefootError(f"churn mixes gains of ndcg; it can't be trained for {trained.metric.name}")
        bounds = trained.bounds
        queries = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        ranked = np.lexsort((-baselines.ranking(), queries))  # stable: ties in the order of the rows
        discount = 1 / np.log2(2 + np.arange(queries.size) - bounds[queries])
        agreement = np.empty_like(discount)
        agreement[ranked] = discount
        ideal = np.bincount(queries, weights=discount**2)
        return replace(trained, gains=trained.gains + self.alpha * agreement / ideal[queries])

    def own_measure(self) -> Risk:
        """U_Risk: agreement with the baseline is no measure of effectiveness."""
        return measures.URISK
