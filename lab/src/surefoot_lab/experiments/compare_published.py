"""The published table beside ours, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.results import Result, signature
from surefoot_lab.experiments.plan import Plan
from surefoot_lab.experiments.tables import LearnerScores
from surefoot_lab.reproduce.cells import printed

COLUMNS = {
    "ndcg1": "ndcg@1", "ndcg10": "ndcg@10", "reward_over_risk": "reward_risk", "risk_over_reward": "risk_reward",
    "win_over_loss": "win_loss", "loss_over_win": "loss_win", "loss": "losses", "win": "wins",
    "loss_over_20pct": "loss20",
}  # fmt: skip
"""Our names of the published files' columns, where they differ."""

LEARNERS = {"T-FARO": "FARO", "urisk": "U-CRO", "saro": "SARO", "faro": "FARO"}
CLAIM = "mslr_bm25_ndcg10"
"""What the text of a paper says of BM25."""


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
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Result(signature("experiment-published", plan=learners.plan.name), columns)


def _published_cells(plan: Plan) -> Iterator[_PublishedCell]:
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
