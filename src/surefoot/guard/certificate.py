"""Certificates: a guard is learned on some queries, and a promise about new queries is tested on others.

The path leads from the baseline's own ranking, which loses nothing, to the guard as it was fitted. Its steps are tested
in this order, each at the same error, until one fails. So a step that breaks the budget is certified with at most that
probability, whatever the number of steps (fixed-sequence testing: Angelopoulos, Bates, Candès, Jordan and Lei, *Learn
then test*). The tests are bets, see `surefoot.stats.mean_bounds`.

A test that is valid for every distribution must allow for rare losses of 1 that no query has shown, which takes many
queries. An approximate budget assumes that no query loses more than the largest loss seen, and says so.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, counted
from surefoot.results import Column, Result, signature
from surefoot.risk.distributions import binomial_cdf
from surefoot.risk.moments import Tail
from surefoot.risk.statistics import Comparison, large_losses
from surefoot.stats.mean_bounds import betting_p_value, fixed_capital

PATH = tuple((np.arange(19, -1, -1) / 20).tolist())
"""The safety of the steps, from the baseline's ranking to the fitted guard; the last step is the guard itself."""

TAIL = 0.1
"""The fraction of queries in the tail."""

MOST_QUERIES = 100_000
"""The largest number of queries that `queries_needed` tries."""

LEAST_LIMIT = 1e-4
"""The smallest limit of a budget; smaller ones need too many queries."""

ROUNDING = 1e-9
"""The rounding error that a loss may have above 1."""

ENOUGH_LOSSES = 5
"""With fewer losing queries the largest loss seen says little, and an approximate budget allows for a loss of 1."""

THRESHOLDS = 8
"""The number of thresholds in the test of a tail, from 0 to below the budget."""


