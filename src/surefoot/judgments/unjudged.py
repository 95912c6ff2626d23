"""The probable grade of an unjudged document, by a model that is fitted to judged documents.

Features are votes of runs, grades by language models, and the document's place in the two rankings of a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import POOL, VOTERS, Codes, JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.mixed_odds import FIXED, GradedDocuments, MixedOdds, Prior, draw_student

GROUPS = 4
"""Groups of documents of one grade that are in neither ranking."""
HEAD = 10
"""The depth down to which a document counts as found by only one run."""
EXCLUSIVE, COMMON = 0.75, 0.4
"""How far a document is on the side of one of two runs: if only that run has it, and if it ranks it higher."""
PAIR_SPREAD = 0.6
"""The standard deviation between candidates, in log odds of documents on their side, beyond votes."""
CONSTANT = Prior(1.2**2, 4)
SLOPE, SIDES = Prior(0.7**2, 4), Prior(0.6**2, 4)
"""Priors of topics that a language model graded: constant, trust in the model, effects of the two runs."""
DEVIATIONS = Prior(0.7**2, FIXED)


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents of one topic, in the order of their hashes, with features and grades.

    They are the first 100 of each run, and those that language models graded. Features: each run's vote, which falls
    from 1 at rank 1 to 0 at rank 100, and each model's grade, -1 where it gave none.
    """

    codes: Codes
    features: FloatArray
    grades: IntArray

    @classmethod
    def of(cls, runs: JudgedRuns, topic: int) -> Pool:
        """The pool of a topic."""
        own = [one.codes(topic, POOL) for one in runs.rankings.values()]
        rows = [(qrels, qrels.rows([runs.topics[topic]])[0]) for qrels in runs.llm_qrels]
        models = [(one.fingerprints[graded], np.maximum(one.grades[graded], 0)) for one, graded in rows]
        codes = np.unique(np.concatenate([*own, *(codes for codes, _ in models)]))
        begin, end = runs.qrels.bounds[topic : topic + 2].tolist()
        grades = np.full(codes.size, UNJUDGED, np.int64)
        _, known, found = np.intersect1d(codes, runs.qrels.fingerprints[begin:end], return_indices=True)
        grades[known] = runs.qrels.grades[begin:end][found]
        features = np.zeros((codes.size, len(own) + len(models)))
        features[:, len(own) :] = -1
        for column, ranked in enumerate(own):
            features[np.searchsorted(codes, ranked), column] = 1 - np.log(np.arange(1, ranked.size + 1)) / np.log(POOL)
        for column, (graded, given) in enumerate(models, start=len(own)):
            features[np.searchsorted(codes, graded), column] = given
        return cls(codes, features, grades)

    @property
    def judged(self) -> IntArray:
        """The indices of the judged documents."""
        return np.flatnonzero(self.grades != UNJUDGED)

    def of_documents(self, codes: Codes, models: int) -> FloatArray:
        """The features of documents; no votes and no grades for those that are not here."""
        features = np.zeros((codes.size, self.features.shape[1]))
        features[:, features.shape[1] - models :] = -1
        _, rows, found = np.intersect1d(codes, self.codes, return_indices=True)
        features[rows] = self.features[found]
        return features


def sides(own: TopicPair | None, codes: Codes) -> FloatArray:
    """For each document: whether only one of the two rankings has it, and how far it is on the candidate's side."""
    found = np.zeros((codes.size, 2))
    if own is None or not own.codes.size:
        return found
    ranks = np.full((2, own.codes.size), np.inf)
    for row, ranked in zip(ranks, (own.own, own.base), strict=True):
        row[ranked] = np.arange(ranked.size)
    exclusive = np.isinf(ranks).any(axis=0)
    side = np.sign(ranks[1] - ranks[0]) * np.where(exclusive, EXCLUSIVE, COMMON)
    _, rows, where = np.intersect1d(codes, own.codes, return_indices=True)
    found[rows] = np.stack([exclusive, side], axis=1)[where]
    return found


class Block(NamedTuple):
    """Columns whose coefficients share a variance (None: each has its own), and whether they are votes."""

    columns: FloatArray
    prior: Prior | None
    is_vote: bool = False


