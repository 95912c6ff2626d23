"""Read-only arrays, so that what holds them is immutable."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

LARGEST = 1e100
"""Beyond it squares overflow; no effectiveness measure comes near."""


def locked(values: npt.ArrayLike) -> FloatArray:
    """The values as a read-only matrix: a copy, unless it is read-only already."""
    matrix: FloatArray
    if isinstance(values, np.ndarray) and _is_locked(values):
        matrix = values
    else:
        try:
            matrix = np.array(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise SurefootError("scores must be numbers, as many in each row as there are topics") from None
        matrix.flags.writeable = False
    view: FloatArray = matrix.view()
    return view


def locked_rows(values: FloatArray, rows: list[int]) -> FloatArray:
    """These rows of a matrix, in memory of their own."""
    chosen = values[rows]
    chosen.flags.writeable = False
    return chosen.view()


def _is_locked(array: npt.NDArray[Any]) -> bool:
    """Whether an array is plain float64 and read-only, and so is the owner of its memory."""
    owner = array if array.base is None else array.base
    plain = type(array) is np.ndarray and array.dtype == np.float64 and isinstance(owner, np.ndarray)
    return plain and owner.flags.owndata and not array.flags.writeable and not owner.flags.writeable
