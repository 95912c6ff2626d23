"""The features that predict a document's grade: votes of runs, grades by language models, its place in two rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.io.document_lists import Qrels
from surefoot.judgments.judged_runs import POOL, Codes, JudgedRuns, TopicPair
from surefoot.judgments.mixed_odds import FIXED, Prior

HEAD = 10
"""The depth at which a document counts as found by only one run."""
EXCLUSIVE, COMMON = 0.75, 0.4
"""How far a document is on the side of one of two runs: it alone has it, or it only ranks it higher."""
PAIR_SPREAD = 0.6
"""How much candidates differ, in log odds of documents on their side, beyond what votes show."""
CONSTANT = Prior(1.2**2, 4)
SLOPE, SIDES = Prior(0.7**2, 4), Prior(0.6**2, 4)
"""What is expected of topics that a language model grades: constants, trust in the model, effects of the two runs."""
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
        own = [(one.codes(topic, POOL), one.grades[topic, :POOL]) for one in runs.rankings.values()]
        models = [_graded(qrels, runs.topics[topic]) for qrels in runs.llm_qrels]
        codes = np.unique(np.concatenate([*(codes for codes, _ in own), *(codes for codes, _ in models)]))
        grades = _known(runs, topic, codes)
        features = np.zeros((codes.size, len(own) + len(models)))
        features[:, len(own) :] = -1
        for column, (ranked, _) in enumerate(own):
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


def _graded(qrels: Qrels, topic: str) -> tuple[Codes, IntArray]:
    """The documents of a topic that a language model graded, and its grades."""
    rows, _ = qrels.rows([topic])
    return qrels.codes[rows], np.maximum(qrels.grades[rows], 0).astype(np.int64)


def _known(runs: JudgedRuns, topic: int, codes: Codes) -> IntArray:
    """The grades of documents by the judgments."""
    begin, end = runs.qrels.bounds[topic : topic + 2].tolist()
    grades = np.full(codes.size, UNJUDGED, np.int64)
    _, rows, found = np.intersect1d(codes, runs.qrels.codes[begin:end], return_indices=True)
    grades[rows] = runs.qrels.grades[begin:end][found]
    return grades


def sides(own: TopicPair | None, codes: Codes) -> FloatArray:
    """Of each document: whether one of the two rankings alone has it, and how far it is on the candidate's side."""
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
        """What all topics weigh alike."""
        side = Block(pair[:, 1:], Prior(self.spread**2, FIXED))
        return [*(self._of_models(features, pair) if self.scales else self._of_votes(features)), side]

    def varying(self, features: FloatArray, pair: FloatArray) -> list[Block]:
        """What each topic weighs itself."""
        ones, side = np.ones((len(features), 1)), Block(pair[:, 1:], SIDES)
        if not self.scales:
            return [Block(ones, Prior()), Block(profile(features), Prior()), side]
        mean = np.mean([own for own, _ in self._grades(features)], axis=0)
        return [Block(ones, CONSTANT), Block(mean[:, np.newaxis], SLOPE), Block(pair[:, :1] - 0.5, SIDES), side]

    def _of_votes(self, features: FloatArray) -> list[Block]:
        """The profile, who alone has it first, votes, their mean and highest, and whether one run alone has it first.

        What only one run finds is relevant more or less often than its votes show, and how much this differs from run
        to run is seen in those whose own documents are judged.
        """
        first = features > 1 - np.log(HEAD + 0.5) / np.log(POOL)
        alone = first.sum(axis=1, keepdims=True) == 1
        both = np.stack([features.mean(axis=1), features.max(axis=1)], axis=1)
        return [
            Block(profile(features), Prior(), is_vote=True),
            Block((first & alone).astype(np.float64), Prior()),
            Block(features, Prior(), is_vote=True),
            Block(both, None, is_vote=True),
            Block(alone.astype(np.float64), None),
        ]

    def _of_models(self, features: FloatArray, pair: FloatArray) -> list[Block]:
        """Of each model its grade and a deviation at each grade; mean and highest vote; whether one run has it."""
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
        """With a smaller spread between candidates, the closer the models' grades are to those of people."""
        if not self.scales:
            return self
        mean = np.mean([own for own, _ in self._grades(features)], axis=0)
        varies = min(float(np.std(mean)), float(np.std(grades))) > 0
        agreement = max(float(np.corrcoef(mean, grades)[0, 1]), 0.0) if varies else 0.0
        return Layout(self.runs, self.scales, PAIR_SPREAD * (1 - agreement))


def profile(votes: FloatArray) -> FloatArray:
    """Which runs found documents, in which proportion: votes scaled to length 1."""
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
