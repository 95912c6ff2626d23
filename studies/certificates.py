"""Are certificates kept? How often a promise is broken, what it costs, and what it does not cover.

The population is a finite set of queries whose metric is known at every step of a guard's path, so the truth is known
too; calibration queries are drawn from it with replacement, 1,000 times for each number of queries. A promise is broken
if the step that it allows loses more than the budget over the whole population. Budgets are half of what the guard
itself loses there. Then the same promises for another mix of queries: the half on which the baseline does best, where
there is more to lose. The guard is log-rank 0.35 over BM25, for LambdaMART on the embedded collection and for the
fusion of all models on NFCorpus; the simulated set has the built-in margins of `surefoot.stats.simulator`, its path is
straight.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from studies.collections import nominal_bounds
from studies.guard import labelled, written
from surefoot.guard.certificate import PATH, PROMISES, Budget, certify
from surefoot.guard.guard import Guard
from surefoot.results import Result, signature
from surefoot.scores import FloatArray
from surefoot.stats.simulator import Simulator

DRAWS, SEED = 1_000, 0
SIZES = (100, 200, 500, 2_000)
Population = tuple[FloatArray, Mapping[float, FloatArray]]
"""The baseline's metric of each query, and by safety that of each step."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name, population in populations():
        rows = [row(population, of, queries, DRAWS // less) for of in PROMISES for queries in SIZES]
        stated = signature("certificates", population=name, draws=DRAWS // less, confidence=0.9, seed=SEED)
        yield f"{name}: promises at 90 %", Result(stated, {key: [one[key] for one in rows] for key in rows[0]})


def populations() -> Iterator[tuple[str, Population]]:
    b, c = Simulator.standard(("baseline", "candidate")).values(20_000, SEED)
    yield "simulated", (b, {safety: safety * b + (1 - safety) * c for safety in PATH})
    yield "embedded collection", measured("embedded", "LambdaMART")
    if "SUREFOOT_DATA" in os.environ:
        yield "NFCorpus", measured("NFCorpus", "fusion")


def measured(name: str, candidate: str) -> Population:
    folder = written(name)
    _, judged = labelled(folder / "BM25.run", folder / f"{candidate}.run", folder / "qrels.txt")
    guard = Guard("log-rank", 0.35)
    return judged.baseline, {safety: judged.measured(guard.towards_baseline(safety)) for safety in PATH}


def row(population: Population, of: str, queries: int, draws: int) -> dict[str, object]:
    b, steps = population
    limit = 0.5 * Budget(0.5, of).measured(steps[0.0], b)
    budget, random = Budget(limit, of), np.random.default_rng(SEED)
    drawn = (random.integers(b.size, size=queries) for _ in range(draws))
    safeties = [certify(_on(steps, rows), b[rows], budget).safety for rows in drawn]
    promised = [safety for safety in safeties if safety < 1]
    strong = b >= np.median(b)
    prices = [100 * (steps[safety].mean() / steps[0.0].mean() - 1) for safety in promised]
    return {
        "of": of,
        "budget": round(limit, 4),
        "queries": queries,
        "promised": f"{len(promised) / draws:.3f}",
        "broken": f"{_broken(promised, steps, b, budget) / draws:.3f}",
        "at most, by chance": f"{nominal_bounds(draws, budget.error)[1]:.3f}",
        "mean in %": f"{np.mean(prices):+.2f}" if prices else "–",
        "baseline's mean in %": f"{100 * (b.mean() / steps[0.0].mean() - 1):+.2f}",
        "broken where the baseline is strong": (
            f"{_broken(promised, {safety: x[strong] for safety, x in steps.items()}, b[strong], budget) / draws:.3f}"
        ),
    }


def _on(steps: Mapping[float, FloatArray], rows: FloatArray) -> Callable[[float], FloatArray]:
    return lambda safety: steps[safety][rows]


def _broken(promised: list[float], steps: Mapping[float, FloatArray], b: FloatArray, budget: Budget) -> int:
    too_much = {safety: budget.measured(x, b) > budget.limit for safety, x in steps.items()}
    return sum(too_much[safety] for safety in promised)
