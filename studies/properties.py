"""What each risk measure has and lacks, on real runs: the properties by which SIGIR 2016 compares measures, counted.

Improvements: one topic of one run is raised by 0.05; how often does that *lower* the measure? Baselines: the systems
are ranked under two baselines (or, for T*, Z_Risk and GeoRisk, two populations of five) drawn at random; Kendall's tau
says how little the choice matters. The mean: tau with the ranking by effectiveness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from studies.real_runs import real_scores
from studies.stability import joined
from surefoot import risk
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray
from surefoot.stats import kendall

ALPHAS, CASES, DRAWS, STEP = (1.0, 5.0, 10.0), 2000, 100, 0.05

Measure = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Of the systems, given a baseline or a population, at an alpha."""


def _star(values: FloatArray, population: FloatArray, alpha: float) -> FloatArray:
    return np.asarray(risk.trisk(values, population.mean(axis=0), alpha))


MEASURES: dict[str, tuple[int, Measure]] = {
    "U_Risk": (1, lambda values, base, alpha: np.asarray(risk.urisk(values, base[0], alpha))),
    "T_Risk": (1, lambda values, base, alpha: np.asarray(risk.trisk(values, base[0], alpha))),
    "T* (MEAN)": (5, _star),
    "Z_Risk": (5, lambda values, population, alpha: joined(values, population, alpha)[0]),
    "GeoRisk": (5, lambda values, population, alpha: joined(values, population, alpha)[1]),
}
"""How many baselines each takes here, and its value."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name, scores in real_scores(("nDCG@10",)):
        if name in ("TREC Web 2012", "TREC DL 2019") and scores.measure != "NDCG@20":
            rows = [row for word in MEASURES for row in _rows(word, scores.values, less)]
            columns = by_column(rows)
            title = f"What each measure has and lacks: {name}, {scores.measure}"
            yield title, Result(signature("properties", n=CASES // less, seed=0), columns)


def _rows(word: str, values: FloatArray, less: int) -> Iterator[dict[str, Any]]:
    size, measure = MEASURES[word]
    for alpha in ALPHAS:
        taus, by_mean = _agreement(values, size, measure, alpha, DRAWS // less)
        yield {
            "measure": word,
            "alpha": f"{alpha:g}",
            "baselines": size,
            "improvements that lower it": f"{100 * _lowered(values, size, measure, alpha, CASES // less):.1f} %",
            "tau, other baselines": taus,
            "tau, the mean": by_mean,
        }


def _lowered(values: FloatArray, size: int, measure: Measure, alpha: float, cases: int) -> float:
    random, fell = np.random.default_rng(0), 0
    for _ in range(cases):
        order = random.permutation(len(values))
        row, others = values[order[0]], values[order[1 : size + 1]]
        better = row.copy()
        topic = random.integers(row.size)
        better[topic] = min(1.0, better[topic] + STEP)
        before, after = (measure(one[np.newaxis], others, alpha)[0] for one in (row, better))
        fell += bool(after < before - 1e-12)
    return fell / cases


def _agreement(values: FloatArray, size: int, measure: Measure, alpha: float, draws: int) -> tuple[float, float]:
    random, found = np.random.default_rng(1), []
    for _ in range(draws):
        order = random.permutation(len(values))
        rest = values[order[2 * size :]]
        first, second = (measure(rest, values[order[at : at + size]], alpha) for at in (0, size))
        kept = np.isfinite(first) & np.isfinite(second)
        means = rest.mean(axis=1)[kept]
        found.append((kendall(first[kept], second[kept]).tau, kendall(first[kept], means).tau))
    other, by_mean = np.mean(found, axis=0)
    return float(other), float(by_mean)
