"""Results in experiment trackers: MLflow and Weights & Biases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from surefoot.release_gate.compare import Compared
from surefoot.release_gate.render import render_compared, render_gate
from surefoot.release_gate.verdict import GateResult
from surefoot.results import Result
from surefoot.show.tables import html_table, render

METRICS = ("mean", "losses", "urisk")
BY_ALPHA = frozenset({"urisk", "trisk", "zrisk", "georisk"})
"""The measures that depend on alpha; their intervals, such as urisk_low, do too."""


def metrics_of(result: Result, columns: Sequence[str] = METRICS) -> dict[str, float]:
    """The values of a result under names that trackers accept: ``system/mean``, ``system/alpha=1/urisk``.

    For a gate, these are whether it passes or fails, and the means and losses against each baseline.

    >>> from surefoot import evaluate, Scores
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"])
    >>> metrics_of(evaluate(scores, "old", 5), ["urisk"])
    {'old/alpha=5/urisk': 0.0, 'new/alpha=5/urisk': -0.85}
    """
    if isinstance(result, Compared):
        result = result.gate
    if isinstance(result, GateResult):
        return _gate_metrics(result)
    found = {}
    for row in result:
        labels = [str(row[name]) for name in ("measure", "segment", "system") if row.get(name) is not None]
        alpha = [f"alpha={row['alpha']:g}"] if row.get("alpha") is not None else []
        for name in columns:
            if isinstance(row.get(name), int | float):
                place = [*labels, *(alpha if name.split("_")[0] in BY_ALPHA else []), name]
                found["/".join(place)] = round(float(row[name]), 12)
    return found


def _gate_metrics(result: GateResult) -> dict[str, float]:
    found = {"passes": float(result.verdict == "pass"), "fails": float(result.verdict == "fail")}
    for change in result.changes:
        values = {
            "baseline_mean": change.baseline_mean, "candidate_mean": change.candidate_mean, "wins": change.wins,
            "losses": change.losses, "loss20": change.loss20,
        }  # fmt: skip
        found |= {f"{change.measure}/{change.baseline}/{name}": float(value) for name, value in values.items()}
    return found


def log_mlflow(result: Result, name: str = "surefoot", **options: Any) -> None:
    """Log the metrics of a result to the active run of MLflow, and the whole result as JSON and HTML.

    Parameters
    ----------
    result
        Any result of Surefoot.
    name
        The name of the artifacts.
    **options
        Options of ``mlflow.log_metrics``, such as ``step``.
    """
    import mlflow

    # MLflow allows letters, digits and _ - . / in names.
    metrics = {re.sub(r"[^\w\-./ ]", "_", key): value for key, value in metrics_of(result).items()}
    mlflow.log_metrics(metrics, **options)
    mlflow.log_text(_json(result), f"{name}.json")
    mlflow.log_text(html_table(result.readable()), f"{name}.html")


def _json(result: Result) -> str:
    """The JSON that the result's command writes."""
    if isinstance(result, GateResult):
        return render_gate(result, "json")
    return render_compared(result, "json") if isinstance(result, Compared) else render(result, "json")


def log_wandb(result: Result, run: Any = None, name: str = "surefoot", **options: Any) -> None:
    """Log the metrics of a result to a run of Weights & Biases, and its rows as a table.

    Parameters
    ----------
    result
        Any result of Surefoot.
    run
        The run; None is the active one.
    name
        The name of the table.
    **options
        Options of ``run.log``, such as ``step``.
    """
    import wandb

    rows = result.rows()
    table = wandb.Table(columns=list(result.columns), data=[list(row.values()) for row in rows])
    active: Any = run or wandb.run
    active.log({**metrics_of(result), name: table}, **options)
