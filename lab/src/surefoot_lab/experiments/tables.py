"""The papers' tables: measures of learners and baselines, significance tests, intervals, the published values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._typing import BoolArray, FloatArray
from surefoot.results import Result, by_column, signature
from surefoot.risk.statistics import large_losses
from surefoot.scores import Scores
from surefoot.stats.bootstrap import bca_interval, bootstrap_weights, percentile_interval
from surefoot.stats.inference import LEVEL, correct, t_inference

if TYPE_CHECKING:
    from surefoot_lab.experiments.plan import Plan

LABELS = {
    "lambdamart": "LambdaMART", "ucro": "U-CRO", "saro": "SARO", "faro": "FARO", "tstar-faro": "T*-FARO",
    "georisk": "GeoRisk", "safe": "recipe safe", "bags": "recipe bags",
}  # fmt: skip
"""Objectives as the papers write them, and recipes; others keep their own names."""

Sums = FloatArray
"""Gain, loss, wins, losses, large losses and queries of each resample (last axis)."""

GAIN, LOSS, WINS, LOSSES, LARGE, QUERIES = range(6)


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Infinite where only the denominator is 0, NaN where both are."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(numerator / denominator)


MEASURES: dict[str, Callable[[Sums], FloatArray]] = {
    "gain": lambda sums: (sums[GAIN] - sums[LOSS]) / sums[QUERIES],
    "reward": lambda sums: sums[GAIN] / sums[QUERIES],
    "risk": lambda sums: sums[LOSS] / sums[QUERIES],
    "reward_risk": lambda sums: _ratio(sums[GAIN], sums[LOSS]),
    "risk_reward": lambda sums: _ratio(sums[LOSS], sums[GAIN]),
    "wins": lambda sums: sums[WINS],
    "losses": lambda sums: sums[LOSSES],
    "win_loss": lambda sums: _ratio(sums[WINS], sums[LOSSES]),
    "loss_win": lambda sums: _ratio(sums[LOSSES], sums[WINS]),
    "loss20": lambda sums: sums[LARGE],
}
"""U_Gain; F_Reward, F_Risk, their ratios; queries won and lost, their ratios; queries that lost more than 20 %."""


def summands(system: FloatArray, baseline: FloatArray) -> FloatArray:
    """The summands of each query, in six rows."""
    d = system - baseline
    large = large_losses(d, baseline)
    return np.stack([np.maximum(d, 0), np.maximum(-d, 0), d > 0, d < 0, large, np.ones_like(d)])


def measures_against(
    system: FloatArray, baselines: FloatArray, names: Iterable[str], weights: FloatArray | None = None
) -> dict[str, FloatArray]:
    """Each measure against each baseline (row), averaged over the baselines; with weights, on each resample.

    >>> found = measures_against(np.array([0.2, 0.5]), np.array([[0.4, 0.1], [0.2, 0.4]]), ["risk", "wins", "losses"])
    >>> {name: round(float(value), 6) for name, value in found.items()}
    {'risk': 0.05, 'wins': 1.0, 'losses': 0.5}
    """
    sums = [_summed(summands(system, baseline), weights) for baseline in baselines]
    return {name: np.mean([MEASURES[name](own) for own in sums], axis=0) for name in names}


def _summed(rows: FloatArray, weights: FloatArray | None) -> Sums:
    return np.asarray(rows.sum(axis=1) if weights is None else rows @ weights.T)


def measure_intervals(
    system: FloatArray, baselines: FloatArray, names: Iterable[str], n_resamples: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Percentile intervals of the mean score and of each measure, by resampling queries."""
    wanted = list(names)
    drawn: dict[str, list[FloatArray]] = {name: [] for name in ("mean", *wanted)}
    for weights in bootstrap_weights(system.size, n_resamples, seed):
        drawn["mean"].append(weights @ system / system.size)
        for name, values in measures_against(system, baselines, wanted, weights).items():
            drawn[name].append(values)
    found: dict[str, tuple[float, float]] = {}
    for name, chunks in drawn.items():
        with np.errstate(invalid="ignore"):  # between two infinite ratios
            low, high = percentile_interval(np.concatenate(chunks))
        found[name] = float(low), float(high)
    return found


