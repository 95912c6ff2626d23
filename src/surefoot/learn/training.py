"""Training a ranker: data and settings in, a model with its card out. All ways to train go through this module.

A `ModelStore` keeps trainings in a folder. A complete one is not trained again, and a stopped one goes on. The key of a
training is a hash of its request: settings, data, baselines, versions::

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
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from surefoot.errors import InputError, SurefootError
from surefoot.io.atomic import remove, sole_writer, write_text
from surefoot.io.files import parse_json
from surefoot.learn.baseline import Missing
from surefoot.learn.checkpoint import EVERY, refuse_other_request
from surefoot.learn.data import RankingData
from surefoot.learn.models import CARD, load_model
from surefoot.learn.settings import Settings
from surefoot.learn.training_run import Trained, TrainingRun
from surefoot.learn.validation import Report

if TYPE_CHECKING:
    from surefoot.learn.bagging import BaggedRun

CHECKPOINT, REQUEST, HISTORY = "checkpoint.json", "request.json", "history.csv"

Run: TypeAlias = "TrainingRun | BaggedRun"
"""A training of one model, or of several bags."""


def train(
    data: RankingData,
    baseline: Any = None,
    settings: Settings | None = None,
    *,
    valid: RankingData | None = None,
    valid_baseline: Any = None,
    sample_weight: Any = None,
    init_model: Any = None,
    callbacks: Sequence[Callable[[Any], None]] = (),
    categorical_feature: Any = "auto",
    missing: Missing = "error",
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: float = EVERY,
    report: Report | None = None,
) -> Trained:
    """Train a ranker.

    Parameters
    ----------
    data : RankingData
        The queries to learn from.
    baseline
        The ranking to compare with: anything that `baselines_of` takes, such as ``"feature:25"``.
    settings : Settings, optional
        The objective, the metric and the trees; see `Settings`.
    valid : RankingData, optional
        Queries to choose the best iteration on. If the two sets have different numbers of features, both get the
        features of both; missing ones are 0, as in LETOR files.
    valid_baseline
        The baseline of ``valid``; by default ``baseline``, if that names one on any queries.
    sample_weight : array, optional
        A weight for each document or each query.
    init_model : path or booster, optional
        A model of the engine to which trees are added.
    callbacks : sequence
        Callbacks of the engine.
    categorical_feature
        As in LightGBM.
    missing : {"error", "last"}
        Whether documents that a run lacks are an error, or rank last.
    output : path, optional
        A folder for the model and its card. A checkpoint is saved there, so that a killed training can be resumed.
    resume : bool
        Go on from the checkpoint in ``output`` to the same model, or begin if there is none yet. Without it a
        checkpoint there is an error.
    checkpoint_every : float
        Seconds between checkpoints.
    report : callable, optional
        Called with a `Progress` after each iteration.

    Returns
    -------
    Trained
        The model, the measures of each iteration, and the best iteration.

    Examples
    --------
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> trained = train(data, "feature:0", Settings(n_estimators=3, min_child_samples=1))
    >>> len(trained.history), trained.model.predict(data).shape
    (3, (4,))
    """
    if output is not None:
        validate_output(output, resume)
    run = resolve_run(
        data, baseline, settings, valid=valid, valid_baseline=valid_baseline, sample_weight=sample_weight,
        missing=missing, init_model=init_model, callbacks=callbacks, categorical_feature=categorical_feature,
    )  # fmt: skip
    if output is None:
        return train_run(run, report)
    folder, checkpoint = Path(output), Path(output) / CHECKPOINT
    folder.mkdir(parents=True, exist_ok=True)
    with sole_writer(folder):
        trained = train_run(run, report, checkpoint=checkpoint, resume=resume, checkpoint_every=checkpoint_every)
        trained.model.save(folder)
        remove(checkpoint)
    return trained


def resolve_run(data: RankingData, baseline: Any = None, settings: Settings | None = None, **more: Any) -> Run:
    """A training of one model or of several bags, as the settings say; the parameters are those of `train`."""
    if settings is None or settings.n_bags == 1:
        return TrainingRun.of(data, baseline, settings, **more)
    from surefoot.learn.bagging import BaggedRun

    return BaggedRun.of(data, baseline, settings, **more)


def train_run(run: Run, report: Report | None = None, **more: Any) -> Trained:
    """Train a run on this machine; an error of the engine is raised as one line."""
    try:
        return run.train(report, **more)
    except run.engine.error as error:
        raise SurefootError(f"{run.settings.model_engine}: {engine_message(error)}") from None


def validate_output(output: str | os.PathLike[str], resume: bool = False) -> None:
    """Refuse a folder in use, resuming a finished training, and overwriting one that can be resumed."""
    folder = Path(output)
    if not folder.is_dir():
        return
    checkpoint = folder / CHECKPOINT
    with sole_writer(folder):
        stopped, finished = checkpoint.exists(), (folder / CARD).exists()
    if resume and finished and not stopped:
        raise SurefootError(f"{folder} is finished; train without --resume")
    if stopped and not resume:
        raise SurefootError(f"{checkpoint} is of a stopped training; go on with --resume, or remove it")


def engine_message(error: Exception) -> str:
    """The first line of an engine's error, without the position in its source."""
    first = next(line for line in str(error).splitlines() if line.strip())
    return re.sub(r"^\[[\d:]+\] \S+: | at /\S+, line \d+ \.$", "", first).strip()


class ModelStore:
    """A folder of trainings.

    Parameters
    ----------
    folder : path, optional
        Where trainings are kept; without it every call trains.
    checkpoint_every : float
        Seconds between checkpoints.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from surefoot.learn import RankingData, Settings
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> run = resolve_run(data, "feature:0", Settings(n_estimators=3, min_child_samples=1))
    >>> with TemporaryDirectory() as folder:
    ...     store = ModelStore(folder)
    ...     first, again = store.get_or_train(run), store.get_or_train(run)
    >>> first.model.text == again.model.text, first.history == again.history
    (True, True)
    """

    def __init__(self, folder: str | os.PathLike[str] | None, checkpoint_every: float = EVERY) -> None:
        self.folder = None if folder is None else Path(folder)
        self.checkpoint_every = checkpoint_every

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
            return train_run(run, report)
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
            trained = train_run(
                run, report, checkpoint=checkpoint, resume=True, checkpoint_every=self.checkpoint_every
            )  # fmt: skip
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
