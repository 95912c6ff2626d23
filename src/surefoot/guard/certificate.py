"""A promise about queries that nobody has seen: learn a guard on some queries, then test how bold it may be on others.

The path leads from the baseline's own ranking, which loses nothing, to the guard as it was fitted. Its steps are tested
in this order, each at the same error, and the first that fails ends it: whatever the number of steps, a step that
breaks the budget is certified with at most that probability (fixed-sequence testing: Angelopoulos, Bates, Candès,
Jordan and Lei, *Learn then test*). The tests are bets, see `surefoot.stats.betting`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from surefoot._random import generator
from surefoot._scipy import special
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, counted
from surefoot.results import Result, signature
from surefoot.risk.statistics import Tail, large_losses
from surefoot.stats.betting import betting_p_value

PATH = tuple(round(1 - step / 20, 2) for step in range(1, 21))
"""How far the steps are from the fitted guard towards the baseline, from safe to bold; the last is the guard itself."""

TAIL = 0.1
"""The fraction of queries in the tail."""

MOST_QUERIES = 100_000
"""How many queries are thought of when it is asked how many would be enough."""

LEAST_LIMIT = 1e-4
"""Below it no test set in reach would do."""

ROUNDING = 1e-9
"""How far a loss may pass 1 by rounding."""

THRESHOLDS = 8
"""Losses from which a tail is looked at, from 0 to below the budget."""


@dataclass(frozen=True)
class Budget:
    """How much may be lost against the baseline, and how sure one wants to be.

    ``of`` is ``frisk`` (the mean loss), ``loss20`` (the fraction of queries that lose more than 20 %) or ``tail`` (the
    mean loss of the worst tenth of queries).

    >>> Budget(0.01)
    Budget(limit=0.01, of='frisk', confidence=0.9)
    """

    limit: float
    of: str = "frisk"
    confidence: float = 0.9

    def __post_init__(self) -> None:
        choose(self.of, PROMISES, "the measure of a budget")
        if not LEAST_LIMIT <= self.limit < 1:
            raise SurefootError(f"a budget must lie between {LEAST_LIMIT:g} and 1; got {self.limit:g}")
        if not 0 < self.confidence < 1:
            raise SurefootError(f"the confidence must lie between 0 and 1; got {self.confidence:g}")

    @property
    def error(self) -> float:
        """The probability with which the promise may be broken."""
        return 1 - self.confidence

    def p_value(self, x: FloatArray, baseline: FloatArray) -> float:
        """The p value of the hypothesis that the budget is broken, by the metric on queries drawn at random."""
        loss = np.maximum(baseline - x, 0.0)
        largest = float(loss.max(initial=0.0))
        if largest > 1 + ROUNDING:
            raise SurefootError(
                f"a query lost {largest:g}; a budget is tested for measures between 0 and 1, so choose one of these"
            )
        return _TESTS[self.of](np.minimum(loss, 1.0), baseline, self)

    def measured(self, x: FloatArray, baseline: FloatArray) -> float:
        """What was lost on these queries."""
        loss = np.maximum(baseline - x, 0.0)
        if self.of == "frisk":
            return float(loss.mean())
        if self.of == "loss20":
            return float(large_losses(-loss, baseline).mean())
        return -float(Tail.of(-loss, np.zeros_like(loss), fraction=TAIL).value)

    @cached_property
    def fewest_queries(self) -> int:
        """The number of queries below which the promise can't be made even if none of them loses."""
        low, high = 0, 1
        while not self._is_told_by(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_told_by(middle) else (middle, high)
        return high

    def _is_told_by(self, queries: int) -> bool:
        same = np.full(queries, 0.5)
        return self.p_value(same, same) <= self.error


LIKE_THESE = (
    "Queries like these are drawn at random from where these came from (they are exchangeable); another mix of "
    "queries, or other judgments, is not covered."
)
PROMISES: Mapping[str, str] = {
    "frisk": "F_Risk, the mean loss against the baseline, is at most {limit:.3f}",
    "loss20": "at most {limit:.1%} of queries lose more than 20 % against the baseline",
    "tail": "the worst tenth of queries loses at most {limit:.3f} on average against the baseline",
}


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """The steps of the path with their tests, and which of them is promised.

    ``safety`` is that of the boldest step that passed, 1 (the baseline's own ranking) if none did; ``cost`` what it
    costs of the fitted guard's mean, as a fraction; ``words`` says all of it.
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
    """Find the boldest step of the path whose loss is within a budget.

    Parameters
    ----------
    measure_at
        From a safety (1: the baseline's ranking, 0: the guard as it was fitted) to the metric of each query. The
        queries must have had no part in fitting the guard.
    baseline
        The baseline's metric of each query.
    budget
        What may be lost.
    seed
        Of the order in which the queries are bet on; their order in the input says nothing then.

    Returns
    -------
    Certificate
        The steps, and the one that is promised.

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
    p = np.full(len(PATH), np.nan)  # what comes after a failure is not tested
    passed = 0
    for x in steps:
        p[passed] = budget.p_value(x[order], baseline[order])
        if p[passed] > budget.error:
            break
        passed += 1
    safety = PATH[passed - 1] if passed else 1.0
    own = steps[passed - 1].mean() if passed else baseline.mean()
    cost = float(1 - own / steps[-1].mean()) if steps[-1].mean() > 0 else 0.0
    columns = {
        "safety": list(PATH),
        "mean": steps.mean(axis=1),
        budget.of: [budget.measured(x, baseline) for x in steps],
        "p": p,
        "certified": np.arange(p.size) < passed,
    }
    stated = signature(
        "certificate", budget=budget.limit, of=budget.of, confidence=budget.confidence, queries=baseline.size, seed=seed
    )
    words = _words(budget, safety, cost, steps[passed] if passed < p.size else None, baseline)
    return Certificate(stated, columns, budget=budget, safety=safety, cost=cost, queries=baseline.size, words=words)


def queries_needed(x: FloatArray, baseline: FloatArray, budget: Budget) -> int | None:
    """About how many queries like these would be enough, or None if they break the budget themselves.

    The test is repeated on ever more copies of the queries, up to `MOST_QUERIES`.
    """
    if budget.measured(x, baseline) >= budget.limit:
        return None
    random = generator(0)
    size = max(budget.fewest_queries, x.size)
    while size < MOST_QUERIES:
        drawn = random.permutation(np.resize(np.arange(x.size), size))
        if budget.p_value(x[drawn], baseline[drawn]) <= budget.error:
            return size
        size = math.ceil(size * 1.25)
    return MOST_QUERIES


def _words(budget: Budget, safety: float, cost: float, next_step: FloatArray | None, baseline: FloatArray) -> str:
    promise = PROMISES[budget.of].format(limit=budget.limit)
    confidence = f"with {budget.confidence:.0%} confidence".replace("%", " %")
    if safety < 1:
        price = f"it costs {cost:.1%} of the mean beside the guard without a promise".replace("%", " %")
        return f"On queries like these {promise} {confidence}: {price}. {LIKE_THESE}"
    fewest = budget.fewest_queries
    if baseline.size < fewest:
        return (
            f"No promise: that {promise} can't be told {confidence} from {counted(baseline.size, 'query')}, even if "
            f"none lost; {fewest:,} at least are needed for the test. The baseline's own ranking is kept."
        )
    needed = None if next_step is None else queries_needed(next_step, baseline, budget)
    if needed is None:
        return (
            f"No promise: even the safest blend breaks the budget on these queries ({promise}), so the baseline stays."
        )
    about = "about" if needed < MOST_QUERIES else "more than"
    return (
        f"No promise: {counted(baseline.size, 'query')} are too few to tell {confidence} that {promise}; {about} "
        f"{needed:,} like these are needed for the test of the safest blend. The baseline's own ranking is kept."
    )


def _test_mean(loss: FloatArray, baseline: FloatArray, budget: Budget) -> float:
    return float(betting_p_value(loss, budget.limit, budget.error))


def _test_share(loss: FloatArray, baseline: FloatArray, budget: Budget) -> float:
    """The binomial test, which is exact."""
    return float(special.bdtr(np.count_nonzero(large_losses(-loss, baseline)), loss.size, budget.limit))


def _test_tail(loss: FloatArray, baseline: FloatArray, budget: Budget) -> float:
    """If the tail's mean is above the limit B, then E max(L - t, 0) > TAIL (B - t) for every threshold t.

    So a bet against each of them is fair or worse, and so is their average: Rockafellar and Uryasev's form of the
    conditional value at risk.
    """
    thresholds = budget.limit * np.arange(THRESHOLDS) / THRESHOLDS
    means = TAIL * (budget.limit - thresholds) / (1 - thresholds)
    p = [
        float(betting_p_value(np.maximum(loss - threshold, 0) / (1 - threshold), mean, budget.error))
        for threshold, mean in zip(thresholds, means, strict=True)
    ]
    return min(1.0, 1 / float(np.mean(1 / np.array(p))))


_TESTS: dict[str, Callable[[FloatArray, FloatArray, Budget], float]] = {
    "frisk": _test_mean,
    "loss20": _test_share,
    "tail": _test_tail,
}
