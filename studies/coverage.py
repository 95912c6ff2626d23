"""How often 95 % intervals cover the true value, which is that of a very large collection.

Tied scores: reciprocal ranks (1 to 1/10, or 0 for a fifth of the topics); the system keeps the baseline's score except
on a share of the topics, where it draws another one. That ten changed queries are needed for a default interval (twenty
for tail risk) was set before; counting lost queries instead was tried for tail risk, and failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from unittest.mock import patch

import numpy as np

from studies.collections import LEVEL, SYSTEMS, collections, nominal_bounds, sources
from surefoot._typing import Columns
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import Resampler, interval_columns
from surefoot.results import Result, signature
from surefoot.risk import get_risk
from surefoot.scores import FloatArray, Scores
from surefoot.stats.bootstrap import METHODS, BootstrapMethod
from surefoot.stats.inference import t_inference
from surefoot.stats.simulator import Simulator

SIZES, COLLECTIONS, RESAMPLES = (25, 50, 100, 200), 2000, 1000
ALPHAS = np.array([1.0, 5.0])
MEASURES = ("urisk", "trisk", "zrisk", "georisk", "tail_0.1")
STUDENTISED = ("urisk", "tail_0.1")
"""The measures that have a standard error; the others get BCa intervals."""
BASELINE, SYSTEM = SYSTEMS[:2]
LARGE = 400_000
RANKS = (0.38, 0.14, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02, 0.01, 0.01, 0.22)
"""How often each rank has the first relevant document, the last where none has."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield "Coverage of default 95 % intervals of tied scores, before and after", _tied(COLLECTIONS // 5 // less)
    count = COLLECTIONS // less
    for source, simulator in sources():
        planted = simulator.change(SYSTEM, amount=-0.2, fraction=0.2)
        title = f"Coverage of 95 % intervals, a loss of 0.2 planted on a fifth of the topics: {source}"
        yield title, _table(planted, count)


def _reciprocal_ranks(random: np.random.Generator, topics: int, changed: float) -> FloatArray:
    """Reciprocal ranks of a baseline, and of a system that draws another one on a share of the topics."""
    values = np.append(1 / np.arange(1, 11), 0.0)
    base, other = random.choice(values, (2, topics), p=RANKS)
    return np.stack([base, np.where(random.random(topics) < changed, other, base)])


def _pair_design(values: FloatArray) -> Design:
    return Design.of(Scores(values, SYSTEMS[:2], range(values.shape[1])), BASELINE, [SYSTEM])


def _tied(count: int) -> Result:
    """Coverage of all intervals as they were before, and of those that are given now."""
    random, measures, columns = np.random.default_rng(1), ("urisk", "trisk", "tail_0.1"), {}
    for changed in (0.12, 0.3):
        truth = _pair_design(_reciprocal_ranks(random, LARGE, changed)).values(map(get_risk, measures), ALPHAS[:1])
        for size in SIZES:
            held: dict[str, list[tuple[bool, bool]]] = {}
            for seed in range(count):
                design = _pair_design(_reciprocal_ranks(random, size, changed))
                resampler = Resampler.of(design, ALPHAS[:1], measures)
                with patch("surefoot.analysis.intervals.FEWEST", 0):
                    method = BootstrapMethod("studentised", LEVEL, RESAMPLES // 2, seed)
                    bounds = interval_columns(design, ALPHAS[:1], measures, method)
                for measure in resampler.measures:
                    name = measure.name
                    value = truth[name].item() * _scale(name, size)
                    inside = bounds[f"{name}_low"].item() <= value <= bounds[f"{name}_high"].item()
                    held.setdefault(name, []).append((inside, not bool(resampler.too_few(measure)[0])))
            for name, own in held.items():
                given = [inside for inside, is_given in own if is_given]
                row = {"changed": changed, "topics": size, "measure": name, "before": np.mean([one for one, _ in own])}
                row |= {"given": len(given) / count, "after": np.mean(given) if given else np.nan}
                for column, cell in row.items():
                    columns.setdefault(column, []).append(cell)
    return Result(signature("coverage", n=count, n_resamples=RESAMPLES // 2, level=LEVEL), columns)


def _table(simulator: Simulator, count: int) -> Result:
    large = _design(simulator.values(LARGE, seed=9))
    truth = large.values(map(get_risk, MEASURES), ALPHAS)
    rates: dict[tuple[str, float, str], list[float]] = {}
    for size in SIZES:
        covered = _covered(simulator, size, count, truth)
        for index, alpha in enumerate(ALPHAS):
            for measure, method in covered:
                if not (measure.startswith("tail") and index):
                    rate = float(np.mean(covered[measure, method][:, index]))
                    rates.setdefault((measure, float(alpha), method), []).append(rate)
    rates = {key: rates[key] for key in sorted(rates, key=lambda key: (MEASURES.index(key[0]), key[1]))}
    low, high = nominal_bounds(count, 1 - LEVEL)
    columns: dict[str, list[object]] = {
        "measure": [measure for measure, _, _ in rates],
        "alpha": ["–" if measure.startswith("tail") else f"{alpha:g}" for measure, alpha, _ in rates],
        "interval": [method for _, _, method in rates],
    }
    for index, size in enumerate(SIZES):
        columns[f"{size} topics"] = [_marked(row[index], low, high) for row in rates.values()]
    note = f"a true rate of 95 % lies between {low:.3f} and {high:.3f} (99 %); ! below, + above"
    return Result(signature("coverage", n=count, n_resamples=RESAMPLES, level=LEVEL), columns, (note,))


def _marked(rate: float, low: float, high: float) -> str:
    return f"{rate:.3f}{'!' if rate < low else '+' if rate > high else ''}"


def _covered(simulator: Simulator, size: int, count: int, truth: Columns) -> dict[tuple[str, str], FloatArray]:
    """Whether each interval covers the true value: for each measure and method, collections × alphas."""
    found: dict[tuple[str, str], list[FloatArray]] = {}
    for seed, matrix in enumerate(np.moveaxis(collections(simulator, size, count, seed=4), 1, 0)):
        design = _design(matrix)
        t = t_inference(matrix[1], matrix[0], ALPHAS)
        found.setdefault(("urisk", "t"), []).append(_covers(t.low, t.high, truth["urisk"][:, 0]))
        for method in METHODS:
            bounds = interval_columns(design, ALPHAS, MEASURES, BootstrapMethod(method, LEVEL, RESAMPLES, seed))
            for measure in MEASURES if method != "studentised" else STUDENTISED:
                low, high = (bounds[f"{measure}_{end}"][:, 0] for end in ("low", "high"))
                held = _covers(low, high, truth[measure][:, 0] * _scale(measure, size))
                found.setdefault((measure, method), []).append(held)
    order = sorted(found, key=lambda key: MEASURES.index(key[0]))
    return {key: np.stack(found[key]) for key in order}


def _design(values: FloatArray) -> Design:
    scores = Scores(values, SYSTEMS, range(values.shape[1]))
    return Design.of(scores, BASELINE, [SYSTEM])


def _scale(measure: str, size: int) -> float:
    """The factor from a large collection to a small one: T grows with the square root of the size, Z with the size."""
    return {"trisk": sqrt(size / LARGE), "zrisk": size / LARGE}.get(measure, 1.0)


def _covers(low: FloatArray, high: FloatArray, truth: FloatArray) -> FloatArray:
    return ((low <= truth) & (truth <= high)).astype(np.float64)
