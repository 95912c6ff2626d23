"""Training a ranker: data and settings in, a model with its card out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.io.atomic import remove, sole_writer
from surefoot.learn.bagging import BaggedRun
from surefoot.learn.baseline import Missing
from surefoot.learn.checkpoint import EVERY
from surefoot.learn.data import RankingData
from surefoot.learn.models import CARD
from surefoot.learn.run import Run, Trained, TrainingRun
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Report

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
        return run.train(report)
    folder, checkpoint = Path(output), Path(output) / CHECKPOINT
    folder.mkdir(parents=True, exist_ok=True)
    with sole_writer(folder):
        trained = run.train(report, checkpoint=checkpoint, resume=resume, checkpoint_every=checkpoint_every)
        trained.model.save(folder)
        remove(checkpoint)
    return trained


def resolve_run(data: RankingData, baseline: Any = None, settings: Settings | None = None, **more: Any) -> Run:
    """A training of one model or of several bags, as the settings say; the parameters are those of `train`."""
    if settings is None or settings.n_bags == 1:
        return TrainingRun.of(data, baseline, settings, **more)
    return BaggedRun.of(data, baseline, settings, **more)


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
        raise SurefootError(f"{checkpoint} is of a stopped training; continue with --resume, or remove it")
