"""Do tests, intervals, certificates and gate rules keep their word? On populations that this file alone makes.

A population is a finite set of 200,000 topics on which five systems score, so that every true value is known; topics
are drawn from it with replacement. `additive`: a difficulty of each topic plus noise, a seventh of the scores 0.
`lists`: nDCG@10 of simulated lists of 30 documents, three of them relevant on average, so that many scores are tied at
0 or 1. Without an effect all systems are exchangeable. With one, system 1 gains a little on most topics and loses much
on a tenth of them; for power, it loses half of its score on a fifth of the topics. Formulas are written out here;
nothing but what is examined comes from the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtr

from studies.collections import nominal_bounds
from studies.coverage import STUDENTISED
from surefoot import Rules, Scores, gate
from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import interval_columns
from surefoot.guard.certificate import PROMISES, Budget
from surefoot.results import Column, Result, signature
from surefoot.stats.bootstrap import METHODS, BootstrapMethod, bootstrap_test
from surefoot.stats.corrections import correct
from surefoot.stats.inference import t_inference
from surefoot.stats.permutation import flip_test, swap_test, t_test, wilcoxon_test

SIZES = (25, 50, 200, 2000)
COUNTS = {25: 1000, 50: 1000, 200: 1000, 2000: 400}
TOPICS, SYSTEMS, RESAMPLES, LEVEL = 200_000, 5, 999, 0.05
ALPHAS = np.array([1.0, 5.0, 10.0])
TAIL = 0.1
ABOVE = "of these above 0 (2.5 expected)"
MEASURES = ("urisk", "trisk", "zrisk", "georisk", f"tail_{TAIL:g}")
NAMES = tuple(f"s{number}" for number in range(SYSTEMS))
Rates = dict[str, float]
Study = Callable[[FloatArray, np.random.Generator, int, int], Rates]
"""The rates of a population, in so many draws of so many topics."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    for name, make in POPULATIONS.items():
        null, changed = make(), risky(make())
        yield f"False alarms of tests at 5 %, percent: {name}", _table(false_alarms, null, less, LEVEL)
        yield f"Coverage of 95 % intervals, percent: {name}", _table(coverage, changed, less, 1 - LEVEL)
        yield f"Power: how often the loss is found, percent: {name}", _table(power, weakened(null), 2 * less, None)
        yield f"Promises broken at 90 %, percent: {name}", _table(certificates, changed, less, 0.1)
        yield f"Gate rules whose limit is the truth, percent: {name}", _table(gate_rules, changed, 2 * less, LEVEL)


def additive() -> FloatArray:
    random = np.random.default_rng(11)
    difficulty = random.beta(1.2, 2, TOPICS)
    scores = np.clip(difficulty + random.normal(0, 0.15, (SYSTEMS, TOPICS)), 0, 1)
    return scores * (random.random((SYSTEMS, TOPICS)) > 1 / 7)


def lists() -> FloatArray:
    random = np.random.default_rng(12)
    relevant = random.random((TOPICS, 30)) < random.beta(1, 9, (TOPICS, 1))
    discounts = 1 / np.log2(np.arange(2, 12))
    ideal = np.array([discounts[: min(number, 10)].sum() for number in range(31)])[relevant.sum(axis=1)]
    shared = random.normal(size=(TOPICS, 30)) + 2 * relevant
    scores = np.zeros((SYSTEMS, TOPICS))
    for row in scores:
        order = np.argsort(-(shared + random.normal(size=(TOPICS, 30))), axis=1)[:, :10]
        gained = np.take_along_axis(relevant, order, axis=1) @ discounts
        row[:] = np.divide(gained, ideal, out=np.zeros(TOPICS), where=ideal > 0)
    return scores


def risky(scores: FloatArray) -> FloatArray:
    """System 1 with small gains on most topics, and a large loss on a tenth of them."""
    random = np.random.default_rng(13)
    gain = random.exponential(0.03, TOPICS) * (random.random(TOPICS) < 0.6)
    kept = np.where(random.random(TOPICS) < 0.1, random.beta(1, 2, TOPICS), 1.0)
    return np.vstack([scores[0], np.clip(scores[1] * kept + gain, 0, 1), scores[2:]])


def weakened(scores: FloatArray) -> FloatArray:
    """System 1 with half of its score on a fifth of the topics."""
    kept = np.where(np.random.default_rng(14).random(TOPICS) < 0.2, 0.5, 1.0)
    return np.vstack([scores[0], scores[1] * kept, scores[2:]])


