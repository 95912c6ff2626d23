"""Whole trainings beside LightGBM and CatBoost, bags and the recipe beside bags of LightGBM, and how time grows.

Processor seconds of one thread. All train the same number of trees of as many leaves, binning included.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np

from benchmarks.timing import BEFORE, Version, medians, slope
from benchmarks.training import BUILT_IN, DENSE, MQ2008, SHAPES, TREES, random_data
from surefoot.learn.bagging import PARTS, BaggedRun
from surefoot.learn.data import RankingData
from surefoot.learn.engines.lightgbm import BAGS
from surefoot.learn.run import TrainingRun
from surefoot.learn.settings import SAFE, Settings

N_TREES, ROUNDS = 30, 2
CATBOOST = "CatBoost's YetiRank"
OURS = ("lambdamart", "ucro", "georisk")
FITTED = Settings(n_estimators=N_TREES, num_leaves=31, learning_rate=0.1, n_jobs=1)


def main() -> None:
    before = Version(BEFORE) if BEFORE else None
    print(f"\n{N_TREES} trees of 31 leaves, processor seconds")
    for title in SHAPES:
        contestants: dict[str, Callable[[], object]] = {BUILT_IN: partial(lightgbm, title)}
        if importlib.util.find_spec("catboost"):
            contestants[CATBOOST] = partial(catboost, title)
        contestants |= {name: partial(surefoot, title, name) for name in OURS}
        if before is not None:
            contestants["georisk, before"] = partial(before.times, surefoot, title, "georisk")
        show(title, contestants)
    print(f"\nbags of trees of {SAFE.num_leaves} leaves, validated on what each holds out, processor seconds")
    for title in BAGGED:
        contestants = {BUILT_IN: partial(lightgbm_bags, title), "ours": partial(bags, title)}
        if before is not None:
            contestants["ours, before"] = partial(before.times, bags, title)
        if BAGGED[title].bags > 1:
            contestants["ours with the guard: --safe"] = partial(bags, title, SAFE.guard)
        show(title, contestants, warm=True)
    print("\nhow time grows: the exponent, LightGBM's lambdarank, ucro, georisk")
    grow("queries × 20 documents × 40 features", [500, 1000, 2000, 4000], lambda n: (n, 20, 40))
    grow("documents of 100 queries × 40 features", [25, 50, 100, 200], lambda n: (100, n, 40))
    grow("features of 500 queries × 20 documents", [25, 50, 100, 200], lambda n: (500, 20, n))


def show(title: str, contestants: dict[str, Callable[[], object]], warm: bool = False) -> None:
    times = {name: found.processor for name, found in medians(contestants, ROUNDS, warm).items()}
    ratios = ", ".join(f"{name} {time / times[BUILT_IN]:.2f} ×" for name, time in times.items())
    print(f"  {title:38} {times[BUILT_IN]:6.2f} s  {ratios}", flush=True)


def grow(title: str, sizes: Sequence[int], shape: Callable[[int], tuple[int, int, int]]) -> None:
    exponents = []
    for work in (fit_lightgbm, partial(fit_surefoot, objective="ucro"), partial(fit_surefoot, objective="georisk")):
        contestants = {str(size): partial(work, data_of(*shape(size))) for size in sizes}
        exponents.append(slope([*map(float, sizes)], [one.processor for one in medians(contestants, ROUNDS).values()]))
    print(f"  {title:38} {', '.join(f'{one:.2f}' for one in exponents)}", flush=True)


@cache
def data_of(queries: int, documents: int, features: int) -> RankingData:
    return as_data(random_data(queries, documents, features, DENSE))


@cache
def shape_of(title: str) -> RankingData:
    return as_data(SHAPES[title]())


def as_data(parts: tuple[Any, Any, Any]) -> RankingData:
    features, labels, groups = parts
    return RankingData.of(features, labels, np.repeat(np.arange(len(groups)), groups))


def lightgbm(title: str) -> None:
    fit_lightgbm(shape_of(title))


def fit_lightgbm(data: RankingData) -> None:
    dataset = lgb.Dataset(data.features, data.labels, group=data.sizes)
    lgb.train({**TREES, "objective": "lambdarank"}, dataset, N_TREES)


def surefoot(title: str, objective: str) -> None:
    fit_surefoot(shape_of(title), objective)


def fit_surefoot(data: RankingData, objective: str) -> None:
    TrainingRun.of(data, "feature:1", replace(FITTED, objective=objective)).train()


def catboost(title: str) -> None:
    import catboost

    data = shape_of(title)
    queries = np.repeat(np.arange(len(data)), data.sizes)
    ranker = catboost.CatBoost({
        "loss_function": "YetiRank", "iterations": N_TREES, "grow_policy": "Lossguide", "max_leaves": 31,
        "learning_rate": 0.1, "thread_count": 1, "verbose": False, "allow_writing_files": False,
    })  # fmt: skip
    ranker.fit(catboost.Pool(data.features, data.labels, group_id=queries))


class Bagged(NamedTuple):
    """How many bags of how many trees are trained on some data."""

    data: Callable[[], RankingData]
    bags: int
    trees: int

    def run(self, guard: str | None = None) -> BaggedRun:
        settings = replace(SAFE, n_estimators=self.trees, early_stopping_rounds=None, guard=guard, n_jobs=1)
        return BaggedRun.of(self.data(), "feature:1", settings)


BAGGED = {"one bag of 300 trees, 300 + 100 queries × 120": Bagged(partial(data_of, 400, 120, 136), 1, 300)}
if MQ2008 in SHAPES:
    BAGGED["eight bags of 100 trees, MQ2008"] = Bagged(partial(shape_of, MQ2008), SAFE.n_bags, 100)


def bags(title: str, guard: str | None = None) -> None:
    bagged = BAGGED[title]
    run = bagged.run(guard)
    if bagged.bags > 1:
        run.train()
    else:
        seen, held_out = parts(run, 0)
        TrainingRun.of(seen, "feature:1", run.bag_settings(0), valid=held_out).train()


def lightgbm_bags(title: str) -> None:
    """The same trees, bagging and held-out queries, by LightGBM alone."""
    bagged = BAGGED[title]
    run = bagged.run()
    trees = {"num_leaves": SAFE.num_leaves, "learning_rate": SAFE.learning_rate, "min_child_samples": 50}
    params = {**TREES, **trees, **BAGS, "objective": "lambdarank", "metric": "ndcg", "eval_at": 10}
    for bag in range(bagged.bags):
        train, valid = parts(run, bag)
        dataset = lgb.Dataset(train.features, train.labels, group=train.sizes)
        held_out = lgb.Dataset(valid.features, valid.labels, group=valid.sizes, reference=dataset)
        lgb.train({**params, "seed": bag}, dataset, bagged.trees, valid_sets=[held_out])


def parts(run: BaggedRun, bag: int) -> tuple[RankingData, RankingData]:
    """The queries that a bag sees, and those that it holds out."""
    held_out = run.part_of_query == bag % PARTS
    return run.data.select(np.flatnonzero(~held_out)), run.data.select(np.flatnonzero(held_out))
