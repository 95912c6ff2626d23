"""Effectiveness measures of the native library against their definitions, written out."""

import math

import numpy as np
import pytest

from surefoot.effectiveness.measures import parse_measure
from surefoot.native import kernel, records
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
    formula, values = parse_measure(name).scaled_to(LEVELS - 1).formula, np.empty((2, assignments))
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
    formula = parse_measure("nDCG@10").formula
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


UNJUDGED = -(2.0**31)


def formulas(*names: str) -> np.ndarray:
    return records("measure", [parse_measure(name).formula for name in names])


def tokens_of(ids: list[str]) -> tuple[np.ndarray, ...]:
    """The bytes, starts, lengths and hashes of ids; the hash is the length, so that tables compare many."""
    lengths = np.array([len(name) for name in ids], np.int32)
    starts = np.cumsum(lengths) - lengths
    return np.frombuffer("".join(ids).encode(), np.uint8), starts, lengths, lengths.astype(np.uint64)


def small_collection() -> dict[str, object]:
    """Topic 0 is not judged, topic 1 is the qrels' only one, whose hash table has 8 slots from 2 on."""
    ids = ["a", "dd", "b", "longer-than-8", "nowhere", "longer-than-9", "c"]
    slots = np.full(10, -1, np.int32)
    judged = tokens_of(["c", "longer-than-9", "b", "a"])
    for item, code in enumerate(judged[3].tolist()):
        slot = code % 8
        while slots[2 + slot] >= 0:
            slot = (slot + 1) % 8
        slots[2 + slot] = item
    return {
        "run": tokens_of(ids), "bounds": np.array([0, 1, 7]), "topic_of": np.array([-1, 0]), "first": np.array([0, 2]),
        "qrels": judged, "judged": np.array([3.0, 2.0, 1.0, 0.5]), "tables": np.array([[2, 8]]), "slots": slots,
        "depth": 9, "skip": 0, "grades": np.zeros(9), "sizes": np.full(2, 7),
    }  # fmt: skip


@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize(
    ("skip", "depth", "grades"),
    [
        (0, 9, [UNJUDGED, 1, UNJUDGED, UNJUDGED, 2, 3]),
        (0, 2, [UNJUDGED, 1]),
        (1, 9, [1, 2, 3]),
        (1, 2, [1, 2]),
    ],
)
def test_grades_are_looked_up(skip, depth, grades, level):
    arguments = small_collection() | {"skip": skip, "depth": depth}
    kernel("look_up", level)(*arguments.values())
    assert arguments["sizes"].tolist() == [0, len(grades)]
    assert arguments["grades"].tolist() == [0, 0, *grades, *[0] * (7 - len(grades))]
    run = tuple(arguments[name] for name in ("topic_of", "first", "sizes", "grades"))
    fractions, values = np.full((2, 1), np.nan), np.full((2, 1), np.nan)
    kernel("judged_fractions", level)(run, np.array([3, 1]), fractions)
    kernel("measure_topics", level)(run, formulas("P@5", "P@1"), np.array([0, 4]), arguments["judged"], values)
    assert fractions.tolist() == [[np.mean([grade != UNJUDGED for grade in grades[:k]])] for k in (3, 1)]
    assert values.tolist() == [[sum(grade >= 1 for grade in grades[:k]) / k] for k in (5, 1)]


@pytest.mark.parametrize(
    "changed",
    [
        {"bounds": np.array([0, 1, 8])},
        {"bounds": np.array([0, -1, 7])},
        {"bounds": np.array([0, 3, 2])},
        {"topic_of": np.array([-1, 1])},
        {"first": np.array([0, 4])},
        {"first": np.array([0, -1])},
        {"tables": np.array([[3, 8]])},
        {"tables": np.array([[2, 7]])},
        {"depth": -1},
    ],
)
def test_runs_out_of_bounds_are_refused(changed):
    with pytest.raises(IndexError):
        kernel("look_up")(*(small_collection() | changed).values())


def test_ids_beyond_the_text_are_refused():
    arguments = small_collection()
    arguments["run"][1][3] = 1 << 40
    with pytest.raises(IndexError):
        kernel("look_up")(*arguments.values())


@pytest.mark.parametrize("changed", [{"topic_of": 1}, {"first": 9}, {"first": -1}, {"sizes": 10}, {"sizes": -1}])
def test_rankings_out_of_bounds_are_refused(changed):
    run = {"topic_of": 0, "first": 1, "sizes": 8} | changed
    ranked = (*(np.array([value]) for value in run.values()), np.zeros(9))
    with pytest.raises(IndexError):
        kernel("judged_fractions")(ranked, np.array([3]), np.zeros((1, 1)))
    with pytest.raises(IndexError):
        kernel("measure_topics")(ranked, formulas("P@5"), np.array([0, 1]), np.zeros(1), np.zeros((1, 1)))


@pytest.mark.parametrize("bounds", [[0, 3], [-1, 1], [2, 1]])
def test_judgments_out_of_bounds_are_refused(bounds):
    ranked = np.array([0]), np.array([0]), np.array([1]), np.ones(1)
    with pytest.raises(IndexError):
        kernel("measure_topics")(ranked, formulas("AP"), np.array(bounds), np.ones(2), np.zeros((1, 1)))
