"""Several trainings that differ by chance, averaged into one model: less noise, so fewer queries fall by accident.

`SAFE` is a recipe to begin with; `docs/recipe.md` shows what it did on three collections, and what else was tried.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Progress, Report
from surefoot.learn.engines.lightgbm import SEEDS, STEADY, checked
from surefoot.learn.leaning import leans_on
from surefoot.learn.merging import averaged
from surefoot.learn.models import Model, engine_of
from surefoot.learn.training import Settings, Trained, finished, judge_of, settled, train, tree_params

CHANCE = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7}
"""What makes bags differ: each tree sees a part of the documents and of the features."""

APART = 1000
"""Between the seeds of two bags, beyond the iterations of a training, which move them by one each."""

SAFE_BAGS = 12
SAFE = Settings(
    "ucro",
    alpha=0.0,
    n_estimators=600,
    params={**tree_params("lightgbm", rate=0.05, leaves=15, docs_per_leaf=50, seed=0), **CHANCE},
    early_stopping_rounds=200,
    stop_on="mean",
    lean=0.6,
)


def train_bags(
    settings: Settings,
    bags: int,
    data: RankingData,
    baseline: Any = None,
    valid: RankingData | None = None,
    valid_baseline: Any = None,
    *,
    checkpoint: Path | None = None,
    report: Report | None = None,
    keep: bool = False,
    **more: Any,
) -> Trained:
    """Train ``bags`` times with other seeds, and average the models into one plain LightGBM model.

    Each bag is checkpointed beside the others, so that a killed training goes on with the bag that it was at. The
    history is that of the first bag; ``more`` is what `train` takes.
    """
    settings = settled(settings, data)
    engine_of(settings.engine)
    if bags < 1:
        raise SurefootError(f"bags must be 1 or more; got {bags}")
    if bags == 1:
        return train(
            settings, data, baseline, valid, valid_baseline, checkpoint=checkpoint, report=report, keep=keep, **more
        )
    if settings.engine != "lightgbm":
        raise SurefootError("bags are averaged into one LightGBM model; XGBoost has no way to say it")
    if settings.lean:
        leans_on(baseline, data if valid is None else valid)
    judge = judge_of(settings, data, baseline, valid, valid_baseline, more.get("missing", "error"))
    # Read and matched once for all bags.
    mine = baselines_of(baseline, data, more.get("missing", "error"))
    theirs = None if judge is None else judge.baselines
    found = []
    for bag in range(bags):
        place = None if checkpoint is None else part_checkpoint(checkpoint, bag)
        tell = None if report is None else partial(_of_all, report, bag, bags)
        one = of_bag(settings, bag)
        found.append(train(one, data, mine, valid, theirs, checkpoint=place, keep=True, report=tell, **more))
    trees = sum(trained.model.card["trees"] for trained in found)
    card = {**found[0].model.card, "bags": bags, "trees": trees}
    model = Model("lightgbm", averaged([trained.model.text for trained in found]), card)
    return Trained(finished(model, settings, data, baseline, judge), found[0].history, found[0].best_iteration)


def of_bag(settings: Settings, bag: int) -> Settings:
    """The settings of one bag.

    Its parameters go by LightGBM's first names, with seeds that are further apart than a training moves them.
    """
    params = checked(settings.params)
    if params.get("linear_tree"):
        raise SurefootError("linear trees are not averaged; leave out linear_tree, or bags")
    moved = {name: params.get(name, 0) + (settings.n_estimators + APART) * bag for name in ("seed", *SEEDS)
             if name == "seed" or name in params}  # fmt: skip
    given = {key: value for key, value in params.items() if STEADY.get(key) != value}
    return replace(settings, params={**CHANCE, **given, **moved}, lean=0.0)


def part_checkpoint(path: Path, bag: int) -> Path:
    """Where the checkpoint of a bag is kept: that of the first is the training's own."""
    return path if bag == 0 else path.with_name(f"{path.stem}-{bag}{path.suffix}")


def _of_all(report: Report, bag: int, bags: int, at: Progress) -> None:
    """Report where all bags stand together."""
    seconds = at.seconds_left / max(1, at.rounds - at.iteration)
    left = at.seconds_left + seconds * at.rounds * (bags - bag - 1)
    report(replace(at, iteration=bag * at.rounds + at.iteration, rounds=bags * at.rounds, seconds_left=left))
