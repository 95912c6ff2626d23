"""How often the tests detect a simulated loss, and how often a power fitted to few topics holds the real one.

Protocol of the second table. PAIRS random pairs of the systems of Robust04 (AP). The real power of T_Risk at alpha 0
and 1 is that on REAL samples of 249 topics, drawn with replacement. `power` is fitted to FIT_TOPICS of the topics,
drawn without replacement; its interval should hold the real power in 90 % of the pairs. One form was computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from studies.collections import LEVEL, collections, sources
from studies.judged_collections import data
from surefoot import risk
from surefoot.io.tables import read_scores
from surefoot.results import Result, signature
from surefoot.risk.moments import Moments
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray
from surefoot.stats.inference import critical_value
from surefoot.stats.permutation import flip_test, swap_test, t_test
from surefoot.stats.power import binomial_interval, fitted_pair, power
from surefoot.stats.ranks import wilcoxon_test
from surefoot.stats.simulator import Simulator

SIZES, COLLECTIONS, RESAMPLES = (50, 100, 200), 1000, 999
ALPHAS = (1.0, 5.0)
PAIRS, REAL, REAL_SIZES, FIT_TOPICS, SEED = 150, 500, (50, 100, 200), 50, 43
LOSSES = {
    "none": (0.0, 1.0),
    "0.4 on 10 % of topics": (-0.4, 0.1),
    "0.2 on 30 % of topics": (-0.2, 0.3),
    "0.1 on all topics": (-0.1, 1.0),
}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield fits(less)
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


def fits(less: int = 1) -> tuple[str, Result]:
    """How often intervals of fitted powers hold the real ones, on Robust04."""
    scores, random = read_scores(data() / "robust04/ap.csv"), np.random.default_rng(SEED)
    held: dict[tuple[float, int], list[tuple[bool, bool, float]]] = {}
    for _ in range(PAIRS // less):
        system, baseline = random.choice(scores.systems, 2, replace=False).tolist()
        topics = random.choice(scores.topics, FIT_TOPICS, replace=False).tolist()
        part = scores.select(topics=topics)
        found = power(fitted_pair(part, system, baseline), system, baseline, [0.0, 1.0], REAL_SIZES, n_simulations=500)
        own, base = scores[system], scores[baseline]
        for row in found.rows():
            size, side = int(row["topics"]), np.sign(row["urisk"])
            drawn = random.integers(0, own.size, (REAL, size))
            t = Moments.of(Linear(row["alpha"])((own - base)[drawn])).t
            real = float(np.mean(side * t > critical_value(size, LEVEL)))
            simulated = binomial_interval(500 * row["power"], 500)
            inside = row["power_low"] <= real <= row["power_high"]
            before = bool(simulated[0] <= real <= simulated[1])
            held.setdefault((row["alpha"], size), []).append((bool(inside), before, abs(row["power"] - real)))
    rows = {key: np.mean(own, axis=0) for key, own in held.items()}
    columns: dict[str, list[object]] = {
        "alpha": [alpha for alpha, _ in rows],
        "topics": [size for _, size in rows],
        "held": [row[0] for row in rows.values()],
        "held before": [row[1] for row in rows.values()],
        "mean error": [row[2] for row in rows.values()],
    }
    return f"Intervals of powers fitted to {FIT_TOPICS} topics: Robust04, AP", Result(
        signature("power", n=PAIRS // less, level=0.1), columns
    )


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
