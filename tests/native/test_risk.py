"""Sums over topics against their definitions, and the same bits at every level."""

import math

import numpy as np
import pytest

from surefoot.native import kernel
from tests.native.levels import RUNNABLE

TOPICS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 50, 2047, 2048, 2049, 4100]


def moments(values: np.ndarray) -> list[float]:
    mean = math.fsum(values) / max(values.size, 1)
    return [values.size, mean, math.fsum((values - mean) ** 2)]


def slow_compare(system: np.ndarray, baseline: np.ndarray) -> list[float]:
    d = system - baseline
    large = ((d < -(0.2 + 1e-9) * baseline) & (baseline > 0)).sum()
    largest = max(np.abs(system).max(), np.abs(baseline).max())
    return [*moments(d[d >= 0]), *moments(d[d < 0]), (d > 0).sum(), large, largest]


def pair(topics: int, rows: tuple[int, int] = (3, 1)) -> list[np.ndarray]:
    """Scores of which some are equal, some are below 0, and some losses are exactly 20 %."""
    rng = np.random.default_rng(topics)
    found = [np.round(rng.normal(size=(count, topics)), 1) for count in rows]
    found[0][:, ::5] = 0.8 * found[1][0, ::5]
    return found


def compared(topics: int, level: str | None = None, rows: tuple[int, int] = (3, 1)) -> np.ndarray:
    found = np.full((max(rows), 9), np.nan)
    kernel("compare", level)(*pair(topics, rows), found)
    return found


@pytest.mark.parametrize("rows", [(3, 1), (1, 3), (3, 3)])
@pytest.mark.parametrize("topics", TOPICS)
def test_comparisons_are_as_defined(topics, rows):
    both = np.broadcast_arrays(*pair(topics, rows))
    expected = [slow_compare(*one) for one in zip(*both, strict=True)]
    np.testing.assert_allclose(compared(topics, rows=rows), expected, rtol=1e-12, atol=1e-14)


def margins(topics: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, shares and totals; one total, one share and some expected scores are not above 0."""
    matrix = np.vstack([pair(topics)[0], np.zeros(topics)])
    matrix[:, :1] = 0
    totals = matrix.sum(axis=0)
    return matrix, np.append(np.random.default_rng(topics).random(3), 0.0), totals


def z_sums(topics: int, level: str | None = None) -> np.ndarray:
    matrix, shares, totals = margins(topics)
    inverse = 1 / np.sqrt(np.where(totals == 0, 1, np.abs(totals)))
    found = np.full((2, 4), np.nan)
    kernel("sum_z", level)(matrix, shares, totals, inverse, *found)
    return found


@pytest.mark.parametrize("topics", TOPICS)
def test_sums_of_z_are_as_defined(topics):
    matrix, shares, totals = margins(topics)
    expected = shares[:, np.newaxis] * totals
    z = np.where(expected > 0, matrix - expected, 0) / np.sqrt(np.where(expected > 0, expected, 1))
    slow = [[math.fsum(row) for row in side] for side in (np.maximum(z, 0), np.minimum(z, 0))]
    np.testing.assert_allclose(z_sums(topics), slow, rtol=1e-12, atol=1e-14)


def weighted_sums(topics: int, level: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums by the kernel and by the definition; one share is 0, where the kernel fills in nothing."""
    rng = np.random.default_rng(topics)
    weights, matrix = rng.integers(0, 4, (5, topics)).astype(float), rng.random((3, topics))
    root, share = np.sqrt(matrix.sum(axis=0)), rng.random((3, 5))
    share[1, 2] = 0
    found = np.zeros((2, 3, 5))
    kernel("weighted_z", level)(weights, matrix / root, root, np.sqrt(share), *found)
    expected = np.where(share > 0, share, np.inf)[:, :, np.newaxis] * root**2
    z = weights * (matrix[:, np.newaxis] - expected) / np.sqrt(expected)
    slow = np.stack([np.maximum(z, 0).sum(axis=2), np.minimum(z, 0).sum(axis=2)])
    return found, np.where(share > 0, slow, 0)


@pytest.mark.parametrize("topics", TOPICS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_weighted_sums_of_z_are_as_defined(topics):
    np.testing.assert_allclose(*weighted_sums(topics), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_every_level_gives_the_same_bits():
    for topics in TOPICS:
        found = {
            b"".join(
                part.tobytes()
                for part in (compared(topics, level), z_sums(topics, level), weighted_sums(topics, level)[0])
            )
            for level in RUNNABLE
        }
        assert len(found) == 1


def test_no_topics_and_no_rows():
    assert not compared(0).any()
    assert not z_sums(0).any()
    kernel("compare")(np.zeros((0, 4)), np.zeros((1, 4)), np.zeros((0, 9)))
    with pytest.raises(IndexError):
        kernel("compare")(np.zeros((0, 4)), np.zeros((1, 4)), np.zeros((1, 9)))
