"""Contributions of moves: they add up to the change, and are the Shapley values by their definition."""

from collections.abc import Callable
from itertools import permutations
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import SurefootError
from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness import parse_measure
from surefoot.effectiveness.contributions import Decomposition
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.io.trec import read_qrels

MEASURES = (
    "nDCG@5", "nDCG", "nDCG(dcg='exp-log2')@5", "P@5", "P(rel=2)@5", "R@5", "RBP(p=0.7)", "RBP(rel=1)@5",
    "AP", "AP@5", "AP(rel=2)", "RR", "RR@5", "RR(rel=3)@10", "ERR@5", "ERR", "Success@3",
)  # fmt: skip
MOST = 9


def decomposition(measure: str) -> Decomposition:
    return Decomposition(parse_measure(measure).scaled_to(4))


@st.composite
def changes(draw: Callable[..., object], most: int = MOST) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Grades of documents, of all judged ones, and two rankings of which each may lack some documents."""
    grades = draw(st.lists(st.sampled_from([UNJUDGED, -1, 0, 1, 2, 3, 4]), min_size=1, max_size=most))
    more = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4]), max_size=4))
    rankings = []
    for _ in range(2):
        order = draw(st.permutations(range(1, len(grades) + 4)))
        kept = draw(st.integers(0, len(order)))
        rankings.append(np.array([rank if rank <= kept else 0 for rank in order[: len(grades)]]))
    known = [grade for grade in grades if grade != UNJUDGED]
    judged = np.array(sorted([*known, *more], reverse=True), np.int32)
    return np.array(grades, np.int32), judged, rankings[0], rankings[1]


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=50)
@given(changes(most=30))
def test_contributions_add_up_to_the_change(
    measure: str, change: tuple[IntArray, IntArray, IntArray, IntArray]
) -> None:
    grades, judged, before, after = change
    parts = decomposition(measure)
    found = parts.contributions(grades, judged, before, after)
    delta = parts.value(grades, judged, after) - parts.value(grades, judged, before)
    assert found.sum() == pytest.approx(delta, abs=1e-12)
    assert not found[(before == after) | (grades == UNJUDGED) | (grades <= 0)].any()
    back = parts.contributions(grades, judged, after, before)
    np.testing.assert_allclose(back, -found, atol=1e-12)


def read_in_order(parts: Decomposition, gains: FloatArray, ranks: IntArray) -> float:
    """AP, RR, ERR or Success of documents that may share ranks, read one after the other; written as a user reads."""
    total, found, unsatisfied = 0.0, 0, 1.0
    for document in sorted(np.flatnonzero((ranks > 0) & (gains > 0)), key=lambda item: ranks[item]):
        if ranks[document] > parts.measure.cutoff:
            continue
        found += 1
        own = gains[document] / (1 if parts.measure.name.startswith("Success") else ranks[document])
        total += own * found if parts.form == "pairs" else own * unsatisfied
        unsatisfied *= 1 - gains[document]
    return total


@pytest.mark.parametrize("measure", ["AP", "AP@5", "RR", "RR@5", "ERR@5", "Success@3"])
@settings(max_examples=40)
@given(changes(most=4))
def test_they_are_shapley_values(measure: str, change: tuple[IntArray, IntArray, IntArray, IntArray]) -> None:
    grades, judged, before, after = change
    parts = decomposition(measure)
    gains = parts.gains(grades, judged)
    slow = np.zeros(len(grades))
    for order in permutations(range(len(grades))):
        ranks = before.copy()
        for document in order:
            earlier = read_in_order(parts, gains, ranks)
            ranks[document] = after[document]
            slow[document] += (read_in_order(parts, gains, ranks) - earlier) / factorial(len(grades))
    np.testing.assert_allclose(parts.contributions(grades, judged, before, after), slow, atol=1e-12)


def test_many_documents_are_integrated_exactly() -> None:
    random = np.random.default_rng(0)
    grades = random.integers(0, 4, 150).astype(np.int32)
    before, after = random.permutation(200)[:150], random.permutation(200)[:150]
    for measure in ("RR", "ERR", "AP", "nDCG"):
        parts = decomposition(measure)
        judged = np.sort(grades)[::-1]
        delta = parts.value(grades, judged, after) - parts.value(grades, judged, before)
        assert parts.contributions(grades, judged, before, after).sum() == pytest.approx(delta, abs=1e-12)


def test_the_first_relevant_document_pays_for_its_fall() -> None:
    """The second one kept its rank: it is not what changed, though it is now the first."""
    found = decomposition("RR").contributions(
        np.array([1, 1], np.int32), np.array([1, 1], np.int32), np.array([1, 2]), np.array([5, 2])
    )
    assert found.tolist() == [-0.5, 0.0]


def test_other_measures_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "qrels.txt"
    file.write_text("q 0 d 3\n")
    qrels = read_qrels(file)
    assert Decomposition.of("RBP(p=0.5)", qrels).measure.scale == 3
    with pytest.raises(SurefootError, match=r"defined for ERR, nDCG.*Bpref"):
        Decomposition.of("Bpref", qrels)
