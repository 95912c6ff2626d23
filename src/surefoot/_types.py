"""Type aliases that all packages share."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

PathLike: TypeAlias = str | os.PathLike[str]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Array: TypeAlias = Any
"""An array that a compiled kernel takes; numba finds out its element type."""
