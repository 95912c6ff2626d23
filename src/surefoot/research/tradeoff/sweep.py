"""A model for each alpha, and how each fares on test queries: the material of all trade-off analyses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.baseline import Missing
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.training import Settings
from surefoot.research.tradeoff.churn import kendall_distance
from surefoot.research.tradeoff.convergence import iterations_to_share
from surefoot.research.tradeoff.curve import Points, alpha_limit, points
from surefoot.research.tradeoff.hull import near_optimal
from surefoot.research.tradeoff.model_store import History, Report, Workshop, at_alpha
from surefoot.research.tradeoff.selective import Selective, query_feature, selective_curve
from surefoot.risk import sweep_of
from surefoot.scores import FloatArray, Scores

ALPHAS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Models of rising alpha, the first the gain-only model at 0, beside the baseline they are compared with.

    ``test`` and ``train`` hold the metric of each query: rows are the baseline, then the models. ``churn`` holds the
    Kendall distance of each test query's ranking to the baseline's (a row for each model), ``feature`` what test
    queries are selected by; both are None where they are not known.
    """

    objective: str
    alphas: FloatArray
    trees: tuple[int, ...]
    test: Scores
    train: Scores
    histories: tuple[History, ...]
    validated: bool
    churn: Scores | None = None
    feature: Scores | None = None
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> str:
        """The name of the baseline, the first row of the scores."""
        return self.test.systems[0]

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, a row each."""
        return self.test.systems[1:]

    @property
    def curve(self) -> Points:
        """Risk and gain of each model on the test queries."""
        return points(self.test.values[1:], self.test.values[0])

    @property
    def limit(self) -> float:
        """The alpha beyond which the baseline beats the gain-only model on the training queries."""
        return alpha_limit(self.train.values[1], self.train.values[0])

    @property
    def hull(self) -> Points:
        """The near-optimal hull on the test queries, its limit taken on the training queries."""
        return near_optimal(self.curve, self.alphas, self.limit)

    @property
    def selective(self) -> Selective | None:
        """The gain-only model on test queries whose feature is below a threshold, at every threshold."""
        if self.feature is None:
            return None
        return selective_curve(self.test.values[1], self.test.values[0], self.feature.values[0])

    def converged(self) -> list[int]:
        """By model, the iterations to 95 % of the last value of the metric."""
        return [iterations_to_share([figures["mean"] for figures in history]) for history in self.histories]


def sweep_alphas(
    settings: Settings,
    data: RankingData,
    baseline: Any,
    valid: RankingData | None,
    test: RankingData,
    alphas: Sequence[float] = ALPHAS,
    *,
    select: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    missing: Missing = "error",
    report: Report | None = None,
) -> Sweep:
    """Train a model for each alpha and rank the test queries with each.

    Alpha 0 is always among them: the gain-only model, LambdaMART whatever the objective. ``select`` names the feature
    of selective re-ranking, as ``max:110``. With a ``folder`` each model is kept in it, and a model that is finished
    there is not trained again. Of several baselines the per-query mean is compared with.
    """
    if settings.objective == "lambdamart":
        raise SurefootError("lambdamart has no alpha, so there is nothing to trade; choose another objective, as ucro")
    wanted = np.unique([0.0, *sweep_of(alphas)])
    shop = Workshop(data, baseline, valid, missing, None if folder is None else Path(folder), report)
    _ = shop.baselines(test)  # what does not fit is said before the training, not after it
    feature = None if select is None else query_feature(test, select)
    each = [at_alpha(shop.settled(settings), alpha) for alpha in wanted]
    made = [shop.make(f"alpha-{one.alpha:g}", one) for one in each]
    models = {f"alpha={one.alpha:g}": (item.model, one) for item, one in zip(made, each, strict=True)}
    tested = shop.compared(models, test)
    return Sweep(
        settings.objective,
        wanted,
        tuple(item.trees for item in made),
        tested,
        shop.compared(models, data),
        tuple(item.history for item in made),
        valid is not None,
        _churn(shop, models, test, tested.topics),
        None if feature is None else _of_queries([str(select)], feature[None], test, tested.topics),
        shop.baselines(data).notes,
    )


def _churn(
    shop: Workshop, models: dict[str, tuple[Model, Settings]], test: RankingData, topics: Sequence[str]
) -> Scores | None:
    """Distances to the ranking of the only baseline; none where there are several, or it ranks no documents."""
    ranked = shop.baselines(test).rows
    if len(ranked) != 1 or ranked[0] is None:
        return None
    rows = [kendall_distance(ranked[0], model.predict(test), test.bounds) for model, _ in models.values()]
    return _of_queries(list(models), np.stack(rows), test, topics)


def _of_queries(names: list[str], values: FloatArray, test: RankingData, topics: Sequence[str]) -> Scores:
    return Scores(values, names, test.queries, "value").select(topics=topics)
