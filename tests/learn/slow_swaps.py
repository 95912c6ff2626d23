"""What a swap of two documents is worth, the slow and obvious way: make the swap, then compute everything again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from math import ceil, exp, log2, sqrt
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm as normal

from surefoot.lambdas import PairLoop
from surefoot.lambdas.gradients import LambdaGradients, PairWeights
from surefoot.lambdas.metrics import Metric, QueryMetric
from surefoot.risk import georisk, trisk
from surefoot.risk.values import Smooth
from surefoot.scores import FloatArray

Ranked = list[int]
Worth = Callable[[int, float], float]


def weights_of(found: PairWeights, changes: FloatArray) -> FloatArray:
    """The weights of changes of the metric, a row for each query.

    A query's first document has no gain and a discount of 1, the others have the changes as gains and no discount. So
    a swap of the first with another one changes the metric by the change of that one.
    """
    queries, steps = changes.shape
    gains = np.concatenate([np.zeros((queries, 1)), changes], axis=1)
    discounts = np.zeros((2, steps + 1), np.float32)
    discounts[0, 0] = 1
    bounds = np.arange(queries + 1) * (steps + 1)
    metric = QueryMetric(Metric("ndcg"), bounds, gains.ravel(), discounts, np.zeros(queries, np.bool_))
    pairs = LambdaGradients(metric, PairLoop(truncation=1), n_jobs=1).pairs(found)
    return pairs.weight[:, 0, 1:].astype(np.float64)


def metric_of(name: str, ranked: Ranked, ideal: int | None = None, cutoff: int | None = None, top: int = 4) -> float:
    """The metric of labels in the order of their ranks."""
    if name == "ndcg":
        best = sorted(ranked, reverse=True)[: cutoff or ideal]
        return dcg(ranked[:cutoff]) / dcg(best) if any(best) else 0.0
    relevant = [rank for rank, label in enumerate(ranked, 1) if label >= 1]
    if name == "map":
        return sum(seen / rank for seen, rank in enumerate(relevant, 1)) / max(len(relevant), 1)
    if name == "mrr":
        return 1 / relevant[0] if relevant else 0.0
    value, left = 0.0, 1.0
    for rank, label in enumerate(ranked, 1):
        stop = (2**label - 1) / 2**top
        value, left = value + left * stop / rank, left * (1 - stop)
    return value


def dcg(ranked: Ranked) -> float:
    return sum((2**label - 1) / log2(1 + rank) for rank, label in enumerate(ranked, 1))


def ranking(scores: np.ndarray) -> list[int]:
    """Places by score, descending, ties in the order of the rows."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def exchanged(ranked: Ranked, i: int, j: int) -> Ranked:
    swapped = list(ranked)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return swapped


def linear(d: float, alpha: float) -> float:
    return d if d >= 0 else (1 + alpha) * d


def worth_of(name: str, alpha: float, x: np.ndarray, baselines: np.ndarray, **options: Any) -> Worth:
    """What a change of a query's metric is worth to an objective: a function of the query and the change."""
    b = baselines.mean(axis=0) if name == "tstar-faro" else baselines[0] if len(baselines) else np.zeros_like(x)
    d = x - b
    adaptive = name in ("saro", "saro-eq9", "faro", "tstar-faro")
    extra = alphas(alpha, d, **options, b=b) if adaptive else [alpha] * len(x)

    def kinked(q: int, change: float) -> float:
        return linear(d[q] + change, extra[q]) - linear(d[q], extra[q])

    def stepped(q: int, change: float) -> float:
        return change * (1 + extra[q]) if d[q] + change < -1e-6 else change

    def scaled(q: int, change: float) -> float:
        return change * (1 + extra[q])

    def smooth(q: int, change: float) -> float:
        v = Smooth(alpha)
        return float(v(np.array(d[q] + change)) - v(np.array(d[q])))

    def tail(q: int, change: float) -> float:
        return c_times_tail(moved(d, q, change), alpha, **options) - c_times_tail(d, alpha, **options)

    def geo(q: int, change: float) -> float:
        return georisk_surrogate(x, baselines, alpha, q, change)

    def geo_full(q: int, change: float) -> float:
        true = georisk_change(x, baselines, alpha, q, change)
        return true if true * change > 0 else 0.0

    known: dict[str, Worth] = {
        **worth_of_others(alpha, x, b),
        **{"lambdamart": lambda _, change: change, "ucro": kinked, "saro": kinked, "ucro-eq9": stepped},
        **{"saro-eq9": stepped, "faro": scaled, "tstar-faro": scaled, "smooth": smooth, "tail": tail},
        **{"georisk": geo, "georisk-full": geo_full},
    }
    return known[name]


