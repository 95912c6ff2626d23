"""The probability that the gate states, verdicts that are decided by it, and whether "N more queries" decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from studies.gate_samples import FAIL, PASS, UNDECIDED, Sampled, gate_of, sampled, workers
from studies.kept import Arrays, kept
from studies.version_pairs import DEVELOPMENT, HEAVY, WORSE, seed_of, sets, truth
from surefoot import Rules
from surefoot._typing import FloatArray
from surefoot.release_gate.finding import VERDICTS, Finding
from surefoot.results import Column, Result, by_column, signature

EDGES = (0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.85, 0.9, 0.95, 1)
DECIDE = (0.8, 0.7, 0.5)
SIZE, SAMPLES, PAIRS = 50, 1, 80
ADVISED, MOST_QUERIES = 30, 2000
"""How many undecided gates of each set are asked for advice, and how many more queries are drawn at most."""
RULES_ADVISED = ("mean", "tail")


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    found = {size: sampled(DEVELOPMENT, size, less=less) for size in (50, 200)}
    yield "Reliability of the stated probability, in percent", _reliability(found)
    yield "Verdicts at 50 queries decided by the probability, in percent", _decided(found[50], less)
    yield "Undecided gates at 50 queries that N more queries decide, in percent (aim: 80)", _advice(less)


def _reliability(found: dict[int, list[Sampled]]) -> Result:
    """The share of limits that truly hold, by the stated probability; every set has the same weight."""
    columns: dict[str, Column] = {"stated": [f"{low:g} to {high:g}" for low, high in pairwise(EDGES)]}
    for size, own in found.items():
        weight = np.concatenate([np.full(len(one.arrays["pair"]), 1 / len(one.arrays["pair"])) for one in own])
        for rule in ("mean", "tail"):
            stated = np.concatenate([one.arrays[f"p {rule}"] for one in own])
            value = np.concatenate([one.arrays[rule] for one in own])
            holds = value >= WORSE if rule == "mean" else value <= HEAVY
            bins = np.clip(np.searchsorted(EDGES, stated, "right") - 1, 0, len(EDGES) - 2)
            columns[f"{rule}, {size} queries: stated → observed (share of gates)"] = [
                _bin(stated, holds, weight, bins == number) for number in range(len(EDGES) - 1)
            ]
    return Result(signature("reliability"), columns)


def _bin(stated: FloatArray, holds: FloatArray, weight: FloatArray, inside: FloatArray) -> str:
    if inside.sum() < 30:
        return "–"
    own = weight[inside]
    mean, observed = (np.average(values[inside], weights=own) for values in (stated, holds))
    return f"{100 * mean:.0f} → {100 * observed:.0f} ({100 * own.sum() / weight.sum():.1f})"


def _decided(default: Sequence[Sampled], less: int) -> Result:
    names = [(one.collection, one.name) for one in default]
    with workers() as pool:
        found = list(pool.map(_settle_set, names, [less] * len(names)))
    rows = []
    for number, decide in enumerate(("–", *DECIDE)):
        verdicts = [one["verdicts"][:, number] for one in found]
        beyond = [(one["mean"] < WORSE) | (one["tail"] > HEAVY) for one in found]
        means = [
            [np.mean(own != UNDECIDED) for own in verdicts],
            [np.mean(own[bad] == PASS) for own, bad in zip(verdicts, beyond, strict=True) if bad.any()],
            [np.mean(own[~bad] == FAIL) for own, bad in zip(verdicts, beyond, strict=True) if not bad.all()],
        ]
        decided, *wrong = means
        errors = (f"{100 * np.mean(one):.1f} ({100 * np.max(one):.0f})" for one in wrong)
        rows.append((decide, f"{100 * np.mean(decided):.1f}", *errors))
    names_of = ("decide", "decided", "wrong passes (worst set)", "wrong fails (worst set)")
    return Result(signature("decide", queries=SIZE), by_column(rows, names_of))


def _settle_set(names: tuple[str, str], less: int) -> Arrays:
    collection, name = names
    return kept(f"gate-decide-{name}-{less}", lambda: _settle(sets(collection)[name], name, less))


def _settle(pairs: FloatArray, name: str, less: int) -> Arrays:
    random, rows = np.random.default_rng(seed_of(name, "decide")), []
    for pair in random.permutation(pairs)[: max(2, PAIRS // less)]:
        for _ in range(SAMPLES):
            drawn = pair[:, random.integers(pair.shape[1], size=SIZE)]
            if np.any(drawn[0] != drawn[1]):
                results = [gate_of(drawn, Rules(decide=decide)) for decide in (None, *DECIDE)]
                rows.append((*truth(pair), [VERDICTS.index(one.verdict) for one in results]))
    means, tails, verdicts = zip(*rows, strict=True)
    return {"mean": np.array(means), "tail": np.array(tails), "verdicts": np.array(verdicts)}


def _advice(less: int) -> Result:
    names = [(collection, name) for collection in DEVELOPMENT for name in sets(collection)]
    with workers() as pool:
        found = list(pool.map(_advise_set, names, [less] * len(names)))
    rows = []
    for number, rule in enumerate(("the whole gate", *RULES_ADVISED)):
        own = np.concatenate([one["advice"][one["advice"][:, 0] == number] for one in found])
        tried = own[~np.isnan(own[:, 2])]
        by_set = [
            one["advice"][(one["advice"][:, 0] == number) & ~np.isnan(one["advice"][:, 2])][:, 2] for one in found
        ]
        rates = [np.mean(one) for one in by_set if one.size]
        quartiles = np.quantile(tried[:, 1], [0.25, 0.5, 0.75]) if len(tried) else [0, 0, 0]
        rows.append(
            (
                rule,
                len(own),
                len(tried),
                " · ".join(f"{one:,.0f}" for one in quartiles),
                round(100 * float(np.mean(rates)), 1) if rates else "–",
            )
        )
    titles = ("undecided", "gates", f"N up to {MOST_QUERIES:,}", "N, quartiles", "decided by N more, mean of sets")
    return Result(signature("advice", queries=SIZE), by_column(rows, titles))


def _advise_set(names: tuple[str, str], less: int) -> Arrays:
    collection, name = names
    return kept(f"gate-advice-{name}-{less}", lambda: _advise(sets(collection)[name], name, max(2, ADVISED // less)))


def _advise(pairs: FloatArray, name: str, most: int) -> Arrays:
    """For undecided gates and findings: which (0: the gate), how many more queries, and whether those decided it.

    Advice of more than `MOST_QUERIES`, or none, is not tried (NaN).
    """
    random = np.random.default_rng(seed_of(name, "advice"))
    rows: list[tuple[float, float, float]] = []
    asked = 0
    for pair in np.concatenate([random.permutation(pairs) for _ in range(4)]):
        drawn = pair[:, random.integers(pair.shape[1], size=SIZE)]
        if asked == most or not np.any(drawn[0] != drawn[1]):
            continue
        result = gate_of(drawn)
        open_ = {one.rule: one for one in result.findings if one.verdict == "undecided"}
        if result.verdict != "undecided" or not set(open_) <= set(RULES_ADVISED):
            continue
        asked += 1
        needed = {rule: _needed([one]) for rule, one in open_.items()}
        rows.append((0, _needed(list(open_.values())), _is_decided(pair, _needed(list(open_.values())), None, random)))
        rows += [
            (1 + RULES_ADVISED.index(rule), more, _is_decided(pair, more, rule, random))
            for rule, more in needed.items()
        ]
    return {"advice": np.array(rows, dtype=np.float64).reshape(-1, 3)}


def _needed(findings: Sequence[Finding]) -> float:
    """The number of further queries that the gate states; infinite if it states none."""
    return max(np.inf if one.more_queries is None else float(one.more_queries) for one in findings)


def _is_decided(pair: FloatArray, more: float, rule: str | None, random: np.random.Generator) -> float:
    """Whether a fresh sample with this many more queries decides the rule, or the gate."""
    if more > MOST_QUERIES:
        return np.nan
    result = gate_of(pair[:, random.integers(pair.shape[1], size=SIZE + int(more))])
    verdict = result.verdict
    if rule is not None:
        verdict = next((one.verdict for one in result.findings if one.rule == rule), verdict)
    return float(verdict != "undecided")
