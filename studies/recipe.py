"""What lowers risk on unseen queries at the same mean: the recipe beside gain alone and the published objectives.

Everyone gets the same treatment: the same bags, the same seeds, the same number of trees, scores averaged. The
iteration of each bag is chosen on validation queries: by the mean for gain alone and for the recipe, by U_Risk at the
alpha that was trained for, for the published objectives. The recipe is, in each fold, the model of `SAFE_ALPHAS` that
`safest` chooses there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np

from studies.objectives import RESAMPLES, SEED
from studies.splits import FOLDS, Split, names, splits
from surefoot.learn.bagging import APART, SAFE, SAFE_ALPHAS, SAFE_BAGS, train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.choosing import safest
from surefoot.learn.judging import Judge
from surefoot.learn.leaning import leant
from surefoot.learn.metrics import Metric
from surefoot.results import Result, signature
from surefoot.scores import FloatArray

Learner = tuple[str, float, str]
"""An objective, its alpha, and the figure that it is stopped on."""

Found = tuple[FloatArray, FloatArray]
"""The model's value of each query, in each draw of seeds (rows), and the baseline's."""

GAIN_ALONE: Learner = ("lambdamart", 0.0, "mean")
CANDIDATES: list[Learner] = [GAIN_ALONE, *((SAFE.objective, alpha, "mean") for alpha in SAFE_ALPHAS if alpha)]
CURVES: list[Learner] = [
    *(("ucro", alpha, "urisk") for alpha in (1.0, 2.0, 5.0, 10.0, 20.0)),
    *((objective, alpha, "urisk") for objective in ("saro", "faro", "georisk") for alpha in (1.0, 5.0, 20.0)),
]
FEWER = [learner for learner in CURVES if learner[1] == 5.0]
DRAWS = {"mq2008": 3, "nfcorpus": 3, "demo": 1}
"""How often the recipe and gain alone are trained anew, with other seeds."""

WORKERS = 2


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name in DRAWS:
        if name in names():
            folds = range(1 if name == "nfcorpus" else max(1, FOLDS // less))
            found = with_recipe(outcomes(name, CANDIDATES, folds, max(1, DRAWS[name] // less)))
            found |= plain(outcomes(name, CURVES if name == "mq2008" else FEWER, folds, 1))
            yield f"{name}: {SAFE_BAGS} bags each", table(found)


Outcomes = dict[Learner, list[list["Outcome"]]]
"""What each learner did, by draw and fold."""


@dataclass(frozen=True)
class Outcome:
    """NDCG@10 of each test query by the model, by the model leaning, by the baseline; figures of the validation."""

    values: FloatArray
    validation: Mapping[str, float]


def outcomes(name: str, learners: Sequence[Learner], folds: Sequence[int], draws: int) -> Outcomes:
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        parts = iter(list(pool.map(outcome, *zip(*product([name], learners, range(draws), folds), strict=True))))
    return {learner: [[next(parts) for _ in folds] for _ in range(draws)] for learner in learners}


def outcome(name: str, learner: Learner, draw: int, fold: int) -> Outcome:
    objective, alpha, stop_on = learner
    split = split_of(name, fold)
    params = {**SAFE.params, "seed": SAFE.params["seed"] + draw * SAFE_BAGS * (SAFE.n_estimators + APART)}
    settings = replace(SAFE, objective=objective, alpha=alpha, params=params, stop_on=stop_on, lean=0.0, threads=1)
    model = train_bags(settings, SAFE_BAGS, split.train, split.baseline, split.valid).model
    leaning = leant(model, SAFE.lean, split.train, split.baseline)
    judge = Judge(split.test, Metric(cutoff=10), baselines_of(split.baseline, split.test))
    own, b = judge.scores("model", model.predict(split.test)).values
    values = np.stack([own, judge.scores("model", leaning.predict(split.test)).values[0], b])
    validated = Judge(split.valid, Metric(cutoff=10), baselines_of(split.baseline, split.valid))
    return Outcome(values, validated(leaning.predict(split.valid)))


def with_recipe(found: Outcomes) -> dict[tuple[str, str, str], Found]:
    """Gain alone and U-CRO, both also leaning, and the recipe."""
    chosen = [
        [options[safest([option.validation for option in options])] for options in zip(*of_draw, strict=True)]
        for of_draw in zip(*found.values(), strict=True)
    ]
    return {
        **plain(found),
        **{(objective, f"{alpha:g}", "leaning"): _joined(parts, 1) for (objective, alpha, _), parts in found.items()},
        ("recipe", "chosen", "leaning"): _joined(chosen, 1),
    }


def plain(found: Outcomes) -> dict[tuple[str, str, str], Found]:
    return {(name, f"{alpha:g}", f"by {stop}"): _joined(parts, 0) for (name, alpha, stop), parts in found.items()}


def _joined(parts: list[list[Outcome]], row: int) -> Found:
    values = np.stack([np.concatenate([part.values for part in of_draw], axis=1) for of_draw in parts])
    return values[:, row], values[0, 2]


@cache
def split_of(name: str, fold: int) -> Split:
    return list(splits(name))[fold]


def table(found: Mapping[tuple[str, str, str], Found]) -> Result:
    plain, b = found["lambdamart", "0", "by mean"]
    rows = []
    for (objective, alpha, how), (x, _) in found.items():
        before = plain[: len(x)]
        loss, loss_before = np.maximum(b - x, 0), np.maximum(b - before, 0)
        rows.append(
            {
                "objective": objective,
                "alpha": alpha,
                "how": how,
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
