"""What a rule found, and the pair of systems that it looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from surefoot._typing import FloatArray
from surefoot.scores import Scores

Verdict = Literal["pass", "undecided", "fail"]
VERDICTS: tuple[Verdict, ...] = ("pass", "undecided", "fail")
"""From best to worst."""

Groups = Mapping[str, Sequence[str]]
"""The topics of each segment."""

SLACK = 1e-9
"""Slack for rounding errors, so that a loss of exactly the limit is within it."""

MOST_QUERIES = 100_000
"""The gate does not ask for more queries than that."""


@dataclass(frozen=True)
class Finding:
    """What one rule found; fields that do not apply are None.

    Attributes
    ----------
    loss, low, high, limit
        The loss that the rule bounds, its interval, and the limit.
    probability
        The probability that the loss is within the limit, among queries like these.
    where
        The query or segment that the loss belongs to.
    more_queries
        About how many more queries like these would decide, with a probability of 0.8.
    documents
        Unjudged documents, as topic and document, that could change the verdict.
    p
        How often a change without effect would look as bad.
    """

    rule: str
    measure: str
    baseline: str
    verdict: Verdict
    sentence: str
    loss: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    probability: float | None = None
    where: str | None = None
    more_queries: int | None = None
    documents: tuple[tuple[str, str], ...] = ()
    p: float | None = None

    @property
    def leans(self) -> Literal["for", "against"] | None:
        """Which verdict an undecided finding is nearer to; a loss that only unjudged documents could undo is a loss."""
        if self.verdict != "undecided" or (self.probability is None and not self.documents):
            return None
        return "for" if (self.probability or 0.0) >= 0.5 else "against"


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; ``pass`` if there are none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


@dataclass(frozen=True)
class Resolution:
    """What a number of queries can show.

    ``smallest_loss`` of the mean fails in 80 % of gates; a candidate without effect passes in 80 % of gates from
    ``needed`` queries on (None with strict evidence); ``fewest`` queries are needed to pass anything.
    """

    queries: int
    tolerance: float
    fewest: int
    smallest_loss: float | None = None
    needed: int | None = None


@dataclass(frozen=True)
class ScoredPair:
    """The scores of a candidate (``own``) and of a baseline (``base``) on the same topics.

    ``own_trials`` and ``base_trials`` hold a row for each trial where the systems were run several times; ``own`` and
    ``base`` are then the means over the trials.
    """

    candidate: str
    baseline: str
    measure: str
    topics: tuple[str, ...]
    own: FloatArray
    base: FloatArray
    own_trials: FloatArray | None = None
    base_trials: FloatArray | None = None

    @classmethod
    def of(cls, scores: Scores, candidate: str, baseline: str) -> ScoredPair:
        """The pair of two systems; the baseline may also be MEAN, MEDIAN or MAX of each topic."""
        own, base = scores[candidate], scores.baseline(baseline)
        trials = [scores.trials.get(name) for name in (candidate, baseline)]
        return cls(candidate, baseline, scores.measure, scores.topics, own, base, *trials)

    @cached_property
    def delta(self) -> FloatArray:
        """Candidate minus baseline, for each topic."""
        return self.own - self.base

    @cached_property
    def loss(self) -> FloatArray:
        """What each topic lost; negative is a gain."""
        return self.base - self.own

    @property
    def has_repeats(self) -> bool:
        """Whether a system was run more than once."""
        return any(trials is not None and len(trials) > 1 for trials in (self.own_trials, self.base_trials))

    @property
    def trials(self) -> tuple[FloatArray, FloatArray]:
        """The trials of candidate and baseline, trials × topics; a system without repeats has one."""
        own = self.own[None] if self.own_trials is None else self.own_trials
        return own, self.base[None] if self.base_trials is None else self.base_trials

    def at(self, topics: Iterable[str]) -> ScoredPair:
        """The same pair on some of the topics."""
        index = {topic: number for number, topic in enumerate(self.topics)}
        rows = [index[topic] for topic in topics]
        cut = [None if one is None else one[:, rows] for one in (self.own_trials, self.base_trials)]
        names = tuple(self.topics[row] for row in rows)
        return ScoredPair(self.candidate, self.baseline, self.measure, names, self.own[rows], self.base[rows], *cut)

    def with_delta(self, delta: FloatArray) -> ScoredPair:
        """The same baseline with other differences, as other judgments would give them."""
        return ScoredPair(self.candidate, self.baseline, self.measure, self.topics, self.base + delta, self.base)

    @property
    def is_binary(self) -> bool:
        """Whether all scores of single trials are 0 or 1."""
        return all(bool(np.isin(one[~np.isnan(one)], (0.0, 1.0)).all()) for one in self.trials)
