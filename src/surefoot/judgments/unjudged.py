"""What grade an unjudged document probably has: a model of rank, votes of runs and topic, fitted to those judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import POOL, Codes, JudgedRuns, Ranking, TopicPair
from surefoot.judgments.mixed_odds import GradedDocuments, MixedOdds

HEAD = 10
"""What one run alone has among so many first documents is told apart from what others have there too."""
GROUPS = 4
"""Groups of documents of one grade that are in neither ranking."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The first 100 documents of runs for one topic, in the order of their hashes, with features and grades."""

    codes: Codes
    features: FloatArray
    grades: IntArray

    @classmethod
    def of(cls, rankings: Iterable[Ranking], topic: int) -> Pool:
        """Features: each run's vote, which falls from 1 at rank 1 to 0 at rank 100, then their mean and maximum."""
        own = [(ranking.codes(topic, POOL), ranking.grades[topic, :POOL]) for ranking in rankings]
        sizes = [codes.size for codes, _ in own]
        codes, where = np.unique(np.concatenate([codes for codes, _ in own]), return_inverse=True)
        grades = np.empty(codes.size, np.int64)
        grades[where] = np.concatenate([grades[: codes.size] for codes, grades in own])
        votes = np.zeros((codes.size, len(own)))
        ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
        votes[where, np.repeat(np.arange(len(own)), sizes)] = 1 - np.log(ranks) / np.log(POOL)
        means, maxima = votes.mean(axis=1, keepdims=True), votes.max(axis=1, keepdims=True)
        return cls(codes, np.concatenate([votes, means, maxima], axis=1), grades)

    @property
    def judged(self) -> IntArray:
        """The indices of the judged documents."""
        return np.flatnonzero(self.grades != UNJUDGED)


