"""MTEB: predictions of retrieval tasks query by query, and results with a task as a topic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.effectiveness import score_runs
from surefoot.errors import InputError
from surefoot.scores import Missing, Scores


def prediction_scores(folders: Iterable[PathLike], task: Any, measure: object = "nDCG@10") -> Scores:
    """Score what models predicted for a retrieval task, query by query.

    Parameters
    ----------
    folders
        The ``prediction_folder`` of each model, with ``TASK_predictions.json``; systems are named by their models.
    task
        The MTEB task, loaded, of one subset and split; or the name of the task and its judgements, ``(name, qrels)``.
    measure
        The effectiveness measure.

    Returns
    -------
    Scores
        Models × queries.
    """
    name, qrels = task if isinstance(task, tuple) else (task.metadata.name, _judgements(task))
    return score_runs([Path(folder) / f"{name}_predictions.json" for folder in folders], qrels, measure)


def task_scores(results: Iterable[Any], missing: Missing = "error") -> Scores:
    """The main scores of models with tasks as topics, to ask which tasks a model made worse.

    Parameters
    ----------
    results
        ``mteb.results.ModelResult`` objects, or folders of result files (``model/revision/Task.json``).
    missing
        What to do with tasks that some model lacks, as in `Scores.align`.

    Returns
    -------
    Scores
        Models × tasks.
    """
    rows: dict[str, dict[str, float]] = {}
    for result in results:
        for model, task, value in _rows(result):
            own = rows.setdefault(model, {})
            if task in own:
                raise InputError(model, f"has two results of {task}; two revisions need model folders of two names")
            own[task] = value
    return Scores.from_dict(rows, "main score", missing)


def _judgements(task: Any) -> Any:
    parts = [split["relevant_docs"] for subset in task.dataset.values() for split in subset.values()]
    if len(parts) != 1:
        raise InputError(task.metadata.name, f"one subset and split was expected, found {len(parts)}; load one")
    return parts[0]


def _rows(result: Any) -> Iterator[tuple[str, str, float]]:
    if hasattr(result, "task_results"):
        yield from ((result.model_name, one.task_name, float(one.get_score())) for one in result.task_results)
        return
    files = sorted(Path(result).rglob("*.json"))
    for path in files:
        content = json.loads(path.read_text("utf-8"))
        if "task_name" not in content:
            continue
        scores = [part["main_score"] for split in content["scores"].values() for part in split]
        yield path.parent.parent.name, content["task_name"], sum(scores) / len(scores)
    if not files:
        raise InputError(result, "holds no results of MTEB")
