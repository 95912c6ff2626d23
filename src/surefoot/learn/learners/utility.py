"""Risk measures as the utility of linear rankers (SIGIR 2014, discussion: U, T or GeoRisk beside NDCG)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot._typing import FloatArray
from surefoot.learn.baseline import Baselines
from surefoot.learn.learners.line_search import QueryNDCG, Utility, exact_mean
from surefoot.risk.measures import Risk
from surefoot.scores import VIRTUAL


def utility_against(baselines: Baselines, measure: Risk, alpha: float) -> Callable[[QueryNDCG], Utility]:
    """The utility of rankers of some queries: a measure of their NDCG@k against that of the baselines there.

    Several baselines are compared with as their per-query mean, except by a measure of a population, as GeoRisk.
    """
    if measure.needs is None:
        return lambda _: exact_mean

    def utility_of(queries: QueryNDCG) -> Utility:
        values = baseline_ndcg(baselines, queries)
        alphas = np.asarray(alpha, dtype=np.float64)

        def worth(ndcg: FloatArray) -> FloatArray:
            systems = np.atleast_2d(ndcg.T)
            if measure.needs == "population":
                statistics = [measure.source(np.vstack([system, values]))[0] for system in systems]
                found = np.array([float(measure.compute(statistic, alphas)) for statistic in statistics])
            else:
                b = np.broadcast_to(VIRTUAL["MEAN"](values), systems.shape)
                found = np.asarray(measure.compute(measure.source(systems, b), alphas))
            worths = np.where(np.isnan(found), -np.inf, found) * (1 if measure.higher_is_better else -1)
            return np.asarray(worths if ndcg.ndim > 1 else worths[0])

        return worth

    return utility_of


def baseline_ndcg(baselines: Baselines, queries: QueryNDCG) -> FloatArray:
    """NDCG@k of the baselines (rows) on these queries, ties ranked as those of the rankers."""
    if baselines.members is not None and baselines.virtual is not None:
        return VIRTUAL[baselines.virtual](baseline_ndcg(baselines.members, queries))[np.newaxis]
    found = [
        queries(queries.select(rows)) if rows is not None else queries.select_queries(known)
        for rows, known in zip(baselines.rows, baselines.reached, strict=True)
    ]
    return np.stack(found)
