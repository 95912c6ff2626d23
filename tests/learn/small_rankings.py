"""Small ranking data, and trainings of it; as a program, trainings that wait to be killed."""

import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np

from surefoot.learn.data import RankingData
from surefoot.learn.run import Trained, TrainingRun
from surefoot.learn.settings import Settings

BASELINE = "feature:0"
LEAVES = {"num_leaves": 7, "min_child_samples": 5, "seed": 3}
XGB = {"num_leaves": 7, "seed": 3, "learning_rate": 0.3, "engine": "xgboost"}


def documents(seed=0, queries=25, size=12):
    """Features, labels and query ids: three features matter, the first of them most."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(queries * size, 5)).astype(np.float32)
    merit = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + random.normal(scale=0.5, size=len(X))
    y = np.searchsorted(np.quantile(merit, [0.6, 0.85, 0.95]), merit)
    return X, y, np.repeat(np.arange(queries), size)


def ranking_data(seed=0, **size):
    return RankingData.of(*documents(seed, **size))


TRAINING, VALIDATION = ranking_data(0), ranking_data(1)


def settings(**more) -> Settings:
    return Settings(**{"objective": "ucro", "n_estimators": 40, **LEAVES, "n_jobs": 1, **more})


KINDS = {
    "plain": settings(),
    "random": settings(n_estimators=70, params={"bagging_fraction": 0.6, "bagging_freq": 1, "feature_fraction": 0.6}),
    "stopped early": settings(n_estimators=400, early_stopping_rounds=12),
    "saro": settings(objective="saro", alpha=5.0),
    "xgboost": settings(**XGB, n_estimators=70, params={"subsample": 0.6, "colsample_bynode": 0.6}),
}
"""Trainings that must go on to the same model."""

REACHED = {"plain": 20, "random": 57, "stopped early": 6, "saro": 20, "xgboost": 57}
"""The iterations after which they are killed."""


def checkpointed(chosen, checkpoint=None, resume=False, every=120.0, report=None, data=TRAINING, baseline=BASELINE,
                 valid=VALIDATION, **more) -> Trained:  # fmt: skip
    """Train, keeping the checkpoint at the end as ``train`` does not."""
    run = TrainingRun.of(data, baseline, chosen, valid=valid, **more)
    return run.train(report, checkpoint=checkpoint, resume=resume, checkpoint_every=every)


def trained(kind: str, **more) -> Trained:
    return checkpointed(KINDS[kind], **more)


def wait_for_the_end(kind: str, checkpoint: Path) -> None:
    """Train, and stop where it will be killed: in the midst of an iteration, the last one being kept."""
    trained(kind, checkpoint=checkpoint, every=0, report=lambda at: at.iteration > REACHED[kind] and Event().wait())


if __name__ == "__main__":
    for kind in KINDS:
        Thread(target=wait_for_the_end, args=(kind, Path(sys.argv[1], kind, "checkpoint.json"))).start()
    Event().wait()
