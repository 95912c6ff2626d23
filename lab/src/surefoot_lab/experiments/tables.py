"""Scores of learners and baselines as the papers' table, with significance tests and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot._typing import BoolArray, FloatArray
from surefoot.results import Result, signature
from surefoot.scores import Scores
from surefoot.stats.bootstrap import bca_interval, bootstrap_weights
from surefoot.stats.corrections import correct
from surefoot.stats.inference import LEVEL
from surefoot.stats.permutation import t_test
from surefoot_lab.experiments.measures import mean_loss, measure_intervals, measures_against
from surefoot_lab.experiments.plan import LABELS, Plan

RESAMPLES = 2000
PLAIN = LABELS["lambdamart"]

Table = dict[str, list[Any]]
Marks = dict[str, BoolArray]


@dataclass(frozen=True, eq=False)
class LearnerScores:
    """Scores for each metric, the main one first; the objective and alpha of each learner; the groups of baselines."""

    plan: Plan
    scores: Mapping[str, Scores]
    learners: Mapping[str, tuple[str, float]]
    groups: Mapping[str, Sequence[str]]

    @property
    def main(self) -> Scores:
        """The scores of the main metric."""
        return next(iter(self.scores.values()))

    def comparisons(self) -> Iterator[tuple[str, str, FloatArray, FloatArray]]:
        """Each group with each learner: their names, the learner's scores, the baselines' scores."""
        for group, members in self.groups.items():
            for learner in self.learners:
                yield group, learner, self.main[learner], self.main.select(members).values

    def name_of(self, learner: str) -> tuple[str, float]:
        """The objective of a learner as papers write it, and its alpha."""
        objective, alpha = self.learners[learner]
        return LABELS.get(objective, objective), alpha

    def signature(self, kind: str, **more: object) -> str:
        """The signature of a table."""
        changed = {"changed": ",".join(self.plan.changed())} if self.plan.changed() else {}
        return signature(
            kind, plan=self.plan.name, measure=self.main.measure, topics=len(self.main.topics), seed=self.plan.seed,
            trees=max(self.plan.trees), **changed, **more,
        )  # fmt: skip


def main_table(learners: LearnerScores) -> Table:
    """One row for each group of baselines and learner, with the columns of the plan.

    Against several baselines every measure, ratios too, is the mean of the measures against each, as in SIGIR 2016.
    """
    rows = []
    for group, learner, system, baselines in learners.comparisons():
        name, alpha = learners.name_of(learner)
        measures = measures_against(system, baselines, learners.plan.columns)
        rows.append({
            "compared_to": group, "learner": name, "alpha": alpha,
            **{metric: float(scores[learner].mean()) for metric, scores in _by_cutoff(learners).items()},
            **{measure: float(value) for measure, value in measures.items()},
        })  # fmt: skip
    return _columns(rows)


def _by_cutoff(learners: LearnerScores) -> dict[str, Scores]:
    """The scores by cutoff, NDCG@1 before NDCG@10."""
    return dict(sorted(learners.scores.items(), key=lambda item: (len(item[0]), item[0])))


def _columns(rows: Sequence[Mapping[str, Any]]) -> Table:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def significance_marks(learners: LearnerScores, table: Table, tests: Result) -> Marks:
    """Which cells of the main metric and of the risk differ significantly from plain LambdaMART."""
    significant = {
        (row["measure"], row["learner"], row["alpha"]): row["p_holm"] is not None and row["p_holm"] < LEVEL
        for row in tests.rows()
    }
    rows = list(zip(table["compared_to"], table["learner"], table["alpha"], strict=True))
    metric = learners.main.measure
    marks = {metric: [significant.get((metric, learner, alpha), False) for _, learner, alpha in rows]}
    if "risk" in table:
        marks["risk"] = [significant.get((risk_name(group), learner, alpha), False) for group, learner, alpha in rows]
    return {name: np.array(flags) for name, flags in marks.items()}


def risk_name(group: str) -> str:
    """The name of the risk against a group of baselines, among the tests."""
    return f"risk against {group}"


def significance_table(learners: LearnerScores) -> Result:
    """Each learner minus plain LambdaMART, in effectiveness and in risk, over queries.

    ``low`` and ``high`` are a BCa interval, ``p`` is that of the paired t test, ``p_holm`` corrected for all rows.
    """
    main = learners.main
    differences: list[tuple[str, str, FloatArray]] = [
        (main.measure, learner, main[learner] - main[PLAIN]) for learner in learners.learners if learner != PLAIN
    ]
    losses = {(group, learner): mean_loss(system, own) for group, learner, system, own in learners.comparisons()}
    differences += [
        (risk_name(group), learner, lost - losses[group, PLAIN])
        for (group, learner), lost in losses.items()
        if learner != PLAIN
    ]
    d = np.stack([own for _, _, own in differences]) if differences else np.zeros((0, len(main.topics)))
    p = t_test(d, np.zeros_like(d)) if differences else np.zeros(0)
    low, high = _bca_bounds(d, learners.plan.seed)
    columns: dict[str, Sequence[Any] | FloatArray] = {
        "learner": [learners.name_of(learner)[0] for _, learner, _ in differences],
        "alpha": [learners.name_of(learner)[1] for _, learner, _ in differences],
        "measure": [measure for measure, _, _ in differences],
        "difference": d.mean(axis=1),
        "low": low,
        "high": high,
        "p": p,
        "p_holm": correct(p, "holm"),
    }
    return Result(learners.signature("experiment-tests", against=PLAIN, n_resamples=RESAMPLES), columns)


def _bca_bounds(d: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """BCa intervals of the means of rows, by resampling queries."""
    queries = d.shape[1]
    if not len(d) or queries < 2:
        return np.full(len(d), np.nan), np.full(len(d), np.nan)
    drawn = np.concatenate([d @ rows.T / queries for rows in bootstrap_weights(queries, RESAMPLES, seed)], axis=1)
    left_out = (d.sum(axis=1, keepdims=True) - d) / (queries - 1)
    return bca_interval(drawn, d.mean(axis=1), left_out)


def intervals_table(learners: LearnerScores) -> Result:
    """Every measure of the table with a percentile interval, one row each."""
    names, rows = learners.plan.columns, []
    for group, learner, system, baselines in learners.comparisons():
        estimates = {"mean": system.mean(), **measures_against(system, baselines, names)}
        bounds = measure_intervals(system, baselines, names, RESAMPLES, learners.plan.seed)
        name, alpha = learners.name_of(learner)
        for measure, estimate in estimates.items():
            low, high = bounds[measure]
            rows.append({
                "compared_to": group, "learner": name, "alpha": alpha,
                "measure": learners.main.measure if measure == "mean" else measure,
                "estimate": float(estimate), "low": low, "high": high,
            })  # fmt: skip
    stated = learners.signature("experiment-intervals", level=LEVEL, n_resamples=RESAMPLES)
    return Result(stated, _columns(rows))
