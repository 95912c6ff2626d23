"""Data sets with the same features, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import SurefootError, listed
from surefoot.learn.data import RankingData

if TYPE_CHECKING:
    import polars

    from surefoot.learn.data import Matrix


def concat(parts: Sequence[RankingData]) -> RankingData:
    """The queries of all parts, one after the other."""
    widths = {(part.first_feature, part.features.shape[1]) for part in parts}
    if len(widths) > 1:
        shown = listed(f"{part.source}: {part.features.shape[1]} from {part.first_feature} on" for part in parts)
        raise SurefootError(f"data with different features can't be put together ({shown})")
    offsets = np.cumsum([0, *(part.features.shape[0] for part in parts)])
    bounds = [part.bounds[1:] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
    return RankingData(
        _stacked([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([[0], *bounds]),
        tuple(query for part in parts for query in part.queries),
        _all_documents(parts),
        parts[0].feature_names,
        parts[0].first_feature,
        " + ".join(dict.fromkeys(part.source for part in parts)),
    )


def same_features(parts: Sequence[RankingData]) -> list[RankingData]:
    """The parts, each with the features of all; LETOR files leave out zeros, so they seldom end at the same feature.

    Parameters
    ----------
    parts : sequence of RankingData
        Such as training, validation and test queries.

    Returns
    -------
    list of RankingData
        Missing features are 0.

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
    """The data with ``width`` features, numbered from ``first`` on; missing ones are 0."""
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


def _stacked(matrices: Sequence[Matrix]) -> Matrix:
    dense = [matrix for matrix in matrices if isinstance(matrix, np.ndarray)]
    if len(dense) == len(matrices):
        return np.concatenate(dense)
    from scipy import sparse

    return sparse.csr_array(sparse.vstack([sparse.csr_array(matrix) for matrix in matrices]))


def _all_documents(parts: Sequence[RankingData]) -> polars.Series | None:
    known = [part.documents for part in parts if part.documents is not None]
    if len(known) < len(parts):
        return None
    import polars

    return polars.concat(known)
