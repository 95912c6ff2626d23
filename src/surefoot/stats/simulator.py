"""Simulated test collections: scores of systems on topics with realistic margins and dependence, and known truth.

A Gaussian copula: each topic is a draw of correlated normal values, one for each system, which the systems' margins
turn into scores. So systems agree on easy and hard topics as far as the fitted ones do, and each keeps its own
distribution of scores, with its fraction of topics at 0 and at 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, counted, did_you_mean, listed
from surefoot.risk.distributions import beta_quantile, normal_cdf, probit
from surefoot.scores import Scores
from surefoot.stats.ranks import average_ranks


class Margin(Protocol):
    """The distribution of one system's scores over topics, as its quantile function."""

    def quantile(self, u: FloatArray) -> FloatArray:
        """The score below which a fraction u of the topics falls."""


@dataclass(frozen=True)
class ZeroInflatedBeta:
    """A fraction ``zero`` of the topics at 0, a fraction ``one`` at 1, the others beta(a, b).

    >>> ZeroInflatedBeta(zero=0.2, one=0.1, a=1.0, b=1.0).quantile(np.array([0.1, 0.55, 0.95]))
    array([0. , 0.5, 1. ])
    """

    zero: float
    one: float
    a: float
    b: float

    def __post_init__(self) -> None:
        if not (self.zero >= 0 and self.one >= 0 and self.zero + self.one <= 1 and self.a > 0 and self.b > 0):
            raise SurefootError(f"a margin needs fractions that add up to at most 1, and a, b above 0; got {self}")

    def quantile(self, u: FloatArray) -> FloatArray:
        points, scores = _beta_table(self.a, self.b)
        return _with_atoms(u, self.zero, self.one, lambda inner: np.interp(inner, points, scores))


@lru_cache(maxsize=64)
def _beta_table(a: float, b: float) -> tuple[FloatArray, FloatArray]:
    """The quantile function at 10,001 points: interpolation is 100 times faster than computing each score."""
    points = np.linspace(0, 1, 10_001)
    return points, beta_quantile(points, a, b)


@dataclass(frozen=True, eq=False)
class EmpiricalMargin:
    """The fractions at 0 and at 1 of a sample, and the quantiles between, interpolated linearly."""

    zero: float
    one: float
    between: FloatArray

    @classmethod
    def of(cls, sample: FloatArray) -> EmpiricalMargin:
        """The margin of a sample.

        >>> EmpiricalMargin.of(np.array([0.0, 0.2, 0.4, 1.0])).quantile(np.array([0.1, 0.5, 0.8]))
        array([0. , 0.3, 1. ])
        """
        between = np.sort(sample[(sample != 0) & (sample != 1)])
        return cls(float(np.mean(sample == 0)), float(np.mean(sample == 1)), between)

    def quantile(self, u: FloatArray) -> FloatArray:
        if not self.between.size:
            return np.where(u < self.zero, 0.0, 1.0)
        points = (np.arange(self.between.size) + 0.5) / self.between.size
        return _with_atoms(u, self.zero, self.one, lambda inner: np.interp(inner, points, self.between))


def _with_atoms(u: FloatArray, zero: float, one: float, between: Callable[[FloatArray], object]) -> FloatArray:
    rest = 1 - zero - one
    inner = np.clip((u - zero) / rest, 0, 1) if rest > 0 else u
    scores: FloatArray = np.asarray(between(inner), dtype=np.float64)
    scores[u < zero], scores[u >= 1 - one] = 0.0, 1.0
    return scores


TYPICAL = ZeroInflatedBeta(zero=0.17, one=0.0, a=0.34, b=1.08)
TYPICAL_CORRELATION = 0.54
"""Like ERR@20 of the 49 systems of TREC Web 2012: pooled moments, and the mean normal scores correlation."""


@dataclass(frozen=True)
class Change:
    """With probability ``fraction``, a topic's score of this system changes by ``amount``, within the scale."""

    system: str
    amount: float
    fraction: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise SurefootError(f"the share of topics that change must lie between 0 and 1; got {self.fraction:g}")
        if not np.isfinite(self.amount):
            raise SurefootError(f"the change of a score must be finite; got {self.amount:g}")


