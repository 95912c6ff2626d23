"""What lowers risk on unseen queries at the same mean: the recipe beside gain alone and the published objectives.

Everyone gets the same treatment: the same bags, the same seeds, scores averaged. The iteration of each bag is chosen
on validation queries: by the mean for gain alone, by U_Risk at the alpha that was trained for, for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from studies.objectives import RESAMPLES, SEED, interval
from studies.splits import Split, names, splits
from surefoot.learn.bagging import SAFE, SAFE_BAGS, train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.judging import Judge
from surefoot.learn.metrics import Metric
from surefoot.results import Result, signature
from surefoot.scores import FloatArray

GAIN_ALONE = ("lambdamart", 0.0)
RECIPE = (SAFE.objective, SAFE.alpha)
CURVES = [("ucro", 1.0), ("ucro", 5.0), ("ucro", 10.0), ("ucro", 20.0)]
CURVES += [(objective, alpha) for objective in ("saro", "faro", "georisk") for alpha in (1.0, 5.0, 20.0)]
SMALL = "mq2008"
"""Where all curves are drawn; elsewhere gain alone and the recipe."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name in names():
        parts = list(splits(name))[: max(1, 5 // less)]
        chosen = dict.fromkeys([GAIN_ALONE, RECIPE, *(CURVES if name == SMALL else [])])
        found = {one: outcome(parts, *one) for one in chosen}
        yield f"{name}: {SAFE_BAGS} bags each", table(found)


def outcome(parts: list[Split], objective: str, alpha: float) -> tuple[FloatArray, FloatArray]:
    """The model's and the baseline's NDCG@10 of every test query."""
    settings = replace(SAFE, objective=objective, alpha=alpha, threads=1)
    if (objective, alpha) == GAIN_ALONE:
        settings = replace(settings, stop_on="mean")
    rows = []
    for split in parts:
        model = train_bags(settings, SAFE_BAGS, split.train, split.baseline, split.valid).model
        judge = Judge(split.test, Metric(cutoff=10), baselines_of(split.baseline, split.test))
        rows.append(judge.scores("model", model.predict(split.test)).values)
    x, b = np.concatenate(rows, axis=1)
    return x, b


def table(found: dict[tuple[str, float], tuple[FloatArray, FloatArray]]) -> Result:
    plain, b = found[GAIN_ALONE]
    before = np.maximum(b - plain, 0)
    rows = []
    for (objective, alpha), (x, _) in found.items():
        loss = np.maximum(b - x, 0)
        rows.append(
            {
                "objective": objective,
                "alpha": alpha,
                "ndcg@10": f"{x.mean():.4f}",
                "in %": f"{100 * (x.mean() / plain.mean() - 1):+.2f}",
                "against gain alone": interval(x - plain),
                "frisk": f"{loss.mean():.4f}",
                "frisk in %": f"{100 * (loss.mean() / before.mean() - 1):+.1f}",
                "change of frisk": interval(loss - before),
                "losses": int((loss > 0).sum()),
                "loss20": int(((x - b < -0.2 * b) & (b > 0)).sum()),
            }
        )
    stated = signature("recipe", bags=SAFE_BAGS, queries=b.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, {name: [row[name] for row in rows] for name in rows[0]})
