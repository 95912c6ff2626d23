"""The statistics of one file: what is computed, here or on a cluster, wherever the file is."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import polars

from surefoot.analysis.streaming.batches import Batch, Log
from surefoot.analysis.streaming.statistics import EXAMPLES, Expectations, FirstPass, Hashes, Seen, Totals
from surefoot.scores import VIRTUAL, FloatArray


def first_pass(log: Log, baseline: str | None, path: str) -> FirstPass:
    """The totals of a file, and which topics it holds."""
    return reduce(
        add, (_look(log, baseline, batch) for batch in log.batches(path)), _look(log, baseline, _nothing(log))
    )


def second_pass(log: Log, shares: FloatArray, path: str) -> Expectations:
    """The sums of z over the topics of a file, each system's share of all scores being known."""
    nothing = Expectations.of(_nothing(log).values, shares)
    return reduce(add, (Expectations.of(_complete(log, batch), shares) for batch in log.batches(path)), nothing)


def places(log: Log, hashes: Hashes, path: str) -> list[tuple[str, str]]:
    """The topics of a file whose hash is among those given, and the file, as often as they come."""
    wanted = polars.Series(hashes, dtype=polars.UInt64)
    every = (batch.topics() for batch in log.batches(path))
    return [(topic, path) for topics in every for topic in topics.filter(topics.hash().is_in(wanted))]


def _nothing(log: Log) -> Batch:
    return Batch("", polars.Series(dtype=polars.String), np.empty((len(log.systems), 0)))


def _look(log: Log, baseline: str | None, batch: Batch) -> FirstPass:
    matrix = _complete(log, batch)
    return FirstPass(Totals.of(matrix, _baseline_row(log, matrix, baseline)), _seen(log, batch))


def _baseline_row(log: Log, matrix: FloatArray, baseline: str | None) -> FloatArray | None:
    if baseline is None or not matrix.shape[1]:
        return None
    return VIRTUAL[baseline](matrix) if baseline in VIRTUAL else matrix[log.systems.index(baseline)]


def _complete(log: Log, batch: Batch) -> FloatArray:
    """The scores without gaps: filled with 0, or their topics left out."""
    absent = np.isnan(batch.values)
    if not absent.any():
        return batch.values
    return np.where(absent, 0.0, batch.values) if log.missing == "zero" else batch.values[:, ~absent.any(axis=0)]


def _seen(log: Log, batch: Batch) -> Seen:
    topics, absent = batch.topics(), np.isnan(batch.values)
    first = np.argwhere(absent)[:EXAMPLES].tolist() if absent.any() else []
    return Seen(
        (np.sort(topics.hash().to_numpy()),),
        int(np.count_nonzero(absent)),
        int(np.count_nonzero(absent.any(axis=0))),
        tuple(f"{log.systems[row]} on {topics[column]}" for row, column in first),
    )
