"""What the fuzzer feeds: inputs by seed, how one is read, and a slow, obvious reader where there is such."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Subject:
    """A reader under test; ``read`` may write to the folder that it is given."""

    make: Callable[[int], Any]
    read: Callable[[Any, Path], Any]
    slow: Callable[[Any], Any] | None = None