def worth_of_others(alpha: float, x: np.ndarray, b: np.ndarray) -> dict[str, Worth]:
    """Objectives whose measure is computed anew as a whole, in units of U-CRO's."""
    d, c = x - b, len(x)
    spread = np.std([linear(one, alpha) for one in d], ddof=1)

    def t_risk(scores: np.ndarray) -> float:
        return float(np.sqrt(c) * spread * trisk(scores, b, alpha))

    def upside(scores: np.ndarray) -> float:
        return float(sum(-linear(loss, alpha) for loss in b - scores))

    def regret(scores: np.ndarray) -> float:
        return float((scores - b).sum() - alpha * c * max(0.0, (b - scores).max()))

    def change(measure: Callable[[np.ndarray], float]) -> Worth:
        return lambda q, step: measure(moved(x, q, step)) - measure(x)

    def consistent(q: int, step: float) -> float:
        return found if (found := change(t_risk)(q, step)) * step > 0 else 0.0

    return {"upside": change(upside), "trisk": consistent, "minimax-regret": change(regret)}


def moved(values: np.ndarray, q: int, change: float) -> np.ndarray:
    after = values.copy()
    after[q] += change
    return after


def alphas(
    alpha: float, d: np.ndarray, spread: str = "sd", kept: np.ndarray | None = None, b: np.ndarray | None = None
) -> list[float]:
    """alpha (1 - Phi(T_q)), the spread being that of the differences ``kept``, or of d; jforests' is that of b."""
    if spread == "jforests":
        s = (1 + alpha) * float(np.std(b, ddof=1))
        return [alpha * (1 - normal.cdf(one / s)) for one in d]
    s = float(np.std([linear(one, alpha) for one in (d if kept is None else kept)], ddof=1))
    t = [linear(one, alpha) / s if spread == "sd" else one / (s / sqrt(len(d))) for one in d]
    return [alpha * (1 - normal.cdf(one)) for one in t]


def c_times_tail(d: np.ndarray, alpha: float, share: float = 0.1) -> float:
    return float(d.sum() + alpha * np.sort(d)[: ceil(round(share * len(d), 9))].sum())


def z_of(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    return np.where(e > 0, (x - e) / np.sqrt(np.where(e > 0, e, 1)), 0)


def georisk_surrogate(x: np.ndarray, baselines: np.ndarray, alpha: float, q: int, change: float) -> float:
    """GeoRisk with the touched query's z alone computed anew, S fixed in its expectation; scaled as the objective's.

    2 c Geo / Phi(Z / c) × (Geo' - Geo) = 2 S (Geo' / Geo - 1), which logarithms keep from underflowing.
    """
    column = x + baselines.sum(axis=0)
    S, N, c = x.sum(), column.sum(), x.size
    e = S * column / N
    before = np.array([linear(z, alpha) for z in z_of(x, e)])
    e[q] = S * (column[q] + change) / (N + change)
    after = before.copy()
    after[q] = linear(float(z_of(moved(x, q, change), e)[q]), alpha)
    ratio = log_ndtr(after.sum() / c) - log_ndtr(before.sum() / c)
    return float(2 * S * np.expm1((np.log1p(change / S) + ratio) / 2))


def georisk_change(x: np.ndarray, baselines: np.ndarray, alpha: float, q: int, change: float) -> float:
    """The true change of GeoRisk, scaled as the objective's: everything computed again."""
    before = georisk(np.vstack([x, baselines]), alpha)[0]
    after = georisk(np.vstack([moved(x, q, change), baselines]), alpha)[0]
    return float(2 * x.sum() * (after / before - 1))


def gradients_of(
    scores: np.ndarray, labels: np.ndarray, bounds: np.ndarray, metric: Callable[[Ranked], float], worth: Worth,
    truncation: int | None = 30, sigmoid: float = 1.0, norm: bool = True,
) -> np.ndarray:  # fmt: skip
    """Gradients and hessians of LambdaMART, pair by pair; normalised by the plain metric's own pulls."""
    result = np.zeros((2, scores.size))
    for q, (begin, stop) in enumerate(pairwise(bounds)):
        order = [begin + place for place in ranking(scores[begin:stop])]
        ranked = [int(labels[row]) for row in order]
        now, total, uneven = metric(ranked), 0.0, norm and len({scores[row] for row in order}) > 1
        for i, j in combinations(range(len(order)), 2):
            if i >= (truncation or len(order)) or ranked[i] == ranked[j]:
                continue
            high, low = (order[i], order[j]) if ranked[i] > ranked[j] else (order[j], order[i])
            change = metric(exchanged(ranked, i, j)) - now
            apart = scores[high] - scores[low]
            wrong, damp = 1 / (1 + exp(sigmoid * apart)), 0.01 + abs(apart) if uneven else 1.0
            force = sigmoid * abs(worth(q, change)) * wrong / damp if abs(change) > 1e-12 else 0.0
            result[0, [high, low]] += [-force, force]
            result[1, [high, low]] += sigmoid * force * (1 - wrong)
            total += 2 * sigmoid * abs(change) * wrong / damp
        if norm and total > 0:
            result[:, begin:stop] *= log2(1 + total) / total
    return result
