"""Training with each objective in LightGBM: it runs, it is repeatable, and more alpha means fewer losses."""

from functools import cache
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.lambdas.metrics import Metric
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.settings import PairOptions
from tests.learn.lightgbm_oracle import STEADY, Documents, made_up, read

PARAMS = {**STEADY, "num_leaves": 15, "min_data_in_leaf": 10}
SMALL = made_up(50, 20, seed=4)


def some(name: str) -> Any:
    if name == "lambdamart":
        return None
    return SMALL.X[:, [0, 2]].T if name in ("georisk", "georisk-full", "tstar-faro") else SMALL.X[:, 0]


def model_text(objective: RiskObjective, threads: int = 1) -> str:
    params = {**PARAMS, "num_threads": threads, "objective": objective}
    text: str = lgb.train(params, SMALL.dataset(), 8).model_to_string()
    return text[: text.index("parameters:")]


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_each_objective_trains_the_same_model_whatever_the_threads_and_again(name: str) -> None:
    objective = RiskObjective(name, 1.0, some(name), n_jobs=1)
    first = model_text(objective)
    assert first.count("Tree=") == 8
    assert model_text(RiskObjective(name, 1.0, some(name), n_jobs=2), threads=2) == first
    assert model_text(objective) == first, "a second training must not inherit from the first"


@pytest.mark.parametrize("metric", ["ndcg", "map", "mrr", "err"])
def test_training_raises_the_metric(metric: Any) -> None:
    objective = RiskObjective("lambdamart", pairs=PairOptions(metric=metric), n_jobs=1)
    booster = lgb.train({**PARAMS, "objective": objective}, SMALL.dataset(), 30)
    form = Metric(metric)
    learnt = form(booster.predict(SMALL.X), SMALL.labels, SMALL.bounds).mean()
    feature = form(SMALL.X[:, 0], SMALL.labels, SMALL.bounds).mean()
    assert learnt > feature + 0.05


def test_a_set_without_queries_is_refused() -> None:
    with pytest.raises(Exception, match="needs the training set's groups"):
        lgb.train({**PARAMS, "objective": RiskObjective("lambdamart")}, lgb.Dataset(SMALL.X, SMALL.labels), 1)


@cache
def mq2008(folder: Path) -> Documents:
    return read(*(folder / f"mq2008/S{part}.txt.gz" for part in (1, 2, 3)))


@pytest.mark.parametrize("name", ["ucro", "saro", "georisk"])
def test_more_alpha_means_fewer_losses_on_the_training_queries(name: str, data: Path) -> None:
    docs = mq2008(data)
    baseline, form = docs.X[:, 24], Metric(ideal=30)  # feature 25
    b = form(baseline, docs.labels, docs.bounds)
    losses, risks = [], []
    for alpha in (0.0, 1.0, 5.0, 20.0):
        params = {**STEADY, "num_leaves": 15, "min_data_in_leaf": 50, "learning_rate": 0.1}
        objective = RiskObjective(name, alpha, baseline, n_jobs=1)
        booster = lgb.train({**params, "objective": objective}, docs.dataset(), 50)
        x = form(booster.predict(docs.X), docs.labels, docs.bounds)
        losses.append(int((x < b - 1e-9).sum()))
        risks.append(float(np.maximum(b - x, 0).mean()))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] <= 0.6 * losses[0]
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] <= 0.3 * risks[0]


def test_georisk_refuses_baselines_below_zero() -> None:
    """What is expected would have no root, and the model would be zeros."""
    below = np.linspace(-1, 1, len(SMALL.sizes))
    with pytest.raises(SurefootError, match="georisk needs baselines that score 0 or more on every query; got -1"):
        model_text(RiskObjective("georisk", 1.0, below, n_jobs=1))
