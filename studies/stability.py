"""Which and how many baselines make Z_Risk and GeoRisk stable?

Systems are ranked by their value among a population of k others (each system joined to it in turn). Populations are
drawn at random, two disjoint ones at a time: if Kendall's tau between the two rankings is near 1, it does not matter
which k systems were at hand. Then populations chosen by rule: how near do they come to the ranking among all systems?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from studies.real_runs import real_scores
from surefoot import Scores
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray
from surefoot.stats import kendall
from surefoot.stats.ranks import correlation

SIZES, CHOSEN, ALPHAS, DRAWS = (1, 2, 3, 5, 10, 20), (1, 3, 5, 10), (1.0, 5.0), 200
FEWEST = 14
"""Systems of a collection; two populations must leave some to rank."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    found = ((name, scores) for name, scores in real_scores(("nDCG@10",)) if scores.measure != "NDCG@20")
    collections = [(name, scores) for name, scores in found if len(scores.systems) >= FEWEST]
    draws = DRAWS // less
    rows = [row for name, scores in collections for alpha in ALPHAS for row in _random(name, scores, alpha, draws)]
    yield f"Kendall's tau between two disjoint random populations, mean of {draws}", _table("random", rows)
    rows = [row for name, scores in collections for alpha in ALPHAS for row in _rules(name, scores, alpha)]
    yield "Kendall's tau with the ranking among all systems, by how the population is chosen", _table("rules", rows)


def _table(kind: str, rows: Sequence[dict[str, Any]]) -> Result:
    return Result(signature(f"stability-{kind}", seed=0), by_column(rows))


def joined(values: FloatArray, population: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Z_Risk and GeoRisk of each system, added by itself to a population (whose own systems then count twice)."""
    own, topics = values.sum(axis=1, keepdims=True), population.sum(axis=0) + values
    whole = topics.sum(axis=1, keepdims=True)
    e = own * topics / np.where(whole > 0, whole, 1.0)
    z = np.where(e > 0, (values - e) / np.sqrt(np.where(e > 0, e, 1)), 0.0)
    zrisk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1)
    count = values.shape[1]
    return zrisk, np.sqrt(own[:, 0] / count * ndtr(zrisk / count))


def _taus(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> list[float]:
    return [kendall(one, two).tau for one, two in zip(first, second, strict=True)]


def _random(name: str, scores: Scores, alpha: float, draws: int) -> Iterator[dict[str, Any]]:
    random, count = np.random.default_rng(0), len(scores.systems)
    for size in SIZES:
        if count < 2 * size + 4:
            continue
        found = []
        for _ in range(draws):
            order = random.permutation(count)
            rest = scores.values[order[2 * size :]]
            pair = (scores.values[order[:size]], scores.values[order[size : 2 * size]])
            found.append(_taus(*(joined(rest, population, alpha) for population in pair)))
        z, geo = np.mean(found, axis=0)
        yield {"collection": name, "alpha": f"{alpha:g}", "baselines": size, "zrisk": z, "georisk": geo}


def _rules(name: str, scores: Scores, alpha: float) -> Iterator[dict[str, Any]]:
    values = scores.values
    whole = joined(values, values, alpha)
    by_mean = np.argsort(-values.mean(axis=1), kind="stable")
    for size in (size for size in CHOSEN if size < len(values)):
        middle = (len(values) - size) // 2
        rules = {
            "best": by_mean[:size],
            "median": by_mean[middle : middle + size],
            "worst": by_mean[-size:],
            "spread": by_mean[np.linspace(0, len(values) - 1, size).round().astype(int)],
            "diverse": _diverse(values, int(by_mean[0]), size),
        }
        for rule, members in rules.items():
            z, geo = _taus(joined(values, values[members], alpha), whole)
            yield {
                "collection": name,
                "alpha": f"{alpha:g}",
                "baselines": size,
                "rule": rule,
                "zrisk": z,
                "georisk": geo,
            }


def _diverse(values: FloatArray, first: int, size: int) -> list[int]:
    """The best system, then each time the one whose largest correlation with those chosen is least."""
    chosen = [first]
    while len(chosen) < size:
        nearest = np.max([np.nan_to_num(correlation(values, values[row]), nan=1.0) for row in chosen], axis=0)
        nearest[chosen] = np.inf
        chosen.append(int(nearest.argmin()))
    return chosen
