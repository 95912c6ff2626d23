"""Result files of MTEB, ``model/revision/Task.json``: the main score of a model on each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, listed
from surefoot.io.containers import Table
from surefoot.io.contents import is_task_result
from surefoot.io.files import parse_json

MAIN_SCORE = "main_score"
USUAL_SPLIT = "test"


def read_mteb(folder: PathLike) -> Table:
    """The results below a folder as a table of scores, with tasks as topics."""
    rows = [(model, task, MAIN_SCORE, score) for (model, task), score in read_results(folder).items()]
    return Table(("system", "topic", "measure", "value"), [*zip(*rows, strict=True)])


def read_results(folder: PathLike, split: str | None = None) -> dict[tuple[str, str], float]:
    """The main scores below a folder, by model and task; the model is the folder above that of the revision.

    Parameters
    ----------
    folder
        The folder of one model or of several. Files that are no results of a task, such as ``model_meta.json``, are
        passed over.
    split
        The split to read; by default ``test``, or the only one.

    Returns
    -------
    dict
        A score for each ``(model, task)``, the mean over the subsets of the split, as MTEB takes it.
    """
    found: dict[tuple[str, str], float] = {}
    for path in sorted(Path(folder).rglob("*.json")):
        content = _parsed(path, path.read_bytes())
        if not is_task_result(content):
            continue
        key = (path.parent.parent.name, str(content["task_name"]))
        if key in found:
            raise InputError(path, f"a second result of {key[1]} by {key[0]}; two revisions need folders of two names")
        try:
            found[key] = split_score(content["scores"], split)
        except ValueError as error:
            raise InputError(path, str(error)) from None
    if not found:
        raise InputError(folder, "holds no results of MTEB (model/revision/Task.json)")
    return found


def split_score(scores: object, split: str | None = None) -> float:
    """The mean main score over the subsets of one split of ``{split: [{"main_score": ...}]}``.

    >>> split_score({"dev": [{"main_score": 0.1}], "test": [{"main_score": 0.2}, {"main_score": 0.4}]})
    0.30000000000000004
    """
    splits = scores if isinstance(scores, Mapping) else {}
    chosen = split or (USUAL_SPLIT if USUAL_SPLIT in splits or len(splits) != 1 else next(iter(splits)))
    if chosen not in splits:
        raise ValueError(f"has no split {chosen}; there are {listed(splits) or 'none'}")
    subsets = splits[chosen] if isinstance(splits[chosen], list) else []
    values: list[Any] = [subset.get(MAIN_SCORE) if isinstance(subset, Mapping) else None for subset in subsets]
    if not values or not all(type(value) in (int, float) for value in values):
        raise ValueError(f"the split {chosen} should be a list of subsets, each with a number as {MAIN_SCORE}")
    return float(sum(values) / len(values))


def _parsed(path: PathLike, data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        raise InputError(path, "not JSON, or cut off; get it again, or take it out of the folder") from None
