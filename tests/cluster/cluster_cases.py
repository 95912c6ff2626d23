"""Data that any number of workers bin alike, and the same training on one machine."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest

from surefoot.learn.data import RankingData
from surefoot.learn.settings import SAFE, Settings
from surefoot.learn.training import train

FEATURES = [f"f{place}" for place in range(6)]
BOUND = 1e-5
"""How far a prediction may be from one machine's. What only looks at its own partition is off by 100 times as much."""


def table(queries=60, documents=12, seed=1):
    """Whole numbers as features: all workers then cut them into the same bins. Queries come in no order."""
    rng = np.random.default_rng(seed)
    rows = queries * documents
    values = rng.integers(0, 10, (rows, len(FEATURES)))
    hidden = values[:, 0] + values[:, 1] - 0.5 * values[:, 2] + rng.normal(0, 3, rows)
    frame = pandas.DataFrame(values, columns=FEATURES)
    frame.insert(0, "label", np.searchsorted(np.quantile(hidden, [0.6, 0.85, 0.95]), hidden))
    frame.insert(0, "qid", np.repeat(rng.permutation(queries), documents))
    frame["old"] = values[:, 0] + rng.normal(0, 1, rows)
    return frame


def settings(objective="ucro", **more):
    given = {"n_estimators": 8, "engine": "xgboost", "num_leaves": 8, "learning_rate": 0.2}
    return Settings(objective, 2, **{**given, **more})


def safe(**more):
    """The recipe with few trees; its second stage needs 100 queries."""
    few = {"engine": "xgboost", "n_bags": 3, "n_estimators": 5, "num_leaves": 6, "learning_rate": 0.2}
    return replace(SAFE, **{**few, **more})


def assert_same_recipe(trained, one, frame):
    """The same trees, guard and measures to the last bit or to rounding, and the same predictions."""
    data, _ = data_of(frame)
    assert trained.model.text == one.model.text
    assert trained.model.guard == one.model.guard
    assert trained.model.card["guard"] == one.model.card["guard"]
    for key in ("validation", "unguarded"):
        assert trained.model.card[key] == pytest.approx(one.model.card[key], abs=1e-9)
    np.testing.assert_array_equal(trained.model.predict(data), one.model.predict(data))


def data_of(frame):
    ordered = frame.sort_values("qid", kind="stable")
    values = ordered[FEATURES].to_numpy(np.float32)
    data = RankingData.of(values, ordered["label"], ordered["qid"].to_numpy(), feature_names=FEATURES)
    return data, ordered["old"].to_numpy()


def on_one_machine(frame, chosen, valid=None, **more):
    """The same training where all queries are together."""
    data, old = data_of(frame)
    if valid is None:
        return train(data, old, replace(chosen, n_jobs=1), **more)
    held, held_old = data_of(valid)
    return train(data, old, replace(chosen, n_jobs=1), valid=held, valid_baseline=held_old, **more)


def furthest(trained, other, frame):
    """The largest difference of two models' predictions."""
    data, _ = data_of(frame)
    return np.abs(trained.model.predict(data) - other.model.predict(data)).max()


def trees_of(trained):
    """What each tree asks, without the values of its leaves."""
    trees = json.loads(trained.model.text)["learner"]["gradient_booster"]["model"]["trees"]
    asked = []
    for tree in trees:
        splits = zip(tree["left_children"], tree["split_indices"], tree["split_conditions"], strict=True)
        asked.append([(left, feature, value if left >= 0 else None) for left, feature, value in splits])
    return asked


def assert_same(trained, other, frame):
    assert trees_of(trained) == trees_of(other)
    assert furthest(trained, other, frame) <= BOUND


def killer(iteration, marker):
    """A callback that kills its worker at an iteration, the first that gets there, and only once."""
    import xgboost

    path = str(marker)

    class Killer(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == iteration:
                try:
                    Path(path).touch(exist_ok=False)
                except FileExistsError:
                    return False
                os.kill(os.getpid(), signal.SIGKILL)
            return False

    return Killer()


def recorder(folder):
    """A callback that leaves a file for each worker and iteration."""
    import xgboost

    path = str(folder)

    class Recorder(xgboost.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            with Path(path, f"{xgboost.collective.get_rank()} {epoch}").open("a") as file:
                file.write("x")
            return False

    return Recorder()