@dataclass(frozen=True, eq=False)
class GradeModel:
    """The grades of documents by the runs that retrieved them: `MixedOdds`.

    A document's profile are its votes, scaled to length 1: which runs found it, in which proportion. All topics share a
    weight of each run's vote and part in the profile, of the mean and the highest vote, and of being among the first
    documents of one run alone, for all runs and for each: what only one run finds is relevant more or less often than
    its votes tell, and how much this differs from run to run is seen in those whose own documents are judged. A topic
    has a constant and further weights of the runs. ``centres`` are the mean features that all topics share, of the
    judged documents of each grade.
    """

    pools: tuple[Pool, ...]
    odds: MixedOdds
    centres: FloatArray

    @classmethod
    def of(cls, runs: JudgedRuns) -> GradeModel:
        """The model of runs, which is fitted once: many pairs of them may be asked about."""
        if runs not in _FITTED:
            _FITTED[runs] = cls.fit(runs)
        return _FITTED[runs]

    @classmethod
    def fit(cls, runs: JudgedRuns) -> GradeModel:
        """Fit to the judged documents among those that the runs retrieved, of all topics."""
        pools = tuple(Pool.of(runs.rankings.values(), topic) for topic in range(len(runs.topics)))
        features = np.concatenate([pool.features[pool.judged] for pool in pools])
        grades = np.maximum(np.concatenate([pool.grades[pool.judged] for pool in pools]), 0)
        if not grades.size:
            raise SurefootError(f"no retrieved document is judged in {runs.qrels.path}, so no grade can be expected")
        if runs.qrels.are_relevant_only:
            raise SurefootError(
                f"{runs.qrels.path} judges relevant documents alone, so nothing tells how likely an unjudged one is "
                "relevant; add judgments of some that are not (grade 0)"
            )
        starts = np.cumsum([0, *(pool.judged.size for pool in pools)])
        fixed, varying = _fixed(features), _varying(features)
        voters = features.shape[1] - 2
        groups = _of_blocks([group for group, _ in FIXED], voters), np.repeat([0, 1], [1, voters])
        odds = MixedOdds.fit(GradedDocuments(fixed, groups[0], varying, groups[1], grades, starts, runs.levels))
        given = np.unique(grades)
        means = np.stack([fixed[grades == grade].mean(axis=0) for grade in given], axis=1)
        centres = np.stack([np.interp(np.arange(runs.levels), given, row) for row in means], axis=1)
        return cls(pools, odds, centres)

    @property
    def runs(self) -> int:
        """The number of runs that vote."""
        return int(self.pools[0].features.shape[1]) - 2

    @property
    def effects(self) -> FloatArray:
        """How much more likely relevant the documents of each topic are, in log odds."""
        return self.odds.effects[:, 0]

    def votes(self, topic: int, codes: Codes) -> FloatArray:
        """The weighted votes for documents of a topic."""
        return np.asarray(_fixed(self._features(topic, codes)) @ self._vote_weights(self.odds.coefficients))

    def profiles(self, topic: int, codes: Codes) -> FloatArray:
        """Which runs found documents of a topic, in which proportion: documents × runs."""
        return _profile(self._features(topic, codes))

    def excess(self, topic: int, codes: Codes, grades: IntArray, shared: FloatArray | None = None) -> FloatArray:
        """How much higher the votes of documents are than those of documents of their grades on average.

        Weighted by the estimates, or in each row of grades by shared parameters that were drawn.
        """
        drawn = self.odds.coefficients if shared is None else self.odds.drawn_coefficients(shared)
        weights = self._vote_weights(drawn)
        votes, known = _fixed(self._features(topic, codes)) @ weights.T, np.minimum(grades, len(self.centres) - 1)
        centres = self.centres @ weights.T
        if shared is None:
            return np.asarray(votes - centres[known])
        return np.asarray(votes.T - np.take_along_axis(centres.T, known, axis=1))

    def _vote_weights(self, coefficients: FloatArray) -> FloatArray:
        """The coefficients without those of what one run alone has: that nobody else found it is no vote."""
        return np.where(_of_blocks([is_vote for _, is_vote in FIXED], self.runs), coefficients, 0.0)

    def draw_shared(self, random: np.random.Generator, n: int) -> FloatArray:
        """How far what all topics share may be from its estimate, n × parameters."""
        return self.odds.draw_shared(random, n)

    def draw(self, topic: int, codes: Codes, shared: FloatArray, random: np.random.Generator) -> IntArray:
        """Grades of documents of a topic, n × documents, by drawn shared parameters; the topic's own are drawn here."""
        features = self._features(topic, codes)
        return self.odds.draw_grades(topic, _fixed(features), _varying(features), shared, random)

    def fill(
        self,
        topic: int,
        codes: Codes,
        known: npt.NDArray[np.integer[Any]],
        shared: FloatArray,
        random: np.random.Generator,
    ) -> IntArray:
        """Grades as the first assessor would give them to all documents, n × documents: drawn where nobody judged."""
        grades = np.repeat(np.maximum(known, 0).astype(np.int64)[np.newaxis], len(shared), axis=0)
        unjudged = known == UNJUDGED
        if unjudged.any():
            grades[:, unjudged] = self.draw(topic, codes[unjudged], shared, random)
        return grades

    def probabilities(self, topic: int, codes: Codes) -> FloatArray:
        """The probability of each grade, documents × levels."""
        features = self._features(topic, codes)
        return self.odds.probabilities(topic, _fixed(features), _varying(features))

    def _features(self, topic: int, codes: Codes) -> FloatArray:
        """The features of documents; 0 where no run has one among its first 100."""
        pool = self.pools[topic]
        _, rows, found = np.intersect1d(codes, pool.codes, return_indices=True)
        features = np.zeros((codes.size, pool.features.shape[1]))
        features[rows] = pool.features[found]
        return features

    def rest(self, topic: int, own: TopicPair) -> Iterator[tuple[int, int, float]]:
        """The judged documents that are in neither ranking, in groups of alike ones: grade, number, mean excess."""
        pool = self.pools[topic]
        others = pool.judged[~np.isin(pool.codes[pool.judged], own.codes)]
        grades, votes = np.maximum(pool.grades[others], 0), self.votes(topic, pool.codes[others])
        for grade, number in enumerate(own.rest.tolist()):
            ordered = np.sort(np.append(votes[grades == grade], np.zeros(number))[:number])
            for group in np.array_split(ordered, min(GROUPS, number)) if number else ():
                yield (
                    grade,
                    group.size,
                    float(group.mean() - self.centres[grade] @ self._vote_weights(self.odds.coefficients)),
                )


_FITTED: WeakKeyDictionary[JudgedRuns, GradeModel] = WeakKeyDictionary()


def _profile(features: FloatArray) -> FloatArray:
    votes = features[:, :-2]
    return np.asarray(votes / np.maximum(np.linalg.norm(votes, axis=1, keepdims=True), 1e-9))


FIXED = ((0, True), (1, False), (2, True), (-1, True), (-1, False))
"""The blocks of `_fixed`: the group of coefficients that share a variance (-1: none), and whether it is a vote."""


def _fixed(features: FloatArray) -> FloatArray:
    """What all topics weigh alike: the profile, who alone has it first, votes, their mean and highest, if alone."""
    first = features[:, :-2] > 1 - np.log(HEAD + 0.5) / np.log(POOL)
    alone = first.sum(axis=1, keepdims=True) == 1
    return np.concatenate([_profile(features), first & alone, features, alone], axis=1)


def _of_blocks(values: Sequence[int], runs: int) -> IntArray:
    """A value for each column of `_fixed` of one for each block."""
    return np.repeat(values, [runs, runs, runs, 2, 1])


def _varying(features: FloatArray) -> FloatArray:
    """What each topic weighs itself: a constant and the profile."""
    return np.concatenate([np.ones((len(features), 1)), _profile(features)], axis=1)
