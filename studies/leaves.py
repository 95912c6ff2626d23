"""Documents per leaf: how far LightGBM's estimate from hessians is from what was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.splits import names, splits
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray

ASKED = (6, 20, 50, 100)
TREES, SEED = 100, 1


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    name = "mq2008" if "mq2008" in names() else "demo"
    split = next(splits(name))
    rows = []
    for objective, alpha in (("lambdamart", 0.0), ("ucro", 5.0)):
        for asked in ASKED:
            settings = Settings(
                objective, alpha, n_estimators=max(1, TREES // less), learning_rate=0.05, num_leaves=31,
                min_child_samples=asked, seed=SEED,
            )  # fmt: skip
            sizes = leaf_sizes(train(split.train, split.baseline, settings).model.booster, split.train.features)
            fewer = sizes < asked
            rows.append(
                {
                    "objective": objective, "alpha": alpha, "asked for": asked, "leaves": sizes.size,
                    "with fewer": f"{100 * fewer.mean():.0f} %", "least": int(sizes.min()),
                    "5 %": f"{np.quantile(sizes, 0.05):.0f}", "median": f"{np.median(sizes):.0f}",
                }
            )  # fmt: skip
    stated = signature("leaves", data=name, documents=split.train.labels.size, trees=TREES, seed=SEED)
    yield f"Documents in the leaves of {TREES} trees on {name}", Result(stated, by_column(rows))


def leaf_sizes(booster: object, features: object) -> FloatArray:
    """How many training documents each leaf of each tree has."""
    leaves = np.asarray(booster.predict(features, pred_leaf=True))  # type: ignore[attr-defined]
    return np.concatenate([np.unique(column, return_counts=True)[1] for column in leaves.T])
