"""Gates on samples of version pairs: topics are drawn with replacement, and the truth is the whole set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from studies.kept import Arrays, kept
from studies.version_pairs import BETTER, HEAVY, WORSE, exchanged, planted, seed_of, sets, truth
from surefoot import Rules, Scores, gate
from surefoot._typing import BoolArray, FloatArray
from surefoot.release_gate.finding import SLACK, VERDICTS, ScoredPair, worst_of
from surefoot.release_gate.strict import StrictChecker
from surefoot.release_gate.verdict import GateResult
from surefoot.risk.distributions import student_p

SAMPLES = {25: (80, 2), 50: (80, 4), 80: (80, 4), 200: (80, 1), 1000: (30, 1), 5000: (20, 1)}
"""By number of queries: how many pairs of each set are gated, and how many samples of each pair (half as many, at least
one, where pairs are planted or exchangeable)."""
KINDS = ("real", "planted", "exchangeable")
PASS, UNDECIDED, FAIL = range(3)
"""The places of the verdicts in `VERDICTS`."""
PROCESSES = 2


@dataclass(frozen=True)
class Sampled:
    """The gates on samples of one set: a value of each array for each sample."""

    collection: str
    name: str
    arrays: Arrays

    @property
    def beyond(self) -> BoolArray:
        return (self.arrays["mean"] < WORSE) | (self.arrays["tail"] > HEAVY)

    def truths(self) -> dict[str, BoolArray]:
        mean = self.arrays["mean"]
        return {"harmless": ~self.beyond, "better": ~self.beyond & (mean >= BETTER), "worse": mean < WORSE}

    @property
    def pairs_beyond(self) -> int:
        return len(np.unique(self.arrays["pair"][self.beyond]))


def sampled(collections: Sequence[str], size: int, kind: str = "real", less: int = 1) -> list[Sampled]:
    """The gates on the sets of some collections; sets without a sample are left out."""
    tasks = [(collection, name) for collection in collections for name in sets(collection)]
    with workers() as pool:
        found = list(pool.map(partial(_of_set, size=size, kind=kind, less=less), tasks))
    return [Sampled(*task, arrays) for task, arrays in zip(tasks, found, strict=True) if arrays and len(arrays["pair"])]


def workers() -> ProcessPoolExecutor:
    """Two processes that leave the machine to others."""
    return ProcessPoolExecutor(PROCESSES, get_context("fork"), os.nice, (10,))


def _of_set(task: tuple[str, str], size: int, kind: str, less: int) -> Arrays:
    collection, name = task
    return kept(
        f"gate-{name}-{size}-{kind}-{less}", lambda: _sample_set(sets(collection)[name], name, size, kind, less)
    )


def _sample_set(pairs: FloatArray, name: str, size: int, kind: str, less: int) -> Arrays:
    random = np.random.default_rng(seed_of(name, size, kind))
    most, samples = SAMPLES[size]
    rows: list[dict[str, float]] = []
    for number in random.permutation(len(pairs))[: max(2, most // less)].tolist():
        pair = planted(pairs[number], random) if kind == "planted" else pairs[number]
        if pair is None:
            continue
        mean, tail = truth(pair)
        for sample in range(samples if kind == "real" else max(1, samples // 2)):
            drawn = pair[:, random.integers(pair.shape[1], size=size)]
            drawn = exchanged(drawn, random) if kind == "exchangeable" else drawn
            if np.any(drawn[0] != drawn[1]):
                rows.append({"pair": number, "mean": mean, "tail": tail, **_gates(drawn, sample == 0)})
    return {column: np.array([row[column] for row in rows]) for column in rows[0]} if rows else {}


def _gates(drawn: FloatArray, is_first: bool) -> dict[str, float]:
    """The verdicts of all gates on one sample, and the probabilities that the default one states.

    The strict gate, which takes longest, sees only the first sample of a pair.
    """
    result = gate_of(drawn)
    stated = {finding.rule: finding.probability for finding in result.findings}
    delta = drawn[1] - drawn[0]
    change, error = float(delta.mean()), float(delta.std(ddof=1)) / np.sqrt(delta.size)
    significant = error < SLACK or student_p(change / error, delta.size - 1) < 0.05
    return {
        "default": VERDICTS.index(result.verdict),
        "strict": strict_verdict(drawn) if is_first else np.nan,
        "t test": (PASS if change > 0 else FAIL) if significant else UNDECIDED,
        "fail if worse": FAIL if significant and change < 0 else PASS,
        "leans against": result.leans == "against",
        **{f"p {rule}": stated[rule] or 0.0 for rule in ("mean", "tail")},
        **{f"{one.rule} fails": one.verdict == "fail" for one in result.findings},
    }


def gate_of(drawn: FloatArray, rules: Rules | None = None) -> GateResult:
    """The gate on a baseline and a candidate, two rows. Planted tails may change a score by more than 1."""
    scores = Scores(drawn, ["old", "new"], range(drawn.shape[1]))
    return gate(scores, "old", candidate="new", rules=rules or Rules(largest_change=2.0))


def strict_verdict(drawn: FloatArray) -> int:
    """The place of the verdict with strict evidence."""
    base, own = drawn
    pair = ScoredPair("new", "old", "", tuple(map(str, range(base.size))), own, base)
    rules = Rules(evidence="strict", largest_change=max(1.0, float(np.abs(own - base).max())))
    tests = len(rules.sample_rules(has_segments=False))
    findings = StrictChecker(pair, rules, n_tests=tests, advises=False).findings()
    return VERDICTS.index(worst_of(finding.verdict for finding in findings))


def interval(found: Sequence[Sampled], values: FloatArray, draws: int = 2000) -> tuple[float, float]:
    """A 95 % interval of the average over sets, by a bootstrap over collections."""
    random = np.random.default_rng(1)
    names = sorted({one.collection for one in found})
    own = {name: values[[one.collection == name for one in found]] for name in names}
    means = [
        np.nanmean(np.concatenate([own[names[place]] for place in random.integers(len(names), size=len(names))]))
        for _ in range(draws)
    ]
    low, high = np.quantile(np.array(means)[~np.isnan(means)], [0.025, 0.975])
    return float(low), float(high)
