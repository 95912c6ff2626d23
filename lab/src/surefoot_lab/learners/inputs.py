"""The arguments of ``fit`` and ``predict`` of the learned baselines, validated alike for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._process import available_cores
from surefoot.errors import SurefootError, counted
from surefoot.learn.data import RankingData, as_matrix

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix

EvalSet = tuple[Any, npt.ArrayLike, Iterable[object]]
"""Features, labels and query ids of validation data."""


def training_data(
    X: Any, y: npt.ArrayLike, qid: Iterable[object], eval_set: EvalSet | None
) -> tuple[RankingData, RankingData | None]:
    """The arguments of ``fit`` as ranking data."""
    data = RankingData.of(X, y, qid, source="training data")
    if eval_set is None:
        return data, None
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 3:
        raise SurefootError("eval_set must be (X, y, qid): features, labels and query ids of validation data")
    validation = RankingData.of(*eval_set, source="eval_set")
    _validate_width(validation.features, data.features.shape[1], "eval_set")
    return data, validation


def prediction_data(model: Any, X: Any) -> Matrix:
    """The argument of ``predict`` as a matrix of as many features as in training."""
    if not hasattr(model, "n_features_in_"):
        raise SurefootError(f"this {type(model).__name__} has not learned yet; call fit first")
    matrix = as_matrix(X)
    _validate_width(matrix, model.n_features_in_, "data")
    return matrix


def _validate_width(matrix: Matrix, expected: int, source: str) -> None:
    if matrix.shape[1] != expected:
        raise SurefootError(f"{source}: {counted(matrix.shape[1], 'feature')}, but the training data have {expected}")


def validate_count(name: str, number: int, least: int = 1) -> int:
    """A parameter that must be a whole number, ``least`` or more."""
    if not isinstance(number, int | np.integer) or number < least:
        raise SurefootError(f"{name} must be a whole number of {least} or more; got {number!r}")
    return int(number)


def thread_count(n_jobs: int | None) -> int:
    """How many threads to start; without a number, one for each processor."""
    return validate_count("n_jobs", available_cores() if n_jobs is None else n_jobs)
