"""Boosted trees by LightGBM as it is: regression on the labels, and its own LambdaMART."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import lightgbm
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.research.baselines.line_search import (
    Floats,
    Queries,
    Validation,
    at_least,
    prediction_data,
    threads,
    training_data,
)

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix

Model = TypeVar("Model", bound="BoostedTrees")


class BoostedTrees(BaseEstimator):  # type: ignore[misc]
    """What the boosted rankers share; the objective is all that they differ in.

    ``docs_per_leaf`` is the least number of documents in a leaf, as LightGBM counts: it estimates them from second
    derivatives, so that LambdaMART's leaves may have fewer. With validation data, the number of trees whose
    NDCG@k is best on them is kept; ``early_stopping`` ends learning when it has not risen for so many trees.
    ``engine`` holds further parameters of LightGBM, in its own words, which overrule the others.
    """

    _objective: str

    def __init__(
        self,
        leaves: int = 50,
        trees: int = 500,
        rate: float = 0.1,
        docs_per_leaf: int = 20,
        early_stopping: int | None = None,
        k: int = 10,
        seed: int = 0,
        workers: int | None = None,
        engine: Mapping[str, Any] | None = None,
    ) -> None:
        self.leaves, self.trees, self.rate, self.docs_per_leaf = leaves, trees, rate, docs_per_leaf
        self.early_stopping, self.k, self.seed, self.workers, self.engine = early_stopping, k, seed, workers, engine

    def fit(self: Model, X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: Validation | None = None) -> Model:
        """Learn from documents (rows) with labels and query ids; validation data choose the number of trees."""
        data, validation = training_data(X, y, qid, eval_set)
        given, curves = _dataset(data), dict[str, Any]()
        judged = {} if validation is None else self._judged_by(validation, given, curves)
        try:
            booster = lightgbm.train(self._parameters(), given, at_least(1, "trees", self.trees), **judged)
        except lightgbm.basic.LightGBMError as error:
            raise SurefootError(f"LightGBM can't learn from this: {str(error).strip()}") from None
        # The booster's own choice exists only with early stopping.
        best = int(np.argmax(curves["valid_0"]["ndcg"])) + 1 if curves else booster.current_iteration()
        self.booster_, self.best_iteration_, self.n_features_in_ = booster, best, data.features.shape[1]
        return self

    def _parameters(self) -> dict[str, Any]:
        """The words of LightGBM for ours."""
        return {
            "objective": self._objective,
            "metric": "None",
            "num_leaves": at_least(2, "leaves", self.leaves),
            "learning_rate": self.rate,
            "min_data_in_leaf": at_least(0, "docs_per_leaf", self.docs_per_leaf),
            "seed": self.seed,
            "num_threads": threads(self.workers),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            **(self.engine or {}),
        }

    def _judged_by(self, validation: RankingData, given: lightgbm.Dataset, curves: dict[str, Any]) -> dict[str, Any]:
        """What makes LightGBM follow the NDCG@k of validation data."""
        queries = Queries(validation, self.k, self.workers)
        callbacks = [lightgbm.record_evaluation(curves)]
        if self.early_stopping is not None:
            patience = at_least(1, "early_stopping", self.early_stopping)
            callbacks.append(lightgbm.early_stopping(patience, verbose=False))

        def ndcg(scores: Floats, _: lightgbm.Dataset) -> tuple[str, float, bool]:
            return "ndcg", queries.mean(queries.taken(scores)), True

        return {"valid_sets": [_dataset(validation, given)], "feval": ndcg, "callbacks": callbacks}

    def predict(self, X: Any) -> Floats:
        """The scores of documents: those of a query are ranked by them, the largest first."""
        matrix = _for_engine(prediction_data(self, X))
        scores = self.booster_.predict(matrix, num_iteration=self.best_iteration_, num_threads=threads(self.workers))
        return np.asarray(scores, np.float64)


def _dataset(data: RankingData, reference: lightgbm.Dataset | None = None) -> lightgbm.Dataset:
    return lightgbm.Dataset(_for_engine(data.features), data.labels, reference=reference, group=data.sizes)


def _for_engine(matrix: Matrix) -> Any:
    """LightGBM takes sparse features as an older type of the same content."""
    return matrix if isinstance(matrix, np.ndarray) else sparse.csr_matrix(matrix)


class RegressionTrees(BoostedTrees):
    """Gradient boosted regression trees: each fits what the sum of those before it leaves of the labels.

    Friedman, "Greedy function approximation: a gradient boosting machine" (Annals of Statistics, 2001), by LightGBM.
    Queries play no part in learning, only in choosing the number of trees.

    >>> X, y, qid = [[0, 3], [1, 1], [2, 2], [0, 1]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> RegressionTrees(trees=10, docs_per_leaf=1).fit(X, y, qid=qid).predict(X).round(2)
    array([0.17, 0.83, 0.83, 0.17])
    """

    _objective = "regression"


class LambdaMART(BoostedTrees):
    """Boosted trees whose gradients are changes of NDCG: LightGBM's own ``lambdarank``.

    Wu, Burges, Svore and Gao, "Adapting boosting for information retrieval measures" (Information Retrieval, 2010).

    >>> X, y, qid = [[0, 3], [1, 1], [2, 2], [0, 1]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> scores = LambdaMART(trees=10, docs_per_leaf=1).fit(X, y, qid=qid).predict(X)
    >>> bool(scores[1] > scores[0] and scores[2] > scores[3])
    True
    """

    _objective = "lambdarank"
