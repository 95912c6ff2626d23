"""What lowers risk on unseen queries at the same mean: the recipe beside gain alone and the published objectives.

All are trained alike: the same bags, the same seeds, the same number of trees, scores averaged. The
iteration of each bag is chosen on validation queries: by the mean for gain alone and for the recipe, by U_Risk at the
alpha that was trained for, for the published objectives. The recipe is gain alone interpolated with its baseline,
which plays no part before that: so the same models also tell how that does on baselines it was not chosen for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np

from studies.objectives import RESAMPLES, SEED
from studies.splits import FOLDS, Split, names, splits
from surefoot.learn.bagging import SEED_GAP
from surefoot.learn.baseline import baselines_of
from surefoot.learn.models import Model
from surefoot.learn.recipes import SAFE
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from surefoot.results import Result, signature
from surefoot.scores import FloatArray

Learner = tuple[str, float, str]
"""An objective, its alpha, and the measure of early stopping."""

Values = tuple[FloatArray, FloatArray]
"""The model's score of each query for each draw of seeds (row), and the baseline's."""

GAIN_ALONE: Learner = (SAFE.objective, SAFE.alpha, "mean")
CURVES: list[Learner] = [
    *(("ucro", alpha, "urisk") for alpha in (1.0, 2.0, 5.0, 10.0, 20.0)),
    *((objective, alpha, "urisk") for objective in ("saro", "faro", "georisk") for alpha in (1.0, 5.0, 20.0)),
]
FEWER = [learner for learner in CURVES if learner[1] == 5.0]
DRAWS = {"mq2008": 3, "nfcorpus": 2, "nfcorpus-folds": 1, "demo": 1}
"""How often the recipe and gain alone are trained, each time with other seeds."""

OTHERS = {
    "mq2008": ("15", "24", "30", "35", "40"),
    "nfcorpus": ("bm25-long", "bm25+rm3", "tfidf", "lm-dir", "lm-jm", "pl2", "chargrams", "fusion"),
    "demo": ("bm25-long", "bm25+rm3", "tfidf", "lm-dir", "lm-jm", "pl2", "chargrams", "fusion", "bm25+names"),
}
"""Features to interpolate with instead of the baseline."""

FEWER_BAGS = SAFE.n_bags // 2
"""For the many trainings beside the published objectives and on all queries of NFCorpus."""

WORKERS = 2


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name in DRAWS:
        if name in names():
            folds = range(1 if name == "nfcorpus" else max(1, FOLDS // less))
            bags = SAFE.n_bags if name in OTHERS else FEWER_BAGS
            own = outcomes(name, [GAIN_ALONE], bags, max(1, DRAWS[name] // less), folds)
            yield f"{name}: {bags} bags each", table(with_recipe(own))
            if name not in OTHERS:
                continue
            yield f"{name}: interpolated with other baselines", others_table(name, own[GAIN_ALONE])
            some, learners = (folds[:1], FEWER) if name == "demo" else (folds, CURVES)
            found = outcomes(name, [GAIN_ALONE, *learners], FEWER_BAGS, 1, some)
            curves = with_recipe(found) | plain(found)
            yield f"{name}: beside the published objectives, {FEWER_BAGS} bags, folds {len(some)}", table(curves)
            yield f"{name}: the recipe above their curves", leads_table(curves)


Outcomes = dict[Learner, list[list[FloatArray]]]
"""By learner, draw and fold: NDCG@10 of each test query (last axis) by the model, by it interpolated, by the baseline
(second axis), for the baseline and, of gain alone, for `OTHERS` (first axis)."""


def outcomes(name: str, learners: Sequence[Learner], bags: int, draws: int, folds: Sequence[int]) -> Outcomes:
    tasks = product([name], learners, [bags], range(draws), folds)
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        parts = iter(list(pool.map(outcome, *zip(*tasks, strict=True))))
    return {learner: [[next(parts) for _ in folds] for _ in range(draws)] for learner in learners}


def outcome(name: str, learner: Learner, bags: int, draw: int, fold: int) -> FloatArray:
    objective, alpha, stop_on = learner
    split = split_of(name, fold)
    seed = SAFE.seed + draw * bags * (SAFE.n_estimators + SEED_GAP)
    settings = replace(
        SAFE, objective=objective, alpha=alpha, seed=seed, stop_on=stop_on, n_bags=bags, baseline_weight=0.0, n_jobs=1
    )  # fmt: skip
    model = train(split.train, split.baseline, settings, valid=split.valid).model
    others = OTHERS.get(name, ()) if learner == GAIN_ALONE else ()
    return np.stack(
        [values_of(model, split, baseline) for baseline in (split.baseline, *map("feature:{}".format, others))]
    )


def values_of(model: Model, split: Split, baseline: str) -> FloatArray:
    interpolated = model.interpolate(SAFE.baseline_weight, baseline, split.valid)
    validation = Validation.of(Settings(), split.test, baselines_of(baseline, split.test))
    own, b = validation.scores("model", model.predict(split.test)).values
    return np.stack([own, validation.scores("model", interpolated.predict(split.test)).values[0], b])


def with_recipe(found: Outcomes) -> dict[tuple[str, str, str], Values]:
    return {("gain alone", "0", "by mean"): _joined(found[GAIN_ALONE], 0),
            ("recipe", "0", "interpolated"): _joined(found[GAIN_ALONE], 1)}  # fmt: skip


def plain(found: Outcomes) -> dict[tuple[str, str, str], Values]:
    return {(name, f"{alpha:g}", f"by {stop}"): _joined(parts, 0)
            for (name, alpha, stop), parts in found.items() if alpha}  # fmt: skip


def _joined(parts: list[list[FloatArray]], row: int, baseline: int = 0) -> Values:
    values = np.stack([np.concatenate(of_draw, axis=-1) for of_draw in parts])[:, baseline]
    return values[:, row], values[0, 2]


def others_table(name: str, parts: list[list[FloatArray]]) -> Result:
    rows = []
    for index, feature in enumerate(OTHERS[name], 1):
        (before, b), (x, _) = (_joined(parts, row, index) for row in (0, 1))
        rows.append({"baseline": feature, "of it": f"{b.mean():.4f}", **compared(x, before, b)})
    stated = signature("recipe-others", queries=b.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, {column: [row[column] for row in rows] for column in rows[0]})


@cache
def split_of(name: str, fold: int) -> Split:
    return list(splits(name))[fold]


def table(found: Mapping[tuple[str, str, str], Values]) -> Result:
    plain, b = found["gain alone", "0", "by mean"]
    rows = []
    for (objective, alpha, how), (x, _) in found.items():
        measures = compared(x, plain[: len(x)], b)
        rows.append({"objective": objective, "alpha": alpha, "how": how, "draws": len(x), **measures})
    stated = signature("recipe", queries=b.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, {name: [row[name] for row in rows] for name in rows[0]})


def leads_table(found: Mapping[tuple[str, str, str], Values]) -> Result:
    """How far the recipe's mean is above the curve of each objective, at the recipe's F_Risk."""
    ((gain,), b), ((own,), _) = list(found.values())[:2]
    random = np.random.default_rng(SEED)
    draws = [np.arange(b.size), *(random.integers(b.size, size=b.size) for _ in range(RESAMPLES))]
    rows = []
    for objective in dict.fromkeys(name for name, _, how in found if how == "by urisk"):
        models = np.stack([own, gain, *(x[0] for (name, _, _), (x, _) in found.items() if name == objective)])
        losses = np.maximum(b - models, 0)
        leads = [lead(losses[:, draw].mean(axis=1), models[:, draw].mean(axis=1)) for draw in draws]
        low, high = np.quantile(leads[1:], [0.025, 0.975])
        rows.append({"objective": objective, "above its curve": f"{leads[0]:+.4f} [{low:+.4f}, {high:+.4f}]"})
    stated = signature("recipe-leads", queries=b.size, n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, {column: [row[column] for row in rows] for column in rows[0]})


def lead(risks: FloatArray, means: FloatArray) -> float:
    """How far the first model's mean is above the best mixture of the others that is as safe.

    A mixture ranks each query by one of two models, drawn at random. A curve that never is as safe ends at its safest.

    >>> lead(np.array([0.2, 0.4, 0.1]), np.array([0.5, 0.6, 0.3]))  # a third of the second, two thirds of the third
    0.1
    """
    (risk, *others), (mean, *theirs) = risks, means
    enough = max(risk, min(others))
    best = -np.inf
    for (low, at_low), (high, at_high) in product(zip(others, theirs, strict=True), repeat=2):
        if low <= enough < high:
            best = max(best, at_low + (at_high - at_low) * (enough - low) / (high - low))
        elif low <= enough:
            best = max(best, at_low)
    return round(float(mean - best), 12)


def compared(x: FloatArray, before: FloatArray, b: FloatArray) -> dict[str, str]:
    """The scores x beside those of gain alone, and both against the baseline's."""
    loss, loss_before = np.maximum(b - x, 0), np.maximum(b - before, 0)
    return {
        "ndcg@10": f"{x.mean():.4f}",
        "in %": f"{100 * (x.mean() / before.mean() - 1):+.2f}",
        "against gain alone": interval(x - before),
        "frisk": f"{loss.mean():.4f}",
        "frisk in %": f"{100 * (loss.mean() / loss_before.mean() - 1):+.1f}",
        "change of frisk": interval(loss - loss_before),
        "losses": f"{(loss > 0).sum(axis=1).mean():.0f}",
        "loss20": f"{((loss > 0.2 * b) & (b > 0)).sum(axis=1).mean():.0f}",
    }


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
