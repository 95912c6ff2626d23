"""Differences under drawn judgments, scored as any judgments: for measures and baselines without a fast path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.effectiveness.scoring import score_runs
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.judged_runs import Codes, JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from surefoot.scores import VIRTUAL


def judged_deltas(runs: JudgedRuns, system: str, baseline: str, qrels: object) -> FloatArray:
    """The difference of each topic by these judgments; the baseline is a run, or MEAN, MEDIAN or MAX of all runs."""
    names = runs.rankings if baseline in VIRTUAL else (system, baseline)
    scores = score_runs({name: runs.ranking(name).run for name in names}, qrels, runs.measure)
    order = [scores.topics.index(topic) for topic in runs.topics]
    return np.asarray((scores[system] - scores.baseline(baseline))[order])


def simulated_deltas(
    runs: JudgedRuns,
    system: str,
    baseline: str,
    model: GradeModel,
    disagreement: Disagreement | None,
    n: int,
    seed: int = 0,
) -> FloatArray:
    """Differences under drawn grades of all judged documents and of those that the rankings hold, n × topics."""
    random = np.random.default_rng(seed)
    shared = model.draw_shared(random, n)
    others = None if disagreement is None else disagreement.draw(random, n, model.runs)
    names = list(runs.rankings) if baseline in VIRTUAL else [system, baseline]
    drawn = {}
    for topic, name in enumerate(runs.topics):
        ids, codes, known = _documents(runs, names, topic)
        grades = model.fill(topic, codes, known, shared, random)
        if others is not None:
            grades, _ = others.judge_topic(model, topic, codes, grades, shared, random)
        drawn[name] = ids, grades.tolist()
    again = (
        {topic: dict(zip(ids, grades[draw], strict=True)) for topic, (ids, grades) in drawn.items()}
        for draw in range(n)
    )
    return np.stack([judged_deltas(runs, system, baseline, qrels) for qrels in again])


def _documents(runs: JudgedRuns, names: Sequence[str], topic: int) -> tuple[list[str], Codes, IntArray]:
    """The judged documents of a topic and those of rankings: ids, hashes in order, and grades."""
    begin, end = runs.qrels.bounds[topic : topic + 2].tolist()
    ids = {int(runs.qrels.codes[item]): runs.qrels.document(item) for item in range(begin, end)}
    grades = dict(zip(ids, runs.qrels.grades[begin:end].tolist(), strict=True))
    for name in names:
        ids |= runs.ranking(name).documents(topic, runs.depth)
    codes = np.array(sorted(ids), np.uint64)
    known = [grades.get(code, UNJUDGED) for code in codes.tolist()]
    return [ids[code] for code in codes.tolist()], codes, np.array(known, np.int64)
