"""Which queries train, validate and test: folds around, and a share held out for the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, counted

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """The places of the queries to train on, to validate on and to test on."""

    train: Ints
    valid: Ints
    test: Ints


@dataclass(frozen=True, eq=False)
class Split:
    """The folds; each query outside ``held_out`` is in one test set. ``held_out`` has no queries to test on."""

    folds: tuple[Fold, ...]
    held_out: Fold

    @property
    def tested(self) -> Ints:
        """The queries of all test sets, in the order of the data."""
        return np.sort(np.concatenate([fold.test for fold in self.folds]))


def split(queries: int, folds: int, held_out: float = 0.0, seed: int = 0, own: Ints | None = None) -> Split:
    """Deal queries out to folds of equal size by chance, or take the parts that each belongs to (``own``).

    As in LETOR, fold 1 of 5 trains on parts 1 to 3, validates on 4 and tests on 5; fold 2 trains on 2 to 4, and so
    on around. The held-out share is drawn by chance, from each of the data's own parts alike, and is then divided in
    two thirds to train and one to validate.

    >>> found = split(10, folds=5, seed=1)
    >>> [fold.test.tolist() for fold in found.folds]
    [[1, 3], [2, 8], [4, 5], [7, 9], [0, 6]]
    """
    random = np.random.default_rng(seed)
    order = random.permutation(queries)
    count = folds if own is None else int(own.max()) + 1
    grouped = [order] if own is None else [order[own[order] == part] for part in range(count)]
    ends = np.round(held_out * np.cumsum([0, *(len(group) for group in grouped)])).astype(np.int64)
    shares = np.diff(ends).tolist()
    rest = [group[share:] for group, share in zip(grouped, shares, strict=True)]
    parts = [rest[0][part::count] for part in range(count)] if own is None else rest
    if min(map(len, parts)) == 0:
        raise SurefootError(f"{counted(queries, 'query')} are too few for {count} folds; give more, or make fewer")
    held = random.permutation(np.concatenate([group[:share] for group, share in zip(grouped, shares, strict=True)]))
    two_thirds = round(len(held) * 2 / 3)
    if held_out and not 0 < two_thirds < len(held):
        raise SurefootError(f"{counted(queries, 'query')} are too few to hold out a share of {held_out:g}; give more")
    return Split(
        tuple(_fold(parts, first) for first in range(count)),
        Fold(np.sort(held[:two_thirds]), np.sort(held[two_thirds:]), np.zeros(0, np.int64)),
    )


def _fold(parts: Sequence[Ints], first: int) -> Fold:
    """Train from one part on, all around but for the last two."""
    turned = [*parts[first:], *parts[:first]]
    return Fold(np.sort(np.concatenate(turned[:-2])), np.sort(turned[-2]), np.sort(turned[-1]))
