"""Differences under drawn judgments that are scored as any judgments."""

from collections.abc import Sequence

import numpy as np
import pytest

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.credibility import draw_values, judged_values
from surefoot.judgments.judged_runs import Codes, JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from tests.judgments.collection import read_random


def simulated_values(
    runs: JudgedRuns,
    system: str,
    baseline: str,
    model: GradeModel,
    disagreement: Disagreement | None,
    n: int,
    seed: int = 0,
) -> FloatArray:
    """Scores under drawn grades of all judged documents and of those that the rankings hold, 2 × n × topics."""
    random = np.random.default_rng(seed)
    shared = model.draw_shared(random, n)
    others = None if disagreement is None else disagreement.draw(random, n, model.runs)
    drawn = {}
    for topic, name in enumerate(runs.topics):
        ids, codes, known = _documents(runs, [system, baseline], topic)
        grades = model.fill(topic, codes, known, shared, random)
        if others is not None:
            traits = others.on_topic(float(model.effects[topic]), random)
            tilt = traits.tilt(model.excess(topic, codes, grades, shared), model.profiles(topic, codes))
            grades = others.judge(grades, tilt, random)
        drawn[name] = ids, grades.tolist()
    again = (
        {topic: dict(zip(ids, grades[draw], strict=True)) for topic, (ids, grades) in drawn.items()}
        for draw in range(n)
    )
    return np.stack([judged_values(runs, system, baseline, qrels) for qrels in again], axis=1)


def _documents(runs: JudgedRuns, names: Sequence[str], topic: int) -> tuple[list[str], Codes, IntArray]:
    """The documents of a topic that are judged or ranked: ids, hashes in order, and grades."""
    begin, end = runs.qrels.bounds[topic : topic + 2].tolist()
    ids = {int(runs.qrels.fingerprints[item]): runs.qrels.document(item) for item in range(begin, end)}
    grades = dict(zip(ids, runs.qrels.grades[begin:end].tolist(), strict=True))
    for name in names:
        ids |= runs.ranking(name).documents(topic, runs.depth)
    codes = np.array(sorted(ids), np.uint64)
    known = [grades.get(code, UNJUDGED) for code in codes.tolist()]
    return [ids[code] for code in codes.tolist()], codes, np.array(known, np.int64)


@pytest.mark.parametrize("assessors", [None, 0.2, "dl2019"])
def test_it_agrees_with_the_fast_path(tmp_path, assessors):
    runs = read_random(tmp_path, seed=5, measure="nDCG@5", topics=4)
    model, n = GradeModel.fit(runs), 400
    other = {None: None, 0.2: Disagreement.of_rate(0.2, runs.grade_counts), "dl2019": Disagreement.shipped(4)}[
        assessors
    ]
    fast = np.subtract(*draw_values(runs.pair("r0", "r1"), model, other, 4000))
    slow = np.subtract(*simulated_values(runs, "r0", "r1", model, other, n))
    errors = 4 * np.sqrt(fast.var(axis=0) / n) + 0.01
    np.testing.assert_array_less(np.abs(slow.mean(axis=0) - fast.mean(axis=0)), errors)
    np.testing.assert_allclose(slow.std(axis=0), fast.std(axis=0), atol=0.04)
