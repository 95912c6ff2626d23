"""Bootstrap intervals of U, T, Z and GeoRisk for 49 systems × 50 topics × 21 alphas, beside scipy.stats.bootstrap."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from benchmarks.risk import peak
from benchmarks.timing import medians, show, with_before
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import interval_columns
from surefoot.scores import FloatArray, Scores
from surefoot.stats.bootstrap import BootstrapMethod

SYSTEMS, TOPICS, MANY_TOPICS, RESAMPLES = 49, 50, 10_000, 10_000
ALPHAS = np.linspace(0, 10, 21)
MEASURES = ("urisk", "trisk", "zrisk", "georisk")


def main() -> None:
    scores = generated(TOPICS)
    contestants: dict[str, Callable[[], object]] = {
        **with_before("surefoot, BCa", ours, scores, "bca"),
        "surefoot, percentile": lambda: ours(scores, "percentile"),
        "limit: the products of weights and scores alone": lambda: products(scores.values),
        "scipy.stats.bootstrap, percentile, one call": lambda: scipys(scores.values),
    }
    ours(scores, "bca")
    title = f"{RESAMPLES:,} resamples, {SYSTEMS} × {TOPICS} topics, {len(ALPHAS)} alphas, {len(MEASURES)} measures"
    show(title, medians(contestants, rounds=1), "surefoot, BCa", "limit: the products of weights and scores alone")
    large = generated(MANY_TOPICS)
    begin = time.perf_counter()
    interval_columns(Design.of(large, "s0"), np.array([0.0, 1.0, 5.0]), MEASURES, BootstrapMethod("percentile"))
    print(f"\n{SYSTEMS} × {MANY_TOPICS:,} topics, 3 alphas, percentile: {time.perf_counter() - begin:.1f} s, ", end="")
    print(f"peak memory {peak():.2f} GiB")


def generated(topics: int) -> Scores:
    values = np.random.default_rng(2014).beta(0.6, 1.8, size=(SYSTEMS, topics))
    return Scores(values, [f"s{i}" for i in range(SYSTEMS)], range(topics))


def ours(scores: Scores, method: str) -> object:
    return interval_columns(Design.of(scores, "s0"), ALPHAS, MEASURES, BootstrapMethod(method, n_resamples=RESAMPLES))


def products(x: FloatArray) -> None:
    """Sums of scores, gains, losses and their squares over the topics of each resample, in numpy's GEMM."""
    weights = np.random.default_rng(0).multinomial(x.shape[1], [1 / x.shape[1]] * x.shape[1], RESAMPLES).astype(float)
    d = x - x[0]
    for part in (x, np.maximum(d, 0), np.minimum(d, 0), np.maximum(d, 0) ** 2, np.minimum(d, 0) ** 2):
        np.dot(part, weights.T)


def scipys(x: FloatArray) -> None:
    """One call for all measures and alphas: topics are drawn by their numbers, the formulas are over whole batches."""

    def of_topics(drawn: FloatArray, axis: int) -> FloatArray:
        sample = np.moveaxis(x[:, np.moveaxis(drawn, axis, -1)], 0, -2)
        return np.stack([statistic(sample, a) for statistic in (urisk, trisk, zrisk, georisk) for a in ALPHAS])

    stats.bootstrap(
        (np.arange(x.shape[1]),),
        of_topics,
        n_resamples=RESAMPLES,
        batch=200,
        method="percentile",
        rng=0,
        vectorized=True,
    )


Statistic = Callable[[FloatArray, float], FloatArray]


def urisk(x: FloatArray, alpha: float) -> FloatArray:
    d = x - x[..., :1, :]
    return np.moveaxis(np.where(d < 0, (1 + alpha) * d, d).mean(axis=-1), -1, 0)


def trisk(x: FloatArray, alpha: float) -> FloatArray:
    d = x - x[..., :1, :]
    v = np.where(d < 0, (1 + alpha) * d, d)
    with np.errstate(invalid="ignore"):
        return np.moveaxis(v.mean(axis=-1) / (v.std(axis=-1, ddof=1) / np.sqrt(x.shape[-1])), -1, 0)


def zrisk(x: FloatArray, alpha: float) -> FloatArray:
    e = x.sum(axis=-1, keepdims=True) * x.sum(axis=-2, keepdims=True) / x.sum(axis=(-2, -1), keepdims=True)
    z = (x - e) / np.sqrt(e)
    return np.moveaxis(np.where(z < 0, (1 + alpha) * z, z).sum(axis=-1), -1, 0)


def georisk(x: FloatArray, alpha: float) -> FloatArray:
    return np.sqrt(np.moveaxis(x.mean(axis=-1), -1, 0) * stats.norm.cdf(zrisk(x, alpha) / x.shape[-1]))
