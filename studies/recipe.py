"""What lowers risk on unseen queries at the same mean: the recipe beside gain alone and the published objectives.

Everyone gets the same treatment: the same bags, the same seeds, the same number of trees, scores averaged. The
iteration of each bag is chosen on validation queries: by the mean for gain alone and for the recipe, by U_Risk at the
alpha that was trained for, for the published objectives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np

from studies.objectives import RESAMPLES, SEED
from studies.splits import FOLDS, Split, names, splits
from surefoot.learn.bagging import APART, SAFE, SAFE_BAGS, train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.judging import Judge
from surefoot.learn.leaning import leant
from surefoot.learn.metrics import Metric
from surefoot.results import Result, signature
from surefoot.scores import FloatArray

Learner = tuple[str, float, str]
"""An objective, its alpha, and the figure that it is stopped on."""

GAIN_ALONE: Learner = ("lambdamart", 0.0, "mean")
RECIPE: Learner = (SAFE.objective, SAFE.alpha, "mean")
CURVES: list[Learner] = [
    *(("ucro", alpha, "urisk") for alpha in (1.0, 2.0, 5.0, 10.0, 20.0)),
    *((objective, alpha, "urisk") for objective in ("saro", "faro", "georisk") for alpha in (1.0, 5.0, 20.0)),
]
FEWER = [learner for learner in CURVES if learner[1] == 5.0]
DRAWS = {"mq2008": 3, "nfcorpus": 3, "demo": 1}
"""How often everything is trained anew, with other seeds."""

WORKERS = 2


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name in DRAWS:
        if name in names():
            folds = range(1 if name == "nfcorpus" else max(1, FOLDS // less))
            draws = max(1, DRAWS[name] // less)
            found = outcomes(name, [GAIN_ALONE, RECIPE], folds, draws)
            found |= outcomes(name, CURVES if name == "mq2008" else FEWER, folds, 1)
            yield f"{name}: {SAFE_BAGS} bags each", table(found)


def outcomes(name: str, learners: Iterable[Learner], folds: Iterable[int], draws: int) -> dict[tuple[str, ...], Found]:
    """What each learner, as it is and leaning on the baseline, and the baseline reached on each test query."""
    chosen = list(learners)
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        tasks = product([name], chosen, range(draws), folds)
        parts = iter(list(pool.map(outcome, *zip(*tasks, strict=True))))
    found: dict[tuple[str, ...], Found] = {}
    for objective, alpha, stop_on in chosen:
        # Draws × (as it is, leaning, baseline) × queries.
        values = np.stack([np.concatenate([next(parts) for _ in folds], axis=1) for _ in range(draws)])
        for place, lean in enumerate((0.0, SAFE.lean)):
            found[objective, f"{alpha:g}", stop_on, f"{lean:g}"] = values[:, place], values[0, 2]
    return found


Found = tuple[FloatArray, FloatArray]


def outcome(name: str, learner: Learner, draw: int, fold: int) -> FloatArray:
    """NDCG@10 of each test query: by the model, by the model leaning, by the baseline."""
    objective, alpha, stop_on = learner
    split = split_of(name, fold)
    seed = SAFE.params["seed"] + draw * SAFE_BAGS * (SAFE.n_estimators + APART)
    params = {**SAFE.params, "seed": seed}
    settings = replace(SAFE, objective=objective, alpha=alpha, params=params, stop_on=stop_on, lean=0.0, threads=1)
    model = train_bags(settings, SAFE_BAGS, split.train, split.baseline, split.valid).model
    leaning = leant(model, SAFE.lean, split.train, split.baseline)
    judge = Judge(split.test, Metric(cutoff=10), baselines_of(split.baseline, split.test))
    own, b = judge.scores("model", model.predict(split.test)).values
    return np.stack([own, judge.scores("model", leaning.predict(split.test)).values[0], b])


@cache
def split_of(name: str, fold: int) -> Split:
    return list(splits(name))[fold]


def table(found: dict[tuple[str, ...], Found]) -> Result:
    plain, b = found["lambdamart", "0", "mean", "0"]
    rows = []
    for (objective, alpha, stop_on, lean), (x, _) in found.items():
        before = plain[: len(x)]
        loss, loss_before = np.maximum(b - x, 0), np.maximum(b - before, 0)
        rows.append(
            {
                "objective": objective,
                "alpha": alpha,
                "stopped on": stop_on,
                "lean": lean,
                "draws": len(x),
                "ndcg@10": f"{x.mean():.4f}",
                "in %": f"{100 * (x.mean() / before.mean() - 1):+.2f}",
                "against gain alone": interval(x - before),
                "frisk": f"{loss.mean():.4f}",
                "frisk in %": f"{100 * (loss.mean() / loss_before.mean() - 1):+.1f}",
                "change of frisk": interval(loss - loss_before),
                "losses": f"{(loss > 0).sum(axis=1).mean():.0f}",
                "loss20": f"{((loss > 0.2 * b) & (b > 0)).sum(axis=1).mean():.0f}",
            }
        )
    stated = signature("recipe", bags=SAFE_BAGS, queries=b.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, {name: [row[name] for row in rows] for name in rows[0]})


def interval(differences: FloatArray) -> str:
    """A mean with its 95 % percentile bootstrap interval over draws of seeds (rows) and over queries."""
    random = np.random.default_rng(SEED)
    draws, queries = differences.shape
    means = [
        differences[random.integers(draws, size=draws)].mean(axis=0)[random.integers(queries, size=queries)].mean()
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
