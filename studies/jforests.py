"""The spread of the authors' own code: SARO and FARO as alpha grows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from surefoot_lab.tradeoff.churn import kendall_distance

from studies.splits import Split, names, splits
from surefoot.learn.baseline import baselines_of
from surefoot.learn.objectives import SARO, QueryMetrics
from surefoot.learn.settings import PairOptions, Settings
from surefoot.learn.training import train
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray

ALPHAS = (1.0, 2.0, 5.0, 10.0, 20.0)
TREES, SEED = 100, 1
PAIRS = {
    "saro, jforests": ("saro", "jforests", "ucro", 0.5),
    "saro, sd": ("saro", "sd", "ucro", 0.5),
    "faro, jforests": ("faro", "jforests", "lambdamart", 0.0),
    "faro, sd": ("faro", "sd", "lambdamart", 0.0),
}
"""An objective and its spread, and the objective that it is held against, at this fraction of alpha."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    name = "mq2008" if "mq2008" in names() else "demo"
    parts = list(splits(name))[: max(1, 5 // less)]
    rows = [row for alpha in ALPHAS for row in compared(parts, alpha)]
    stated = signature("jforests", data=name, folds=len(parts), trees=TREES, seed=SEED)
    yield f"SARO and FARO on {name}, {len(parts)} test fold(s)", Result(stated, by_column(rows))


def compared(parts: list[Split], alpha: float) -> Iterator[dict[str, object]]:
    """How far the rankings of each are from those of the simpler objective, and how unequal the factors are."""
    for label, (objective, spread, simpler, fraction) in PAIRS.items():
        ours = [ranked(split, objective, alpha, spread) for split in parts]
        others = [ranked(split, simpler, fraction * alpha) for split in parts]
        apart = np.concatenate(
            [
                kendall_distance(mine, theirs, split.test.bounds)
                for (mine, _), (theirs, _), split in zip(ours, others, parts, strict=True)
            ]
        )
        factors = np.concatenate([found for _, found in ours])
        high, low = np.quantile(factors, [0.95, 0.05])
        yield {
            "objective": label,
            "alpha": alpha,
            "held against": f"{simpler} {fraction * alpha:g}" if fraction else simpler,
            "pairs of documents in another order": f"{apart.mean():.4f}",
            "p95/p5 of 1 + alpha'": f"{high / low:.3f}",
            "alpha' / alpha, mean": f"{(factors.mean() - 1) / alpha:.3f}",
        }


def ranked(split: Split, objective: str, alpha: float, spread: str | None = None) -> tuple[FloatArray, FloatArray]:
    """The scores of the test documents, and 1 + alpha' of the training queries after the last tree."""
    settings = Settings(
        objective, alpha, objective_options={"spread": spread} if spread else {}, n_estimators=TREES,
        learning_rate=0.05, num_leaves=15, seed=SEED,
    )  # fmt: skip
    model = train(split.train, split.baseline, settings).model
    scores = model.predict(split.test)
    if spread is None:
        return scores, np.ones(1)
    metric = PairOptions().trained_metric.bind(split.train.labels, split.train.bounds)
    x, b = metric(model.predict(split.train)), baselines_of(split.baseline, split.train).values(metric)
    first, *_ = metric(model.booster.predict(split.train.features, num_iteration=1))[None]
    adaptive = SARO(alpha, spread=spread)  # type: ignore[arg-type]
    adaptive.alphas(first - b[0], QueryMetrics(first, b))  # the spread is kept from here on
    return scores, 1 + adaptive.alphas(x - b[0], QueryMetrics(x, b))
