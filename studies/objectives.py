"""Each objective on real data: losses on the training queries, and risk and reward on unseen queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from studies.splits import Split, names, splits
from surefoot.learn.baseline import baselines_of
from surefoot.learn.settings import PairOptions, Settings
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from surefoot.results import Result, by_column, signature
from surefoot.risk import compare
from surefoot.scores import FloatArray

ALPHAS = (1.0, 2.0, 5.0, 10.0, 20.0)
OBJECTIVES = ("ucro", "saro", "faro", "georisk", "tail", "churn")
BY_OWN_MEASURE = ("trisk", "minimax-regret", "upside")
"""Objectives whose iteration is picked by their own measure: U_Risk is not what they are for."""
TREES, STEP = 200, 10
RESAMPLES, SEED = 2000, 1


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name in names():
        if name not in ("mq2008", "nfcorpus") and len(names()) > 1:
            continue
        parts = list(splits(name))[: max(1, 5 // less)]
        found = {("lambdamart", 0.0): [learned(split, "lambdamart", 0.0) for split in parts]}
        for objective in OBJECTIVES:
            for alpha in ALPHAS:
                found[objective, alpha] = [learned(split, objective, alpha) for split in parts]
        yield f"Objectives on {name}: {len(parts)} test fold(s)", table(found)
        if name == "mq2008":
            others = {
                (one, alpha): [learned(split, one, alpha) for split in parts]
                for one in BY_OWN_MEASURE
                for alpha in ALPHAS
            }
            plain = next(iter(found.items()))
            yield f"Further objectives on {name}", table(dict([plain, *others.items()]))


def learned(split: Split, objective: str, alpha: float) -> tuple[int, FloatArray, FloatArray]:
    """Training losses of all trees; on test queries, the model of the iteration that is best in validation, and b."""
    leaf = 20 if len(split.train) < 1000 else 50
    settings = Settings(
        objective, alpha, n_estimators=TREES, learning_rate=0.05, num_leaves=15, min_child_samples=leaf, seed=SEED
    )  # fmt: skip
    data = split.train
    booster = train(data, split.baseline, settings).model.booster
    in_training = PairOptions().trained_metric.bind(data.labels, data.bounds)
    b = baselines_of(split.baseline, data).values(in_training)[0]
    losses = int((in_training(booster.predict(data.features)) < b).sum())
    own = objective in BY_OWN_MEASURE
    measures_of = validation_of(split.valid, split.baseline, alpha, objective if own else "ucro")
    measure = measures_of.stop_on(None if own else "urisk")
    worth = {n: measures_of(booster.predict(split.valid.features, num_iteration=n))[measure] for n in steps()}
    best = max(worth, key=worth.__getitem__)
    scores = validation_of(split.test, split.baseline, alpha).scores(
        "x", booster.predict(split.test.features, num_iteration=best)
    )
    return losses, scores.values[0], scores.values[1]


def steps() -> range:
    return range(STEP, TREES + 1, STEP)


def validation_of(data: Any, baseline: str, alpha: float, objective: str = "ucro") -> Validation:
    return Validation.of(Settings(objective, alpha), data, baselines_of(baseline, data))


def table(found: dict[tuple[str, float], list[tuple[int, FloatArray, FloatArray]]]) -> Result:
    plain = np.concatenate([x for _, x, _ in next(iter(found.values()))])
    rows = []
    for (objective, alpha), parts in found.items():
        x, b = (np.concatenate([part[index] for part in parts]) for index in (1, 2))
        compared = compare(x, b)
        rows.append(
            {
                "objective": objective,
                "alpha": alpha,
                "training losses": sum(losses for losses, _, _ in parts),
                "ndcg@10": f"{x.mean():.4f}",
                "against gain alone": interval(x - plain),
                "frisk": f"{compared.frisk:.4f}",
                "change of frisk": interval(np.maximum(b - x, 0) - np.maximum(b - plain, 0)),
                "freward": f"{compared.freward:.4f}",
                "losses": int(compared.losses.n),
                "loss20": int(compared.loss20),
            }
        )
    stated = signature("objectives", trees=TREES, queries=plain.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, by_column(rows))


def interval(differences: FloatArray) -> str:
    """A mean with its 95 % percentile bootstrap interval over queries."""
    draws = np.random.default_rng(SEED).integers(differences.size, size=(RESAMPLES, differences.size))
    low, high = np.quantile(differences[draws].mean(axis=1), [0.025, 0.975])
    return f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
