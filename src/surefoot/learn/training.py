"""Training a ranker: data and settings in, a model with its card out. Every way to train goes through here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.io.atomic import remove
from surefoot.io.locks import sole_writer
from surefoot.learn.bagging import Run, resolve_run
from surefoot.learn.baseline import Missing
from surefoot.learn.checkpoint import EVERY
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Report
from surefoot.learn.models import CARD
from surefoot.learn.settings import Settings
from surefoot.learn.training_run import Trained

CHECKPOINT = "checkpoint.json"


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
        What must not be done worse than: anything that `baselines_of` takes, such as ``"feature:25"``.
    settings : Settings, optional
        What to train; see `Settings`.
    valid : RankingData, optional
        Queries to choose the best iteration on. Where it has fewer features than ``data``, or more, both get the
        features of both, the missing ones 0, as in LETOR files.
    valid_baseline
        The baseline of ``valid``; by default ``baseline``, if that names one on any queries.
    sample_weight : array, optional
        A weight for each document or each query.
    init_model : path or booster, optional
        A model of the engine whose trees stay; new ones are added.
    callbacks : sequence
        Callbacks of the engine.
    categorical_feature
        As in LightGBM.
    missing : {"error", "last"}
        What to do with documents that a run lacks.
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


def train_run(run: Run, report: Report | None = None, **more: Any) -> Trained:
    """Train a run on this machine; errors of the engine are told in one line."""
    try:
        return run.train(report, **more)
    except run.engine.error as error:
        raise SurefootError(f"{run.settings.model_engine}: {engine_message(error)}") from None


def validate_output(output: str | os.PathLike[str], resume: bool = False) -> None:
    """Refuse a folder in use, to resume what is finished, and to overwrite what could be resumed."""
    folder = Path(output)
    if not folder.is_dir():
        return
    checkpoint = folder / CHECKPOINT
    with sole_writer(folder):
        stopped, finished = checkpoint.exists(), (folder / CARD).exists()
    if resume and finished and not stopped:
        raise SurefootError(f"{folder} is finished; train without --resume")
    if stopped and not resume:
        raise SurefootError(f"{checkpoint} is of a training that was stopped; go on with --resume, or remove it")


def engine_message(error: Exception) -> str:
    """What an engine says went wrong, without where in its own source."""
    first = next(line for line in str(error).splitlines() if line.strip())
    return re.sub(r"^\[[\d:]+\] \S+: | at /\S+, line \d+ \.$", "", first).strip()
