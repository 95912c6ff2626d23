"""A folder of trainings. A complete one is not trained again, and a stopped one goes on.

The key of a training is a hash of its request: settings, data, baselines, versions::

    store = ModelStore("models")
    run = resolve_run(data, "feature:25", Settings(alpha=2), valid=valid)
    trained = store.get_or_train(run)                    # models/<key>/
    trained = store.get_or_train(run, name="alpha-2")    # models/alpha-2/; refused if it holds another training

Each training has a folder of its own with ``request.json``, ``history.csv``, the model and its card, and a checkpoint
while it runs. All files are written atomically, and the card last, so that a folder with a card is complete.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InputError
from surefoot.io.atomic import remove, sole_writer, write_text
from surefoot.io.files import parse_json
from surefoot.learn.checkpoint import refuse_other_request
from surefoot.learn.models import CARD, load_model
from surefoot.learn.run import Run, Trained
from surefoot.learn.training import CHECKPOINT
from surefoot.learn.validation import Report

REQUEST, HISTORY = "request.json", "history.csv"


class ModelStore:
    """A folder of trainings.

    Parameters
    ----------
    folder : path, optional
        Where trainings are kept; without it every call trains.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from surefoot.learn import RankingData, Settings
    >>> from surefoot.learn.training import resolve_run
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> run = resolve_run(data, "feature:0", Settings(n_estimators=3, min_child_samples=1))
    >>> with TemporaryDirectory() as folder:
    ...     store = ModelStore(folder)
    ...     first, again = store.get_or_train(run), store.get_or_train(run)
    >>> first.model.text == again.model.text, first.history == again.history
    (True, True)
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def get_or_train(self, run: Run, name: str | None = None, report: Report | None = None) -> Trained:
        """The training of a run: loaded if it is complete, else trained or resumed.

        Parameters
        ----------
        run : TrainingRun or BaggedRun
            The resolved request.
        name : str, optional
            The folder's name; by default a hash of the request. A folder of another request is refused.
        report : callable, optional
            Called with a `Progress` after each iteration.

        Returns
        -------
        Trained
        """
        if self.folder is None:
            return run.train(report)
        folder = self.folder / (name or run.key)
        if (folder / REQUEST).exists():
            refuse_other_request(folder / REQUEST, _read_request(folder / REQUEST), run.request, "name another folder")
        checkpoint = folder / CHECKPOINT
        if (folder / CARD).exists():
            if checkpoint.exists():  # the process was killed before its last step
                remove(checkpoint)
            model = load_model(folder)
            return Trained(model, read_history(folder / HISTORY), model.card["best_iteration"])
        folder.mkdir(parents=True, exist_ok=True)
        with sole_writer(folder):
            write_text(folder / REQUEST, json.dumps(run.request, indent=2) + "\n")
            trained = run.train(report, checkpoint=checkpoint, resume=True)
            write_text(folder / HISTORY, history_csv(trained.history))
            trained.model.save(folder)
            remove(checkpoint)
        return trained


def _read_request(path: Path) -> dict[str, Any]:
    try:
        return dict(parse_json(path.read_text("utf-8")))
    except (ValueError, TypeError):
        raise InputError(path, "is not the request of a training; remove the folder that it is in") from None


def history_csv(history: Sequence[Mapping[str, float]]) -> str:
    r"""A training's history as CSV, one row per iteration.

    >>> history_csv([{"mean": 0.5, "trees": 1}])
    'iteration,mean,trees\n1,0.5,1\n'
    """
    text = io.StringIO()
    names = list(history[0]) if history else []
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["iteration", *names])
    writer.writerows([iteration, *(measures[name] for name in names)] for iteration, measures in enumerate(history, 1))
    return text.getvalue()


def read_history(path: Path) -> list[dict[str, float]]:
    """The history that `history_csv` wrote."""
    try:
        rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
        return [{name: float(value) for name, value in row.items() if name != "iteration"} for row in rows]
    except FileNotFoundError:
        raise InputError(path, "is missing, so the training is not complete; remove the folder that it is in") from None
    except (ValueError, TypeError):
        raise InputError(path, "is not the history of a training; remove the folder that it is in") from None
