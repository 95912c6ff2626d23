"""Boosted trees with LightGBM's own objectives: regression on the labels, and LambdaMART."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import lightgbm
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot_lab.learners.inputs import (
    EvalSet,
    prediction_data,
    thread_count,
    training_data,
    validate_count,
)
from surefoot_lab.learners.line_search import QueryNDCG

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix


class BoostedTrees(BaseEstimator):  # type: ignore[misc]
    """Base class of the boosted rankers, which differ only in the objective.

    ``min_child_samples`` is the least number of documents in a leaf, which LightGBM estimates from second derivatives,
    so that LambdaMART's leaves may have fewer. With validation data, the number of trees whose NDCG@k is best on them
    is kept; training stops when it has not risen for ``early_stopping_rounds`` trees. ``params`` are further
    parameters of LightGBM, which take precedence.
    """

    _objective: str

    def __init__(
        self,
        *,
        num_leaves: int = 50,
        n_estimators: int = 500,
        learning_rate: float = 0.1,
        min_child_samples: int = 20,
        early_stopping_rounds: int | None = None,
        k: int = 10,
        seed: int = 0,
        n_jobs: int | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self.num_leaves, self.n_estimators, self.learning_rate = num_leaves, n_estimators, learning_rate
        self.min_child_samples, self.early_stopping_rounds = min_child_samples, early_stopping_rounds
        self.k, self.seed, self.n_jobs, self.params = k, seed, n_jobs, params

    def fit(self, X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: EvalSet | None = None) -> Self:
        """Learn from documents (rows) with labels and query ids; validation data select the number of trees."""
        data, validation = training_data(X, y, qid, eval_set)
        train, curves = _dataset(data), dict[str, Any]()
        validated = {} if validation is None else self._validate_on(validation, train, curves)
        rounds = validate_count("n_estimators", self.n_estimators)
        try:
            booster = lightgbm.train(self._parameters(), train, rounds, **validated)
        except lightgbm.basic.LightGBMError as error:
            raise SurefootError(f"LightGBM can't learn from this: {str(error).strip()}") from None
        # The booster's own best iteration exists with early stopping only.
        best = int(np.argmax(curves["valid_0"]["ndcg"])) + 1 if curves else booster.current_iteration()
        self.booster_, self.best_iteration_, self.n_features_in_ = booster, best, data.features.shape[1]
        return self

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": self._objective,
            "metric": "None",
            "num_leaves": validate_count("num_leaves", self.num_leaves, least=2),
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": validate_count("min_child_samples", self.min_child_samples, least=0),
            "seed": self.seed,
            "num_threads": thread_count(self.n_jobs),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            **(self.params or {}),
        }

    def _validate_on(self, validation: RankingData, train: lightgbm.Dataset, curves: dict[str, Any]) -> dict[str, Any]:
        """Arguments of `lightgbm.train` that record the NDCG@k of validation data in ``curves``."""
        queries = QueryNDCG(validation, self.k, self.n_jobs)
        callbacks = [lightgbm.record_evaluation(curves)]
        if self.early_stopping_rounds is not None:
            patience = validate_count("early_stopping_rounds", self.early_stopping_rounds)
            callbacks.append(lightgbm.early_stopping(patience, verbose=False))

        def ndcg(scores: FloatArray, _: lightgbm.Dataset) -> tuple[str, float, bool]:
            return "ndcg", queries.mean(queries.select(scores)), True

        return {"valid_sets": [_dataset(validation, train)], "feval": ndcg, "callbacks": callbacks}

    def predict(self, X: Any) -> FloatArray:
        """The scores of documents: those of a query are ranked by them, the largest first."""
        matrix = _for_engine(prediction_data(self, X))
        scores = self.booster_.predict(
            matrix, num_iteration=self.best_iteration_, num_threads=thread_count(self.n_jobs)
        )
        return np.asarray(scores, np.float64)


def _dataset(data: RankingData, reference: lightgbm.Dataset | None = None) -> lightgbm.Dataset:
    return lightgbm.Dataset(_for_engine(data.features), data.labels, reference=reference, group=data.sizes)


def _for_engine(matrix: Matrix) -> Any:
    """LightGBM takes sparse matrices, not the newer sparse arrays."""
    return matrix if isinstance(matrix, np.ndarray) else sparse.csr_matrix(matrix)


class RegressionTrees(BoostedTrees):
    """Gradient boosted regression trees: each fits the residuals of the trees before it.

    Friedman, "Greedy function approximation: a gradient boosting machine" (Annals of Statistics, 2001), by LightGBM.
    Queries matter only for choosing the number of trees.

    >>> X, y, qid = [[0, 3], [1, 1], [2, 2], [0, 1]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> RegressionTrees(n_estimators=10, min_child_samples=1).fit(X, y, qid=qid).predict(X).round(2)
    array([0.17, 0.83, 0.83, 0.17])
    """

    _objective = "regression"


class LambdaMART(BoostedTrees):
    """Boosted trees whose gradients are changes of NDCG: LightGBM's own ``lambdarank``.

    Wu, Burges, Svore and Gao, "Adapting boosting for information retrieval measures" (Information Retrieval, 2010).

    >>> X, y, qid = [[0, 3], [1, 1], [2, 2], [0, 1]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> scores = LambdaMART(n_estimators=10, min_child_samples=1).fit(X, y, qid=qid).predict(X)
    >>> bool(scores[1] > scores[0] and scores[2] > scores[3])
    True
    """

    _objective = "lambdarank"
