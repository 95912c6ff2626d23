"""What grade an unjudged document probably has: a model fitted to those judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.errors import SurefootError
from surefoot.judgments.features import Layout, Pool, groups_of, matrix_of, profile, sides, votes_in
from surefoot.judgments.judged_runs import Codes, JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.mixed_odds import GradedDocuments, MixedOdds

GROUPS = 4
"""Groups of documents of one grade that are in neither ranking."""


@dataclass(frozen=True, eq=False)
class GradeModel:
    """The grades of documents by the runs that retrieved them and the language models that graded them: `MixedOdds`.

    `Layout` has the features. Without language models these are votes, in detail; with them, which fewer judgments
    calibrate, the models' grades and a summary of the votes. A model for a pair knows which of the two runs ranks a
    document higher: judgments of such documents show whether the other features favour one of the two, on all topics or
    on some. ``centres`` are the mean features that all topics share, of the judged documents of each grade.
    """

    pools: tuple[Pool, ...]
    layout: Layout
    pair: JudgedPair | None
    odds: MixedOdds
    is_vote: IntArray
    centres: FloatArray

    @classmethod
    def of(cls, runs: JudgedRuns, pair: JudgedPair | None = None) -> GradeModel:
        """The model of runs, or of a pair of them, which is fitted once."""
        models, names = _FITTED.setdefault(runs, {}), (pair.candidate, pair.baseline) if pair else None
        if names not in models:
            models[names] = cls.fit(runs, pair)
        return models[names]

    @classmethod
    def fit(cls, runs: JudgedRuns, pair: JudgedPair | None = None) -> GradeModel:
        """Fit to the judged documents among those of all pools."""
        pools = tuple(Pool.of(runs, topic) for topic in range(len(runs.topics)))
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
        scales = tuple(max(1, int(one.grades.max())) for one in runs.llm_qrels)
        layout = Layout(len(runs.rankings), scales).spread_by(features, grades)
        owns = [None] * len(pools) if pair is None else pair.topics
        on_sides = np.concatenate([sides(own, pool.codes[pool.judged]) for own, pool in zip(owns, pools, strict=True)])
        shared, varying = layout.fixed(features, on_sides), layout.varying(features, on_sides)
        (groups, priors), (own_groups, own_priors) = groups_of(shared), groups_of(varying)
        fixed = matrix_of(shared)
        odds = MixedOdds.fit(
            GradedDocuments(
                fixed, groups, matrix_of(varying), own_groups, grades, starts, runs.levels, priors, own_priors
            )
        )
        given = np.unique(grades)
        means = np.stack([fixed[grades == grade].mean(axis=0) for grade in given], axis=1)
        centres = np.stack([np.interp(np.arange(runs.levels), given, row) for row in means], axis=1)
        return cls(pools, layout, pair, odds, votes_in(shared), centres)

    @property
    def runs(self) -> int:
        """The number of runs that vote."""
        return self.layout.runs

    @property
    def effects(self) -> FloatArray:
        """How much more likely relevant the documents of each topic are, in log odds."""
        return self.odds.effects[:, 0]

    def votes(self, topic: int, codes: Codes) -> FloatArray:
        """The weighted votes for documents of a topic."""
        return np.asarray(self._columns(topic, codes)[0] @ self._vote_weights(self.odds.coefficients))

    def profiles(self, topic: int, codes: Codes) -> FloatArray:
        """Which runs found documents of a topic, in which proportion: documents × runs."""
        return profile(self.pools[topic].of_documents(codes, len(self.layout.scales))[:, : self.runs])

    def excess(self, topic: int, codes: Codes, grades: IntArray, shared: FloatArray | None = None) -> FloatArray:
        """How much higher the votes of documents are than those of documents of their grades on average.

        Weighted by the estimates, or in each row of grades by shared parameters that were drawn.
        """
        drawn = self.odds.coefficients if shared is None else self.odds.drawn_coefficients(shared)
        weights = self._vote_weights(drawn)
        votes, known = self._columns(topic, codes)[0] @ weights.T, np.minimum(grades, len(self.centres) - 1)
        centres = self.centres @ weights.T
        if shared is None:
            return np.asarray(votes - centres[known])
        return np.asarray(votes.T - np.take_along_axis(centres.T, known, axis=1))

    def _vote_weights(self, coefficients: FloatArray) -> FloatArray:
        """The coefficients of votes; that nobody else found a document is none."""
        return np.where(self.is_vote, coefficients, 0.0)

    def draw_shared(self, random: np.random.Generator, n: int) -> FloatArray:
        """How far what all topics share may be from its estimate, n × parameters."""
        return self.odds.draw_shared(random, n)

    def draw(self, topic: int, codes: Codes, shared: FloatArray, random: np.random.Generator) -> IntArray:
        """Grades of documents of a topic, n × documents, by drawn shared parameters; the topic's own are drawn here."""
        return self.odds.draw_grades(topic, *self._columns(topic, codes), shared, random)

    def draw_rest(self, topic: int, own: TopicPair, shared: FloatArray, random: np.random.Generator) -> IntArray:
        """How many documents of each grade are in neither ranking, n × levels, with those that only models graded."""
        counts, pool = np.repeat(own.rest[np.newaxis], len(shared), axis=0), self.pools[topic]
        if not self.layout.scales:
            return counts
        is_graded = (pool.features[:, self.runs :] >= 0).any(axis=1) & (pool.grades == UNJUDGED)
        codes = pool.codes[is_graded & ~np.isin(pool.codes, own.codes)]
        if codes.size:
            drawn = self.draw(topic, codes, shared, random)
            counts += np.stack([np.count_nonzero(drawn == grade, axis=1) for grade in range(counts.shape[1])], axis=1)
        return counts

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
        return self.odds.probabilities(topic, *self._columns(topic, codes))

    def _columns(self, topic: int, codes: Codes) -> tuple[FloatArray, FloatArray]:
        """What all topics weigh alike of documents, and what each weighs itself."""
        features = self.pools[topic].of_documents(codes, len(self.layout.scales))
        on_sides = sides(self.pair.topics[topic] if self.pair else None, codes)
        return matrix_of(self.layout.fixed(features, on_sides)), matrix_of(self.layout.varying(features, on_sides))

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


_FITTED: WeakKeyDictionary[JudgedRuns, dict[tuple[str, str] | None, GradeModel]] = WeakKeyDictionary()