@dataclass(frozen=True, eq=False)
class Simulator:
    """Draws test collections; made by `fit` or `standard`, and planted with a known truth by `null` and `change`.

    ``fitted`` is the number of topics that it was fitted to, if it was.

    >>> simulator = Simulator.standard(["old", "new"]).change("new", amount=-0.2, fraction=0.1)
    >>> simulator.draw(topics=500, seed=1)
    Scores(2 systems × 500 topics of simulated)
    """

    systems: tuple[str, ...]
    margins: tuple[Margin, ...]
    correlation: FloatArray
    measure: str = "simulated"
    scale: tuple[float, float] = (0.0, 1.0)
    source: str = "built-in margins"
    changes: tuple[Change, ...] = ()
    fitted: int | None = None

    @classmethod
    def fit(cls, scores: Scores) -> Simulator:
        """The simulator of these systems: their own margins, and the shrunk correlation of their normal scores."""
        values = scores.values
        return cls(
            scores.systems,
            tuple(EmpiricalMargin.of(row) for row in values),
            shrunk(normal_scores(values)),
            scores.measure,
            (min(0.0, float(values.min())), max(1.0, float(values.max()))),
            f"fitted to {listed(scores.systems, most=3)} on {counted(len(scores.topics), 'topic')}",
            fitted=len(scores.topics),
        )

    @classmethod
    def standard(
        cls, systems: Sequence[str], margin: Margin = TYPICAL, correlation: float = TYPICAL_CORRELATION
    ) -> Simulator:
        """Exchangeable systems without any data: one margin, one correlation of the normal values for each pair."""
        count = len(systems)
        if not (count > 0 and correlation * max(count - 1, 1) > -1 and correlation <= 1):
            raise SurefootError(f"{count} systems cannot all have a correlation of {correlation:g} with each other")
        matrix = np.full((count, count), float(correlation))
        np.fill_diagonal(matrix, 1.0)
        return cls(tuple(systems), (margin,) * count, matrix)

    def null(self, *systems: str) -> Simulator:
        """The named systems (all, if none is named) made exchangeable: no system effect among them.

        All take the margin of the last named, and lose planted changes. Correlations are averaged over all orders of
        the named systems. The correlation of a pair stays, and so does their mean correlation with each other system.
        """
        group = [self._row(name) for name in systems or self.systems]
        margins = [self.margins[group[-1]] if row in group else margin for row, margin in enumerate(self.margins)]
        matrix = self.correlation.copy()
        matrix[group] = matrix[group].mean(axis=0)
        matrix[:, group] = matrix[group].T
        within = self.correlation[np.ix_(group, group)]
        pairs = max(len(group) * (len(group) - 1), 1)
        matrix[np.ix_(group, group)] = (within.sum() - np.trace(within)) / pairs
        np.fill_diagonal(matrix, 1.0)
        changes = tuple(change for change in self.changes if self._row(change.system) not in group)
        return replace(self, margins=tuple(margins), correlation=matrix, changes=changes)

    def change(self, system: str, amount: float, fraction: float = 1.0) -> Simulator:
        """A planted loss (amount below 0) or gain on a fraction of the topics; a shift, if the fraction is 1."""
        self._row(system)
        return replace(self, changes=(*self.changes, Change(system, float(amount), float(fraction))))

    def draw(self, topics: int, seed: int = 0) -> Scores:
        """A collection of this number of topics."""
        width = len(str(topics))
        names = (f"q{topic:0{width}}" for topic in range(1, topics + 1))
        note = f"simulated, seed {seed}: {self.source}"
        return Scores(self.values(topics, seed), self.systems, names, self.measure, [note])

    def values(self, topics: int, seed: int = 0) -> FloatArray:
        """The scores of a draw, systems × topics. Topics are independent, so any part of them is a collection too."""
        if topics < 1:
            raise SurefootError(f"a collection needs one topic or more; got {topics}")
        random = generator(seed)
        normal = _root(self.correlation) @ random.standard_normal((len(self.systems), topics))
        drawn = np.stack([margin.quantile(u) for margin, u in zip(self.margins, normal_cdf(normal), strict=True)])
        for change in self.changes:
            hit = random.random(topics) < change.fraction
            row = self._row(change.system)
            drawn[row] = np.clip(drawn[row] + change.amount * hit, *self.scale)
        return drawn

    def _row(self, system: str) -> int:
        if system not in self.systems:
            hint = did_you_mean(system, self.systems)
            raise SurefootError(f"no system {system!r} to simulate{hint}; there are {listed(self.systems)}")
        return self.systems.index(system)


def normal_scores(values: FloatArray) -> FloatArray:
    """Each row's ranks (ties share theirs) as normal quantiles: (rank - 1/2) / c through the inverse of Phi.

    >>> normal_scores(np.array([[0.3, 0.1, 0.1, 0.9]])).round(3)
    array([[ 0.319, -0.674, -0.674,  1.15 ]])
    """
    return probit((average_ranks(values) - 0.5) / values.shape[-1])


def shrunk(values: FloatArray) -> FloatArray:
    """The correlation of rows, drawn towards one common correlation as far as chance makes them differ.

    R = (1 - w) r + w (mean r), w = sum var(r_ij) / sum (r_ij - mean r)², at most 1, with var(r) = (1 - r²)² / (c - 1):
    the common target of Ledoit and Wolf (2004), the weight as Schäfer and Strimmer (2005) find theirs. A row that does
    not vary correlates with nothing.
    """
    rows, topics = values.shape
    deviation = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt(np.square(deviation).sum(axis=1, keepdims=True))
    unit = deviation / np.where(length > 0, length, 1.0)
    r = unit @ unit.T
    np.fill_diagonal(r, 1.0)
    if rows < 2:
        return np.asarray(r)
    pairs = r[np.triu_indices(rows, 1)]
    common, noise = pairs.mean(), np.square(1 - pairs**2).sum() / max(topics - 1, 1)
    spread = np.square(pairs - common).sum()
    weight = min(noise / spread, 1.0) if spread > 0 else 1.0
    result = (1 - weight) * r + weight * common
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)


def _root(matrix: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the given one; that may be singular, as for equal systems."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