@dataclass(frozen=True)
class Layout:
    """How features become columns of `MixedOdds`.

    ``scales`` are the highest grades of the language models. ``spread`` is the standard deviation, between candidates,
    of what makes documents on the candidate's side more relevant than the other features show.
    """

    runs: int
    scales: tuple[int, ...] = ()
    spread: float = PAIR_SPREAD

    def fixed(self, features: FloatArray, pair: FloatArray) -> list[Block]:
        """The columns whose coefficients all topics share."""
        side = Block(pair[:, 1:], Prior(self.spread**2, FIXED))
        return [*(self._of_models(features, pair) if self.scales else self._of_votes(features)), side]

    def varying(self, features: FloatArray, pair: FloatArray) -> list[Block]:
        """The columns with coefficients of each topic."""
        ones, side = np.ones((len(features), 1)), Block(pair[:, 1:], SIDES)
        if not self.scales:
            return [Block(ones, Prior()), Block(profile(features), Prior()), side]
        mean = np.mean([own for own, _ in self._grades(features)], axis=0)
        return [Block(ones, CONSTANT), Block(mean[:, np.newaxis], SLOPE), Block(pair[:, :1] - 0.5, SIDES), side]

    def _of_votes(self, features: FloatArray) -> list[Block]:
        """The profile; which run has a document exclusively; votes, their mean and maximum; whether any run has it so.

        A run has a document exclusively if no other run has it in its head. Such documents are relevant more or less
        often than the votes show; the runs whose exclusive documents are judged show how much this varies.
        """
        first = features > 1 - np.log(HEAD + 0.5) / np.log(POOL)
        exclusive = first.sum(axis=1, keepdims=True) == 1
        both = np.stack([features.mean(axis=1), features.max(axis=1)], axis=1)
        return [
            Block(profile(features), Prior(), is_vote=True),
            Block((first & exclusive).astype(np.float64), Prior()),
            Block(features, Prior(), is_vote=True),
            Block(both, None, is_vote=True),
            Block(exclusive.astype(np.float64), None),
        ]

    def _of_models(self, features: FloatArray, pair: FloatArray) -> list[Block]:
        """Each model's grade and a deviation at each grade; mean and highest vote; whether only one run has it."""
        grades = list(self._grades(features))
        votes = features[:, : self.runs]
        means, highest = 4 * (votes.mean(axis=1, keepdims=True) - 0.2), votes.max(axis=1, keepdims=True) - 0.5
        return [
            Block(np.stack([own for own, _ in grades], axis=1), None),
            Block(np.concatenate([levels for _, levels in grades], axis=1), DEVIATIONS),
            Block(np.concatenate([means, highest], axis=1), DEVIATIONS, is_vote=True),
            Block(pair[:, :1] - 0.5, DEVIATIONS),
        ]

    def _grades(self, features: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """The grades of each model on a scale from -1.5 to 1.5, 0 where there is none, and which grade it is."""
        for column, scale in enumerate(self.scales, start=self.runs):
            given = features[:, column]
            levels = given[:, np.newaxis] == np.arange(-1, scale + 1)
            yield np.where(given < 0, 0.0, 3 * given / scale - 1.5), levels.astype(np.float64)

    def spread_by(self, features: FloatArray, grades: IntArray) -> Layout:
        """The layout with a spread between candidates that falls as models and people agree more."""
        if not self.scales:
            return self
        mean = np.mean([own for own, _ in self._grades(features)], axis=0)
        varies = min(float(np.std(mean)), float(np.std(grades))) > 0
        agreement = max(float(np.corrcoef(mean, grades)[0, 1]), 0.0) if varies else 0.0
        return Layout(self.runs, self.scales, PAIR_SPREAD * (1 - agreement))


def profile(votes: FloatArray) -> FloatArray:
    """The share of each run in the votes for a document: votes scaled to length 1."""
    return np.asarray(votes / np.maximum(np.linalg.norm(votes, axis=1, keepdims=True), 1e-9))


def matrix_of(blocks: Sequence[Block]) -> FloatArray:
    """The columns of all blocks."""
    return np.concatenate([block.columns for block in blocks], axis=1)


def groups_of(blocks: Sequence[Block]) -> tuple[IntArray, list[Prior]]:
    """The group of each column, -1 for those with a variance of their own, and the priors of the groups."""
    priors = [block.prior for block in blocks if block.prior is not None]
    numbers = np.cumsum([block.prior is not None for block in blocks]) - 1
    groups = [-1 if block.prior is None else number for block, number in zip(blocks, numbers, strict=True)]
    return np.repeat(groups, [block.columns.shape[1] for block in blocks]), priors


def votes_in(blocks: Sequence[Block]) -> IntArray:
    """1 for each column that is a vote, else 0."""
    return np.repeat([int(block.is_vote) for block in blocks], [block.columns.shape[1] for block in blocks])


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
                f"{runs.qrels.path} judges only relevant documents, so nothing shows how likely an unjudged one is "
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
        if not scales:  # with few votes the model is further from the truth than its covariance says
            odds = replace(odds, covariance=odds.covariance * max(1.0, VOTERS / len(runs.rankings)))
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
        """The effect of each topic on the log odds of relevance."""
        return self.odds.effects[:, 0]

    def votes(self, topic: int, codes: Codes) -> FloatArray:
        """The weighted votes for documents of a topic."""
        return np.asarray(self._columns(topic, codes)[0] @ self._vote_weights(self.odds.coefficients))

    def profiles(self, topic: int, codes: Codes) -> FloatArray:
        """The profiles of documents of a topic: documents × runs."""
        return profile(self.pools[topic].of_documents(codes, len(self.layout.scales))[:, : self.runs])

    def excess(self, topic: int, codes: Codes, grades: IntArray, shared: FloatArray | None = None) -> FloatArray:
        """The weighted votes of documents, less the average of documents with the same grade.

        The weights are the estimates, or for each row of grades those of the drawn shared parameters.
        """
        drawn = self.odds.coefficients if shared is None else self.odds.drawn_coefficients(shared)
        weights = self._vote_weights(drawn)
        votes, known = self._columns(topic, codes)[0] @ weights.T, np.minimum(grades, len(self.centres) - 1)
        centres = self.centres @ weights.T
        if shared is None:
            return np.asarray(votes - centres[known])
        return np.asarray(votes.T - np.take_along_axis(centres.T, known, axis=1))

    def _vote_weights(self, coefficients: FloatArray) -> FloatArray:
        """The coefficients of the columns that are votes, 0 for the others."""
        return np.where(self.is_vote, coefficients, 0.0)

    def draw_shared(self, random: np.random.Generator, n: int) -> FloatArray:
        """Draws of the errors of thresholds and coefficients, which all topics share: n × parameters."""
        return draw_student(self.odds.covariance, random, n)

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

    def _columns(self, topic: int, codes: Codes) -> tuple[FloatArray, FloatArray]:
        """The columns of documents with shared coefficients, and those with coefficients of the topic."""
        features = self.pools[topic].of_documents(codes, len(self.layout.scales))
        on_sides = sides(self.pair.topics[topic] if self.pair else None, codes)
        return matrix_of(self.layout.fixed(features, on_sides)), matrix_of(self.layout.varying(features, on_sides))

    def rest(self, topic: int, own: TopicPair) -> Iterator[tuple[int, int, float]]:
        """The judged documents that are in neither ranking, in groups of alike ones: grade, number, mean excess."""
        pool = self.pools[topic]
        others = pool.judged[~np.isin(pool.codes[pool.judged], own.codes)]
        grades, votes = np.maximum(pool.grades[others], 0), self.votes(topic, pool.codes[others])
        weights = self._vote_weights(self.odds.coefficients)
        for grade, number in enumerate(own.rest.tolist()):
            ordered = np.sort(np.append(votes[grades == grade], np.zeros(number))[:number])
            for group in np.array_split(ordered, min(GROUPS, number)) if number else ():
                yield grade, group.size, float(group.mean() - self.centres[grade] @ weights)


_FITTED: WeakKeyDictionary[JudgedRuns, dict[tuple[str, str] | None, GradeModel]] = WeakKeyDictionary()