POPULATIONS = {"additive": additive, "lists": lists}


def value(d: FloatArray, alpha: float) -> FloatArray:
    return np.where(d < 0, (1 + alpha) * d, d)


def false_alarms(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """Whatever a test of a system effect finds, and T_Risk against its own null hypothesis: x recentred."""
    p: dict[str, list[float]] = {}
    sides: dict[str, list[float]] = {}
    centres = [value(scores[1] - scores[0], alpha).mean() for alpha in ALPHAS]
    for seed, x in enumerate(_draws(scores, random, size, count)):
        flips, t = flip_test(x[1:], x[0], 0.0, n_resamples=RESAMPLES, seed=seed), t_test(x[1:], x[0])
        swaps = swap_test(x, 1, 0, ALPHAS[:2], n_resamples=RESAMPLES, seed=seed).p
        found = {
            "paired t": t[0],
            "Wilcoxon": wilcoxon_test(x[1], x[0]),
            "sign flips": flips.p[0],
            "topic swaps of GeoRisk, alpha 1": swaps[0],
            "topic swaps of GeoRisk, alpha 5": swaps[1],
            "max-statistic, any of 4": flips.p_max.min(),
            "Holm over t, any of 4": correct(t, "holm").min(),
        }
        for name, own in found.items():
            p.setdefault(name, []).append(float(own))
        for alpha, centre in zip(ALPHAS, centres, strict=True):
            own, zero = value(x[1] - x[0], alpha) - centre, np.zeros(size)
            tests = {
                "Student": t_test(own, zero),
                "bootstrap": bootstrap_test(own, zero, n_resamples=RESAMPLES, seed=seed),
            }
            for name, found_p in tests.items():
                p.setdefault(f"T_Risk recentred, alpha {alpha:g}, {name}", []).append(float(found_p))
                above = float(found_p <= LEVEL and own.mean() > 0)
                sides.setdefault(f"{ABOVE}, alpha {alpha:g}, {name}", []).append(above)
    rates = {name: float(np.mean(np.array(own) <= LEVEL)) for name, own in p.items()}
    return rates | {name: float(np.mean(own)) for name, own in sides.items()}


def coverage(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    truth = _truth(scores)
    held: dict[str, list[bool]] = {}
    for seed, x in enumerate(_draws(scores, random, size, count if size < 2000 else count // 2)):
        design = Design.of(Scores(x, NAMES, range(size)), NAMES[0], [NAMES[1]])
        t = t_inference(x[1], x[0], ALPHAS)
        bounds = {("urisk", "t"): (t.low, t.high)}
        for method in METHODS:
            found = interval_columns(design, ALPHAS, MEASURES, BootstrapMethod(method, LEVEL, RESAMPLES, seed))
            for measure in MEASURES:
                if method != "studentised" or measure in STUDENTISED:
                    bounds[measure, method] = found[f"{measure}_low"][:, 0], found[f"{measure}_high"][:, 0]
        for (measure, method), (low, high) in bounds.items():
            for index, alpha in enumerate(ALPHAS[: 1 if measure.startswith("tail") else None]):
                true = truth[measure][index] * {"trisk": np.sqrt(size), "zrisk": size}.get(measure, 1.0)
                key = f"{measure}, {method}" if measure.startswith("tail") else f"{measure} at {alpha:g}, {method}"
                held.setdefault(key, []).append(bool(low[index] <= true <= high[index]))
    return {key: float(np.mean(held[key])) for key in sorted(held, key=_measure_order)}


def _measure_order(key: str) -> tuple[int, float]:
    measure, _, rest = key.partition(",")[0].partition(" at ")
    return MEASURES.index(measure), float(rest or 0)


def _truth(scores: FloatArray) -> dict[str, list[float]]:
    """The measures of system 1 against system 0; T_Risk over the root of the topics, Z_Risk over the topics."""
    d = scores[1] - scores[0]
    values = [value(d, alpha) for alpha in ALPHAS]
    expected = scores[1].sum() / scores.sum() * scores.sum(axis=0)
    z = np.divide(scores[1] - expected, np.sqrt(expected), out=np.zeros(TOPICS), where=expected > 0)
    zrisk = [float(value(z, alpha).mean()) for alpha in ALPHAS]
    return {
        "urisk": [float(x.mean()) for x in values],
        "trisk": [float(x.mean() / x.std()) for x in values],
        "zrisk": zrisk,
        "georisk": [float(np.sqrt(scores[1].mean() * ndtr(one))) for one in zrisk],
        MEASURES[-1]: [float(np.sort(d)[: TOPICS // 10].mean())],
    }


def power(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    found: dict[str, list[bool]] = {}
    for seed, x in enumerate(_draws(scores, random, size, count)):
        worse = {"alternative": "worse", "n_resamples": RESAMPLES, "seed": seed}
        p = {
            "paired t": t_test(x[1], x[0], alternative="worse"),
            "Wilcoxon": wilcoxon_test(x[1], x[0], "worse"),
            "sign flips": flip_test(x[1], x[0], 0.0, **worse).p,  # type: ignore[arg-type]
            "topic swaps of GeoRisk, alpha 1": swap_test(x, 1, 0, 1.0, **worse).p,  # type: ignore[arg-type]
            "topic swaps of GeoRisk, alpha 5": swap_test(x, 1, 0, 5.0, **worse).p,  # type: ignore[arg-type]
        }
        for name, own in p.items():
            found.setdefault(name, []).append(bool(own <= LEVEL / 2))
    return {
        f"{name} (mean d {(scores[1] - scores[0]).mean():+.4f})": float(np.mean(own)) for name, own in found.items()
    }


def certificates(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """Budgets that are exactly what is lost: each promise is broken."""
    budgets = [Budget(_lost(scores, of), of) for of in PROMISES]
    drawn = list(_draws(scores, random, size, count))
    return {one.of: float(np.mean([one.p_value(x[1], x[0]) <= one.error for x in drawn])) for one in budgets}


def _lost(scores: FloatArray, of: str) -> float:
    loss = np.maximum(scores[0] - scores[1], 0.0)
    if of == "frisk":
        return float(loss.mean())
    if of == "loss20":
        return float(np.mean(loss > 0.2 * scores[0]))
    return float(np.sort(loss)[-(TOPICS // 10) :].mean())


def gate_rules(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """Limits that are exactly the truth: a rule that fails or passes is wrong, however often it can't tell."""
    loss = scores[0] - scores[1]
    truth = {"mean": loss.mean(), "risk": -value(-loss, 1.0).mean(), "losses": np.mean(loss > 0),
             "large-losses": _lost(scores, "loss20"), "tail": _lost(scores, "tail")}  # fmt: skip
    options = {"mean": "mean_tolerance", "risk": "risk_tolerance", "losses": "max_losses",
               "large-losses": "max_large_losses", "tail": "max_tail_loss"}  # fmt: skip
    wrong: dict[str, list[bool]] = {}
    limits = {options[rule]: max(float(limit), 0.0) for rule, limit in truth.items()}
    for x in _draws(scores[:2], random, size, count):
        result = gate(Scores(x, NAMES[:2], range(size)), "s0", candidate="s1", rules=Rules(alpha=1.0, **limits))
        for one in result.findings:
            if truth[one.rule] >= 0:
                wrong.setdefault(f"{one.rule}: fails", []).append(one.verdict == "fail")
                wrong.setdefault(f"{one.rule}: passes", []).append(one.verdict == "pass")
    return {name: float(np.mean(own)) for name, own in wrong.items()}


def _draws(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Iterator[FloatArray]:
    for _ in range(count):
        yield scores[:, random.integers(scores.shape[1], size=size)]


def _table(study: Study, scores: FloatArray, less: int, nominal: float | None) -> Result:
    columns: dict[str, Column] = {}
    for size in SIZES:
        count = max(COUNTS[size] // less, 10)
        print(f"{study.__name__}, {size} topics, {count} draws", file=sys.stderr, flush=True)
        rates = study(scores, np.random.default_rng(size), size, count)
        columns.setdefault("of", list(rates))
        halved = study is coverage and size == 2000
        columns[f"{size} topics"] = [
            _marked(rate, LEVEL / 2 if name.startswith(ABOVE) else nominal, count // 2 if halved else count)
            for name, rate in rates.items()
        ]
    note = "! too often wrong, + too seldom, beyond what chance explains (99 %)"
    return Result(signature(study.__name__, n=COUNTS[25] // less, level=LEVEL), columns, (note,) if nominal else ())


def _marked(rate: float, nominal: float | None, count: int) -> str:
    """A rate in percent; rates of being right are marked below the nominal one, rates of being wrong above it."""
    if nominal is None:
        return f"{100 * rate:.0f}"
    low, high = nominal_bounds(count, nominal)
    right = nominal > 0.5
    bad, good = (rate < low, rate > high) if right else (rate > high, rate < low)
    return f"{100 * rate:.1f}{'!' if bad else '+' if good else ''}"
