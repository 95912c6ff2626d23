"""Matrices of scores: systems × topics, from rows that each have their own topics; trials × topics for repeats.

Trials are NaN where a topic has fewer trials than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from surefoot._names import as_texts, natural_order, positions, refuse_duplicates
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, counted, listed

LARGEST = 1e100
"""Beyond it squares overflow; no effectiveness measure comes near."""


Trials = Mapping[str, FloatArray]
"""The trials of each system that has repeats."""
EMPTY: Trials = MappingProxyType({})
"""An immutable empty mapping, for defaults."""


def read_only(values: npt.ArrayLike) -> FloatArray:
    """The values as a read-only matrix; a copy unless they are read-only already."""
    if isinstance(values, np.ndarray) and _is_read_only(values):
        return values.view()
    try:
        matrix = np.require(np.array(values, dtype=np.float64), requirements="O")
    except (TypeError, ValueError, OverflowError):
        raise SurefootError("scores must be numbers, as many in each row as there are topics") from None
    matrix.flags.writeable = False
    return matrix.view()


def read_only_rows(values: FloatArray, rows: list[int]) -> FloatArray:
    """A read-only copy of some rows of a matrix."""
    chosen = values[rows]
    chosen.flags.writeable = False
    return chosen.view()


def _is_read_only(array: npt.NDArray[Any]) -> bool:
    """Whether an array is plain float64 and read-only, and so is the owner of its memory."""
    owner = array if array.base is None else array.base
    plain = type(array) is np.ndarray and array.dtype == np.float64 and isinstance(owner, np.ndarray)
    return plain and owner.flags.owndata and not array.flags.writeable and not owner.flags.writeable


def mean_over_trials(trials: FloatArray) -> FloatArray:
    """The mean of each topic over its trials, which does not depend on their order; NaN where it has none.

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
        raise SurefootError(f"a trial of system {system!r} is not a finite number of at most {LARGEST:g}")


def validated_trials(
    trials: Mapping[str, FloatArray], systems: Sequence[str], values: FloatArray
) -> MappingProxyType[str, FloatArray]:
    """The trials of the systems that have repeats; raise if the scores are not their means."""
    unknown = [name for name in trials if name not in systems]
    if unknown:
        raise SurefootError(f"there are trials of {unknown[0]!r}, which is not among the systems")
    found = {name: trials[name] for name in systems if name in trials}
    for name, own in found.items():
        row = values[systems.index(name)]
        if own.ndim != 2 or own.shape[1] != row.size or not own.size:
            raise SurefootError(f"the trials of {name!r} need the shape trials × {row.size} topics, not {own.shape}")
        refuse_infinite(name, own)
        if not np.allclose(mean_over_trials(own), row, rtol=1e-9, atol=1e-12):
            raise SurefootError(f"the scores of {name!r} are not the means of its trials")
    return MappingProxyType({name: own for name, own in found.items() if are_repeats(own)})


Missing = Literal["error", "zero", "drop"]
Row = tuple[str, Sequence[str], npt.ArrayLike]
"""A system, its topics, and its scores on them: one for each topic, or trials × topics."""


class Aligned(NamedTuple):
    """Systems × topics, the trials of the systems that have any, and notes on missing scores."""

    systems: list[str]
    topics: tuple[str, ...]
    matrix: FloatArray
    trials: dict[str, FloatArray]
    notes: tuple[str, ...]


def aligned(rows: Iterable[Row], missing: Missing) -> Aligned:
    """The rows on the same topics, in natural order; see `surefoot.Scores.align`."""
    choose(missing, get_args(Missing), "missing")
    names: list[str] = []
    labels, vectors = [], []
    for system, own_topics, own_values in rows:
        names += as_texts("system", [system])
        labels.append(as_texts("topic", own_topics))
        vectors.append(_numbers(system, own_values, len(labels[-1])))
    refuse_duplicates("system", names)
    everything = natural_order({topic for own in dict.fromkeys(labels) for topic in own})
    column = {topic: index for index, topic in enumerate(everything)}
    matrix = np.full((len(names), len(column)), np.nan)
    trials = {}
    for row, (own, vector, name) in enumerate(zip(labels, vectors, names, strict=True)):
        places: slice | list[int] = slice(None)
        if own != everything:
            refuse_duplicates("topic", own, f" of system {name!r}")
            places = [column[topic] for topic in own]
        if vector.ndim == 2:
            trials[name] = np.full((len(vector), len(column)), np.nan)
            trials[name][:, places] = vector
            vector = mean_over_trials(vector)
        matrix[row, places] = vector
    matrix, topics, notes = _resolve_missing(matrix, names, everything, missing)
    kept = positions("topic", everything, topics) if trials else []
    return Aligned(names, topics, matrix, {name: _filled(own[:, kept]) for name, own in trials.items()}, notes)


def _numbers(system: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """A number for each topic, or for each trial and topic."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SurefootError(f"the scores of system {system!r} must be numbers") from None
    if vector.shape != (count,) and (vector.ndim != 2 or not len(vector) or vector.shape[1] != count):
        raise SurefootError(f"system {system!r} needs a number for each of {counted(count, 'topic')}")
    if vector.ndim == 2:
        refuse_infinite(system, vector)
    return vector


def _filled(trials: FloatArray) -> FloatArray:
    """The trials; a topic without any, with a score filled with 0, gets one trial of 0."""
    trials[0, np.isnan(trials).all(axis=0)] = 0
    return trials


def _resolve_missing(
    matrix: FloatArray, systems: Sequence[str], topics: tuple[str, ...], missing: Missing
) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
    absent = np.isnan(matrix)
    if not absent.any():
        return matrix, topics, ()
    cells_by_system = [
        f"{systems[row]} on {listed((topics[column] for column in np.flatnonzero(absent[row]).tolist()), most=5)}"
        for row in np.flatnonzero(absent.any(axis=1)).tolist()
    ]
    kept = np.asarray(~absent.any(axis=0))
    dropped = list(compress(topics, ~kept))
    note = missing_note(missing, int(absent.sum()), listed(cells_by_system, most=5), len(dropped), listed(dropped))
    if missing == "zero":
        return np.where(absent, 0.0, matrix), topics, (note,)
    if not kept.any():
        raise SurefootError(f"no topic is left: {note}")
    return matrix[:, kept], tuple(compress(topics, kept)), (note,)


def missing_note(missing: Missing, scores: int, which: str, topics: int, dropped: str) -> str:
    """The note on missing scores, or on the topics dropped for them; raise if none may be missing."""
    if missing == "error":
        raise SurefootError(
            f"{counted(scores, 'score')} missing: {which}; "
            "count them 0 (missing: zero) or leave those topics out (missing: drop)"
        )
    if missing == "zero":
        return f"{counted(scores, 'missing score')} filled with 0: {which}"
    return f"{counted(topics, 'topic')} dropped, missing from some system: {dropped}"
