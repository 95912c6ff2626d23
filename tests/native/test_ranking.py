"""Effectiveness measures of the native library against their definitions, written out."""

import math

import numpy as np
import pytest

from surefoot.effectiveness.measures import parse_measure
from surefoot.native import kernel
from tests.native.levels import RUNNABLE

LEVELS = 4
NAMES = [
    "ERR", "ERR@5", "nDCG", "nDCG@7", "nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')@3", "AP", "AP(rel=2)", "AP@9", "RR",
    "RR(rel=3)@4", "P@5", "P(rel=2)@200", "R@10", "R(rel=2)@3", "RBP", "RBP(p=0.5)@6", "RBP(rel=2)",
    "RBP(p=0.95,rel=1)",
]  # fmt: skip


def slow(name: str, ranked: list[int], judged: list[int], highest: int) -> float:
    """The measure by its definition; ``ranked`` and ``judged`` are grades."""
    measure = parse_measure(name)
    kind, top = name.partition("@")[0].partition("(")[0], ranked[: measure.cutoff]
    relevant = [grade >= measure.rel for grade in top]
    total = sum(grade >= measure.rel for grade in judged)
    if kind == "ERR":
        stops = [(2**grade - 1) / 16 for grade in top]
        return sum(r / (i + 1) * math.prod(1 - s for s in stops[:i]) for i, r in enumerate(stops))
    if kind == "nDCG":
        gain = (lambda grade: 2**grade - 1) if "exp" in name else float
        dcg = [
            sum(gain(grade) / math.log2(i + 2) for i, grade in enumerate(grades[: measure.cutoff]))
            for grades in (ranked, sorted(judged, reverse=True))
        ]
        return dcg[0] / dcg[1] if dcg[1] else 0.0
    if kind == "AP":
        return sum(sum(relevant[: i + 1]) / (i + 1) for i, own in enumerate(relevant) if own) / max(total, 1)
    if kind == "RR":
        return 1 / (relevant.index(True) + 1) if any(relevant) else 0.0
    if kind == "P":
        return sum(relevant) / measure.cutoff
    if kind == "R":
        return sum(relevant) / max(total, 1)
    p = measure.persistence
    gains = relevant if "rel" in name else [grade / highest for grade in top]
    return sum((1 - p) * p**i * gain for i, gain in enumerate(gains))


def measured(name: str, seed: int, level: str | None = None) -> tuple[np.ndarray, list[list[float]]]:
    """The measure of two rankings under some assignments by the kernel, and by the definition."""
    rng = np.random.default_rng(seed)
    documents, assignments = int(rng.integers(1, 40)), 3
    own, base = (rng.permutation(documents)[: rng.integers(0, documents + 1)] for _ in range(2))
    grades, rest = rng.integers(0, LEVELS, (assignments, documents)), rng.integers(0, 9, (assignments, LEVELS))
    formula, values = parse_measure(name).formula(LEVELS - 1), np.empty((2, assignments))
    scratch = np.empty(documents + int(rest.sum())), np.empty(documents)
    kernel("measure_both", level)(formula, own, base, grades, rest, *scratch, values)
    expected = [
        [slow(name, row[ranking].tolist(), [*row, *np.repeat(np.arange(LEVELS), others)], LEVELS - 1)
         for row, others in zip(grades, rest, strict=True)]
        for ranking in (own, base)
    ]  # fmt: skip
    return values, expected


@pytest.mark.parametrize("name", NAMES)
def test_measures_are_as_defined(name):
    for seed in range(20):
        values, expected = measured(name, seed)
        np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_every_level_gives_the_same_bits(name):
    found = {b"".join(measured(name, seed, level)[0].tobytes() for seed in range(20)) for level in RUNNABLE}
    assert len(found) == 1


def refused(**changed: object) -> None:
    arguments = {
        "own": np.array([0, 1]), "base": np.array([1]), "grades": np.array([[1, 0]]), "rest": np.array([[0, 2]]),
        "judged": np.empty(4), "ranked": np.empty(2), "values": np.empty((2, 1)),
    }  # fmt: skip
    formula = parse_measure("nDCG@10").formula(1)
    kernel("measure_both")(formula, *arguments.values())
    with pytest.raises(IndexError):
        kernel("measure_both")(formula, *(arguments | changed).values())


def test_documents_and_counts_without_room_are_refused():
    refused(own=np.array([0, 2]))
    refused(base=np.array([-1]))
    refused(judged=np.empty(3))
    refused(ranked=np.empty(1))
    refused(rest=np.array([[0, 1 << 62]]))
    refused(rest=np.array([[0, -9]]))
