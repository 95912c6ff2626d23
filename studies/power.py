"""How often the tests detect a simulated loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from studies.collections import LEVEL, collections, sources
from surefoot import risk
from surefoot.results import Result, signature
from surefoot.risk.values import Smooth
from surefoot.scores import FloatArray
from surefoot.stats.permutation import flip_test, swap_test, t_test, wilcoxon_test
from surefoot.stats.simulator import Simulator

SIZES, COLLECTIONS, RESAMPLES = (50, 100, 200), 1000, 999
ALPHAS = (1.0, 5.0)
LOSSES = {
    "none": (0.0, 1.0),
    "0.4 on 10 % of topics": (-0.4, 0.1),
    "0.2 on 30 % of topics": (-0.2, 0.3),
    "0.1 on all topics": (-0.1, 1.0),
}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    count = COLLECTIONS // less
    for source, simulator in sources():
        null = simulator.null()
        rates: dict[tuple[str, str], list[float]] = {}
        means = {}
        for loss, (amount, fraction) in LOSSES.items():
            planted = null.change(null.systems[1], amount, fraction)
            large = planted.values(400_000, seed=9)
            means[loss] = risk.urisk(large[1], large[0], 0).item()
            for size in SIZES:
                for test, rate in _rates(planted, size, count).items():
                    rates.setdefault((loss, test), []).append(rate)
        columns: dict[str, list[object]] = {
            "planted loss": [loss for loss, _ in rates],
            "mean d": [f"{means[loss]:.4f}" for loss, _ in rates],
            "test": [test for _, test in rates],
        }
        columns |= {f"{size} topics": [row[index] for row in rates.values()] for index, size in enumerate(SIZES)}
        stated = signature("power", n=count, n_resamples=RESAMPLES, level=LEVEL)
        yield f"Power at 5 %, system against an exchangeable baseline: {source}", Result(stated, columns)


def _rates(simulator: Simulator, size: int, count: int) -> dict[str, float]:
    """The fraction of collections on which each test finds the system worse (two-sided at 5 %, on that side)."""
    drawn = collections(simulator, size, count, seed=5)
    half = LEVEL / 2
    found: dict[str, FloatArray] = {
        "paired t": t_test(drawn[1], drawn[0], alternative="worse"),
        "Wilcoxon": wilcoxon_test(drawn[1], drawn[0], alternative="worse"),
        **_permutations(drawn),
    }
    for alpha in ALPHAS:
        found[f"T_Risk against 0, alpha {alpha:g}"] = t_test(drawn[1], drawn[0], alpha, alternative="worse")
    return {test: float(np.mean(p <= half)) for test, p in found.items()}


def _permutations(drawn: FloatArray) -> dict[str, FloatArray]:
    found: dict[str, list[float]] = {}
    for seed, matrix in enumerate(np.moveaxis(drawn, 1, 0)):
        how: dict[str, Any] = {"alternative": "worse", "n_resamples": RESAMPLES, "seed": seed}
        flips = flip_test(matrix[1:], matrix[0], 0.0, **how)
        found.setdefault("sign flips, any alpha", []).append(flips.p[0])
        found.setdefault("max-statistic, among 9", []).append(flips.p_max[0])
        smooth = flip_test(matrix[1], matrix[0], 1.0, Smooth, **how)
        found.setdefault("sign flips, smooth value, alpha 1", []).append(smooth.p.item())
        swaps = swap_test(matrix, 1, 0, ALPHAS, **how).p
        for alpha, p in zip(ALPHAS, swaps, strict=True):
            found.setdefault(f"topic swaps of GeoRisk, alpha {alpha:g}", []).append(p)
    return {test: np.array(p) for test, p in found.items()}