@dataclass(frozen=True)
class Budget:
    """The loss against the baseline that is allowed, and the confidence.

    ``of`` is ``frisk`` (the mean loss), ``loss20`` (the fraction of queries that lose more than 20 %) or ``tail`` (the
    mean loss of the worst tenth of queries). If it is ``approximate``, no query is assumed to lose more than the
    largest loss seen.

    >>> Budget(0.01)
    Budget(limit=0.01, of='frisk', confidence=0.9, approximate=False)
    """

    limit: float
    of: str = "frisk"
    confidence: float = 0.9
    approximate: bool = False

    def __post_init__(self) -> None:
        choose(self.of, PROMISES, "the measure of a budget")
        if not LEAST_LIMIT <= self.limit < 1:
            raise SurefootError(f"a budget must lie between {LEAST_LIMIT:g} and 1; got {self.limit:g}")
        if not 0 < self.confidence < 1:
            raise SurefootError(f"the confidence must lie between 0 and 1; got {self.confidence:g}")

    @property
    def error(self) -> float:
        """The probability that the promise is broken."""
        return 1 - self.confidence

    def largest_loss(self, steps: FloatArray, baseline: FloatArray) -> float:
        """The largest possible loss of a query: 1, or for an approximate budget the largest of these steps (rows)."""
        loss = np.maximum(baseline - steps, 0.0)
        seen = self.approximate and np.count_nonzero(loss.max(axis=0, initial=0.0)) >= ENOUGH_LOSSES
        return float(loss.max()) if seen else 1.0

    def p_value(self, x: FloatArray, baseline: FloatArray, largest: float = 1.0) -> float:
        """The p value of the hypothesis that the budget is broken; the queries are in random order.

        No query loses more than ``largest``.
        """
        if self.of != "loss20" and self.limit >= largest:
            return 0.0
        loss = np.maximum(baseline - x, 0.0)
        most = float(loss.max(initial=0.0))
        if most > 1 + ROUNDING:
            raise SurefootError(
                f"a query lost {most:g}; a budget is tested for measures between 0 and 1, so choose one of these"
            )
        return _TESTS[self.of](np.minimum(loss, largest), baseline, self, largest)

    def measured(self, x: FloatArray, baseline: FloatArray) -> float:
        """The loss on these queries."""
        if self.of == "tail":  # of losses only, gains count 0
            return -float(Tail.of(np.minimum(x, baseline), baseline, fraction=TAIL).value)
        compared = Comparison.of(x, baseline)
        return float(compared.frisk if self.of == "frisk" else compared.loss20 / compared.topics)

    @cached_property
    def fewest_queries(self) -> int:
        """The smallest number of queries that can support the promise, if none of them loses."""
        high = 1
        while not self._is_enough(high):
            high *= 2
        return bisect_left(range(high), True, lo=high // 2, key=self._is_enough)

    def _is_enough(self, queries: int) -> bool:
        same = np.full(queries, 0.5)
        return self.p_value(same, same) <= self.error


LIKE_THESE = (
    "Queries like these come at random from the same source (they are exchangeable with these). Another mix of "
    "queries, or other judgments, is not covered."
)
ASSUMED = "Approximate: no query is assumed to lose more than {largest:.3f}, the largest loss seen."
PROMISES: Mapping[str, str] = {
    "frisk": "F_Risk, the mean loss against the baseline, is at most {limit:.3f}",
    "loss20": "at most {percent:.1f} % of queries lose more than 20 % against the baseline",
    "tail": "the worst tenth of queries loses at most {limit:.3f} on average against the baseline",
}


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """The steps of the path with their tests, and the promise.

    ``safety`` is that of the last step that passed, 1 (the baseline's own ranking) if none did. ``cost`` is the
    fraction of the fitted guard's mean that it costs. ``words`` is the promise in words.
    """

    budget: Budget = field(default_factory=lambda: Budget(0.01))
    safety: float = 1.0
    cost: float = 0.0
    queries: int = 0
    words: str = ""

    def to_card(self) -> dict[str, Any]:
        """Plain values for a guard's file."""
        kept = {name: getattr(self, name) for name in ("safety", "cost", "queries", "words", "signature")}
        return {**asdict(self.budget), **kept}


def certify(
    measure_at: Callable[[float], FloatArray], baseline: FloatArray, budget: Budget, seed: int = 0
) -> Certificate:
    """Find the last step of the path whose loss is within a budget.

    Parameters
    ----------
    measure_at
        From a safety (1: the baseline's ranking, 0: the guard as it was fitted) to the metric of each query. The
        queries must have had no part in fitting the guard.
    baseline
        The baseline's metric of each query.
    budget
        The loss that is allowed.
    seed
        Random seed of the order of the bets.

    Returns
    -------
    Certificate
        The steps, and the promise.

    Examples
    --------
    >>> rng = generator(0)
    >>> b, c = rng.random((2, 800))
    >>> found = certify(lambda safety: safety * b + (1 - safety) * c, b, Budget(0.05))
    >>> found.safety, found.words.partition(":")[0]
    (0.75, 'On queries like these F_Risk, the mean loss against the baseline, is at most 0.050 with 90 % confidence')
    """
    order = generator(seed).permutation(baseline.size)
    steps = np.stack([np.asarray(measure_at(safety), np.float64) for safety in PATH])
    p = np.full(len(PATH), np.nan)  # steps after a failure are not tested
    passed, largest = 0, budget.largest_loss(steps, baseline)
    for x in steps:
        p[passed] = budget.p_value(x[order], baseline[order], largest)
        if p[passed] > budget.error:
            break
        passed += 1
    safety = PATH[passed - 1] if passed else 1.0
    own = steps[passed - 1].mean() if passed else baseline.mean()
    cost = float(1 - own / steps[-1].mean()) if steps[-1].mean() > 0 else 0.0
    columns: dict[str, Column] = {
        "safety": list(PATH),
        "mean": steps.mean(axis=1),
        budget.of: [budget.measured(x, baseline) for x in steps],
        "p": p,
        "certified": np.arange(p.size) < passed,
    }
    approximate = {"approximate": True} if budget.approximate else {}
    stated = signature(
        "certificate", budget=budget.limit, of=budget.of, confidence=budget.confidence, **approximate,
        queries=baseline.size, seed=seed,
    )  # fmt: skip
    words = _words(budget, safety, cost, steps[passed] if passed < p.size else None, baseline, largest)
    return Certificate(stated, columns, budget=budget, safety=safety, cost=cost, queries=baseline.size, words=words)


def queries_needed(x: FloatArray, baseline: FloatArray, budget: Budget, largest: float = 1.0) -> int | None:
    """About how many queries like these would support the promise; None if these break the budget.

    The test is repeated on more and more copies of the queries, up to `MOST_QUERIES`.
    """
    if budget.measured(x, baseline) >= budget.limit:
        return None
    random = generator(0)
    size = max(budget.fewest_queries if largest == 1 else 1, x.size)
    while size < MOST_QUERIES:
        drawn = random.permutation(np.resize(np.arange(x.size), size))
        if budget.p_value(x[drawn], baseline[drawn], largest) <= budget.error:
            return size
        size = math.ceil(size * 1.25)
    return MOST_QUERIES


def _words(
    budget: Budget, safety: float, cost: float, next_step: FloatArray | None, baseline: FloatArray, largest: float
) -> str:
    promise = PROMISES[budget.of].format(limit=budget.limit, percent=100 * budget.limit)
    confidence = f"with {100 * budget.confidence:.0f} % confidence"
    if safety < 1:
        price = f"it costs {100 * cost:.1f} % of the mean, compared with the guard without a promise"
        assumed = "" if largest == 1 else f" {ASSUMED.format(largest=largest)}"
        return f"On queries like these {promise} {confidence}: {price}. {LIKE_THESE}{assumed}"
    fewest = budget.fewest_queries
    if baseline.size < fewest and largest == 1:
        return (
            f"No promise: {counted(baseline.size, 'query')} can't show {confidence} that {promise}, even if none "
            f"lost; the test needs {fewest:,} at least. The baseline's own ranking is kept."
        )
    needed = None if next_step is None else queries_needed(next_step, baseline, budget, largest)
    if needed is None:
        return (
            f"No promise: even the safest blend breaks the budget on these queries ({promise}), so the baseline stays."
        )
    about = "about" if needed < MOST_QUERIES else "more than"
    return (
        f"No promise: {counted(baseline.size, 'query')} are too few to show {confidence} that {promise}; the test of "
        f"the safest blend needs {about} {needed:,} like these. The baseline's own ranking is kept."
    )


def _test_mean(loss: FloatArray, baseline: FloatArray, budget: Budget, largest: float) -> float:
    return float(betting_p_value(loss / largest, budget.limit / largest, budget.error))


def _test_share(loss: FloatArray, baseline: FloatArray, budget: Budget, largest: float) -> float:
    """The binomial test, which is exact."""
    return binomial_cdf(int(np.count_nonzero(large_losses(-loss, baseline))), loss.size, budget.limit)


def _test_tail(loss: FloatArray, baseline: FloatArray, budget: Budget, largest: float) -> float:
    """If the tail's mean is above the limit B, then E max(L - t, 0) > TAIL (B - t) for every threshold t.

    So a bet against each of them is fair or worse, and so is their average, whose largest value counts: Rockafellar
    and Uryasev's form of the conditional value at risk.
    """
    thresholds = budget.limit * np.arange(THRESHOLDS) / THRESHOLDS
    means = TAIL * (budget.limit - thresholds) / (largest - thresholds)
    excess = np.maximum(loss - thresholds[:, np.newaxis], 0) / (largest - thresholds)[:, np.newaxis]
    average = np.logaddexp.reduce(fixed_capital(excess, means, budget.error), axis=0) - np.log(THRESHOLDS)
    return float(np.exp(-max(average.max(), 0.0)))


_TESTS: dict[str, Callable[[FloatArray, FloatArray, Budget, float], float]] = {
    "frisk": _test_mean,
    "loss20": _test_share,
    "tail": _test_tail,
}
