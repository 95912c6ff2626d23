"""Do certificates hold? How often a promise is broken, and which share of the gain it keeps.

The population is a finite set of queries whose metric is known at every step of a guard's path, so the truth is known
too; calibration queries are drawn from it with replacement, 200 times for each number of queries. A promise is broken
if the step that it allows loses more than the budget over the whole population. Budgets are 100, 75 and 50 % of the
guard's own loss there. The gain is the mean above the baseline's, in units of the guard's without a promise; the
largest gain within the budget is the limit for any test. The guard is log-rank 0.35 over BM25, for LambdaMART on the
embedded collection and for the fusion of all models on NFCorpus; the simulated set has the built-in margins of
`surefoot.stats.simulator`, its path is straight.

Three tests were compared before, with 40 to 100 draws of the same populations: betting, Gaffke's bound (conjectured to
be valid), a normal bound; then the first two with the largest loss seen as the upper end of the losses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from studies.guard import labelled, written
from surefoot._typing import FloatArray, IntArray
from surefoot.guard.certificate import PATH, PROMISES, Budget, certify
from surefoot.guard.guard import Guard
from surefoot.results import Result, by_column, signature
from surefoot.stats.simulator import Simulator

DRAWS, SEED = 200, 0
SIZES = (50, 100, 200, 300, 1_000)
SHARES = (1.0, 0.75, 0.5)
Population = tuple[FloatArray, Mapping[float, FloatArray]]
"""The baseline's metric of each query, and by safety that of each step."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name, population in populations():
        rows = [row(population, of, share, queries, DRAWS // less) for of in PROMISES for share in SHARES
                for queries in SIZES]  # fmt: skip
        stated = signature("certificates", population=name, draws=DRAWS // less, confidence=0.9, seed=SEED)
        yield f"{name}: promises at 90 %", Result(stated, by_column(rows))


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


def row(population: Population, of: str, share: float, queries: int, draws: int) -> dict[str, object]:
    b, steps = population
    limit = share * Budget(0.5, of).measured(steps[0.0], b)
    row: dict[str, object] = {"of": of, "share": f"{100 * share:.0f} %", "budget": round(limit, 4), "queries": queries}
    too_much = {safety: Budget(limit, of).measured(x, b) > limit for safety, x in steps.items()}
    gain = {safety: (x.mean() - b.mean()) / (steps[0.0].mean() - b.mean()) for safety, x in steps.items()}
    gain[1.0], too_much[1.0] = 0.0, False
    for name, approximate in (("", False), ("approximate: ", True)):
        budget, random = Budget(limit, of, approximate=approximate), np.random.default_rng(SEED)
        drawn = (random.integers(b.size, size=queries) for _ in range(draws))
        safeties = [certify(_on(steps, rows), b[rows], budget).safety for rows in drawn]
        row |= {
            f"{name}promised": f"{np.mean([safety < 1 for safety in safeties]):.2f}",
            f"{name}broken": f"{np.mean([too_much[safety] for safety in safeties]):.3f}",
            f"{name}gain kept": f"{np.mean([gain[safety] for safety in safeties]):.2f}",
        }
    within = [gain[safety] for safety in PATH if not too_much[safety]]
    return {**row, "largest gain within": f"{max(within, default=0.0):.2f}"}


def _on(steps: Mapping[float, FloatArray], rows: IntArray) -> Callable[[float], FloatArray]:
    return lambda safety: steps[safety][rows]
