"""Type aliases that all packages share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

PathLike: TypeAlias = str | os.PathLike[str]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Array: TypeAlias = Any
"""An array that a compiled kernel takes; numba finds out its element type."""

Progress: TypeAlias = Callable[[int, int | None, str], object]
"""Called by long work with the amount done, the total if it is known, and a message."""
