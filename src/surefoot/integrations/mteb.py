"""MTEB: predictions of retrieval tasks, query by query, and results with tasks as topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.effectiveness import score_runs
from surefoot.errors import InputError
from surefoot.io.eval_logs import MAIN_SCORE, read_results, split_score
from surefoot.scores import Missing, Scores


def prediction_scores(folders: Iterable[PathLike], task: Any, measure: object = "nDCG@10") -> Scores:
    """Score the predictions of models for a retrieval task, query by query.

    Parameters
    ----------
    folders
        The ``prediction_folder`` of each model, with ``TASK_predictions.json``; the models name the systems.
    task
        A loaded MTEB task of one subset and split; or the name of the task and its judgments, ``(name, qrels)``.
    measure
        The effectiveness measure.

    Returns
    -------
    Scores
        Models × queries.
    """
    name, qrels = task if isinstance(task, tuple) else (task.metadata.name, _judgments(task))
    return score_runs([Path(folder) / f"{name}_predictions.json" for folder in folders], qrels, measure)


def task_scores(results: Iterable[Any], missing: Missing = "error", split: str | None = None) -> Scores:
    """The main scores of models with tasks as topics, to find the tasks that a model made worse.

    Parameters
    ----------
    results
        ``mteb.results.ModelResult`` objects, or folders of result files (``model/revision/Task.json``).
    split
        The split of each task; by default ``test``, or the only one.
    missing
        What to do with tasks that some model lacks, as in `Scores.align`.

    Returns
    -------
    Scores
        Models × tasks.
    """
    rows: dict[str, dict[str, float]] = {}
    for result in results:
        for (model, task), value in _values(result, split).items():
            own = rows.setdefault(model, {})
            if task in own:
                raise InputError(model, f"has two results of {task}; two revisions need model folders of two names")
            own[task] = value
    return Scores.from_dict(rows, MAIN_SCORE, missing)


def _judgments(task: Any) -> Any:
    parts = [split["relevant_docs"] for subset in task.dataset.values() for split in subset.values()]
    if len(parts) != 1:
        raise InputError(task.metadata.name, f"one subset and split was expected, found {len(parts)}; load one")
    return parts[0]


def _values(result: Any, split: str | None) -> Mapping[tuple[str, str], float]:
    """The score of each model and task."""
    if not hasattr(result, "task_results"):
        return read_results(result, split)
    try:
        return {(result.model_name, one.task_name): split_score(one.scores, split) for one in result.task_results}
    except ValueError as error:
        raise InputError(result.model_name, str(error)) from None
