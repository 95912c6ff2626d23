"""Are tests, intervals, certificates, gate rules and the Bayesian model calibrated? On populations made only here.

A population is a finite set of 200,000 topics on which five systems score, so that every true value is known; topics
are drawn from it with replacement. `additive`: a difficulty of each topic plus noise, a seventh of the scores 0.
`lists`: nDCG@10 of simulated lists of 30 documents, three of them relevant on average, so that many scores are tied at
0 or 1. `ranks`: reciprocal ranks that 70 % of the topics share between systems, so that most differences are 0.
`zeros`: difficulty plus noise, with two thirds of the topics 0 for every system. Without an effect all systems are
exchangeable. With one, system 1 gains a little on most topics and loses much on a tenth of them; for power, it loses
half of its score on a fifth of the topics. Formulas are written out here; only examined code comes from the package.

The tables of the gate (its tiers, repeats) and of language models as judges, which need the public collections, come
last.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field

import numpy as np
from scipy.special import ndtr

from studies import gate as gate_study
from studies import llm_judges
from studies.collections import nominal_bounds
from studies.coverage import STUDENTISED
from studies.kept import Arrays, kept
from surefoot import Rules, Scores
from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import interval_columns
from surefoot.guard.certificate import PROMISES, Budget
from surefoot.release_gate.finding import ScoredPair
from surefoot.release_gate.strict import StrictChecker
from surefoot.results import Column, Result, signature
from surefoot.stats.bayes import Posterior, posterior
from surefoot.stats.bootstrap import METHODS, BootstrapMethod, bootstrap_test
from surefoot.stats.inference import correct, t_inference
from surefoot.stats.permutation import flip_test, swap_test, t_test
from surefoot.stats.ranks import wilcoxon_test

SIZES = (25, 50, 200, 2000)
COUNTS = {25: 1000, 50: 1000, 200: 1000, 2000: 400}
SLOW = {25: 400, 50: 400, 200: 400, 2000: 200}
"""Draws of the Bayesian model."""
TOPICS, SYSTEMS, RESAMPLES, DRAWS, LEVEL = 200_000, 5, 999, 1000, 0.05
ALPHAS = np.array([1.0, 5.0, 10.0])
EXTREMES = ALPHAS[[0, -1]]
"""The alphas of intervals."""
TAIL = 0.1
ABOVE = "above 0, of T_Risk"
NONE_GIVEN = ": none given"
MEASURES = ("urisk", "trisk", "zrisk", "georisk", f"tail_{TAIL:g}")
NAMES = tuple(f"s{number}" for number in range(SYSTEMS))
Rates = dict[str, float]


@dataclass(frozen=True)
class Study:
    """A question to a population: how it is changed, and the rates over draws of samples of topics."""

    title: str
    change: Callable[[FloatArray], FloatArray]
    rates: Callable[[FloatArray, np.random.Generator, int, int], Rates]
    nominal: float | None
    counts: dict[int, int] = field(default_factory=lambda: COUNTS)


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


def ranks() -> FloatArray:
    random = np.random.default_rng(15)
    values = np.append(1 / np.arange(1, 11), 0.0)
    weights = np.append(0.5 ** np.arange(1, 11), 0.25)
    drawn = random.choice(values, (SYSTEMS + 1, TOPICS), p=weights / weights.sum())
    return np.where(random.random(TOPICS) < 0.7, drawn[-1], drawn[:-1])


def zeros() -> FloatArray:
    random = np.random.default_rng(16)
    scores = np.clip(random.beta(1.2, 2, TOPICS) + random.normal(0, 0.15, (SYSTEMS, TOPICS)), 0, 1)
    return scores * (random.random(TOPICS) > 2 / 3)


POPULATIONS = {"additive": additive, "lists": lists, "ranks": ranks, "zeros": zeros}


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
        recentred = np.stack([value(x[1] - x[0], a) - centre for a, centre in zip(ALPHAS, centres, strict=True)])
        tests = {
            "Student": t_test(recentred, np.zeros(size)),
            "bootstrap": bootstrap_test(recentred, np.zeros(size), n_resamples=RESAMPLES, seed=seed),
        }
        for index, alpha in enumerate(ALPHAS):
            for name, found_p in tests.items():
                p.setdefault(f"T_Risk recentred, alpha {alpha:g}, {name}", []).append(float(found_p[index]))
                above = float(found_p[index] <= LEVEL and recentred[index].mean() > 0)
                sides.setdefault(f"{ABOVE}, alpha {alpha:g}, {name}", []).append(above)
    rates = {name: float(np.mean(np.array(own) <= LEVEL)) for name, own in p.items()}
    return rates | {name: float(np.mean(own)) for name, own in sides.items()}


def coverage(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """How often intervals hold the truth, among those given, and how often the default method gives none."""
    truth = _truth(scores)
    held: dict[str, list[float]] = {}
    for seed, x in enumerate(_draws(scores, random, size, count)):
        design = Design.of(Scores(x, NAMES, range(size)), NAMES[0], [NAMES[1]])
        t = t_inference(x[1], x[0], EXTREMES)
        bounds = {("urisk", "t"): (t.low, t.high)}
        for method in METHODS:
            found = interval_columns(design, EXTREMES, MEASURES, BootstrapMethod(method, LEVEL, RESAMPLES, seed))
            for measure in MEASURES:
                if method != "studentised" or measure in STUDENTISED:
                    bounds[measure, method] = found[f"{measure}_low"][:, 0], found[f"{measure}_high"][:, 0]
        for (measure, method), (low, high) in bounds.items():
            for index, alpha in enumerate(EXTREMES[: 1 if measure.startswith("tail") else None]):
                true = truth[measure][index] * {"trisk": np.sqrt(size), "zrisk": size}.get(measure, 1.0)
                key = f"{measure}, {method}" if measure.startswith("tail") else f"{measure} at {alpha:g}, {method}"
                holds = np.nan if np.isnan(low[index]) else float(low[index] <= true <= high[index])
                held.setdefault(key, []).append(holds)
    rates: Rates = {}
    for key in sorted(held, key=_measure_order):
        given = ~np.isnan(held[key])
        rates[key] = float(np.mean(np.array(held[key])[given])) if given.any() else np.nan
        if key.endswith("studentised"):
            rates[f"{key}{NONE_GIVEN}"] = float(1 - given.mean())
    return rates


def _measure_order(key: str) -> tuple[int, float]:
    measure, _, rest = key.partition(",")[0].partition(" at ")
    return MEASURES.index(measure), float(rest or 0)


def _truth(scores: FloatArray) -> dict[str, list[float]]:
    """The measures of system 1 against system 0; T_Risk over the root of the topics, Z_Risk over the topics."""
    d = scores[1] - scores[0]
    values = [value(d, alpha) for alpha in EXTREMES]
    expected = scores[1].sum() / scores.sum() * scores.sum(axis=0)
    z = np.divide(scores[1] - expected, np.sqrt(expected), out=np.zeros(TOPICS), where=expected > 0)
    zrisk = [float(value(z, alpha).mean()) for alpha in EXTREMES]
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
        swaps = swap_test(x, 1, 0, ALPHAS[:2], **worse).p  # type: ignore[arg-type]
        p = {
            "paired t": t_test(x[1], x[0], alternative="worse"),
            "Wilcoxon": wilcoxon_test(x[1], x[0], "worse"),
            "sign flips": flip_test(x[1], x[0], 0.0, **worse).p,  # type: ignore[arg-type]
            "topic swaps of GeoRisk, alpha 1": swaps[0],
            "topic swaps of GeoRisk, alpha 5": swaps[1],
        }
        for name, own in p.items():
            found.setdefault(name, []).append(bool(own <= LEVEL / 2))
    return {name: float(np.mean(own)) for name, own in found.items()}


def certificates(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """Budgets equal to the true loss: each promise is broken."""
    budgets = [Budget(_lost(scores, of), of) for of in PROMISES]
    drawn = list(_draws(scores, random, size, count))
    return {
        f"certificate of {one.of}": float(np.mean([one.p_value(x[1], x[0]) <= one.error for x in drawn]))
        for one in budgets
    }


def _lost(scores: FloatArray, of: str) -> float:
    loss = np.maximum(scores[0] - scores[1], 0.0)
    if of == "frisk":
        return float(loss.mean())
    if of == "loss20":
        return float(np.mean(loss > 0.2 * scores[0]))
    return float(np.sort(loss)[-(TOPICS // 10) :].mean())


def gate_rules(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """Limits equal to the true loss: a rule that fails or passes is wrong, an undecided one is not."""
    loss = scores[0] - scores[1]
    truth = {"mean": loss.mean(), "risk": -value(-loss, 1.0).mean(), "losses": np.mean(loss > 0),
             "large-losses": _lost(scores, "loss20"), "tail": _lost(scores, "tail")}  # fmt: skip
    options = {"mean": "mean_tolerance", "risk": "risk_tolerance", "losses": "max_losses",
               "large-losses": "max_large_losses", "tail": "max_tail_loss"}  # fmt: skip
    wrong: dict[str, list[bool]] = {}
    limits = {options[rule]: max(float(limit), 0.0) for rule, limit in truth.items()}
    rules = Rules("strict", alpha=1.0, **limits)
    for x in _draws(scores[:2], random, size, count):
        pair = ScoredPair("s1", "s0", "", tuple(map(str, range(size))), x[1], x[0])
        checker = StrictChecker(pair, rules, n_tests=len(rules.sample_rules(has_segments=False)), advises=False)
        for one in checker.findings():
            if truth[one.rule] >= 0:
                wrong.setdefault(f"gate, {one.rule}: fails", []).append(one.verdict == "fail")
                wrong.setdefault(f"gate, {one.rule}: passes", []).append(one.verdict == "pass")
    return {name: float(np.mean(own)) for name, own in wrong.items()}


def bayesian(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """How often intervals hold the truth: a mean, a difference, U_Risk of as many new topics."""
    held: dict[str, list[bool]] = {}
    means = scores.mean(axis=1)
    for seed, (x, new) in enumerate(zip(*(_draws(scores, random, size, count) for _ in range(2)), strict=True)):
        drawn = posterior(x, DRAWS, seed)
        differences = drawn.systems[:, 1] - drawn.systems[:, 0]
        found = {"mean": (drawn.systems[:, 1], means[1]), "difference": (differences, means[1] - means[0])}
        predicted = Posterior(*(part[::5] for part in astuple(drawn))).differences(0, size, random)[:, 1]
        for alpha in EXTREMES:
            true = value(new[1] - new[0], alpha).mean()
            found[f"U_Risk of new topics, alpha {alpha:g}"] = (value(predicted, alpha).mean(axis=1), true)
        for name, (own, true) in found.items():
            low, high = np.quantile(own, [LEVEL / 2, 1 - LEVEL / 2])
            held.setdefault(name, []).append(bool(low <= true <= high))
    return {name: float(np.mean(own)) for name, own in held.items()}


def certain(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Rates:
    """How often P(better) is above 97.5 or below 2.5 % although there is no difference."""
    drawn = [posterior(x, DRAWS, seed).systems for seed, x in enumerate(_draws(scores, random, size, count))]
    better = np.array([(own[:, 1] > own[:, 0]).mean() for own in drawn])
    return {"P(better) beyond 2.5 %": float(np.mean(np.minimum(better, 1 - better) < LEVEL / 2))}


def _draws(scores: FloatArray, random: np.random.Generator, size: int, count: int) -> Iterator[FloatArray]:
    for _ in range(count):
        yield scores[:, random.integers(scores.shape[1], size=size)]


STUDIES = (
    Study("False alarms of tests at 5 %, in percent", lambda scores: scores, false_alarms, LEVEL),
    Study("Coverage of 95 % intervals, in percent", risky, coverage, 1 - LEVEL),
    Study("Promises broken, in percent (10 % are allowed)", risky, certificates, 0.1),
    Study("Gate rules whose limit is the truth, in percent (5 % are allowed)", risky, gate_rules, LEVEL),
    Study("Coverage of 95 % intervals of the Bayesian model, in percent", risky, bayesian, 1 - LEVEL, SLOW),
    Study(
        "False certainty of the Bayesian model, in percent (5 % are allowed)",
        lambda scores: scores,
        certain,
        LEVEL,
        SLOW,
    ),
    Study("Power: how often a loss is found, in percent (2.5 % is chance)", weakened, power, None),
)


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    populations = {name: make() for name, make in POPULATIONS.items()}
    for study in STUDIES:
        changed = {name: study.change(scores) for name, scores in populations.items()}
        yield f"{study.title}: {' / '.join(populations)}", _table(study, changed, less)
    if "SUREFOOT_DATA" not in os.environ:
        print("the gate and language models as judges are left out: SUREFOOT_DATA names no folder", file=sys.stderr)
        return
    yield from gate_study.tables(less)
    yield from llm_judges.tables(less)


def _table(study: Study, populations: dict[str, FloatArray], less: int) -> Result:
    """A row for each rate, a column for each number of topics; cells have the populations side by side."""
    columns: dict[str, Column] = {}
    counts = [max(study.counts[size] // less, 10) for size in SIZES]
    for size, count in zip(SIZES, counts, strict=True):
        found = [_rates(study, name, scores, size, count) for name, scores in populations.items()]
        nominal = {of: _nominal(of, study.nominal) for rates in found for of in rates}
        cells = [" / ".join(_marked(rates, of, nominal[of], count) for rates in found) for of in nominal]
        columns |= {"of": list(nominal), f"{size:,} topics": cells}
    note = "↑ above, ↓ below what chance explains (99 %)"
    n = "+".join(map(str, counts))
    return Result(signature(study.rates.__name__, n=n, level=LEVEL), columns, (note,) if study.nominal else ())


def _nominal(of: str, usual: float | None) -> float | None:
    if of.endswith(NONE_GIVEN):
        return None
    return LEVEL / 2 if of.startswith(ABOVE) else usual


def _rates(study: Study, population: str, scores: FloatArray, size: int, count: int) -> Rates:
    name = f"calibration-{study.rates.__name__}-{population}-{size}-{count}"

    def compute() -> Arrays:
        print(name, file=sys.stderr, flush=True)
        rates = study.rates(scores, np.random.default_rng(size), size, count)
        return {of: np.array(rate) for of, rate in rates.items()}

    return {of: float(rate) for of, rate in kept(name, compute).items()}


def _marked(rates: Rates, of: str, nominal: float | None, count: int) -> str:
    """A rate in percent, marked where it lies beyond its bounds; a dash where a population has none."""
    rate = rates.get(of, np.nan)
    if np.isnan(rate):
        return "–"
    if nominal is None:
        return f"{100 * rate:.0f}"
    low, high = nominal_bounds(round(count * (1 - rates.get(f"{of}{NONE_GIVEN}", 0.0))), nominal)
    return f"{100 * rate:.1f}{'↑' if rate > high else '↓' if rate < low else ''}"
