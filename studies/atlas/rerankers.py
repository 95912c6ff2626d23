"""Which queries do LLM rerankers hurt? How few topics carry their loss, and how far rerankers agree on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from surefoot_lab.agreement.systems import partial_correlation

from studies.atlas.collections import AtlasCollection
from studies.atlas.risk import RESAMPLES, SEED, compared, drawn_frisk, table_of, topic_draws
from surefoot._process import generator
from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.explanation import FEWEST_QUERIES, explain
from surefoot.io.texts import read_queries
from surefoot.judgments.bounds import delta_bounds
from surefoot.results import Result
from surefoot.stats.bootstrap import percentile_interval

RERANKERS = ("LLM", "cross-encoder")


def shared_losses(atlas: Sequence[AtlasCollection]) -> Result:
    """Rerankers of one family over one first stage: do they hurt the same queries?"""
    rows = []
    for one in atlas:
        for family, first, runs in _groups(one):
            own, base = one.scores.select(runs).values, one.scores[first]
            rows.append({"collection": one.name, "family": family, "first stage": first, **_agreement(own, base)})
    note = (
        "by chance: topics shuffled for each reranker within thirds of the first stage's score, mean of 10,000; "
        "correlation of scores given the first stage's, mean over pairs of rerankers"
    )
    return table_of("shared", rows, atlas, note)


def _groups(one: AtlasCollection) -> Iterator[tuple[str, str, list[str]]]:
    """Families with at least two rerankers over one first stage."""
    for family in RERANKERS:
        pairs = list(one.reranked(family))
        for first in dict.fromkeys(first for _, first in pairs):
            runs = [run for run, own in pairs if own == first]
            if len(runs) > 1:
                yield family, first, runs


def _agreement(own: FloatArray, base: FloatArray) -> dict[str, Any]:
    """How far rerankers lose on the same topics, beyond that a high score of the first stage leaves more to lose."""
    deltas = own - base
    lost = deltas < 0
    loss = np.maximum(-deltas, 0).mean(axis=0)
    share = np.cumsum(np.sort(loss)[::-1]) / loss.sum()
    most = len(deltas) // 2 + 1
    by_most, chance = int((lost.sum(axis=0) >= most).sum()), _by_chance(lost, base, most)
    return {
        "rerankers": len(deltas),
        "topics": deltas.shape[1],
        "lost by any": int(lost.any(axis=0).sum()),
        "lost by most": by_most,
        "by chance": round(float(chance.mean()), 1),
        "p": float((1 + (chance >= by_most).sum()) / (1 + RESAMPLES)),
        "lost by all": int(lost.all(axis=0).sum()),
        "half of the loss": int(np.searchsorted(share, 0.5) + 1),
        "correlation": float(np.mean([partial_correlation(one, other, base) for one, other in combinations(own, 2)])),
    }


def _by_chance(lost: BoolArray, base: FloatArray, most: int) -> FloatArray:
    """How many topics so many rerankers lose if each one's topics are shuffled within thirds of the first stage's."""
    random, count = generator(SEED), np.zeros(RESAMPLES)
    for third in np.array_split(np.argsort(base, kind="stable"), 3):
        part = np.broadcast_to(lost[:, third], (RESAMPLES, len(lost), third.size))
        count += (random.permuted(part, axis=2).sum(axis=1) >= most).sum(axis=1)
    return count


def contrast(atlas: Sequence[AtlasCollection]) -> Result:
    """LLM rerankers against cross-encoders over the same first stage, on the same topics, for each assessor."""
    rows = []
    for one in atlas:
        groups = {(family, first): runs for family, first, runs in _groups(one)}
        shared = [first for family, first in groups if family == "LLM" and ("cross-encoder", first) in groups]
        own = {"the collection's": one.scores, "without unjudged documents": one.condensed_scores}
        every = {**own, **one.further_scores} if shared else {}
        for judgments, scores in every.items():
            for first in shared:
                deltas = [scores.select(groups[kind, first]).values - scores[first] for kind in RERANKERS]
                rows.append(
                    {"collection": one.name, "first stage": first, "judgments": judgments, **_contrast(*deltas)}
                )
    return table_of("contrast", rows, atlas, "LLM less cross-encoder; means over rerankers, 95 % intervals over topics")


def _contrast(llm: FloatArray, cross: FloatArray) -> dict[str, Any]:
    risks = [float(compared(deltas).frisk.mean()) for deltas in (llm, cross)]
    means = llm.mean(axis=0) - cross.mean(axis=0)
    differences = {
        "F_Risk": (risks[0] - risks[1], drawn_frisk(llm) - drawn_frisk(cross)),
        "mean": (means.mean(), topic_draws(means.size) @ means / means.size),
    }
    shown: dict[str, Any] = {"LLM": len(llm), "cross-encoders": len(cross)}
    shown |= {"F_Risk, LLM": risks[0], "F_Risk, cross-encoders": risks[1]}
    for name, (value, drawn) in differences.items():
        low, high = percentile_interval(drawn)
        shown[f"difference of {name}"] = f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"
    return shown


def worst_topics(atlas: Sequence[AtlasCollection], most: int = 5) -> Result:
    """The topics that LLM rerankers hurt most on average, and the same by each further assessor."""
    rows = [row for one in atlas for family, first, runs in _groups(one) if family == "LLM"
            for row in _worst(one, first, runs, most)]  # fmt: skip
    return table_of("worst", rows, atlas)


def _worst(one: AtlasCollection, first: str, runs: Sequence[str], most: int) -> Iterator[dict[str, Any]]:
    texts = read_queries(one.queries) if one.queries else {}
    deltas = np.array([one.delta(run, first) for run in runs])
    further = np.array([one.further_deltas(run, first) for run in runs]).mean(axis=0)
    at_best = np.array([delta_bounds(one.judged.pair(run, first)).high for run in runs])
    for topic in np.argsort(deltas.mean(axis=0))[:most].tolist():
        lost = deltas[:, topic] < 0
        yield {
            "collection": one.name,
            "first stage": first,
            "topic": one.scores.topics[topic],
            "query": texts.get(one.scores.topics[topic], ""),
            "first stage's score": float(one.scores[first][topic]),
            "mean difference": float(deltas[:, topic].mean()),
            "worst": float(deltas[:, topic].min()),
            "rerankers that lose": f"{int(lost.sum())} of {len(runs)}",
            "not an artefact": int((at_best[:, topic] < 0).sum()),
            **{name: float(own[topic]) for name, own in zip(one.further_scores, further, strict=True)},
        }


def explained(atlas: Sequence[AtlasCollection]) -> Result:
    """The findings of `surefoot.explain` for each reranker against its first stage."""
    rows = []
    for one in atlas:
        if len(one.scores.topics) < FEWEST_QUERIES:
            continue
        texts = read_queries(one.queries) if one.queries else None
        for run, first in one.reranked():
            rankings = {name: one.ranking(name) for name in (run, first)}
            found = explain(one.scores, run, first, queries=texts, runs=rankings, seed=SEED)
            rows.append(
                {
                    "collection": one.name,
                    "run": run,
                    "family": one.family(run),
                    "first stage": first,
                    "tested": len(found),
                    "confirmed": int(found["confirmed"].sum()),
                    "groups": "; ".join(found.sentences()),
                }
            )
    return table_of("explained", rows, atlas)
