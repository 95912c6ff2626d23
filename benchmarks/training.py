"""A boosting iteration under each objective beside LightGBM's own lambdarank, on data shaped like MSLR-WEB10K.

The contestants train side by side in one process, an iteration each in turn, so that a busy machine is busy for all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin would slow each other down on a busy machine

import lightgbm as lgb
import numpy as np

from surefoot import read_letor
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.data import RankingData
from surefoot.learn.engines.lightgbm import BAGS, DETERMINISTIC
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.recipes import SAFE
from surefoot.learn.settings import PairOptions
from surefoot.learn.training_run import TrainingRun

QUERIES, DOCUMENTS, FEATURES = 3000, 120, 136
ITERATIONS = 15
BAG_QUERIES, BAG_TREES, ROUNDS = 400, 300, 3
BUILT_IN = "LightGBM's lambdarank"


def main() -> None:
    features, labels, groups = generated()
    for leaves in (63, 255):
        for truncation in (30, None):
            compare(features, labels, groups, leaves, truncation)
    shapes()
    bag()
    memory()


def generated(queries: int = QUERIES) -> tuple[Any, Any, Any]:
    """Features of several kinds (counts, ratios, scores), labels that a few of them explain."""
    rng = np.random.default_rng(2010)
    groups = rng.integers(DOCUMENTS // 2, DOCUMENTS * 3 // 2, queries)
    rows = int(groups.sum())
    features = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    features[:, ::3] = np.floor(np.exp(features[:, ::3]))
    features[:, 1::3] = np.round(features[:, 1::3], 2)
    hidden = features[:, 1:20].sum(axis=1) + features[:, 2] * features[:, 5] + 4 * rng.standard_normal(rows)
    labels = np.searchsorted(np.quantile(hidden, [0.52, 0.84, 0.97, 0.99]), hidden).astype(np.float32)
    return features, labels, groups


def compare(features: Any, labels: Any, groups: Any, leaves: int, truncation: int | None) -> None:
    params = {"num_leaves": leaves, "learning_rate": 0.1, "verbosity": -1}
    dataset = lgb.Dataset(features, labels, group=groups, params=params, free_raw_data=False).construct()
    pairs = truncation or int(groups.max())
    own = {"objective": "lambdarank", "lambdarank_truncation_level": pairs}
    contestants = {BUILT_IN: stepper({**params, **own}, dataset)}
    for name in OBJECTIVES:
        objective = RiskObjective(name, alpha=1, baseline=features[:, 1], pairs=PairOptions(truncation=truncation))
        contestants[name] = stepper({**DETERMINISTIC, **params, "objective": "none"}, dataset, objective)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for iteration in range(ITERATIONS + 1):
        for name, step in contestants.items():
            begin = time.perf_counter()
            step()
            if iteration:  # the first compiles, and builds what LightGBM builds late
                times[name].append(time.perf_counter() - begin)
    pairs_words = "all pairs" if truncation is None else f"truncation {truncation}"
    print(f"\n{len(groups):,} queries, {leaves} leaves, {pairs_words}")
    for name in contestants:
        print(f"  {name:24} {median(times[name]) / median(times[BUILT_IN]):5.2f} ×")


def shapes() -> None:
    """An iteration on data of several shapes, one thread: processor seconds beside LightGBM's lambdarank."""
    print("\nprocessor time of an iteration, truncation 30, one thread")
    for title, (features, labels, groups) in shaped():
        params = {"num_leaves": 31, "learning_rate": 0.1, "verbosity": -1, "num_threads": 1}
        dataset = lgb.Dataset(features, labels, group=groups, params=params, free_raw_data=False).construct()
        own = {"objective": "lambdarank", "lambdarank_truncation_level": 30}
        contestants = {BUILT_IN: stepper({**params, **own}, dataset)}
        for name in ("lambdamart", "ucro", "georisk"):
            objective = RiskObjective(name, alpha=1, baseline=features[:, 1], pairs=PairOptions(truncation=30))
            contestants[name] = stepper({**DETERMINISTIC, **params, "objective": "none"}, dataset, objective)
        times: dict[str, list[float]] = {name: [] for name in contestants}
        for iteration in range(2 * ITERATIONS + 1):
            for name, step in contestants.items():
                begin = time.process_time()
                step()
                if iteration:
                    times[name].append(time.process_time() - begin)
        ratios = ", ".join(f"{name} {median(times[name]) / median(times[BUILT_IN]):.2f} ×" for name in contestants)
        print(f"  {title:38} {1000 * median(times[BUILT_IN]):7.2f} ms  {ratios}")


