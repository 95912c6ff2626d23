"""What the published experiments cost: time and memory of one unit per objective on generated data, and all of them.

The whole is reckoned, not run: the cost before the first tree, plus that of a tree times their number, times the units.

    python -m benchmarks.experiment --queries 10000 --trees 20
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin would slow each other down on a busy machine

import numpy as np

from benchmarks.training import generated
from surefoot.learn.data import RankingData
from surefoot.research.experiments.data import Dataset
from surefoot.research.experiments.folds import split
from surefoot.research.experiments.jobs import Ground, Unit, train_learned, train_unit
from surefoot.research.experiments.plan import PROTOCOLS, Plan, Trees

QUERIES, TREES = 500, 10
OBJECTIVES = ("lambdamart", "ucro", "saro", "faro", "tstar-faro", "georisk")
PLAN = PROTOCOLS["sigir2016"]
FOLDS = 5


@dataclass(frozen=True)
class Cost:
    """Seconds before the first tree and of each tree, and the most memory that the process had, in GiB."""

    before: float
    tree: float
    peak: float

    def of(self, trees: int) -> float:
        return self.before + trees * self.tree


def main(queries: int = QUERIES, trees: int = TREES, threads: int = 1) -> None:
    print(f"{queries:,} queries × about 120 documents × 136 features, threads of a training: {threads}\n")
    print(f"  {'unit':24} {'before':>9} {'a tree':>9} {'peak':>10}")
    costs: dict[str, Cost] = {}
    for name in (*OBJECTIVES, *PLAN.learned):
        costs[name] = _alone(name, queries, trees, threads)
        shown = f"baseline {name}" if name in PLAN.learned else name
        own = costs[name]
        print(f"  {shown:24} {own.before:7.1f} s {own.tree:7.3f} s {own.peak:6.2f} GiB", flush=True)
    print("\nhours of one worker for the whole protocol")
    for plan in PROTOCOLS.values():
        print(f"  {plan.name:24} {whole(plan, costs) / 3600:7.1f}")


def whole(plan: Plan, costs: dict[str, Cost]) -> float:
    """Seconds of all units, one after the other."""
    most = max(plan.trees)
    choosing = len(plan.docs_per_leaf) * len(plan.leaves) * len(plan.rates)
    once = choosing + (len(plan.trees) > 1)  # LambdaMART, and again where the number of trees is chosen
    folds = sum(costs[objective].of(most) for objective, alpha in plan.learners() if alpha > 0)
    folds += once * costs["lambdamart"].of(most)
    return FOLDS * folds + sum(costs[name].of(most) for name in plan.learned)


def _alone(name: str, queries: int, trees: int, threads: int) -> Cost:
    """The cost of one unit, in a process of its own so that memory is its own too."""
    words = ["--unit", name, "--queries", str(queries), "--trees", str(trees), "--threads", str(threads)]
    command = [sys.executable, "-m", "benchmarks.experiment", *words]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(**json.loads(found.stdout))


def measure(name: str, queries: int, trees: int, threads: int) -> Cost:
    ground = _ground(queries)
    _warm(name, threads)
    settings = replace(PLAN.grid(ground.dataset.data.labels.size)[0], trees=trees)
    if name in PLAN.learned:
        before, tree = _learned(ground, name, settings, threads)
    else:
        before, tree = _unit(ground, name, settings, threads)
    return Cost(before, tree, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def _unit(ground: Ground, objective: str, settings: Trees, threads: int) -> tuple[float, float]:
    times = [time.perf_counter()]
    train_unit(ground, _of(objective, settings), threads, lambda _: times.append(time.perf_counter()))
    steps = np.diff(times)
    tree = median(steps[1:].tolist())
    return float(steps[0] - tree), tree


def _learned(ground: Ground, name: str, settings: Trees, threads: int) -> tuple[float, float]:
    """The linear ones end by themselves; of the boosted ones, few trees and twice as many tell what a tree costs."""
    boosted = name in ("LambdaMART", "GBRT")
    seconds = []
    for times in (1, 2) if boosted else (1,):
        begin = time.perf_counter()
        train_learned(ground, name, replace(settings, trees=times * settings.trees), threads)
        seconds.append(time.perf_counter() - begin)
    tree = (seconds[-1] - seconds[0]) / settings.trees
    return seconds[0] - tree * settings.trees, tree


def _of(objective: str, settings: Trees) -> Unit:
    return Unit(0, objective, 0.0 if objective == "lambdamart" else 1.0, settings)


def _ground(queries: int) -> Ground:
    features, labels, groups = generated(queries)
    data = RankingData.of(features, labels, np.repeat(np.arange(queries), groups))
    ground = Ground(PLAN, Dataset("generated", data), split(queries, FOLDS, PLAN.held_out), "feature:1")
    ground.learned = {name: data.column(place + 1).astype(np.float64) for place, name in enumerate(PLAN.learned)}
    return ground


def _warm(name: str, threads: int) -> None:
    """Compile on a few queries."""
    few = _ground(30)
    settings = Trees(1, 5, 0.1, 1, stopping=True)
    if name in PLAN.learned:
        train_learned(few, name, settings, threads)
    else:
        train_unit(few, _of(name, settings), threads)


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiment", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=QUERIES, help=f"(default: {QUERIES})")
    parser.add_argument("--trees", type=int, default=TREES, help=f"that are really grown (default: {TREES})")
    parser.add_argument("--threads", type=int, default=1, help="of a training (default: 1)")
    parser.add_argument("--unit", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.unit:
        print(json.dumps(vars(measure(given.unit, given.queries, given.trees, given.threads))))
    else:
        main(given.queries, given.trees, given.threads)
