"""The published table beside ours, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.research.experiments.plan import Plan
from surefoot.research.experiments.tables import Compared
from surefoot.research.reproduce.cells import printed
from surefoot.results import Result, signature

COLUMNS = {
    "ndcg1": "ndcg@1", "ndcg10": "ndcg@10", "reward_over_risk": "reward_risk", "risk_over_reward": "risk_reward",
    "win_over_loss": "win_loss", "loss_over_win": "loss_win", "loss": "losses", "win": "wins",
    "loss_over_20pct": "loss20",
}  # fmt: skip
"""Ours for the words of the published files, where they differ."""

LEARNERS = {"T-FARO": "FARO", "urisk": "U-CRO", "saro": "SARO", "faro": "FARO"}
CLAIM = "mslr_bm25_ndcg10"
"""What the text of a paper says of BM25."""


@dataclass(frozen=True)
class _Figure:
    """A published figure; ``learned`` says whether it compares with the learned baselines."""

    learned: bool
    learner: str
    alpha: float
    column: str
    text: str


def beside(plan: Plan, table: Result, compared: Compared) -> Result | None:
    """Published, ours and the difference, of each cell that the paper prints; None if it prints nothing of this."""
    figures = list(_figures(plan))
    if not figures:
        return None
    groups = list(compared.groups)
    ours = {(row["compared_to"], row["learner"], row["alpha"]): row for row in table.rows()}
    baseline = float(compared.main[groups[0]].mean())
    columns: dict[str, list[object]] = {
        name: [] for name in ("compared_to", "learner", "alpha", "figure", "published", "ours", "difference")
    }
    for figure in figures:
        group = groups[-1] if figure.learned else groups[0]
        row = (
            {"ndcg@10": baseline}
            if figure.learner == groups[0]
            else ours.get((group, figure.learner, figure.alpha), {})
        )
        own = row.get(figure.column)
        difference = None if own is None else own - float(figure.text)
        cells = (group, figure.learner, figure.alpha, figure.column, figure.text, own, difference)
        for name, cell in zip(columns, cells, strict=True):
            columns[name].append(cell)
    return Result(signature("experiment-published", plan=plan.name), columns)


def _figures(plan: Plan) -> Iterator[_Figure]:
    for line in printed("claims"):
        if line["paper"] == plan.name and line["claim"] == CLAIM:
            yield _Figure(False, "BM25", 0.0, "ndcg@10", line["value"])
    for line in printed(plan.published) if plan.published else ():
        yield from _by_alpha(line) if "figure" in line else _by_column(line)


def _by_column(line: dict[str, str]) -> Iterator[_Figure]:
    """A line of SIGIR 2016: a learner, with a figure in each column."""
    learner = LEARNERS.get(line["learner"], line["learner"])
    for column in list(line)[3:]:
        yield _Figure(
            line["compared_to"] != "bm25", learner, float(line["alpha"]), COLUMNS.get(column, column), line[column]
        )  # fmt: skip


def _by_alpha(line: dict[str, str]) -> Iterator[_Figure]:
    """A line of SIGIR 2014: a figure of an objective, with an alpha in each column; alpha 0 is plain LambdaMART."""
    for column in list(line)[2:]:
        if line[column]:
            alpha = float(column.removeprefix("a"))
            learner = LEARNERS[line["objective"]] if alpha else "LambdaMART"
            yield _Figure(False, learner, alpha, COLUMNS.get(line["figure"], line["figure"]), line[column])