def shaped() -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    """Data like MSLR, of short lists, with few relevant documents, of long lists with few, and MQ2008."""
    dense, sparse = (0.52, 0.84, 0.97, 0.99), (0.98, 0.995)
    yield "600 queries × 120, half relevant", random_data(600, 120, 136, dense)
    yield "5,000 queries × 10, half relevant", random_data(5000, 10, 40, dense)
    yield "600 queries × 100, 2 % relevant", random_data(600, 100, 60, sparse)
    yield "60 queries × 1,000, 2 % relevant", random_data(60, 1000, 40, sparse)
    if "SUREFOOT_DATA" in os.environ:
        data = read_letor(sorted(Path(os.environ["SUREFOOT_DATA"], "mq2008").glob("S*.txt.gz")))
        yield "MQ2008, 784 queries × 19", (data.features, data.labels, data.sizes)


def random_data(queries: int, documents: int, features: int, levels: Sequence[float]) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    groups = rng.integers(documents // 2, documents * 3 // 2 + 1, queries)
    x = rng.standard_normal((int(groups.sum()), features), dtype=np.float32)
    hidden = x[:, 1:6].sum(axis=1) + 2 * rng.standard_normal(len(x))
    return x, np.searchsorted(np.quantile(hidden, levels), hidden).astype(np.float32), groups


def bag() -> None:
    """A whole bag of the recipe, validated, beside LightGBM's lambdarank with the same bagging: CPU seconds."""
    features, labels, groups = generated(BAG_QUERIES)
    data = RankingData.of(features, labels, np.repeat(np.arange(len(groups)), groups))
    train, valid = (data.select(np.arange(BAG_QUERIES) % 4 != 0), data.select(np.arange(BAG_QUERIES) % 4 == 0))
    settings = replace(
        SAFE, n_bags=1, guard=None, n_estimators=BAG_TREES, early_stopping_rounds=None, params=BAGS, n_jobs=1
    )  # fmt: skip
    trees = {"num_leaves": settings.num_leaves, "learning_rate": settings.learning_rate, "min_child_samples": 50}
    own = {
        **DETERMINISTIC,
        **BAGS,
        **trees,
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": 10,
        "num_threads": 1,
    }

    def built_in() -> None:
        dataset = lgb.Dataset(train.features, train.labels, group=train.sizes)
        held_out = lgb.Dataset(valid.features, valid.labels, group=valid.sizes, reference=dataset)
        lgb.train(own, dataset, BAG_TREES, valid_sets=[held_out])

    contestants = {
        BUILT_IN: built_in,
        "a bag": lambda: TrainingRun.of(train, "feature:1", settings, valid=valid).train(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(ROUNDS + 1):
        for name, work in contestants.items():
            begin = time.process_time()
            work()
            if turn:
                seconds[name].append(time.process_time() - begin)
    print(f"\na bag of {BAG_TREES} trees, {len(train)} + {len(valid)} queries, CPU seconds")
    for name, times in seconds.items():
        print(f"  {name:24} {median(times):6.2f} s {median(times) / median(seconds[BUILT_IN]):5.2f} ×")


def stepper(params: dict[str, Any], dataset: Any, objective: Any = None) -> Callable[[], object]:
    booster = lgb.Booster(params, dataset)
    return lambda: booster.update(fobj=objective)


def memory() -> None:
    """Peak memory of a whole training in a process of its own."""
    print("\npeak memory of a training, 63 leaves, 10 trees")
    for name in (BUILT_IN, "ucro", "georisk"):
        found = subprocess.run(
            [sys.executable, "-c", ALONE.format(name=name)], capture_output=True, text=True, check=True
        )
        print(f"  {name:24} {float(found.stdout):5.2f} GiB")


ALONE = """
import resource
import lightgbm as lgb
from benchmarks.training import BUILT_IN, generated
from surefoot.learn.rankers import RiskRanker
import numpy as np
features, labels, groups = generated()
if {name!r} == BUILT_IN:
    ranker = lgb.LGBMRanker(n_estimators=10, num_leaves=63, verbosity=-1)
    ranker.fit(features, labels, group=groups)
else:
    ranker = RiskRanker({name!r}, n_estimators=10, num_leaves=63)
    ranker.fit(features, labels, qid=np.repeat(np.arange(len(groups)), groups), baseline="feature:1")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
