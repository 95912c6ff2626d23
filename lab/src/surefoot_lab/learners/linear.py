"""Linear rankers that maximise NDCG@k itself, or a risk measure: AFS, coordinate ascent and AdaRank.

A document's score is the weighted sum of its features, scaled by `surefoot_lab.learners.line_search.Scaling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from surefoot._process import generator
from surefoot._typing import FloatArray
from surefoot_lab.learners.inputs import EvalSet, prediction_data, training_data, validate_count
from surefoot_lab.learners.line_search import (
    TOLERANCE,
    ScaledQueries,
    Scaling,
    best_index,
    exact_mean,
    valid_columns,
    weighted_sum,
)


class BestWeights:
    """The best of the weights offered one after the other, by their utility on the queries given."""

    def __init__(self, queries: ScaledQueries) -> None:
        self._queries = queries
        self.value, self.weights = -1.0, np.zeros(len(queries.columns))

    def offer(self, weights: FloatArray) -> None:
        """Keep the weights if they are better than the best so far."""
        value = self._queries.worth(weights)
        if value > self.value + TOLERANCE:
            self.value, self.weights = value, weights.copy()


class LinearRanker(BaseEstimator):  # type: ignore[misc]
    """The base class of linear rankers: data, scaling and prediction."""

    k: int
    n_jobs: int | None

    def fit(self, X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: EvalSet | None = None) -> Self:
        """Learn from documents (rows) with labels and query ids; validation data select among the models on the way."""
        data, validation = training_data(X, y, qid, eval_set)
        scaling = Scaling.of(data.features)
        train = ScaledQueries(data, scaling, self.k, self.n_jobs)
        best = BestWeights(train if validation is None else ScaledQueries(validation, scaling, self.k, self.n_jobs))
        for weights in self.steps(train):
            best.offer(weights)
        self.scaling_, self.n_features_in_ = scaling, data.features.shape[1]
        self.weights_ = best.weights / (np.abs(best.weights).sum() or 1.0)
        self.best_score_ = best.value
        return self

    def steps(self, train: ScaledQueries) -> Iterator[FloatArray]:
        """The weights after each step of learning; they are changed in place afterwards."""
        raise NotImplementedError

    def predict(self, X: Any) -> FloatArray:
        """The scores of documents: those of a query are ranked by them, the largest first."""
        matrix = prediction_data(self, X)
        used = valid_columns(matrix, np.flatnonzero(self.weights_))
        scaled = ((feature, self.scaling_(feature, values)) for feature, values in used)
        return weighted_sum(self.weights_, scaled, matrix.shape[0])


class AFS(LinearRanker):
    """Automatic feature selection: a linear ranker that grows by one feature at a time.

    From the best single feature on, add the feature whose best weight, found by a line search, raises the utility
    (the mean NDCG@k) of the training queries most; then search along the weights of all chosen features again. Stop
    when a feature gains less than ``tol``, or at ``max_features``. With validation data, the size that is best on them
    is kept. Metzler, "Automatic feature selection in the Markov random field model for information retrieval"
    (CIKM 2007).

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> AFS().fit(X, y, qid=qid).weights_
    array([1., 0., 0.])
    """

    def __init__(self, k: int = 10, max_features: int = 30, tol: float = 1e-4, n_jobs: int | None = None) -> None:
        self.k, self.max_features, self.tol, self.n_jobs = k, max_features, tol, n_jobs

    def steps(self, train: ScaledQueries) -> Iterator[FloatArray]:
        """Each adds a feature."""
        most = validate_count("max_features", self.max_features)
        weights = np.zeros(len(train.columns))
        value = train.worth(weights)
        yield weights
        while np.count_nonzero(weights) < most:
            grown = weights.copy()
            feature, step, reached = _addition(train, weights, value)
            grown[feature] += step
            reached = train.cycle(np.flatnonzero(grown), grown, reached)
            if reached - value < max(self.tol, TOLERANCE):
                break
            weights, value = grown, reached
            yield weights


def _addition(train: ScaledQueries, weights: FloatArray, value: float) -> tuple[int, float, float]:
    """The feature not used yet that is best to add, its weight, and the utility reached."""
    unused, scores = np.flatnonzero(weights == 0), train.scores(weights)
    found = [train.step(feature, weights, scores, value) for feature in unused.tolist()]
    if not found:
        return 0, 0.0, value
    index = best_index(np.array([reached for _, reached in found]))
    return int(unused[index]), *found[index]


class CoordinateAscent(LinearRanker):
    """A linear ranker whose weights are searched one after the other, in cycles.

    The first of ``n_init`` starts has equal weights, the others random ones. Each of at most ``max_iter`` cycles takes
    the features in a new random order; a start ends when a cycle gains less than ``tol``. The best weights at the end
    of a cycle are kept: the best on validation data if there are any, else on the training queries. Metzler and Croft,
    "Linear feature-based models for information retrieval" (Information Retrieval, 2007).

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> CoordinateAscent().fit(X, y, qid=qid).best_score_
    1.0
    """

    def __init__(
        self,
        k: int = 10,
        n_init: int = 3,
        max_iter: int = 25,
        tol: float = 1e-3,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.k, self.n_init, self.max_iter, self.tol = k, n_init, max_iter, tol
        self.seed, self.n_jobs = seed, n_jobs

    def steps(self, train: ScaledQueries) -> Iterator[FloatArray]:
        """Each is a cycle."""
        random = generator(self.seed)
        varied = np.flatnonzero(train.columns.any(axis=1))
        for start in range(validate_count("n_init", self.n_init)):
            weights = np.zeros(len(train.columns))
            weights[varied] = random.uniform(-1, 1, varied.size) if start else 1.0
            value = train.worth(weights)
            yield weights
            for _ in range(validate_count("max_iter", self.max_iter)):
                before, value = value, train.cycle(random.permutation(varied), weights, value)
                yield weights
                if value - before < self.tol:
                    break


class AdaRank(LinearRanker):
    """Boosting of rankings by single features, in which badly ranked queries weigh more.

    In each of at most ``n_estimators`` rounds the feature h with the best NDCG@k by the weights P of the queries is
    added with α = ½ ln(Σ P (1 + E_h) / Σ P (1 - E_h)), E_h its NDCG@k on each query; P becomes exp(-E) / Σ exp(-E), E
    that of the ranker so far. Features can be added again. Xu and Li, "AdaRank: a boosting algorithm for information
    retrieval" (SIGIR 2007). One strong feature can win every round: if it wins the first two, P stays as it is, all
    later rounds repeat them, and boosting ends. With ``improving``, a variant of ours, a round adds the best feature
    that raises the mean NDCG@k of the training queries, and boosting ends when none does. With validation data, the
    round that is best on them is kept.

    >>> X, y, qid = [[0, 3, 1], [1, 1, 5], [2, 2, 2], [0, 1, 4]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> AdaRank().fit(X, y, qid=qid).weights_
    array([1., 0., 0.])
    """

    def __init__(
        self, k: int = 10, n_estimators: int = 500, improving: bool = False, n_jobs: int | None = None
    ) -> None:
        self.k, self.n_estimators, self.improving, self.n_jobs = k, n_estimators, improving, n_jobs

    def steps(self, train: ScaledQueries) -> Iterator[FloatArray]:
        """Each is a round."""
        ndcg = train.ndcg
        by_feature = np.stack([ndcg(column.astype(np.float64)) for column in train.columns])
        weights, importance = np.zeros(len(by_feature)), np.full(len(ndcg), 1 / len(ndcg))
        reached = ndcg(train.scores(weights))
        yield weights
        for _ in range(validate_count("n_estimators", self.n_estimators)):
            order = np.argsort(-np.round(by_feature @ importance, 9), kind="stable")
            for feature in order if self.improving else order[:1]:
                grown = weights.copy()
                grown[feature] += _confidence(importance, by_feature[feature])
                measured = ndcg(train.scores(grown))
                if not self.improving or exact_mean(measured) > exact_mean(reached) + TOLERANCE:
                    break
            else:
                return
            repeats = weights.any() and np.count_nonzero(grown) == 1
            weights, reached = grown, measured
            importance = np.exp(-reached) / np.exp(-reached).sum()
            yield weights
            if repeats:
                return


def _confidence(importance: FloatArray, ndcg: FloatArray) -> float:
    """AdaRank's α of a ranking; large but finite for a perfect one."""
    loss = max(float(importance @ (1 - ndcg)), TOLERANCE)
    return 0.5 * float(np.log(importance @ (1 + ndcg) / loss))
