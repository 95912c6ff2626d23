"""Version pairs: two real runs that differ as two versions of one ranker may, in sets of one collection and measure.

The defaults of the gate were chosen on the collections of `DEVELOPMENT`. Those of `HELD_BACK` had no part in the
choice: they are looked at once, with the design fixed. docs/studies/gate.md has the protocol and the definitions.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

import numpy as np

from studies.atlas.collections import EMBEDDED, load_collections
from studies.judged_collections import data
from studies.kept import Arrays, kept
from surefoot import Scores, read_scores, risk
from surefoot._typing import FloatArray
from surefoot.effectiveness import score_runs_by
from surefoot.release_gate.checker import tail_of

DEVELOPMENT = ("robust04", "web10", "web11", "web12", "dl19", "covid", EMBEDDED)
HELD_BACK = ("web13", "web14", "codec", "dlhard")
TABLES = {
    "robust04": ("robust04", ("ap", "p10")),
    **{f"web{year}": (f"trec-web-20{year}", ("err20", "ndcg20", "rr")) for year in (10, 11)},
    **{f"web{year}": (f"trec-web-20{year}", ("err20", "ndcg20")) for year in (12, 13, 14)},
}
RUNS = {
    "dl19": ("trec-dl-2019/runs/*", "trec-dl-2019/qrels.txt"),
    "covid": ("trec-covid-r1/runs/*", "trec-covid-r1/qrels.txt"),
    "codec": ("codec/*.run.gz", "codec/qrels.txt"),
    "dlhard": ("dl-hard/doc/*", "dl-hard/doc.qrels.txt"),
}
MEASURES = ("nDCG@10", "RR@10", "AP", "P@1")
NAMED = ("web12", "dl19", "covid")
"""Collections whose runs have names that begin with their group's."""
CORRELATION = {"web12": 0.5, "dl19": 0.5, "covid": 0.5, EMBEDDED: 0.7, "codec": 0.5, "dlhard": 0.5}
ANONYMOUS = 0.85
MOST_PAIRS = 80
WORSE, HEAVY, BETTER = -0.02, 0.25, 0.01


def seed_of(*names: object) -> int:
    return zlib.crc32(repr(names).encode())


def sets(collection: str) -> Arrays:
    """The sets of a collection by name: pairs × (baseline, candidate) × topics."""
    return kept(f"version-pairs-{collection}", lambda: {name: _pairs(collection, s) for name, s in _scores(collection)})


def _scores(collection: str) -> Iterator[tuple[str, Scores]]:
    if collection in TABLES:
        folder, measures = TABLES[collection]
        for measure in measures:
            yield f"{collection} {measure}", read_scores(data() / folder / f"{measure}.csv", measure=measure)
        return
    if collection == EMBEDDED:
        (own,), _ = load_collections([EMBEDDED])
        runs, qrels, cutoff = list(own.runs.values()), own.qrels, 10
    else:
        pattern, judged = RUNS[collection]
        runs, qrels, cutoff = sorted(data().glob(pattern)), data() / judged, 3
    for measure, scores in score_runs_by(runs, qrels, MEASURES).items():
        yield f"{collection} {measure}", scores
        if measure == "RR@10":
            found = (np.asarray(scores.values) >= 1 / cutoff - 1e-9).astype(np.float64)
            yield f"{collection} Success@{cutoff}", Scores(found, scores.systems, scores.topics)


def _pairs(collection: str, scores: Scores) -> FloatArray:
    values, names = np.asarray(scores.values), scores.systems
    with np.errstate(invalid="ignore"):  # systems with the same score on all topics
        related = np.corrcoef(values) > CORRELATION.get(collection, ANONYMOUS)
    found = [
        (old, new)
        for old, new in np.argwhere(related).tolist()
        if old != new and np.any(values[old] != values[new])
        if collection not in NAMED or _group(names[old]) == _group(names[new])
    ]
    if len(found) > MOST_PAIRS:
        chosen = np.random.default_rng(7).choice(len(found), MOST_PAIRS, replace=False)
        found = [found[place] for place in sorted(chosen)]
    return np.array([values[[old, new]] for old, new in found]).reshape(-1, 2, values.shape[1])


def _group(name: str) -> str:
    """The first four letters of a run's name."""
    letters = re.match(r"[A-Za-z]*", re.sub(r"[_\-.]", "", name))
    return letters[0].lower()[:4] if letters else ""


def truth(pair: FloatArray) -> tuple[float, float]:
    """The mean difference and the tail of a pair on the whole collection."""
    loss = pair[0] - pair[1]
    return float(-loss.mean()), tail_of(loss, int(risk.tail_count(len(loss), 0.1)))


def planted(pair: FloatArray, random: np.random.Generator) -> FloatArray | None:
    """The pair with a heavy tail and the same mean; None if twenty draws give none."""
    base, own = pair
    for _ in range(20):
        share, part = random.choice([0.06, 0.1, 0.15]), random.choice([0.6, 1.0])
        hit = np.isin(np.arange(base.size), random.choice(base.size, max(1, round(share * base.size)), replace=False))
        new = np.where(hit, base * (1 - part), own)
        new[~hit] += (own.sum() - new.sum()) / np.sum(~hit)
        mean, tail = truth(np.stack([base, new]))
        if tail > HEAVY and mean >= -0.01:
            return np.stack([base, new])
    return None


def exchanged(pair: FloatArray, random: np.random.Generator) -> FloatArray:
    """The pair with baseline and candidate swapped at random, topic by topic."""
    return np.where(random.random(pair.shape[1]) < 0.5, pair, pair[::-1])
