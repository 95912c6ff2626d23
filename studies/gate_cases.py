"""Single cases that the gate must get right: real downgrades with judgments, and candidates made for the purpose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from studies.gate_samples import gate_of
from studies.judged_collections import data
from studies.version_pairs import RUNS
from surefoot import gate, score_runs
from surefoot._typing import FloatArray
from surefoot.release_gate.finding import VERDICTS
from surefoot.results import Column, Result, by_column, signature
from surefoot.risk.distributions import student_p

LOSSES = (0.047, 0.118)
SIGNIFICANT = 0.01


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield "Ordered pairs of DL 2019 that lose 0.047 to 0.118 nDCG@10 with paired t p < 0.01", _downgrades(less)
    yield "Single candidates", _single()


def _downgrades(less: int) -> Result:
    pattern, qrels = RUNS["dl19"]
    scores = score_runs(sorted(data().glob(pattern)), data() / qrels, "nDCG@10")
    pairs = [(old, new) for old, new in permutations(scores.systems, 2) if _is_downgrade(scores[new] - scores[old])]
    columns: dict[str, Column] = {"assessors": ["none (default)", "off"], "pairs": [len(pairs[::less])] * 2}
    found = [
        [gate(scores, old, candidate=new, assessors=assessors).verdict for old, new in pairs[::less]]
        for assessors in ("none", "off")
    ]
    columns |= {verdict: [own.count(verdict) for own in found] for verdict in VERDICTS}
    columns["failed, %"] = [round(100 * own.count("fail") / len(own), 1) for own in found]
    return Result(signature("downgrades", all=len(pairs)), columns)


def _is_downgrade(delta: FloatArray) -> bool:
    low, high = LOSSES
    error = float(delta.std(ddof=1)) / np.sqrt(delta.size)
    return bool(low <= -delta.mean() <= high and student_p(float(delta.mean()) / error, delta.size - 1) < SIGNIFICANT)


def _single() -> Result:
    random = np.random.default_rng(3)
    base = random.uniform(0.3, 0.7, 50)
    large = random.uniform(0.3, 0.7, 5000)
    thirty = np.full(30, 0.422)
    lost = large - 0.1 * (random.permutation(5000) < 400)
    cases = {
        "50 queries, each gains 0.05": (base, base + 0.05),
        "200 queries, each gains 0.3": (large[:200], large[:200] + 0.3),
        "30 queries, 8 fall to 0, none won": (thirty, np.where(np.arange(30) < 8, 0.0, thirty)),
        "5,000 queries, 8 % changed, all lose 0.1": (large, lost),
        "54 queries, 48 lose 0.36": (np.full(54, 0.8), np.where(np.arange(54) < 48, 0.44, 0.8)),
        "50 queries, equal scores": (base, base),
    }
    rows = [(name, (result := gate_of(np.stack(pair))).verdict, result.reason) for name, pair in cases.items()]
    names = ("candidate", "verdict", "reason")
    return Result(signature("single"), by_column(rows, names))
