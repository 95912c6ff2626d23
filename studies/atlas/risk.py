"""Risk by run and by family, against BM25 and against the first stage, and whether it shrinks as models get better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from studies.atlas.collections import FAMILIES, MEASURE, AtlasCollection
from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.analysis.evaluate import evaluate
from surefoot.results import Result, by_column, signature
from surefoot.risk import Comparison
from surefoot.stats.bootstrap import bootstrap_weights, percentile_interval
from surefoot.stats.ranks import kendall

RESAMPLES, SEED = 10_000, 0
FEWEST_RUNS = 5
"""From so many runs on a rank correlation is shown."""


def table_of(kind: str, rows: Sequence[Mapping[str, Any]], atlas: Iterable[AtlasCollection], *notes: str) -> Result:
    """A table of the atlas; its signature has the hash of the data of each collection."""
    data = [f"{one.name}:{one.digest}" for one in atlas]
    return Result(signature(f"atlas-{kind}", measure=MEASURE, data=data), by_column(rows), notes)


def official_means(atlas: Sequence[AtlasCollection]) -> Result:
    """The means that the organisers published beside the recomputed ones."""
    rows = [
        {
            "collection": one.name,
            "run": run,
            "published": value,
            "recomputed": round(float(one.scores[run].mean()), 4),
            "equal": abs(value - float(one.scores[run].mean())) <= 0.00005 + 1e-9,
        }
        for one in atlas
        for run, value in one.published.items()
        if run in one.scores.systems
    ]
    notes = []
    for name in dict.fromkeys(row["collection"] for row in rows):
        own = [row for row in rows if row["collection"] == name]
        notes.append(f"{name}: {sum(bool(row['equal']) for row in own)} of {len(own)} means equal the published ones")
    return table_of("official", rows, [one for one in atlas if one.published], *notes)


def run_risks(atlas: Sequence[AtlasCollection]) -> Result:
    """Each run against BM25, and against its first stage where that is known."""
    rows = [row for one in atlas for row in _compared(one)]
    return table_of("runs", rows, atlas)


def _compared(one: AtlasCollection) -> Iterator[dict[str, Any]]:
    against = {"BM25": dict.fromkeys((run for run in one.scores.systems if run != one.bm25), one.bm25)}
    if one.first_stages:
        against["first stage"] = dict(one.first_stages)
    for kind, baselines in against.items():
        full = {run: baselines.get(run, one.bm25) for run in one.scores.systems}
        found = evaluate(one.scores, full, 1.0, population="PAIR", systems=list(baselines), correct="holm")
        for row in found.rows():
            delta = one.delta(row["system"], row["baseline"])
            yield {
                "collection": one.name,
                "run": row["system"],
                "family": one.family(row["system"]),
                "against": kind,
                "baseline": row["baseline"],
                "topics": delta.size,
                "mean": row["mean"],
                "gain": float(delta.mean()),
                "frisk": row["frisk"],
                "freward": row["freward"],
                "wins": row["wins"],
                "losses": row["losses"],
                "loss20": row["loss20"],
                "worst": float(delta.min()),
                "urisk": row["urisk"],
                "trisk": row["trisk"],
                "p_holm": row["p_holm"],
            }


def compared(deltas: FloatArray, weights: FloatArray | None = None) -> Comparison:
    """The comparison whose differences are known."""
    return Comparison.of(deltas, np.zeros_like(deltas), weights)


def family_risks(atlas: Sequence[AtlasCollection]) -> Result:
    """Mean loss and gain of the runs of each family, with intervals over topics."""
    rows = []
    for one in atlas:
        pairs = {"BM25": [(run, one.bm25) for run in one.scores.systems if run != one.bm25]}
        pairs["first stage"] = list(one.reranked())
        for kind, own in pairs.items():
            for family in FAMILIES:
                deltas = [one.delta(*pair) for pair in own if one.family(pair[0]) == family]
                if deltas:
                    rows.append(
                        {"collection": one.name, "against": kind, "family": family, **_family(np.array(deltas))}
                    )
    return table_of("families", rows, atlas, "losses in % of topics; intervals of F_Risk: 95 %, over topics")


def _family(deltas: FloatArray) -> dict[str, Any]:
    """The mean over runs of their measures; ``deltas`` are runs × topics."""
    found = compared(deltas)
    low, high = percentile_interval(drawn_frisk(deltas))
    frisk, freward = float(found.frisk.mean()), float(found.freward.mean())
    return {
        "runs": len(deltas),
        "gain": float(deltas.mean()),
        "frisk": frisk,
        "low": float(low),
        "high": float(high),
        "lowest run": float(found.frisk.min()),
        "highest run": float(found.frisk.max()),
        "freward": freward,
        "risk / reward": frisk / freward if freward else float("inf"),
        "losses": 100 * float((found.losses.n / found.topics).mean()),
    }


def drawn_frisk(deltas: FloatArray) -> FloatArray:
    """F_Risk on each resample of topics, averaged over runs."""
    return np.asarray(compared(deltas, topic_draws(deltas.shape[1])).frisk.mean(axis=0))


def topic_draws(topics: int) -> FloatArray:
    """How often each topic is drawn, RESAMPLES × topics."""
    return np.concatenate(list(bootstrap_weights(topics, RESAMPLES, SEED)))


def better_runs(one: AtlasCollection) -> list[str]:
    """The runs that are not lexical and have a mean above BM25's."""
    return [
        run
        for run in one.scores.systems
        if one.family(run) != "lexical" and one.scores[run].mean() > one.scores[one.bm25].mean()
    ]


