"""The statistics of one file, computed on this machine or on a cluster."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import polars

from surefoot._typing import FloatArray
from surefoot.analysis.streaming.batches import Batch, Dataset
from surefoot.analysis.streaming.statistics import EXAMPLES, FirstPass, Hashes, Seen
from surefoot.risk.statistics import Expectation
from surefoot.scores import VIRTUAL


def first_pass(dataset: Dataset, baseline: str | None, path: str) -> FirstPass:
    """The sums of a file, and which topics it holds."""
    batches = (_first(dataset, baseline, batch) for batch in dataset.batches(path))
    return reduce(add, batches, _first(dataset, baseline, _nothing(dataset)))


def second_pass(dataset: Dataset, shares: FloatArray, path: str) -> Expectation:
    """The sums of z over the topics of a file, given each system's share of all scores."""
    parts = (Expectation.of(_complete(dataset, matrix), shares=shares) for matrix in dataset.matrices(path))
    return reduce(add, parts, Expectation.of(_nothing(dataset).values, shares=shares))


def occurrences(dataset: Dataset, hashes: Hashes, path: str) -> list[tuple[str, str]]:
    """The topics of a file whose hash is among those given, and the file, as often as they occur."""
    wanted = polars.Series(hashes, dtype=polars.UInt64).implode()
    every = (batch.topics() for batch in dataset.batches(path))
    return [(topic, path) for topics in every for topic in topics.filter(topics.hash().is_in(wanted))]


def _nothing(dataset: Dataset) -> Batch:
    return Batch("", polars.Series(dtype=polars.String), np.empty((len(dataset.systems), 0)))


def _first(dataset: Dataset, baseline: str | None, batch: Batch) -> FirstPass:
    matrix = _complete(dataset, batch.values)
    return FirstPass.of(matrix, _baseline_row(dataset, matrix, baseline), _seen(dataset, batch))


def _baseline_row(dataset: Dataset, matrix: FloatArray, baseline: str | None) -> FloatArray | None:
    if baseline is None or not matrix.shape[1]:
        return None
    return VIRTUAL[baseline](matrix) if baseline in VIRTUAL else matrix[dataset.systems.index(baseline)]


def _complete(dataset: Dataset, matrix: FloatArray) -> FloatArray:
    """The scores without missing ones: filled with 0, or their topics left out."""
    absent = np.isnan(matrix)
    if not absent.any():
        return matrix
    return np.where(absent, 0.0, matrix) if dataset.missing == "zero" else matrix[:, ~absent.any(axis=0)]


def _seen(dataset: Dataset, batch: Batch) -> Seen:
    topics, absent = batch.topics(), np.isnan(batch.values)
    first = np.argwhere(absent)[:EXAMPLES].tolist() if absent.any() else []
    return Seen(
        (topics.hash().sort().to_numpy(),),
        int(np.count_nonzero(absent)),
        int(np.count_nonzero(absent.any(axis=0))),
        tuple(f"{dataset.systems[row]} on {topics[column]}" for row, column in first),
    )
