"""Rows of scores, each with its own topics, as one matrix of systems × topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._names import as_texts, positions, refuse_doubles
from surefoot._order import natural_order
from surefoot._trials import mean_over_trials, refuse_infinite
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, choose, counted, listed

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
    choose(missing, ("error", "zero", "drop"), "missing")
    names: list[str] = []
    labels, vectors = [], []
    for system, own_topics, own_values in rows:
        names += as_texts("system", [system])
        labels.append(as_texts("topic", own_topics))
        vectors.append(_numbers(system, own_values, len(labels[-1])))
    refuse_doubles("system", names)
    everything = natural_order({topic for own in dict.fromkeys(labels) for topic in own})
    column = {topic: index for index, topic in enumerate(everything)}
    matrix = np.full((len(names), len(column)), np.nan)
    trials = {}
    for row, (own, vector, name) in enumerate(zip(labels, vectors, names, strict=True)):
        places: slice | list[int] = slice(None)
        if own != everything:
            refuse_doubles("topic", own, f" of system {name!r}")
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
    """The trials; a topic that has none, and whose score was filled with 0, gets one trial of 0."""
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
    cells = int(absent.sum())
    if missing == "error":
        raise SurefootError(
            f"{counted(cells, 'score')} missing: {listed(cells_by_system, most=5)}; "
            "count them 0 (missing: zero) or leave those topics out (missing: drop)"
        )
    if missing == "zero":
        return (
            np.where(absent, 0.0, matrix),
            topics,
            (f"{counted(cells, 'missing score')} filled with 0: {listed(cells_by_system, most=5)}",),
        )
    kept = ~np.any(absent, axis=0, keepdims=True)[0]
    dropped = [topic for topic, keep in zip(topics, kept, strict=True) if not keep]
    note = f"{counted(len(dropped), 'topic')} dropped, missing from some system: {listed(dropped)}"
    if not kept.any():
        raise SurefootError(f"no topic is left: {note}")
    return matrix[:, kept], tuple(t for t, keep in zip(topics, kept, strict=True) if keep), (note,)
