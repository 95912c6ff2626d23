"""Scores of learners and baselines as the papers' table, with tests and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.research.experiments.measures import figure_intervals, figures, mean_loss
from surefoot.research.experiments.plan import LABELS, Plan
from surefoot.results import Emphasis, Result, signature
from surefoot.scores import FloatArray, Scores
from surefoot.stats.inference import LEVEL, correct
from surefoot.stats.intervals import bca_interval
from surefoot.stats.permutation import t_test
from surefoot.stats.resampling import bootstrap_weights

RESAMPLES = 2000
PLAIN = LABELS["lambdamart"]


@dataclass(frozen=True, eq=False)
class Compared:
    """Scores by metric, the main one first; who is a learner at which alpha, and the groups of baselines."""

    plan: Plan
    scores: Mapping[str, Scores]
    learners: Mapping[str, tuple[str, float]]
    groups: Mapping[str, Sequence[str]]

    @property
    def main(self) -> Scores:
        return next(iter(self.scores.values()))

    def rows(self) -> Iterator[tuple[str, str, FloatArray, FloatArray]]:
        """Each group with each learner: their names, the learner's scores, the baselines'."""
        for group, members in self.groups.items():
            for learner in self.learners:
                yield group, learner, self.main[learner], self.main.select(members).values

    def name_of(self, learner: str) -> tuple[str, float]:
        """A learner as tables show it: the objective as papers write it, and alpha."""
        objective, alpha = self.learners[learner]
        return LABELS.get(objective, objective), alpha

    def stated(self, kind: str, **more: object) -> str:
        """The signature of a table."""
        return signature(
            kind, plan=self.plan.name, measure=self.main.measure, topics=len(self.main.topics), seed=self.plan.seed,
            **more,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ExperimentTable(Result):
    """The table, with a mark on what differs from plain LambdaMART."""

    marks: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def emphasis(self) -> Emphasis:
        """The marks."""
        return Emphasis({}, self.marks, f"differs from {PLAIN}: paired t over queries, Holm over all tests, 5 %")


def main_table(compared: Compared, tests: Result) -> ExperimentTable:
    """A row for each group of baselines and learner, with the columns of the plan.

    Against several baselines every figure is the mean of the figures against each, ratios too, as in SIGIR 2016.
    """
    columns: dict[str, list[object]] = {}
    for group, learner, system, baselines in compared.rows():
        name, alpha = compared.name_of(learner)
        row: dict[str, object] = {"compared_to": group, "learner": name, "alpha": alpha}
        row |= {measure: float(scores[learner].mean()) for measure, scores in _in_table(compared).items()}
        row |= {key: float(value) for key, value in figures(system, baselines, compared.plan.columns).items()}
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    means = ", ".join(
        f"{member} {compared.main[member].mean():.4f}" for members in compared.groups.values() for member in members
    )
    notes = (*compared.main.notes, f"{compared.main.measure} of the baselines: {means}")
    return ExperimentTable(compared.stated("experiment"), columns, notes, _marks(compared, columns, tests))


def _in_table(compared: Compared) -> dict[str, Scores]:
    """The metrics by cutoff, as NDCG@1 before NDCG@10."""
    return dict(sorted(compared.scores.items(), key=lambda item: (len(item[0]), item[0])))


def _marks(
    compared: Compared, columns: Mapping[str, Sequence[object]], tests: Result
) -> dict[str, npt.NDArray[np.bool_]]:
    found = {
        (row["figure"], row["learner"], row["alpha"]): row["p_holm"] is not None and row["p_holm"] < LEVEL
        for row in tests.rows()
    }
    rows = list(zip(columns["compared_to"], columns["learner"], columns["alpha"], strict=True))
    measure = compared.main.measure
    marks = {measure: [found.get((measure, learner, alpha), False) for _, learner, alpha in rows]}
    if "risk" in columns:
        marks["risk"] = [found.get((risk_of(str(group)), learner, alpha), False) for group, learner, alpha in rows]
    return {name: np.array(flags) for name, flags in marks.items()}


def risk_of(group: str) -> str:
    """What the tests call the risk against a group of baselines."""
    return f"risk against {group}"


def differences_table(compared: Compared) -> Result:
    """Each learner less plain LambdaMART, in effectiveness and in risk, over queries.

    ``low`` and ``high`` are a BCa interval, ``p`` the paired t test's, ``p_holm`` corrected for all rows.
    """
    differences: list[tuple[str, str, FloatArray]] = [
        (compared.main.measure, learner, compared.main[learner] - compared.main[PLAIN])
        for learner in compared.learners
        if learner != PLAIN
    ]
    losses = {(group, learner): mean_loss(system, own) for group, learner, system, own in compared.rows()}
    differences += [
        (risk_of(group), learner, lost - losses[group, PLAIN])
        for (group, learner), lost in losses.items()
        if learner != PLAIN
    ]
    d = np.stack([own for _, _, own in differences]) if differences else np.zeros((0, len(compared.main.topics)))
    p = t_test(d, np.zeros_like(d)) if differences else np.zeros(0)
    low, high = _bounds(d, compared.plan.seed)
    columns: dict[str, Sequence[Any] | FloatArray] = {
        "learner": [compared.name_of(learner)[0] for _, learner, _ in differences],
        "alpha": [compared.name_of(learner)[1] for _, learner, _ in differences],
        "figure": [figure for figure, _, _ in differences],
        "difference": d.mean(axis=1),
        "low": low,
        "high": high,
        "p": p,
        "p_holm": correct(p, "holm"),
    }
    return Result(compared.stated("experiment-tests", against=PLAIN, n_resamples=RESAMPLES), columns)


def _bounds(d: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """BCa intervals of the means of rows, queries resampled."""
    queries = d.shape[1]
    if not len(d) or queries < 2:
        return np.full(len(d), np.nan), np.full(len(d), np.nan)
    drawn = np.concatenate([d @ rows.T / queries for rows in bootstrap_weights(queries, RESAMPLES, seed)], axis=1)
    left_out = (d.sum(axis=1, keepdims=True) - d) / (queries - 1)
    return bca_interval(drawn, d.mean(axis=1), left_out)


def intervals_table(compared: Compared) -> Result:
    """Every figure of the table with a percentile interval, a row each."""
    columns: dict[str, list[object]] = {}
    names, measure = compared.plan.columns, compared.main.measure
    for group, learner, system, baselines in compared.rows():
        estimates = {"mean": system.mean(), **figures(system, baselines, names)}
        bounds = figure_intervals(system, baselines, names, RESAMPLES, compared.plan.seed)
        name, alpha = compared.name_of(learner)
        for figure, estimate in estimates.items():
            low, high = bounds[figure]
            row = {
                "compared_to": group, "learner": name, "alpha": alpha,
                "figure": measure if figure == "mean" else figure,
                "estimate": float(estimate), "low": low, "high": high,
            }  # fmt: skip
            for key, value in row.items():
                columns.setdefault(key, []).append(value)
    return Result(compared.stated("experiment-intervals", level=LEVEL, n_resamples=RESAMPLES), columns)
