"""An objective one batch of queries at a time, for models that never see all queries at once."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, choose, counted
from surefoot.learn.objectives import OBJECTIVES, LambdaMART, QueryMetrics, objective_of
from surefoot.learn.pair_weights import PairWeights
from surefoot.scores import FloatArray


class BatchObjective:
    """The weights of an objective for a batch of queries, the last queries before it standing for all others.

    Objectives that compare queries with each other (saro, faro, trisk, georisk, tail, ...) need sums over all queries.
    Here these are sums over the batch and the last ``memory`` queries, whose metrics are those of when they were seen.
    With as many as the training set has, each query is there about once, some steps old.

    Parameters
    ----------
    name : str
        A name of `surefoot.learn.objectives`.
    alpha : float
        The risk sensitivity.
    memory : int
        How many queries before the batch are remembered; 0: the batch is all.
    **options
        Options of the objective itself. The spread of saro and faro is by default estimated anew for each batch
        (``each=True``): that of the first batch would be one of few queries and an untrained model.

    Examples
    --------
    >>> objective = BatchObjective("ucro", alpha=2)
    >>> weights = objective.weigh(np.array([0.5, 0.4]), np.array([[0.3, 0.5]]))
    >>> weights.per_query[:, :3]
    array([[2. , 0.2, 0. ],
           [2. , 0. , 0.1]], dtype=float32)
    """

    def __init__(self, name: str = "ucro", alpha: float = 1.0, *, memory: int = 1024, **options: Any) -> None:
        if memory < 0:
            raise SurefootError(f"memory must be 0 or more queries; got {memory}")
        known = {field.name for field in fields(OBJECTIVES[choose(name, OBJECTIVES, "objective")])}
        renewed = {"each": True} if "each" in known else {}
        self.objective: LambdaMART = objective_of(name, alpha, **{**renewed, **options})
        self.memory = memory
        self.remembered: FloatArray = np.zeros((0, 0))
        """Metrics of the model and its baselines (rows) on the last queries."""

    def weigh(self, x: FloatArray, baselines: FloatArray, remember: bool = True) -> PairWeights:
        """The weights of these queries.

        Parameters
        ----------
        x : array
            The model's metric on each query.
        baselines : array
            That of each baseline (rows).
        remember : bool
            Whether the queries are remembered, as those of training are.

        Returns
        -------
        PairWeights
            With a row for each query of the batch.
        """
        if baselines.shape[0] < self.objective.fewest_baselines:
            raise SurefootError(f"objective {self.objective.name} needs a baseline")
        seen = self._with_memory(np.vstack([x, baselines]))
        weights = self.objective.lambda_weights(QueryMetrics(seen[0], seen[1:]))
        if remember:
            self.remembered = seen[:, max(0, seen.shape[1] - self.memory) :]
        return weights._replace(per_query=weights.per_query[seen.shape[1] - x.size :])

    def _with_memory(self, batch: FloatArray) -> FloatArray:
        if not self.remembered.size:
            return batch
        if self.remembered.shape[0] != batch.shape[0]:
            before, now = (counted(rows - 1, "baseline") for rows in (self.remembered.shape[0], batch.shape[0]))
            raise SurefootError(f"every batch has the same baselines; this one has {now}, those before it {before}")
        return np.hstack([self.remembered, batch])
