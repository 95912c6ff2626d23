"""Training a ranker: data and settings in, a model with its card out. Every way to train goes through here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surefoot._numba import compiling
from surefoot.errors import SurefootError
from surefoot.learn.bagging import Run, resolve_run
from surefoot.learn.baseline import Missing
from surefoot.learn.checkpoint import EVERY
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Report
from surefoot.learn.lambdas import will_compile
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
        Go on from the checkpoint in ``output`` to the same model. Without it a checkpoint there is an error.
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
    checkpoint = None
    if output is not None:
        validate_output(output, resume)
        checkpoint = Path(output) / CHECKPOINT
    run = resolve_run(
        data, baseline, settings, valid=valid, valid_baseline=valid_baseline, sample_weight=sample_weight,
        missing=missing, init_model=init_model, callbacks=callbacks, categorical_feature=categorical_feature,
    )  # fmt: skip
    trained = train_run(run, report, checkpoint=checkpoint, resume=resume, checkpoint_every=checkpoint_every)
    if checkpoint is not None:
        trained.model.save(checkpoint.parent)
        checkpoint.unlink(missing_ok=True)
    return trained


def train_run(run: Run, report: Report | None = None, **more: Any) -> Trained:
    """Train a run on this machine; errors of the engine are told in one line."""
    try:
        with compiling(will_compile()):
            return run.train(report, **more)
    except run.engine.error as error:
        raise SurefootError(f"{run.settings.model_engine}: {engine_message(error)}") from None


def validate_output(output: str | os.PathLike[str], resume: bool = False) -> None:
    """Refuse to resume what is not there, and to overwrite what could be resumed."""
    folder = Path(output)
    checkpoint = folder / CHECKPOINT
    if resume and not checkpoint.exists():
        state = "is finished" if (folder / CARD).exists() else "has no checkpoint yet"
        raise SurefootError(f"{folder} {state}; train without --resume")
    if checkpoint.exists() and not resume:
        raise SurefootError(f"{checkpoint} is of a training that was stopped; go on with --resume, or remove it")


def engine_message(error: Exception) -> str:
    """What an engine says went wrong, without where in its own source."""
    first = next(line for line in str(error).splitlines() if line.strip())
    return re.sub(r"^\[[\d:]+\] \S+: | at /\S+, line \d+ \.$", "", first).strip()