def shifted_risk(deltas: FloatArray, gains: FloatArray) -> FloatArray:
    """F_Risk of each gain if all runs had the same differences around their mean: those of all runs × topics.

    >>> shifted_risk(np.array([[-0.1, 0.3], [0.0, 0.2]]), np.array([0.0, 0.1])).round(3)
    array([0.075, 0.025])
    """
    around = (deltas - deltas.mean(axis=1, keepdims=True)).ravel()
    return compared(around + gains[:, np.newaxis]).frisk


def trend(atlas: Sequence[AtlasCollection]) -> Result:
    """Does risk shrink as models get better?"""
    rows = []
    for one in atlas:
        runs = better_runs(one)
        if len(runs) < FEWEST_RUNS:
            continue
        deltas = np.array([one.delta(run, one.bm25) for run in runs])
        gains = deltas.mean(axis=1)
        taus = np.array([_taus(deltas[:, drawn]) for drawn in _bootstrap(deltas.shape[1])])
        observed = _taus(deltas)
        intervals = zip(*percentile_interval(taus.T), strict=True)
        names = ("tau of F_Risk", "tau of losses", "tau of tenth", "tau beyond the shift")
        rows.append(
            {
                "collection": one.name,
                "runs": len(runs),
                "gains": f"{gains.min():.3f} to {gains.max():.3f}",
            }
            | {
                name: f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
                for name, value, (low, high) in zip(names, observed, intervals, strict=True)
            }
        )
    return table_of(
        "trend", rows, atlas, "Kendall's tau with the mean, over the runs that are not lexical and beat BM25"
    )


def _bootstrap(topics: int) -> Iterator[Any]:
    random = generator(SEED)
    return (random.integers(0, topics, topics) for _ in range(RESAMPLES // 10))


def _taus(deltas: FloatArray) -> tuple[float, float, float, float]:
    """Kendall's tau of the gain with F_Risk, losses, the worst tenth, and F_Risk beyond that of the shift."""
    found = compared(deltas)
    gains, frisk = deltas.mean(axis=1), found.frisk
    worst = -np.sort(deltas, axis=1)[:, : max(1, round(deltas.shape[1] / 10))].mean(axis=1)
    beyond = frisk - shifted_risk(deltas, gains)
    return tuple(kendall(gains, other).tau for other in (frisk, found.losses.n, worst, beyond))
