"""Is the fast kernel as good as LightGBM's own lambdarank? Test NDCG@10 over folds and seeds, query by query."""

from __future__ import annotations

from collections.abc import Iterator

import lightgbm as lgb
import numpy as np

from studies.objectives import interval
from studies.splits import Split, names, splits
from surefoot.lambdas.metrics import Metric
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.engines.lightgbm import DETERMINISTIC
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray

SEEDS, TREES = 5, 100
PARAMS = {"num_leaves": 15, "learning_rate": 0.05, "feature_fraction": 0.7, "bagging_fraction": 0.8, "bagging_freq": 1}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    rows = []
    for name in names()[:2]:
        own, ours = (
            np.concatenate([mean_of_seeds(split, objective, max(1, SEEDS // less)) for split in splits(name)])
            for objective in ("lambdarank", None)
        )
        rows.append((name, own.size, f"{own.mean():.4f}", f"{ours.mean():.4f}", interval(ours - own)))
    columns = by_column(rows, ("data", "queries", "LightGBM's", "ours", "difference"))
    yield "NDCG@10 of LightGBM's lambdarank and of ours at alpha = 0", Result(signature("parity", seeds=SEEDS), columns)


def mean_of_seeds(split: Split, objective: str | None, seeds: int) -> FloatArray:
    data, test = split.train, split.test
    found = []
    for seed in range(seeds):
        chosen = objective or RiskObjective("lambdamart", 0.0)
        dataset = lgb.Dataset(data.features, data.labels, group=data.sizes)
        booster = lgb.train({**DETERMINISTIC, **PARAMS, "seed": seed, "objective": chosen}, dataset, TREES)
        found.append(Metric(cutoff=10)(booster.predict(test.features), test.labels, test.bounds))
    return np.mean(found, axis=0)
