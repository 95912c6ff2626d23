"""Bounds of differences against all assignments of grades."""

from itertools import product

import numpy as np
import pytest

from surefoot.judgments import bounds
from surefoot.judgments.bounds import delta_bounds
from tests.judgments.collection import read_random

MEASURES = [
    "nDCG@4",
    "nDCG(dcg='exp-log2')@4",
    "nDCG",
    "ERR@4",
    "AP",
    "RR",
    "Success@3",
    "P@4",
    "R@4",
    "RBP(p=0.8)",
    "RBP(rel=2)",
    "AP(rel=2)",
]


def every_delta(pair, own):
    free = np.flatnonzero(own.unjudged)
    grades = np.array(
        [
            np.where(own.unjudged, np.put_along_axis(base := own.zero_filled.copy(), free, chosen, 0) or base, base)
            for chosen in (np.array(some, np.int64) for some in product(range(pair.runs.levels), repeat=free.size))
        ]
    )
    return pair.deltas(own, grades, np.repeat(own.rest[np.newaxis], len(grades), axis=0))


@pytest.mark.parametrize("measure", MEASURES)
def test_bounds_are_the_extremes_over_all_grades(tmp_path, measure):
    runs = read_random(tmp_path, seed=3, measure=measure, documents=8, holes=0.6, highest=2, topics=8)
    pair = runs.pair("r0", "r1")
    found = delta_bounds(pair)
    assert found["exact"].all()
    for topic, own in enumerate(pair.topics):
        deltas = every_delta(pair, own)
        assert found.low[topic] == pytest.approx(deltas.min(), abs=1e-12)
        assert found.high[topic] == pytest.approx(deltas.max(), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_outer_bounds_enclose(tmp_path, measure, monkeypatch):
    runs = read_random(tmp_path, seed=4, measure=measure, documents=8, holes=0.6, highest=2, topics=8)
    pair = runs.pair("r0", "r1")
    exact = delta_bounds(pair)
    monkeypatch.setattr(bounds, "MOST", 0)
    outer = delta_bounds(pair)
    assert not outer["exact"].any()
    assert (outer.low <= exact.low + 1e-12).all()
    assert (outer.high >= exact.high - 1e-12).all()
    assert (np.abs([outer.low, outer.high]) <= 1 + 1e-12).all()


def test_complete_judgments_leave_no_room(tmp_path):
    pair = read_random(tmp_path, seed=5, holes=0).pair("r0", "r1")
    found = delta_bounds(pair)
    np.testing.assert_allclose(found.low, pair.delta)
    np.testing.assert_allclose(found.high, pair.delta)
