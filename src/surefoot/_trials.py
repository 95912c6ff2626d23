"""Trials of a system: arrays of trials × topics, NaN where a topic has fewer trials than another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from surefoot._arrays import LARGEST, locked
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

Trials = Mapping[str, FloatArray]
"""The trials of each system that has repeats."""
NONE: Trials = MappingProxyType({})


def mean_over_trials(trials: FloatArray) -> FloatArray:
    """The mean of each topic over its trials, whatever their order; NaN where it has none.

    >>> mean_over_trials(np.array([[0.1, 0.4], [0.1, np.nan], [0.1, np.nan]]))
    array([0.1, 0.4])
    """
    ordered = np.sort(trials, axis=0)  # NaN comes last
    counts = (~np.isnan(ordered)).sum(axis=0)
    means = np.full(counts.shape, np.nan)
    np.divide(np.nansum(ordered, axis=0), counts, out=means, where=counts > 0)
    # Clipped, so that rounding never moves the mean of equal trials away from them.
    return np.asarray(np.clip(means, ordered[0], np.fmax.reduce(ordered, axis=0)))


def are_repeats(trials: FloatArray) -> bool:
    """Whether some topic has two trials or more.

    >>> are_repeats(np.array([[0.1, np.nan], [np.nan, 0.4]]))
    False
    """
    return bool(((~np.isnan(trials)).sum(axis=0) > 1).any())


def refuse_infinite(system: str, trials: FloatArray) -> None:
    """Raise if a trial's score is infinite or so large that squares overflow."""
    if (np.abs(trials) > LARGEST).any():
        raise SurefootError(f"a trial of system {system!r} is no finite number of at most {LARGEST:g}")


def locked_trials(
    trials: Mapping[str, npt.ArrayLike], systems: Sequence[str], values: FloatArray
) -> MappingProxyType[str, FloatArray]:
    """The trials of systems with repeats, read-only; the scores must be their means."""
    unknown = [name for name in trials if name not in systems]
    if unknown:
        raise SurefootError(f"there are trials of {unknown[0]!r}, which is not among the systems")
    found = {name: locked(trials[name]) for name in systems if name in trials}
    for name, own in found.items():
        row = values[systems.index(name)]
        if own.ndim != 2 or own.shape[1] != row.size or not own.size:
            raise SurefootError(f"the trials of {name!r} need the shape trials × {row.size} topics, not {own.shape}")
        refuse_infinite(name, own)
        if not np.allclose(mean_over_trials(own), row, rtol=1e-9, atol=1e-12):
            raise SurefootError(f"the scores of {name!r} are not the means of its trials")
    return MappingProxyType({name: own for name, own in found.items() if are_repeats(own)})
