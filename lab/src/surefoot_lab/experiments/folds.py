"""Which queries train, validate and test: rotating folds, and a fraction held out for the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot._seeds import generator
from surefoot._typing import IntArray
from surefoot.errors import SurefootError, counted


@dataclass(frozen=True, eq=False)
class Fold:
    """The indices of the queries to train on, to validate on and to test on."""

    train: IntArray
    valid: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False)
class Split:
    """The folds; each query outside ``held_out`` is in one test set. ``held_out`` has no queries to test on."""

    folds: tuple[Fold, ...]
    held_out: Fold

    @property
    def tested(self) -> IntArray:
        """The queries of all test sets, in the order of the data."""
        return np.sort(np.concatenate([fold.test for fold in self.folds]))


def split(queries: int, folds: int, held_out: float = 0.0, seed: int = 0, own: IntArray | None = None) -> Split:
    """Assign queries to folds of equal size at random, or by the parts of the data that they belong to (``own``).

    As in LETOR, fold 1 of 5 trains on parts 1 to 3, validates on 4 and tests on 5; fold 2 trains on 2 to 4, and so
    on in rotation. The held-out fraction is drawn at random, the same from each of the data's own parts, and then
    divided in two thirds to train and one third to validate.

    >>> found = split(10, folds=5, seed=1)
    >>> [fold.test.tolist() for fold in found.folds]
    [[1, 3], [2, 8], [4, 5], [7, 9], [0, 6]]
    """
    random = generator(seed)
    order = random.permutation(queries)
    count = folds if own is None else int(own.max()) + 1
    grouped = [order] if own is None else [order[own[order] == part] for part in range(count)]
    ends = np.round(held_out * np.cumsum([0, *(len(group) for group in grouped)])).astype(np.int64)
    counts = np.diff(ends).tolist()
    rest = [group[number:] for group, number in zip(grouped, counts, strict=True)]
    parts = [rest[0][part::count] for part in range(count)] if own is None else rest
    if min(map(len, parts)) == 0:
        raise SurefootError(f"{counted(queries, 'query')} are too few for {count} folds; give more, or make fewer")
    held = random.permutation(np.concatenate([group[:number] for group, number in zip(grouped, counts, strict=True)]))
    two_thirds = round(len(held) * 2 / 3)
    if held_out and not 0 < two_thirds < len(held):
        raise SurefootError(
            f"{counted(queries, 'query')} are too few to hold out a fraction of {held_out:g}; give more"
        )
    return Split(
        tuple(_fold(parts, first) for first in range(count)),
        Fold(np.sort(held[:two_thirds]), np.sort(held[two_thirds:]), np.zeros(0, np.int64)),
    )


def _fold(parts: Sequence[IntArray], first: int) -> Fold:
    """Train on the parts from ``first`` on, in rotation, except the last two."""
    rotated = [*parts[first:], *parts[:first]]
    return Fold(np.sort(np.concatenate(rotated[:-2])), np.sort(rotated[-2]), np.sort(rotated[-1]))
