"""What a rule found, and the pair of systems that it looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from surefoot._typing import FloatArray
from surefoot.errors import counted
from surefoot.scores import Scores

Verdict = Literal["pass", "undecided", "fail"]
VERDICTS: tuple[Verdict, ...] = ("pass", "undecided", "fail")
"""From best to worst."""

Groups = Mapping[str, Sequence[str]]
"""The topics of each segment."""

SLACK = 1e-9
"""Slack for rounding errors, so that a loss of exactly the limit is within it."""

SHOWN = 5e-5
"""Smaller changes are reported as no change."""

HELD_OUT = "held-out"
"""The rule of the finding on held-out queries."""

MOST_QUERIES = 100_000
"""The largest number of further queries that the gate asks for."""


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
        """The verdict that an undecided finding is nearer to; against, if only unjudged documents could undo a loss."""
        if self.verdict != "undecided" or (self.probability is None and not self.documents):
            return None
        return "for" if (self.probability or 0.0) >= 0.5 else "against"

    @property
    def may_end_in_a_fail(self) -> bool:
        """Whether more queries like these would fail an undecided finding rather than pass it."""
        if self.probability is None and self.loss is not None and self.limit is not None:
            return self.verdict == "undecided" and self.loss > self.limit + SLACK
        return self.leans == "against"


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; ``pass`` if there are none."""
    return max(verdicts, key=VERDICTS.index, default="pass")


@dataclass(frozen=True)
class Resolution:
    """What a number of queries can show.

    ``smallest_loss`` of the mean fails in 80 % of gates; a candidate without effect passes in 80 % of gates from
    ``needed`` queries on (None with strict evidence; on average with sequential); ``fewest`` queries are needed to pass
    anything.
    """

    queries: int
    tolerance: float
    fewest: int
    smallest_loss: float | None = None
    needed: int | None = None

    def brief(self, rule: str) -> str | None:
        """Why this number of queries leaves a rule undecided, as a clause; None if the finding says it better."""
        if self.queries < self.fewest:
            return f"a pass needs at least {counted(self.fewest, 'query')}"
        if rule != "mean":  # the other numbers are about the mean
            return None
        if self.smallest_loss is not None:
            return f"{counted(self.queries, 'query')} can show losses of {self.smallest_loss:.2f} or more"
        is_early = self.needed is not None and self.queries < self.needed
        return f"a candidate without effect passes after {self._needed} queries" if is_early else None

    def __str__(self) -> str:
        if self.smallest_loss is None and self.needed is not None:
            return f"A candidate without effect, with this spread of differences, passes after {self._needed} queries."
        fewest = f"A pass needs at least {counted(self.fewest, 'query')}"
        if self.smallest_loss is None or not self.tolerance:
            return f"{fewest}; there are {self.queries:,}."
        if self.queries < self.fewest:
            return f"{fewest}."
        return (
            f"With {counted(self.queries, 'query')} and this spread of differences, the gate finds a loss of "
            f"{self.smallest_loss:.3f} in 80 % of cases. From {self._needed} queries on, a candidate without effect "
            f"passes in 80 % of cases (tolerance {self.tolerance:g}). {fewest}."
        )

    @property
    def _needed(self) -> str:
        needed = self.needed or 0
        return f"about {needed:,}" if needed < MOST_QUERIES else f"more than {MOST_QUERIES:,}"


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

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The index of each topic."""
        return {topic: row for row, topic in enumerate(self.topics)}

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
        rows = [self.row_of[topic] for topic in topics]
        cut = [None if one is None else one[:, rows] for one in (self.own_trials, self.base_trials)]
        names = tuple(self.topics[row] for row in rows)
        return ScoredPair(self.candidate, self.baseline, self.measure, names, self.own[rows], self.base[rows], *cut)

    def with_delta(self, delta: FloatArray, base: FloatArray | None = None) -> ScoredPair:
        """The pair with other differences, and perhaps other baseline scores, as other judgments would give them."""
        base = self.base if base is None else base
        return ScoredPair(self.candidate, self.baseline, self.measure, self.topics, base + delta, base)

    @property
    def is_binary(self) -> bool:
        """Whether all scores of single trials are 0 or 1."""
        return all(bool(np.isin(one[~np.isnan(one)], (0.0, 1.0)).all()) for one in self.trials)


class Question(NamedTuple):
    """How many candidates were tested on these topics, this one included, and which of them was accepted last.

    The k-th candidate, tested when the i-th was the last to be accepted, gets the part 1 / ((i + 1) (i + 2)) times
    1 / (g (g + 1)) of the level, where g = k - i. Over all i and g these parts add up to 1: whichever candidates are
    accepted on the way, all pairs of a candidate and the accepted one that it may meet share one level.
    """

    number: int = 0
    accepted: int = 0

    @property
    def part(self) -> float:
        """The part of the level; all of it if tries are not counted.

        >>> Question(3).part == 1 / 2 / 12, Question(3, accepted=2).part == 1 / 12 / 2
        (True, True)
        """
        if not self.number:
            return 1.0
        since = self.number - self.accepted
        return 1 / ((self.accepted + 1) * (self.accepted + 2) * since * (since + 1))


UNCOUNTED = Question()


class Arrival(NamedTuple):
    """The items of a sequential gate: a digest of them in order of arrival, and the topics that lost all results.

    These are listed by baseline, without an entry where only scores are known.
    """

    digest: str
    emptied: Mapping[str, tuple[str, ...]]
