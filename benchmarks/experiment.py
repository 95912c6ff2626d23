"""Time and memory of the published experiments: one job for each objective on generated data, and an estimate of all.

The estimate is the time before the first tree, plus the time of a tree times their number, times the number of jobs.

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
from surefoot_lab.experiments.data import Dataset, split
from surefoot_lab.experiments.jobs import Context, Job, run_baseline_job, run_job
from surefoot_lab.experiments.plan import PROTOCOLS, Plan, TreeSettings

from benchmarks.training import generated
from surefoot.learn.data import RankingData

QUERIES, TREES = 500, 10
OBJECTIVES = ("lambdamart", "ucro", "saro", "faro", "tstar-faro", "georisk")
PLAN = PROTOCOLS["sigir2016"]
FOLDS = 5


@dataclass(frozen=True)
class Cost:
    """Seconds before the first tree and of each tree, and the peak memory of the process in GiB."""

    before: float
    tree: float
    peak: float

    def of(self, trees: int) -> float:
        return self.before + trees * self.tree


def main(queries: int = QUERIES, trees: int = TREES, threads: int = 1) -> None:
    print(f"{queries:,} queries × about 120 documents × 136 features, threads of a training: {threads}\n")
    print(f"  {'job':24} {'before':>9} {'a tree':>9} {'peak':>10}")
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
    """Seconds of all jobs in sequence."""
    most = max(plan.trees)
    choosing = len(plan.docs_per_leaf) * len(plan.leaves) * len(plan.rates)
    once = choosing + (len(plan.trees) > 1)  # LambdaMART, and again where the number of trees is chosen
    folds = sum(costs[objective].of(most) for objective, alpha in plan.learners() if alpha > 0)
    folds += once * costs["lambdamart"].of(most)
    return FOLDS * folds + sum(costs[name].of(most) for name in plan.learned)


def _alone(name: str, queries: int, trees: int, threads: int) -> Cost:
    """The cost of one job, in a process of its own, whose peak memory is that of the job."""
    arguments = ["--job", name, "--queries", str(queries), "--trees", str(trees), "--threads", str(threads)]
    command = [sys.executable, "-m", "benchmarks.experiment", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(**json.loads(found.stdout))


def measure(name: str, queries: int, trees: int, threads: int) -> Cost:
    context = _context(queries)
    settings = replace(PLAN.grid(context.dataset.data.labels.size)[0], n_estimators=trees)
    if name in PLAN.learned:
        before, tree = _baseline_cost(context, name, settings, threads)
    else:
        before, tree = _job_cost(context, name, settings, threads)
    return Cost(before, tree, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def _job_cost(context: Context, objective: str, settings: TreeSettings, threads: int) -> tuple[float, float]:
    times = [time.perf_counter()]
    run_job(context, _job(objective, settings), threads, lambda _: times.append(time.perf_counter()))
    steps = np.diff(times)
    tree = median(steps[1:].tolist())
    return float(steps[0] - tree), tree


def _baseline_cost(context: Context, name: str, settings: TreeSettings, threads: int) -> tuple[float, float]:
    """Linear rankers are trained once; boosted ones with few trees and with twice as many, for the time of a tree."""
    boosted = name in ("LambdaMART", "GBRT")
    seconds = []
    for times in (1, 2) if boosted else (1,):
        begin = time.perf_counter()
        run_baseline_job(context, name, replace(settings, n_estimators=times * settings.n_estimators), threads)
        seconds.append(time.perf_counter() - begin)
    tree = (seconds[-1] - seconds[0]) / settings.n_estimators
    return seconds[0] - tree * settings.n_estimators, tree


def _job(objective: str, settings: TreeSettings) -> Job:
    return Job(0, objective, 0.0 if objective == "lambdamart" else 1.0, settings)


def _context(queries: int) -> Context:
    features, labels, groups = generated(queries)
    data = RankingData.of(features, labels, np.repeat(np.arange(queries), groups))
    context = Context(PLAN, Dataset("generated", data), split(queries, FOLDS, PLAN.held_out), "feature:1")
    context.learned = {name: data.column(index).astype(np.float64) for index, name in enumerate(PLAN.learned, 1)}
    return context


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiment", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=QUERIES, help=f"(default: {QUERIES})")
    parser.add_argument("--trees", type=int, default=TREES, help=f"that are trained (default: {TREES})")
    parser.add_argument("--threads", type=int, default=1, help="of a training (default: 1)")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.job:
        print(json.dumps(vars(measure(given.job, given.queries, given.trees, given.threads))))
    else:
        main(given.queries, given.trees, given.threads)
