"""The risk of many systems on many topics, for a sweep of alphas, beside the formulas written straight in numpy."""

from __future__ import annotations

import resource
import time
from functools import cache

import numpy as np
from scipy import stats

from benchmarks.timing import medians, show, with_before
from surefoot.analysis.evaluate import evaluate
from surefoot.scores import FloatArray, Scores

SYSTEMS, TOPICS, MANY_TOPICS = 200, 100_000, 1_000_000
ALPHAS = np.linspace(0, 10, 21)


def main() -> None:
    scores = generated(TOPICS)
    contestants = {
        **with_before("surefoot: U, T, p, Z, GeoRisk, wins, losses; 21 alphas", by_surefoot, TOPICS),
        **with_before("the same, systems not in the order of their names", by_surefoot, TOPICS, True),
        "numpy and scipy: U, T, p, Z, GeoRisk; 1 alpha": lambda: by_the_formulas(scores.values, 5.0),
        "limit: reading the scores three times": lambda: read(scores.values),
    }
    times = medians(contestants, rounds=5)
    show(f"{SYSTEMS} systems × {TOPICS:,} topics", times, next(iter(contestants)), list(contestants)[-1])
    measure_large()


def by_surefoot(topics: int, shuffled: bool = False) -> None:
    evaluate(generated(topics, shuffled), "s000", ALPHAS)


def read(values: FloatArray) -> None:
    """The limit: the sums of rows and columns, and one look at each score with both known."""
    for summary in (values.sum, values.max):
        summary(axis=1)
    values.sum(axis=0)


def measure_large() -> None:
    scores = generated(MANY_TOPICS)
    before = peak()
    begin = time.perf_counter()
    evaluate(scores, "s000", ALPHAS)
    seconds = time.perf_counter() - begin
    size = scores.values.nbytes / 2**30
    print(f"\n{SYSTEMS} systems × {MANY_TOPICS:,} topics ({size:.2f} GiB of scores), 21 alphas")
    print(f"  {seconds:.1f} s, peak memory {peak():.2f} GiB ({before:.2f} before)")


@cache
def generated(topics: int, shuffled: bool = False) -> Scores:
    values = np.random.default_rng(2016).random((SYSTEMS, topics))
    values.flags.writeable = False
    numbers = np.random.default_rng(0).permutation(SYSTEMS) if shuffled else range(SYSTEMS)
    return Scores(values, [f"s{i:03}" for i in numbers], range(topics))


def by_the_formulas(x: FloatArray, alpha: float) -> tuple[FloatArray, ...]:
    """As one would write them from the papers."""
    d = x - x[0]
    v = np.where(d < 0, (1 + alpha) * d, d)
    t, p = stats.ttest_1samp(v[1:], 0, axis=1)
    e = x.sum(axis=1, keepdims=True) * x.sum(axis=0) / x.sum()
    z = (x - e) / np.sqrt(e)
    zrisk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1)
    return v.mean(axis=1), t, p, zrisk, np.sqrt(x.mean(axis=1) * stats.norm.cdf(zrisk / x.shape[1]))


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
