"""How often the gate is wrong, and how often it can tell; and what adversaries achieve who try many candidates.

Differences are drawn here, not by the product's simulator. The truth of each rule is computed from a large draw; a
fail is false where a rule fails whose limit the truth keeps, a pass where the truth lies beyond the limit of any rule.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from studies.collections import nominal_bounds
from surefoot import Rules, Scores, gate, read_scores
from surefoot._typing import FloatArray
from surefoot.release_gate.checks import VERDICTS
from surefoot.release_gate.intervals import Levels, Question
from surefoot.results import Column, Result, signature
from surefoot.stats.mean_bounds import upper_mean_bound

SIZES = (25, 50, 200, 500, 1000, 5000)
GATES, LARGE = 500, 400_000
PAIRS = (
    ("srchvrs12c10", "srchvrs12c00"),
    ("utw2012c2", "utw2012c1"),
    ("ICTNET12ADR1", "ICTNET12ADR2"),
    ("indriCASP", "lcmweb"),
)
RULES = Rules()
TOLERANCE, QUERIES, SPREAD = 0.01, 1000, 0.1
ADVERSARIES, VARIANTS = 1000, (1, 20, 1000)
"""How many adversaries there are, and how many variants each of them tries."""
BETTER, EVERY = 0.02, 10

Draw = Callable[[np.random.Generator, int], FloatArray]
"""Scores of the baseline and of the candidate on so many queries, two rows."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield "Verdicts on simulated candidates, in percent", _verdicts(simulated(), GATES // less)
    if "SUREFOOT_DATA" in os.environ:
        yield "Verdicts on swapped pairs of TREC Web 2012, in percent", _verdicts(swapped(), GATES // less)
    yield "False accepts of candidates whose true loss is the tolerance, in percent", _adversaries(less)


def simulated() -> dict[str, Draw]:
    """Candidates whose effect is known by construction."""
    return {
        "no effect": lambda random, n: _changed(random, n, 0.1 * random.standard_normal(n)),
        "no effect, small changes": lambda random, n: _changed(random, n, 0.03 * random.standard_normal(n)),
        "better by 0.017": lambda random, n: _changed(random, n, 0.017 + 0.1 * random.standard_normal(n)),
        "a loss of 0.01, the tolerance": lambda random, n: _changed(random, n, -0.01 + 0.1 * random.standard_normal(n)),
        "4 % of queries lose 0.5": lambda random, n: _changed(
            random, n, np.where(random.random(n) < 0.04, -0.5, 0.01 * random.standard_normal(n))
        ),
        "worse by 0.05": lambda random, n: _changed(random, n, -0.05 + 0.1 * random.standard_normal(n)),
    }


def swapped() -> dict[str, Draw]:
    """Real pairs, topics drawn with replacement, system and baseline swapped at random: no effect is left."""
    scores = read_scores(Path(os.environ["SUREFOOT_DATA"]) / "trec-web-2012" / "err20.csv", measure="ERR@20")

    def draw_of(old: str, new: str) -> Draw:
        rows = np.stack([scores[old], scores[new]])

        def draw(random: np.random.Generator, n: int) -> FloatArray:
            drawn = rows[:, random.integers(rows.shape[1], size=n)]
            return np.where(random.random(n) < 0.5, drawn, drawn[::-1])

        return draw

    return {f"{new}, {old}": draw_of(old, new) for old, new in PAIRS}


def _changed(random: np.random.Generator, n: int, delta: FloatArray) -> FloatArray:
    """A baseline in the middle of the range, so that changes are hardly ever cut off, and its changed copy."""
    base = random.uniform(0.4, 0.6, n)
    return np.stack([base, np.clip(base + delta, 0, 1)])


def _verdicts(draws: dict[str, Draw], count: int) -> Result:
    """For each candidate and number of queries the percentages of pass, can't tell and fail, and the worst errors."""
    columns: dict[str, list[object]] = {"candidate": [], "truly beyond": []}
    for name, draw in draws.items():
        beyond = _beyond_limits(draw(np.random.default_rng(99), LARGE))
        rates = {size: _rates(draw, beyond, size, count) for size in SIZES}
        row = {"candidate": name, "truly beyond": ", ".join(sorted(beyond)) or "–"}
        row |= {f"{size:,} queries": " · ".join(f"{100 * rate:.0f}" for rate in rates[size][:3]) for size in SIZES}
        row["false fails, at most"] = f"{100 * max(rate[3] for rate in rates.values()):.1f}"
        row["false passes, at most"] = f"{100 * max(rate[4] for rate in rates.values()):.1f}" if beyond else "–"
        for column, cell in row.items():
            columns.setdefault(column, []).append(cell)
    return Result(signature("gate", n=count, level=RULES.level), columns, (_bounds_note(count),))


def _bounds_note(count: int) -> str:
    high = nominal_bounds(count, RULES.level)[1]
    return f"a true rate of {100 * RULES.level:g} % is seen as up to {100 * high:.1f} % in {count:,} tries (99 %)"


def _rates(draw: Draw, beyond: set[str], size: int, count: int) -> list[float]:
    """The rates of pass, can't tell, fail, false fails and false passes."""
    counts = np.zeros(5)
    for seed in range(count):
        scores = Scores(draw(np.random.default_rng(seed), size), ["old", "new"], range(size))
        result = gate(scores, "old", candidate="new", rules=RULES)
        false_fail = any(one.verdict == "fail" and one.rule not in beyond for one in result.findings)
        false_pass = result.verdict == "pass" and bool(beyond)
        counts += [*(result.verdict == verdict for verdict in VERDICTS), false_fail, false_pass]
    return list(counts / count)


def _beyond_limits(rows: FloatArray) -> set[str]:
    """The rules whose limit the truth lies beyond."""
    base, own = rows
    loss = base - own
    truth = {
        "mean": (loss.mean(), RULES.mean_tolerance),
        "losses": (np.mean(loss > 0), RULES.max_losses),
        "large-losses": (np.mean((loss > 0.2 * base + 1e-9) & (base > 0)), RULES.max_large_losses),
        "tail": (np.sort(np.maximum(loss, 0))[-LARGE // 10 :].mean(), RULES.max_tail_loss),
    }
    return {rule for rule, (value, limit) in truth.items() if value >= limit - 2e-4}


def _adversaries(less: int) -> Result:
    """Is any of many candidates accepted, all of which lose the tolerance, which is the most that may pass?

    The candidates are independent. *Fitted*: a last candidate takes, on each query whose scores were seen, the best of
    all that were tried, as rules for single queries would; on others it is like any other. *Ratcheted*: before every
    tenth candidate one that is truly better is asked about and most often accepted; the next ones lose the tolerance
    against that one.
    """
    rows: list[dict[str, object]] = []
    for variants in VARIANTS:
        found = np.array([_adversary(np.random.default_rng(seed), variants) for seed in range(ADVERSARIES // less)])
        names = ("not counted", "counted", "ratcheted, counted", "fitted, counted", "fitted, held out")
        rows.append(
            {
                "variants": variants,
                **{n: f"{100 * rate:.1f}" for n, rate in zip(names, found.mean(axis=0), strict=True)},
            }
        )
    columns: dict[str, Column] = {name: [row[name] for row in rows] for name in rows[0]}
    stated = signature("adversaries", level=RULES.level, queries=QUERIES, adversaries=ADVERSARIES // less)
    return Result(stated, columns, (_bounds_note(ADVERSARIES // less),))


def _adversary(random: np.random.Generator, variants: int) -> list[bool]:
    losses = np.clip(TOLERANCE + SPREAD * random.standard_normal((variants, QUERIES)), -1, 1)
    held_out = np.arange(QUERIES) >= QUERIES // 2
    levels = [_level(number) for number in range(1, variants + 2)]
    fitted = losses.min(axis=0)
    fitted_to_open = np.where(held_out, losses[0], fitted)
    return [
        any(_passes(one, RULES.level) for one in losses),
        any(map(_passes, losses, levels)),
        _ratcheted(random, variants),
        any(map(_passes, [*losses, fitted], levels)),
        any(map(_passes, [one[held_out] for one in (*losses, fitted_to_open)], levels)),
    ]


def _ratcheted(random: np.random.Generator, variants: int) -> bool:
    """Is any of the candidates accepted that lose the tolerance, in a life in which others are accepted rightly?"""

    def scores_of(effect: float) -> FloatArray:
        return effect + SPREAD / np.sqrt(2) * random.standard_normal(QUERIES)

    accepted, mean, number, accepted_by = scores_of(0.0), 0.0, 0, 0
    for variant in range(variants):
        number += 1
        if variant % EVERY == 0:
            better = scores_of(mean + BETTER)
            if _passes(np.clip(accepted - better, -1, 1), _level(number, accepted_by)):
                accepted, mean, accepted_by = better, mean + BETTER, number
            number += 1
        worse = scores_of(mean - TOLERANCE)
        if _passes(np.clip(accepted - worse, -1, 1), _level(number, accepted_by)):
            return True
    return False


def _level(number: int, accepted: int = 0) -> float:
    return Levels.of(RULES.level, 1, Question(number, accepted)).accept


def _passes(losses: FloatArray, level: float) -> bool:
    """As the rule mean decides; one that is not even near Student's bound is not looked at."""
    reach = -ndtri(level) * losses.std() / np.sqrt(losses.size)
    return bool(losses.mean() + reach / 2 < TOLERANCE) and upper_mean_bound(losses, 1.0, level) <= TOLERANCE
