"""Type aliases, defined once for the whole package."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Columns = dict[str, npt.NDArray[Any]]
"""Named columns of a table."""
Array = Any
"""An array of any element type."""

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int | None, object], object]
"""Called by long work with the amount done, the total if it is known, and a message (its `str`)."""
