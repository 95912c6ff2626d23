"""How often the tests call a difference significant at 5 % where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.collections import LEVEL, collections, nominal_bounds, sources, table_of_rates
from surefoot import risk
from surefoot.results import Result, signature
from surefoot.risk.values import Linear
from surefoot.scores import FloatArray
from surefoot.stats.inference import correct, critical_value
from surefoot.stats.permutation import flip_test, swap_test, t_test
from surefoot.stats.ranks import wilcoxon_test
from surefoot.stats.simulator import Simulator

TOPICS, COLLECTIONS, RESAMPLES = 50, 4000, 999
ALPHAS = (0.0, 1.0, 5.0)
SIZES = (25, 50, 100, 200, 400)
Rates = dict[tuple[str, str], float]


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    count = COLLECTIONS // less
    for source, simulator in sources():
        null = simulator.null()
        drawn = collections(null, TOPICS, count, seed=1)
        rates = {**plain(drawn), **permutations(drawn), **families(drawn)}
        rates |= partly(null, count)
        yield f"False alarms, no system effect: {source}, {TOPICS} topics", _table(rates, count, LEVEL)
        zero = _table(_sides(risk.trisk(drawn[1], drawn[0], ALPHAS), TOPICS), count, LEVEL / 2)
        yield f"T_Risk against 0, no system effect: {source}, {TOPICS} topics", zero
        yield f"T_Risk of recentred x, where its null hypothesis holds: {source}", recentred(null, count)


def plain(drawn: FloatArray) -> Rates:
    """One system against the baseline, by the tests that need no resampling."""
    return {
        ("paired t", "–"): _rate(t_test(drawn[1], drawn[0])),
        ("Wilcoxon", "–"): _rate(wilcoxon_test(drawn[1], drawn[0])),
    }


def permutations(drawn: FloatArray) -> Rates:
    """One system against the baseline, by the permutation tests; each collection has its own seed."""
    flips, swaps = [], []
    for seed, matrix in enumerate(np.moveaxis(drawn, 1, 0)):
        flips.append(flip_test(matrix[1], matrix[0], ALPHAS, n_resamples=RESAMPLES, seed=seed).p)
        swaps.append(swap_test(matrix, 1, 0, ALPHAS, n_resamples=RESAMPLES, seed=seed).p)
    found = {"sign flips, U_Risk": np.array(flips), "topic swaps, GeoRisk": np.array(swaps)}
    return {(name, f"{alpha:g}"): _rate(p[:, index]) for name, p in found.items() for index, alpha in enumerate(ALPHAS)}


def families(drawn: FloatArray) -> Rates:
    """Nine systems against the baseline: how often is any of them called different?"""
    smallest: dict[str, list[float]] = {"max-statistic, any of 9": [], "Holm over paired t, any of 9": []}
    smallest |= {"Holm over sign flips, any of 9": [], "uncorrected paired t, any of 9": []}
    for seed, matrix in enumerate(np.moveaxis(drawn, 1, 0)):
        flips = flip_test(matrix[1:], matrix[0], 0.0, n_resamples=RESAMPLES, seed=seed)
        t = t_test(matrix[1:], matrix[0])
        for name, p in zip(smallest, (flips.p_max, correct(t, "holm"), correct(flips.p, "holm"), t), strict=True):
            smallest[name].append(float(np.nanmin(p)))
    return {(name, "–"): _rate(np.array(p)) for name, p in smallest.items()}


def partly(null: Simulator, count: int) -> Rates:
    """Four of the nine are truly worse: how often is any of the other five called different?"""
    for system in null.systems[-4:]:
        null = null.change(system, amount=-0.05)
    smallest: dict[str, list[float]] = {
        "max-statistic, any of 5 beside 4 worse": [],
        "Holm, any of 5 beside 4 worse": [],
    }
    for seed, matrix in enumerate(np.moveaxis(collections(null, TOPICS, count, seed=3), 1, 0)):
        p_max = flip_test(matrix[1:], matrix[0], 0.0, n_resamples=RESAMPLES, seed=seed).p_max
        holm = correct(t_test(matrix[1:], matrix[0]), "holm")
        for name, p in zip(smallest, (p_max, holm), strict=True):
            smallest[name].append(float(np.nanmin(p[:5])))
    return {(name, "–"): _rate(np.array(p)) for name, p in smallest.items()}


def recentred(null: Simulator, count: int) -> Result:
    """T_Risk of x minus its population mean, for which the null hypothesis E[v(d)] = 0 holds."""
    large = collections(null, 1_000_000, 1, seed=2)[:2, 0]
    columns: dict[str, list[object]] = {}
    for size in SIZES:
        system, baseline = collections(null, size, count, seed=6)[[1, 0]]
        x = np.stack([Linear(a)(system - baseline) - risk.urisk(large[1], large[0], a) for a in ALPHAS])
        rates = _sides(risk.trisk(x, np.zeros_like(x), 0), size)
        columns |= {"T_Risk": [test for test, _ in rates], "alpha": [alpha for _, alpha in rates]}
        columns[f"{size} topics"] = list(rates.values())
    low, high = nominal_bounds(count, LEVEL / 2)
    note = f"a true rate of 2.5 % lies between {low:.4f} and {high:.4f} (99 %)"
    return Result(signature("recentred", n=count, level=LEVEL), columns, (note,))


def _sides(t: FloatArray, topics: int) -> Rates:
    """How often T, alphas × collections, is significant on either side; 2.5 % each, if the null hypothesis holds."""
    reached = critical_value(topics, LEVEL)
    return {
        (f"significantly {side} 0", f"{alpha:g}"): float(np.mean(sign * row > reached))
        for side, sign in (("below", -1), ("above", 1))
        for alpha, row in zip(ALPHAS, t, strict=True)
    }


def _rate(p: FloatArray) -> float:
    return float(np.mean(p <= LEVEL))


def _table(rates: Rates, count: int, nominal: float) -> Result:
    labels = {"test": [test for test, _ in rates], "alpha": [alpha for _, alpha in rates]}
    return table_of_rates("false_alarms", labels, list(rates.values()), count, nominal)
