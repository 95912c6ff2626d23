"""Linear rankers that raise NDCG@k itself: AFS, coordinate ascent and AdaRank.

A document's score is the weighted sum of its features, scaled by `surefoot.research.baselines.line_search.Scaling`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from surefoot.research.baselines.line_search import (
    SMALLEST_GAIN,
    Floats,
    Scaled,
    Scaling,
    Validation,
    at_least,
    best_place,
    checked_columns,
    mean_of,
    prediction_data,
    training_data,
    weighted_sum,
)

Model = TypeVar("Model", bound="LinearRanker")


class Choice:
    """The best of the weights offered one after the other, on the queries given."""

    def __init__(self, judges: Scaled) -> None:
        self._judges = judges
        self.value, self.weights = -1.0, np.zeros(len(judges.columns))

    def offer(self, weights: Floats) -> None:
        """Keep the weights if they are better than the best so far."""
        value = self._judges.mean(weights)
        if value > self.value + SMALLEST_GAIN:
            self.value, self.weights = value, weights.copy()


class LinearRanker(BaseEstimator):  # type: ignore[misc]
    """What the linear rankers share: data, scaling and prediction."""

    k: int
    workers: int | None

    def fit(self: Model, X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: Validation | None = None) -> Model:
        """Learn from documents (rows) with labels and query ids; validation data choose among the models on the way."""
        data, validation = training_data(X, y, qid, eval_set)
        scaling = Scaling.of(data.features)
        learners = Scaled(data, scaling, self.k, self.workers)
        choice = Choice(learners if validation is None else Scaled(validation, scaling, self.k, self.workers))
        self._learn(learners, choice)
        self.scaling_, self.n_features_in_ = scaling, data.features.shape[1]
        self.weights_ = choice.weights / (np.abs(choice.weights).sum() or 1.0)
        self.best_score_ = choice.value
        return self

    def _learn(self, learners: Scaled, choice: Choice) -> None:
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """The scores of documents: those of a query are ranked by them, the largest first."""
        matrix = prediction_data(self, X)
        used = checked_columns(matrix, np.flatnonzero(self.weights_))
        scaled = ((feature, self.scaling_(feature, values)) for feature, values in used)
        return weighted_sum(self.weights_, scaled, matrix.shape[0])


class AFS(LinearRanker):
    """Automatic feature selection: a linear ranker that grows by one feature at a time.

    From the best single feature on, add the feature whose best weight, found by a line search, raises the mean
    NDCG@k of the training queries most; then search along the weights of all chosen features again. Stop when a
    feature gains less than ``tolerance``, or at ``max_features``. With validation data, the size that is best on them
    is kept. Metzler, "Automatic feature selection in the Markov random field model for information retrieval"
    (CIKM 2007).

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> AFS().fit(X, y, qid=qid).weights_
    array([1., 0., 0.])
    """

    def __init__(
        self, k: int = 10, max_features: int = 30, tolerance: float = 1e-4, workers: int | None = None
    ) -> None:
        self.k, self.max_features, self.tolerance, self.workers = k, max_features, tolerance, workers

    def _learn(self, learners: Scaled, choice: Choice) -> None:
        most = at_least(1, "max_features", self.max_features)
        weights = np.zeros(len(learners.columns))
        value = learners.mean(weights)
        choice.offer(weights)
        while np.count_nonzero(weights) < most:
            grown = weights.copy()
            feature, step, reached = _addition(learners, weights, value)
            grown[feature] += step
            reached = learners.cycle(np.flatnonzero(grown), grown, reached)
            if reached - value < max(self.tolerance, SMALLEST_GAIN):
                break
            weights, value = grown, reached
            choice.offer(weights)


def _addition(learners: Scaled, weights: Floats, value: float) -> tuple[int, float, float]:
    """The feature not used yet that is best to add, its weight, and the mean NDCG@k reached."""
    unused, scores = np.flatnonzero(weights == 0), learners.scores(weights)
    found = [learners.step(feature, weights, scores, value) for feature in unused.tolist()]
    if not found:
        return 0, 0.0, value
    best = best_place(np.array([reached for _, reached in found]))
    return int(unused[best]), *found[best]


class CoordinateAscent(LinearRanker):
    """A linear ranker whose weights are searched one after the other, in cycles.

    The first of ``starts`` has equal weights, the others random ones; each cycle takes the features in a new random
    order and ends a start when it gains less than ``tolerance``. The best weights seen at the end of a cycle are kept:
    the best on validation data if there are any, else on the training queries. Metzler and Croft, "Linear
    feature-based models for information retrieval" (Information Retrieval, 2007).

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> CoordinateAscent().fit(X, y, qid=qid).best_score_
    1.0
    """

    def __init__(
        self,
        k: int = 10,
        starts: int = 3,
        cycles: int = 25,
        tolerance: float = 1e-3,
        seed: int = 0,
        workers: int | None = None,
    ) -> None:
        self.k, self.starts, self.cycles, self.tolerance = k, starts, cycles, tolerance
        self.seed, self.workers = seed, workers

    def _learn(self, learners: Scaled, choice: Choice) -> None:
        random = np.random.default_rng(self.seed)
        varied = np.flatnonzero(learners.columns.any(axis=1))
        for start in range(at_least(1, "starts", self.starts)):
            weights = np.zeros(len(learners.columns))
            weights[varied] = random.uniform(-1, 1, varied.size) if start else 1.0
            value = learners.mean(weights)
            choice.offer(weights)
            for _ in range(at_least(1, "cycles", self.cycles)):
                before, value = value, learners.cycle(random.permutation(varied), weights, value)
                choice.offer(weights)
                if value - before < self.tolerance:
                    break


class AdaRank(LinearRanker):
    """Boosting of rankings by single features, in which the queries that are ranked badly weigh more.

    In each round the feature h with the best NDCG@k by the weights P of the queries is added with
    α = ½ ln(Σ P (1 + E_h) / Σ P (1 - E_h)), E_h its NDCG@k on each query; P becomes exp(-E) / Σ exp(-E), E that of
    the ranker so far. Features may come again. Xu and Li, "AdaRank: a boosting algorithm for information retrieval"
    (SIGIR 2007). As published, one strong feature can win every round and the ranker stays what it is: here a round
    takes the best feature that raises the mean NDCG@k of the training queries, and the last round is the one in which
    none does. With validation data, the round that is best on them is kept.

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> AdaRank().fit(X, y, qid=qid).weights_
    array([1., 0., 0.])
    """

    def __init__(self, k: int = 10, rounds: int = 500, workers: int | None = None) -> None:
        self.k, self.rounds, self.workers = k, rounds, workers

    def _learn(self, learners: Scaled, choice: Choice) -> None:
        queries = learners.queries
        measures = np.stack([queries.by_query(column.astype(np.float64)) for column in learners.columns])
        weights, importance = np.zeros(len(measures)), np.full(len(queries), 1 / len(queries))
        reached = queries.by_query(learners.scores(weights))
        choice.offer(weights)
        for _ in range(at_least(1, "rounds", self.rounds)):
            for feature in np.argsort(-np.round(measures @ importance, 9), kind="stable"):
                grown = weights.copy()
                grown[feature] += _confidence(importance, measures[feature])
                measured = queries.by_query(learners.scores(grown))
                if mean_of(measured) > mean_of(reached) + SMALLEST_GAIN:
                    break
            else:
                return
            weights, reached = grown, measured
            importance = np.exp(-reached) / np.exp(-reached).sum()
            choice.offer(weights)


def _confidence(importance: Floats, measures: Floats) -> float:
    """AdaRank's α of a ranking; that of one without a fault is large, not endless."""
    faults = max(float(importance @ (1 - measures)), SMALLEST_GAIN)
    return 0.5 * float(np.log(importance @ (1 + measures) / faults))
