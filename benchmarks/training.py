"""A boosting iteration under each objective beside LightGBM's own lambdarank, on data of several shapes.

The contestants train side by side, a few iterations each in turn, so that a busy machine is busy for all. The limit of
any custom objective is LightGBM with the gradients of an earlier training.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import cycle
from statistics import median
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin would slow each other down on a busy machine

import lightgbm as lgb
import numpy as np
from surefoot_lab.experiments.data import load_data

from benchmarks.timing import BEFORE, Times, Version, medians
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.engines.lightgbm import DETERMINISTIC
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.settings import PairOptions

QUERIES, DOCUMENTS, FEATURES = 500, 120, 136
ITERATIONS = 9
STEPS, ROUNDS = 3, 9
BUILT_IN, LIMIT = "LightGBM's lambdarank", "limit: gradients for nothing"
TREES = {"num_leaves": 31, "learning_rate": 0.1, "verbosity": -1, "num_threads": 1}
MQ2008, NFCORPUS = "MQ2008, 784 queries × 19", "NFCorpus, 554 queries × 70"
DENSE, SPARSE = (0.52, 0.84, 0.97, 0.99), (0.98, 0.995)


def main() -> None:
    shapes()
    features, labels, groups = generated()
    for leaves in (63, 255):
        for truncation in (30, None):
            compare(features, labels, groups, leaves, truncation)
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
    params = {**TREES, "num_leaves": leaves}
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
            begin = time.process_time()
            step()
            if iteration:  # the first builds what LightGBM builds late
                times[name].append(time.process_time() - begin)
    pairs_words = "all pairs" if truncation is None else f"truncation {truncation}"
    print(f"\n{len(groups):,} queries, {leaves} leaves, {pairs_words}")
    for name in contestants:
        print(f"  {name:24} {median(times[name]) / median(times[BUILT_IN]):5.2f} ×", flush=True)


def shapes() -> None:
    """An iteration on data of several shapes, one thread: processor seconds beside LightGBM's lambdarank."""
    print("\nprocessor time of an iteration, 31 leaves, truncation 30, one thread")
    before = Version(BEFORE) if BEFORE else None
    for title in SHAPES:
        contestants: dict[str, Callable[[], object]] = {}
        for name in (BUILT_IN, LIMIT, "lambdamart", "ucro", "georisk"):
            contestants[name] = partial(steps, title, name)
            if before is not None and name in OBJECTIVES:
                contestants[f"{name}, before"] = partial(before.times, steps, title, name)
        times = {name: found.processor for name, found in medians(contestants, ROUNDS).items()}
        ratios = ", ".join(f"{name} {time / times[BUILT_IN]:.2f} ×" for name, time in times.items())
        print(f"  {title:38} {1000 * times[BUILT_IN]:7.2f} ms  {ratios}", flush=True)


def steps(title: str, name: str) -> Times:
    """The next iterations of a training, which goes on from call to call: the times of one."""
    step = training(title, name)
    begin = time.perf_counter(), time.process_time()
    for _ in range(STEPS):
        step()
    return Times((time.perf_counter() - begin[0]) / STEPS, (time.process_time() - begin[1]) / STEPS)


@cache
def training(title: str, name: str) -> Callable[[], object]:
    features, labels, groups = SHAPES[title]()
    dataset = lgb.Dataset(features, labels, group=groups, params=TREES, free_raw_data=False).construct()
    if name == BUILT_IN:
        return stepper({**TREES, "objective": "lambdarank", "lambdarank_truncation_level": 30}, dataset)
    objective: Any = RiskObjective(
        "lambdamart" if name == LIMIT else name, alpha=1, baseline=features[:, 1], pairs=PairOptions(truncation=30)
    )
    params = {**DETERMINISTIC, **TREES, "objective": "none"}
    if name == LIMIT:
        objective = recorded(params, dataset, objective)
    return stepper(params, dataset, objective)


def recorded(params: dict[str, Any], dataset: Any, objective: Any) -> Callable[[Any, Any], Any]:
    """The gradients of an earlier training in the same order: the same trees, without computing gradients."""
    seen: list[Any] = []

    def record(scores: Any, data: Any) -> Any:
        seen.append(tuple(np.array(one) for one in objective(scores, data)))
        return seen[-1]

    step = stepper(params, dataset, record)
    for _ in range(STEPS * (ROUNDS + 1)):
        step()
    again = cycle(seen)
    return lambda scores, data: next(again)


@cache
def real(name: str, every: int) -> tuple[Any, Any, Any]:
    """Every n-th query of a data set."""
    data = load_data([name]).data
    data = data.select(np.arange(0, len(data), every))
    return data.features, data.labels, data.sizes


def random_data(queries: int, documents: int, features: int, levels: Sequence[float]) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    groups = rng.integers(documents // 2, documents * 3 // 2 + 1, queries)
    x = rng.standard_normal((int(groups.sum()), features), dtype=np.float32)
    hidden = x[:, 1:6].sum(axis=1) + 2 * rng.standard_normal(len(x))
    return x, np.searchsorted(np.quantile(hidden, levels), hidden).astype(np.float32), groups


SHAPES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "600 queries × 120, half relevant": partial(random_data, 600, 120, 136, DENSE),
    "5,000 queries × 10, half relevant": partial(random_data, 5000, 10, 40, DENSE),
    "600 queries × 100, 2 % relevant": partial(random_data, 600, 100, 60, SPARSE),
    "60 queries × 1,000, 2 % relevant": partial(random_data, 60, 1000, 40, SPARSE),
}
if "SUREFOOT_DATA" in os.environ:
    SHAPES |= {MQ2008: partial(real, "mq2008", 1), NFCORPUS: partial(real, "nfcorpus", 5)}
"""Data like MSLR, of short lists, with few relevant documents, of long lists with few; real data."""


def stepper(params: dict[str, Any], dataset: Any, objective: Any = None) -> Callable[[], object]:
    booster = lgb.Booster(params, dataset)
    return lambda: booster.update(fobj=objective)


def memory() -> None:
    """Peak memory of a whole training in a process of its own."""
    print("\npeak memory of a training, 3,000 queries, 63 leaves, 10 trees")
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
features, labels, groups = generated(3000)
if {name!r} == BUILT_IN:
    ranker = lgb.LGBMRanker(n_estimators=10, num_leaves=63, verbosity=-1)
    ranker.fit(features, labels, group=groups)
else:
    ranker = RiskRanker({name!r}, n_estimators=10, num_leaves=63)
    ranker.fit(features, labels, qid=np.repeat(np.arange(len(groups)), groups), baseline="feature:1")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""
