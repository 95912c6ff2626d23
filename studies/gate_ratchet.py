"""Many candidates in a row: a chain of releases that each lose a little, and adversaries who try many variants."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from surefoot import Rules, Scores
from surefoot._typing import FloatArray
from surefoot.release_gate.accepted import Accepted, by_topic
from surefoot.release_gate.finding import UNCOUNTED, Question
from surefoot.release_gate.ratchet import accept, gate_accepted
from surefoot.release_gate.seen import MEAN_FACTOR, mean_evidence
from surefoot.results import Result, by_column, signature
from surefoot.risk.distributions import normal_quantile

RULES = Rules()
CHAINS, RELEASES, TOPICS = 100, 20, 200
SHARE, LOSS, NOISE = 0.05, 0.08, 0.03
"""Each release takes so much from another share of the queries; with noise, all queries move too."""
ADVERSARIES, VARIANTS, QUERIES, SPREAD = 1000, (1, 20, 1000), 200, 0.1
BETTER, EVERY = 0.04, 10
"""In a life with a ratchet, every tenth candidate is truly better by so much."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    yield "A chain of 20 releases, each of which costs another 5 % of the queries 0.08", _chains(CHAINS // less)
    yield "Adversaries of whom any candidate passes that is exactly at the limit, in percent", _adversaries(less)


def _chains(count: int) -> Result:
    """Undecided releases are refused, as by default, or accepted; a ratchet asks for a pass, or for no fail."""
    rows = []
    for noise, rules in product((0.0, NOISE), (RULES, Rules(undecided="pass"))):
        found = [_chain(np.random.default_rng(seed), noise, rules) for seed in range(count)]
        stopped, verdicts, lost = zip(*found, strict=True)
        rows.append(
            {
                "noise of a query": noise,
                "undecided": "accepted" if rules.undecided == "pass" else "refused",
                "first release refused, median": float(np.median(stopped)),
                "latest": max(stopped),
                "refused by release 10, %": 100 * float(np.mean(np.array(stopped) <= 10)),
                "as fail": verdicts.count("fail"),
                "as undecided": verdicts.count("undecided"),
                "mean lost until then, at most": round(max(lost), 4),
            }
        )
    return Result(signature("chain", n=count, topics=TOPICS), by_column(rows))


def _chain(random: np.random.Generator, noise: float, rules: Rules) -> tuple[int, str, float]:
    """The release that the ratchet first refuses, how, and how far the accepted mean had fallen by then."""
    order = random.permutation(TOPICS).reshape(RELEASES, -1)
    current = random.uniform(0.4, 0.9, TOPICS)
    first = float(current.mean())
    accepted = Accepted("release 0", "", {"score": by_topic(_scores(current, "release 0"), "release 0")})
    for number, hit in enumerate(order, 1):
        before, current = current, np.clip(current + noise * random.standard_normal(TOPICS), 0, 1)
        current[hit] -= LOSS
        scores, name = _scores(current, f"release {number}"), f"release {number}"
        asked, _ = accepted.ask([scores], name)
        result = gate_accepted(scores, accepted, candidate=name, rules=rules)
        if not result.acceptable:
            return number, result.verdict, first - float(before.mean())
        accepted = accept(scores, result, asked)
    return RELEASES + 1, "never", first - float(current.mean())


def _scores(values: FloatArray, name: str) -> Scores:
    return Scores([values], [name], range(values.size))


def _adversaries(less: int) -> Result:
    """Is any of many candidates accepted if each truly loses the tolerance, the largest loss that may pass?

    *Single try*: one candidate that nobody counts. *Ratcheted*: before every tenth candidate one that is truly better
    is asked about; if it is accepted, the next candidates lose the tolerance against that one.
    """
    rows: list[dict[str, object]] = []
    for variants in VARIANTS:
        count = ADVERSARIES // less // (5 if variants > 100 else 1)
        found = np.array([_adversary(np.random.default_rng([seed, variants]), variants) for seed in range(count)])
        names = ("single try", "not counted", "counted", "ratcheted, counted")
        means = dict(zip(names, found.mean(axis=0), strict=True))
        rows.append({"variants": variants, "adversaries": count, **{n: f"{100 * m:.1f}" for n, m in means.items()}})
    return Result(signature("adversaries", level=RULES.level, queries=QUERIES), by_column(rows))


def _adversary(random: np.random.Generator, variants: int) -> list[bool]:
    tolerance = RULES.limit("mean_tolerance")
    losses = np.clip(tolerance + SPREAD * random.standard_normal((variants, QUERIES)), -1, 1)
    return [
        _passes(losses[0], UNCOUNTED),
        any(_passes(one, UNCOUNTED) for one in losses),
        any(_passes(one, Question(number)) for number, one in enumerate(losses, 1)),
        _ratcheted(random, variants),
    ]


def _ratcheted(random: np.random.Generator, variants: int) -> bool:
    """Is any candidate accepted that loses the tolerance, in a life in which others are accepted rightly?"""

    def scores_of(effect: float) -> FloatArray:
        return effect + SPREAD / np.sqrt(2) * random.standard_normal(QUERIES)

    accepted, mean, number, accepted_by = scores_of(0.0), 0.0, 0, 0
    for variant in range(variants):
        number += 1
        if variant % EVERY == 0:
            better = scores_of(mean + BETTER)
            if _passes(np.clip(accepted - better, -1, 1), Question(number, accepted_by)):
                accepted, mean, accepted_by = better, mean + BETTER, number
            number += 1
        worse = scores_of(mean - RULES.limit("mean_tolerance"))
        if _passes(np.clip(accepted - worse, -1, 1), Question(number, accepted_by)):
            return True
    return False


def _passes(losses: FloatArray, question: Question) -> bool:
    """Whether the rule mean passes; a candidate far from the normal bound is not looked at."""
    level, tolerance = MEAN_FACTOR * RULES.level * question.part, RULES.limit("mean_tolerance")
    reach = normal_quantile(1 - level) * losses.std() / np.sqrt(losses.size)
    if losses.mean() + 0.8 * reach > tolerance:
        return False
    return mean_evidence(losses, tolerance, 1.0).probability >= 1 - level
