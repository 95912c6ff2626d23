"""The evidence "as far as seen": bounds that are calibrated on pairs of real rankers, and that decide on fifty queries.

A rule *fails* if the loss that was seen is beyond its limit, and a change without effect would seldom look as bad
(p at most the level). It *passes* if the loss is within the limit with a probability of at least 1 - 3 x level (mean
and segments) or 1 - 1.5 x level (tail). Between the two it is undecided. docs/studies/gate.md measures how often that
is wrong.

Without an effect, candidate and baseline are exchangeable: the trials of a query can be permuted between the systems.
With one trial each, a permutation keeps or flips the sign of the query's difference. A statistic is compared with its
distribution over many permutations; no assumption about the distribution of scores is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, sqrt

import numpy as np

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.release_gate.checker import Checker, Statistic, tail_of, two_digits, worst_loss
from surefoot.release_gate.finding import MOST_QUERIES, SHOWN, SLACK, Finding, Resolution, ScoredPair, Verdict
from surefoot.risk.distributions import normal_cdf, normal_quantile, student_p
from surefoot.risk.moments import Moments, tail_count
from surefoot.stats.inference import POWER

FEWEST_QUERIES = 20
"""With fewer queries nothing passes: the worst tenth would be one query."""
MEAN_FACTOR, TAIL_FACTOR = 3, 1.5
"""A rule passes if the loss is beyond its limit with a probability of at most this many times the level."""
MEAN_SHARE, LOSSES_SHARE = 0.8, 0.2
"""The parts of the level for failing by mean and tail, and by shares of losses; together they keep the level."""
FEW_PERMUTATIONS = 400
"""The number of permutations for each of many draws of grades."""
PERMUTATIONS, FEWEST, CELLS = 4000, 200, 20_000_000
"""The number of permutations, at most and at least, and the number of scores permuted in all."""
MOST_FLIPPED = 5000
"""With more changed queries than this, sums over random signs are approximated by a normal distribution."""
PRIOR = 3
"""The standard deviation of the prior of a mean loss, in units of its limit."""


@dataclass(frozen=True)
class Contrast:
    """A statistic less its mean under no effect (``value``), its spread under no effect, and its one-sided p."""

    value: float
    spread: float
    p: float


@dataclass(frozen=True)
class Contrasts:
    """The contrasts of a pair: of its mean loss, and of its tail (see `tail_of`)."""

    mean: Contrast
    tail: Contrast


def contrasts(pair: ScoredPair, tail_share: float, n_permutations: int = PERMUTATIONS, seed: int = 0) -> Contrasts:
    """The mean loss and the tail of a pair against their distributions under no effect; no tail if its share is 0."""
    count = int(tail_count(len(pair.topics), tail_share))
    if pair.has_repeats:
        return _by_permutation(pair, count, n_permutations, seed)
    size = np.sort(np.abs(pair.delta))[::-1]
    size = size[size > 0]
    mean, tail = float(pair.loss.mean()), tail_of(pair.loss, count)
    if len(size) > MOST_FLIPPED:
        return Contrasts(_normal(mean, size / len(pair.topics)), _normal(tail, _tail_weights(size, count)))
    means, tails = _flipped(size, len(pair.topics), count, n_permutations, seed)
    is_complete = len(means) == 2 ** len(size)
    return Contrasts(_contrast(mean, means, 0.0, is_complete), _contrast(tail, tails, 0.0, is_complete))


def _flipped(size: FloatArray, topics: int, count: int, most: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Mean loss and tail under random signs, or under all combinations of signs if these are few.

    The sizes are sorted, so that the order of topics plays no role.
    """
    if 2 ** len(size) <= most:
        lost = (np.arange(2 ** len(size))[:, None] >> np.arange(len(size))) & 1 == 1
    else:
        lost = generator(seed).integers(0, 2, (max(FEWEST, min(most, CELLS // len(size))), len(size)), np.int8) == 1
    means = np.where(lost, size, -size).sum(axis=1) / topics
    if not count:
        return means, np.zeros(len(means))
    worst = lost & (np.cumsum(lost, axis=1, dtype=np.int32) <= count)
    best = ~lost & (np.cumsum(~lost, axis=1, dtype=np.int32) <= count)
    return means, (worst.astype(np.float64) - best) @ size / count


def _tail_weights(size: FloatArray, count: int) -> FloatArray:
    """The part of each size in the tail if it is a loss: its excess over the largest size that is in neither tail."""
    if not count:
        return np.zeros(1)
    threshold = size[2 * count] if len(size) > 2 * count else 0.0
    return np.asarray(np.maximum(size - threshold, 0.0) / count)


def _normal(value: float, weights: FloatArray) -> Contrast:
    spread = float(np.sqrt(weights @ weights))
    return Contrast(value, spread, float(normal_cdf(-value / spread)) if spread else float(value <= SLACK))


def _contrast(value: float, null: FloatArray, centre: float = 0.0, is_complete: bool = False) -> Contrast:
    """The contrast with the values under permutations; a p too small for their number is that of a normal variable."""
    spread = float(np.sqrt(np.mean((null - centre) ** 2)))
    larger = int(np.sum(null >= value - SLACK))
    p = larger / len(null) if is_complete else (1 + larger) / (1 + len(null))
    if not larger:
        p = min(p, float(normal_cdf((centre - value) / max(spread, SLACK))))
    return Contrast(value - centre, spread, p)


def _by_permutation(pair: ScoredPair, count: int, most: int, seed: int) -> Contrasts:
    """With repeats the worst loss itself is permuted: the noise is known, so that gains need not mirror it."""
    found = [(float(loss.mean()), worst_loss(loss, count)) for loss in _permuted(pair, most, seed)]
    means, worst = np.array(found).T
    tail = _contrast(worst_loss(pair.loss, count), worst, float(worst.mean()))
    return Contrasts(_contrast(float(pair.loss.mean()), means), tail)


def _permuted(pair: ScoredPair, most: int, seed: int) -> Iterator[FloatArray]:
    """The loss of each topic with its trials permuted; topics are ordered by their scores, not by name."""
    own, base = pair.trials
    pooled = np.sort(np.concatenate([own, base]), axis=0)
    counts = np.array([np.sum(~np.isnan(one), axis=0) for one in (own, base)])
    order = np.lexsort((*counts, *pooled))
    pooled, (of_own, of_base) = pooled[:, order], counts[:, order]
    place = np.arange(len(pooled))[:, None]
    random = generator(seed)
    for _ in range(max(FEWEST, min(most, CELLS // pooled.size))):
        keys = np.where(np.isnan(pooled), np.inf, random.random(pooled.shape))
        permuted = np.nan_to_num(np.take_along_axis(pooled, np.argsort(keys, axis=0), axis=0))
        to_own = np.where(place < of_own, permuted, 0.0).sum(axis=0)
        yield (permuted.sum(axis=0) - to_own) / of_base - to_own / of_own


@dataclass(frozen=True)
class Evidence:
    """The evidence on one loss: the estimate and its standard error.

    ``probability`` is that of a loss within the limit, ``p`` that of a loss at least as large if there is no effect.
    """

    loss: float
    error: float
    probability: float
    p: float

    @classmethod
    def average(cls, evidence: Sequence[Evidence]) -> Evidence:
        """The evidence over several draws of the grades; the spread between them adds to the error."""
        loss, error, probability, p = np.array([(one.loss, one.error, one.probability, one.p) for one in evidence]).T
        total = sqrt(float(np.mean(error**2) + np.var(loss)))
        return cls(float(loss.mean()), total, float(probability.mean()), float(p.mean()))

    def bound(self, level: float, side: int) -> float:
        """A one-sided bound of the loss at a level: lower for side -1, upper for side 1."""
        return self.loss + side * normal_quantile(1 - level) * self.error


def mean_evidence(loss: FloatArray, limit: float, p: float) -> Evidence:
    """The evidence on a mean loss: Student's t with two pseudo-observations and a little shrinkage.

    The pseudo-observations lose and win as much as any query did, so that a sample without a large loss does not rule
    one out. The shrinkage is that of a normal prior with a standard deviation of `PRIOR` limits.
    """
    n, largest = len(loss), float(np.abs(loss).max())
    mean = float(loss.sum()) / (n + 2)
    squares = float(loss @ loss) + 2 * largest**2 - (n + 2) * mean**2
    variance = max(squares / (n + 1) / (n + 2), SLACK**2)
    shrinkage = (PRIOR * limit) ** 2 / ((PRIOR * limit) ** 2 + variance) if limit else 1.0
    error = sqrt(variance * shrinkage)
    return Evidence(float(loss.mean()), error, _student_cdf((limit - mean * shrinkage) / error, n + 1), p)


def tail_evidence(limit: float, contrast: Contrast) -> Evidence:
    """The evidence on the tail, whose spread is that of a change without effect."""
    spread = max(contrast.spread, SLACK)
    return Evidence(contrast.value, spread, float(normal_cdf((limit - contrast.value) / spread)), contrast.p)


def share_evidence(lost: int, of: int, limit: float, p: float) -> Evidence:
    """The evidence on a share: normal, after one more success and failure (Agresti and Coull)."""
    share = (lost + 1) / (of + 2)
    error = sqrt(share * (1 - share) / (of + 2))
    return Evidence(lost / of if of else 0.0, error, float(normal_cdf((limit - share) / error)), p)


def one_sided_p(loss: FloatArray) -> float:
    """The one-sided p of Student's test of a mean loss of 0."""
    moments = Moments.of(loss)
    if np.isnan(moments.t):
        return float(len(loss) < 2 or moments.mean <= 0)
    return 1 - _student_cdf(float(moments.t), len(loss) - 1)


def _student_cdf(t: float, df: float) -> float:
    half = float(student_p(t, df)) / 2
    return half if t < 0 else 1 - half


def sign_test(lost: int, won: int) -> float:
    """The probability of at least this number of losses, if each changed query loses with probability 1/2."""
    of = lost + won
    if of > 1000:
        return float(normal_cdf((of / 2 - lost + 0.5) / sqrt(of / 4)))
    return float(sum(comb(of, number) for number in range(lost, of + 1)) / 2**of)


@dataclass(frozen=True)
class SeenChecker(Checker):
    """Checks one pair by the rules on a sample; with ``draws`` of the differences, by the average over these.

    A gate fails if any of its comparisons does, so each has its part of the level for failing. A candidate among
    several that were tried has its part of the level for passing.
    """

    n_permutations: int = PERMUTATIONS
    draws: FloatArray | None = None

    def findings_of(self, rule: str) -> list[Finding]:
        """The findings of a rule: one, or one for each segment; with draws, by the average evidence over these."""
        if self.draws is None or rule == "churn":
            return super().findings_of(rule)
        drawn = [[checker.evidence(one) for one in checker.statistics(rule)] for checker in self._drawn]
        averages = [Evidence.average(own) for own in zip(*drawn, strict=True)]
        return [
            self._by(own, _as_drawn(one, own.loss)) for one, own in zip(self.statistics(rule), averages, strict=True)
        ]

    @cached_property
    def _drawn(self) -> list[SeenChecker]:
        rows = np.empty((0, 0)) if self.draws is None else self.draws
        return [
            replace(self, pair=self.pair.with_delta(row), n_permutations=FEW_PERMUTATIONS, draws=None) for row in rows
        ]

    @cached_property
    def noise(self) -> Contrasts:
        """Mean loss and tail against their distributions under no effect."""
        share = self.rules.tail_share if "tail" in self.rules_on else 0.0
        return contrasts(self.pair, share, self.n_permutations, self.seed)

    def tail_loss(self) -> float:
        """What the worst queries lost, more than the best ones won, or with repeats more than chance explains."""
        return self.noise.tail.value

    def evidence(self, one: Statistic) -> Evidence:
        """The evidence on a loss."""
        limit = self.rules.limit(one.option)
        if one.kind == "tail":
            return tail_evidence(limit, self.noise.tail)
        if one.kind == "share":
            lost = int(one.values.sum())
            return share_evidence(lost, one.values.size, limit, sign_test(lost, one.won))
        if one.rule == "risk":
            return mean_evidence(one.values, limit, one_sided_p(one.values))
        noise = self.noise
        if one.where is not None:
            noise = contrasts(self.pair.at((self.groups or {})[one.where]), 0.0, self.n_permutations, self.seed)
        return mean_evidence(one.values, limit, noise.mean.p)

    def _churn(self, one: Statistic) -> Finding:
        """Churn is a fact about these queries, within the limit or not."""
        limit = self.rules.max_churn or 0.0
        verdict: Verdict = "fail" if one.mean > limit + SLACK else "pass"
        return self._new_finding(one, verdict, f"{one.claim}; the limit is {100 * limit:g} %.", loss=one.mean)

    def fail_level(self, one: Statistic | None = None) -> float:
        """The level at which a rule (by default the mean) fails."""
        share = LOSSES_SHARE if one is not None and one.kind == "share" else MEAN_SHARE
        families = 1 + sum(rule in self.rules_on for rule in ("risk", "segments"))
        return share * self.rules.level / self.n_tests / families / (1 if one is None else one.parts)

    def pass_level(self, factor: float = MEAN_FACTOR) -> float:
        """The largest probability of a loss beyond the limit with which a rule passes."""
        return min(factor * self.rules.level, 0.49) * self.question.part

    def _pass_level_of(self, one: Statistic) -> float:
        return self.pass_level(TAIL_FACTOR if one.kind == "tail" else MEAN_FACTOR)

    def _judge(self, one: Statistic) -> Finding:
        return self._churn(one) if one.rule == "churn" else self._by(self.evidence(one), one)

    def _by(self, evidence: Evidence, one: Statistic) -> Finding:
        """The verdict on a loss: beyond its limit and more than noise, probably within it, or neither."""
        limit, level = self.rules.limit(one.option), self._pass_level_of(one)
        verdict = self._decide(one, evidence)
        ending = {
            "pass": f", within the limit of {limit:g}" if evidence.loss >= SHOWN and one.kind != "share" else "",
            "undecided": f". The probability that {_within(one, limit)} is {evidence.probability:.2f}",
            "fail": f", beyond the limit of {limit:g}{'' if one.rule == 'risk' else ' and not by chance'}",
        }
        return self._new_finding(
            one, verdict, f"{one.claim}{ending[verdict]}.", loss=evidence.loss, low=evidence.bound(level, -1),
            high=evidence.bound(level, 1), probability=evidence.probability, p=evidence.p,
            more_queries=self._more_queries(one, evidence) if verdict == "undecided" else None,
        )  # fmt: skip

    def _decide(self, one: Statistic, evidence: Evidence) -> Verdict:
        limit = self.rules.limit(one.option)
        if one.may_fail and evidence.loss > limit + SLACK and evidence.p <= self.fail_level(one):
            return "fail"
        if self.is_reported(one):
            return "pass"
        enough = len(self.pair.topics) >= FEWEST_QUERIES and evidence.loss <= limit + SLACK
        return "pass" if enough and evidence.probability >= 1 - self._pass_level_of(one) else "undecided"

    def _more_queries(self, one: Statistic, evidence: Evidence) -> int | None:
        """About how many more queries like these decide with a probability of 0.8, by the rule's own bounds.

        The true loss is not known: the probability is taken over the losses that the evidence leaves possible.
        """
        n, limit = len(self.pair.topics), self.rules.limit(one.option)
        passing, failing = (normal_quantile(1 - level) for level in (self._pass_level_of(one), self.fail_level(one)))

        def decided(total: float) -> float:
            error = evidence.error * sqrt(n / total)
            spread = sqrt(evidence.error**2 + error**2)
            passed, failed = limit - passing * error, max(limit, failing * error)
            below, above = (passed - evidence.loss) / spread, (evidence.loss - failed) / spread
            return float(normal_cdf(below) + normal_cdf(above))

        low, high = float(n), float(n + MOST_QUERIES)
        if decided(high) < POWER:
            return None
        while high - low > max(1.0, 0.02 * (high - n)):
            middle = (low + high) / 2
            low, high = (low, middle) if decided(middle) >= POWER else (middle, high)
        return two_digits(max(high - n, FEWEST_QUERIES - n, 1))

    def severity(self, finding: Finding) -> float:
        return -(finding.probability or 0.0)

    def resolution(self) -> Resolution:
        """The smallest loss of the mean that fails in 80 % of gates, and the queries at which no effect passes in 80 %.

        Both hold for differences with the spread of these.
        """
        spread, limit = float(np.nan_to_num(Moments.of(self.pair.loss).sd)), self.rules.limit("mean_tolerance")
        n = len(self.pair.topics)
        shown = resolution_of(n, spread, limit, self.fail_level(), self.pass_level())
        return Resolution(n, limit, FEWEST_QUERIES, *shown)


def _as_drawn(one: Statistic, loss: float) -> Statistic:
    """A statistic whose sentence also has the mean loss over the drawn grades, which the verdict rests on."""
    word = "gain" if loss <= -SHOWN else "loss"
    shown = f"{100 * loss:.0f} %" if one.kind == "share" else f"a {word} of {abs(loss):.4f}"
    return replace(one, claim=f"{one.claim} as judged, {shown} on average over the drawn grades")


def resolution_of(n: int, spread: float, limit: float, fail_level: float, pass_level: float) -> tuple[float, int]:
    """The smallest loss that n queries show, and the queries needed, for differences of a spread; docs/calculator.html.

    >>> [round(value, 4) for value in resolution_of(50, 0.2, 0.02, 0.04, 0.15)]
    [0.0733, 352]
    """
    error, power = spread / sqrt(n), normal_quantile(POWER)
    failing, passing = (normal_quantile(1 - level) for level in (fail_level, pass_level))
    needed = ((passing + power) * spread / limit) ** 2 if limit else float("inf")
    return max(failing * error, limit) + power * error, int(max(min(needed, 1e9), FEWEST_QUERIES))


def _within(one: Statistic, limit: float) -> str:
    """The clause that says that a statistic is within its limit."""
    if one.kind == "share":
        return f"at most {100 * limit:g} % do so among queries like these"
    if one.kind == "tail":
        return f"this difference is at most {limit:g}"
    return f"it is at least {-limit:g}" if one.rule == "risk" else f"it does not fall by more than {limit:g}"
