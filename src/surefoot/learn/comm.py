"""Sums over all queries, wherever they are: in one process, or on the workers of a cluster.

Training is the same code everywhere. Whatever depends on all queries goes through a ``comm``, and every worker calls
it equally often, whatever its rows.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from surefoot.scores import FloatArray


class Comm(Protocol):
    """What a training asks of the other workers."""

    def sum(self, values: FloatArray) -> FloatArray:
        """The sum of these values over all workers."""

    def max(self, values: FloatArray) -> FloatArray:
        """The maximum of these values over all workers."""

    def gather(self, columns: FloatArray) -> FloatArray:
        """The columns of all workers side by side, in the order of the workers."""

    def raise_together(self) -> AbstractContextManager[None]:
        """A block after which either all workers go on or all raise: none waits for one that failed."""


@dataclass(frozen=True)
class Local:
    """One process that holds all queries."""

    def sum(self, values: FloatArray) -> FloatArray:
        return values

    def max(self, values: FloatArray) -> FloatArray:
        return values

    def gather(self, columns: FloatArray) -> FloatArray:
        return columns

    def raise_together(self) -> AbstractContextManager[None]:
        return nullcontext()