def mean_loss(system: FloatArray, baselines: FloatArray) -> FloatArray:
    """The loss of each query, averaged over the baselines."""
    return np.asarray(np.maximum(baselines - system, 0).mean(axis=0))


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
    return by_column(rows)


def _by_cutoff(learners: LearnerScores) -> dict[str, Scores]:
    """The scores by cutoff, NDCG@1 before NDCG@10."""
    return dict(sorted(learners.scores.items(), key=lambda item: (len(item[0]), item[0])))


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
    p = t_inference(d, np.zeros_like(d), 0.0).p if differences else np.zeros(0)
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
    return Result(stated, by_column(rows))


COLUMNS = {
    "ndcg1": "ndcg@1", "ndcg10": "ndcg@10", "reward_over_risk": "reward_risk", "risk_over_reward": "risk_reward",
    "win_over_loss": "win_loss", "loss_over_win": "loss_win", "loss": "losses", "win": "wins",
    "loss_over_20pct": "loss20",
}  # fmt: skip
"""Our names of the published files' columns, where they differ."""

LEARNERS = {"T-FARO": "FARO", "urisk": "U-CRO", "saro": "SARO", "faro": "FARO"}
CLAIM = "mslr_bm25_ndcg10"
"""The claim on BM25 in the text of the papers."""


@dataclass(frozen=True)
class _PublishedCell:
    """A published value; ``learned`` says whether it compares with the learned baselines."""

    learned: bool
    learner: str
    alpha: float
    measure: str
    value: str


def compare_published(table: Result, learners: LearnerScores) -> Result | None:
    """Published value, ours and the difference of each cell that the paper prints; None if it prints none."""
    groups = list(learners.groups)
    ours = {(row["compared_to"], row["learner"], row["alpha"]): row for row in table.rows()}
    ours[groups[0], groups[0], 0.0] = {"ndcg@10": float(learners.main[groups[0]].mean())}
    rows = []
    for cell in _published_cells(learners.plan):
        group = groups[-1] if cell.learned else groups[0]
        own = ours.get((group, cell.learner, cell.alpha), {}).get(cell.measure)
        rows.append({
            "compared_to": group, "learner": cell.learner, "alpha": cell.alpha, "measure": cell.measure,
            "published": cell.value, "ours": own, "difference": None if own is None else own - float(cell.value),
        })  # fmt: skip
    if not rows:
        return None
    return Result(signature("experiment-published", plan=learners.plan.name), by_column(rows))


def _published_cells(plan: Plan) -> Iterator[_PublishedCell]:
    from surefoot_lab.reproduce.cells import printed

    for line in printed("claims"):
        if line["paper"] == plan.name and line["claim"] == CLAIM:
            yield _PublishedCell(False, "BM25", 0.0, "ndcg@10", line["value"])
    for line in printed(plan.published) if plan.published else ():
        yield from _cells_by_alpha(line) if "measure" in line else _cells_by_measure(line)


def _cells_by_measure(line: dict[str, str]) -> Iterator[_PublishedCell]:
    """A line of SIGIR 2016: a learner, with a measure in each column."""
    learner = LEARNERS.get(line["learner"], line["learner"])
    for column in list(line)[3:]:
        yield _PublishedCell(
            line["compared_to"] != "bm25", learner, float(line["alpha"]), COLUMNS.get(column, column), line[column]
        )  # fmt: skip


def _cells_by_alpha(line: dict[str, str]) -> Iterator[_PublishedCell]:
    """A line of SIGIR 2014: a measure of an objective, with an alpha in each column; alpha 0 is plain LambdaMART."""
    for column in list(line)[2:]:
        if line[column]:
            alpha = float(column.removeprefix("a"))
            learner = LEARNERS[line["objective"]] if alpha else "LambdaMART"
            yield _PublishedCell(False, learner, alpha, COLUMNS.get(line["measure"], line["measure"]), line[column])
