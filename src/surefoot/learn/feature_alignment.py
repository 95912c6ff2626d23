"""Ranking data with the same features: LETOR files leave out zeros, so two of them seldom end at the same feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData


def same_features(parts: Sequence[RankingData]) -> list[RankingData]:
    """The parts, each with the features of all: files where most values are 0 seldom end at the same one.

    Parameters
    ----------
    parts : sequence of RankingData
        Such as training, validation and test queries.

    Returns
    -------
    list of RankingData
        The features that a part lacks are 0.

    Examples
    --------
    >>> narrow, wide = RankingData.of([[1.0]], [1], [7]), RankingData.of([[1.0, 2.0]], [0], [8])
    >>> [part.features.tolist() for part in same_features([narrow, wide])]
    [[[1.0, 0.0]], [[1.0, 2.0]]]
    """
    first = min(part.first_feature for part in parts)
    end = max(part.first_feature + part.features.shape[1] for part in parts)
    return [widened(part, first, end - first) for part in parts]


def widened(data: RankingData, first: int, width: int) -> RankingData:
    """The data with ``width`` features, numbered from ``first`` on; those that it lacks are 0."""
    rows, columns = data.features.shape
    before = data.first_feature - first
    if before < 0 or before + columns > width:
        raise SurefootError(
            f"{data.source}: features {data.first_feature} to {data.first_feature + columns - 1} are more than the "
            f"expected {first} to {first + width - 1}; leave the others out"
        )
    if columns == width:
        return data
    features: Any
    if isinstance(data.features, np.ndarray):
        features = np.zeros((rows, width), np.float32)
        features[:, before : before + columns] = data.features
    else:
        from scipy import sparse

        old = data.features
        features = sparse.csr_array((old.data, old.indices + before, old.indptr), shape=(rows, width))
    return replace(data, features=features, first_feature=first)
