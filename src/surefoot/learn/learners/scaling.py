"""Scaling of the features of linear rankers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.learn.data import Matrix

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scaling:
    """Standardised features: sign(x) · ln(1 + |x|), minus its mean, divided by its standard deviation, over all rows.

    Counts and lengths of web pages span many powers of ten: standardised without the logarithm, a few documents would
    take up the whole range. The logarithm keeps their order and is nearly linear within [0, 1]. Scaling within each
    query is usual in the field, but a document's score would then depend on the other documents of its query, and
    predictions would need query ids. A missing value counts as the mean; a constant feature is 0.
    """

    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, matrix: Matrix) -> Scaling:
        """The scaling of a training set."""
        mean, sd = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
        for feature, values in valid_columns(matrix, range(matrix.shape[1])):
            known = _signed_log(values[~np.isnan(values)])
            if known.size and known.min() < known.max():
                # Single precision, so that the order of rows does not change the last digits of the sums.
                mean[feature], sd[feature] = np.float32(known.mean()), np.float32(known.std())
            elif known.size:
                mean[feature] = known[0]
        return cls(mean, sd)

    def __call__(self, feature: int, values: Singles) -> Singles:
        """The values of a feature, scaled."""
        scaled = (_signed_log(values) - self.mean[feature]) / self.sd[feature]
        return np.where(np.isnan(scaled), 0.0, scaled).astype(np.float32)


def _signed_log(values: Singles) -> FloatArray:
    wide = values.astype(np.float64)
    return np.sign(wide) * np.log1p(np.abs(wide))


def valid_columns(matrix: Matrix, features: Iterable[int]) -> Iterator[tuple[int, Singles]]:
    """Some features and their columns, which must be finite or NaN."""
    by_column = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    for feature in features:
        values = by_column[:, [feature]]
        column = np.asarray(values if isinstance(values, np.ndarray) else values.toarray(), np.float32)[:, 0]
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            raise SurefootError(
                f"features must be finite, or NaN where they are missing; document {infinite[0] + 1} has "
                f"{column[infinite[0]]} in column {feature}"
            )
        yield feature, column
