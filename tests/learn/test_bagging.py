"""Bags: several trainings, each of which holds out a part of the queries, averaged into one plain model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.bagging import PARTS, SEED_GAP, BaggedRun
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.engines.lightgbm import BAGS
from surefoot.learn.engines.xgboost import BAGS as XGB_BAGS
from surefoot.learn.joining import concat
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.run import TrainingRun
from surefoot.learn.settings import LARGEST_SEED, SAFE, Settings, engine_of
from surefoot.learn.training import resolve_run, train
from surefoot.learn.validation import Progress, Validation
from surefoot.scores import FloatArray

QUICK = replace(SAFE, n_estimators=12, min_child_samples=5, guard=None, n_bags=5, n_jobs=1)
ENGINES = pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
RANDOM = {"lightgbm": BAGS, "xgboost": XGB_BAGS}


def rankings(seed: int, queries: int = 30) -> RankingData:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * 8, 4))
    labels = np.clip(np.rint(features[:, 0] + 0.5 * rng.normal(size=queries * 8)), 0, 3)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), 8))


def alone(run: BaggedRun, bag: int) -> tuple[Any, FloatArray]:
    """One bag, trained by itself: its model, and which queries it did not see."""
    held_out = run.part_of_query == bag % PARTS
    params = {**RANDOM[run.settings.engine], **run.settings.params}
    seed = run.settings.seed + (SEED_GAP + run.settings.n_estimators) * bag
    settings = replace(run.settings, n_bags=1, seed=seed, params=params)
    model = train(run.data.select(~held_out), "feature:1", settings, valid=run.data.select(held_out)).model
    return model, held_out


@ENGINES
def test_bags_are_the_mean_of_trainings_that_hold_out_each_part_in_turn(engine: str) -> None:
    data, valid = rankings(1), rankings(2)
    run = resolve_run(data, "feature:1", replace(QUICK, engine=engine), valid=valid)
    assert isinstance(run, BaggedRun)
    assert run.data.labels.tolist() == [*data.labels.tolist(), *valid.labels.tolist()]
    assert np.bincount(run.part_of_query).tolist() == [15] * PARTS
    trained = run.train()
    bags = [alone(run, bag) for bag in range(QUICK.n_bags)]
    assert len({model.text for model, _ in bags}) == QUICK.n_bags
    expected = np.mean([model.predict(run.data) for model, _ in bags], axis=0)
    tolerance = 1e-14 if engine == "lightgbm" else 1e-6  # XGBoost's scores and leaves are float32
    np.testing.assert_allclose(trained.model.predict(run.data), expected, atol=tolerance)
    assert trained.model.card["trees"] == sum(model.card["trees"] for model, _ in bags)
    total, count = np.zeros(run.data.labels.size), np.zeros(run.data.labels.size)
    for model, held_out in bags:
        rows = run.data.rows(held_out)
        total[rows] += model.predict(run.data.select(held_out))
        count[rows] += 1
    np.testing.assert_allclose(trained.out_of_bag, total / count, atol=1e-12)
    measures = Validation.of(QUICK, run.data, baselines_of("feature:1", run.data))(total / count)
    assert trained.model.card["validation"] == pytest.approx(measures)


@ENGINES
def test_the_average_is_a_plain_model_of_its_engine(engine: str, tmp_path: Path) -> None:
    data = rankings(1)
    model = train(data, "feature:1", replace(QUICK, engine=engine), output=tmp_path).model
    if engine == "lightgbm":
        plain = lgb.Booster(model_file=tmp_path / "model.txt").predict(data.features)
        assert "\nobjective=regression\n" in model.text
    else:
        import xgboost

        plain = xgboost.Booster(model_file=tmp_path / "model.json").predict(xgboost.DMatrix(data.features))
    np.testing.assert_array_equal(plain, model.predict(data))


@ENGINES
def test_merging_one_model_changes_nothing(engine: str) -> None:
    model = train(rankings(1), "feature:1", replace(QUICK, n_bags=1, engine=engine), valid=rankings(2)).model
    assert engine_of(engine).average([model.text]) == model.text


def test_fewer_bags_than_parts_hold_out_larger_ones() -> None:
    run = resolve_run(rankings(1), "feature:1", replace(QUICK, n_bags=3))
    assert isinstance(run, BaggedRun)
    assert np.bincount(run.part_of_query).tolist() == [10, 10, 10]
    assert np.isfinite(run.train().out_of_bag).all()  # type: ignore[arg-type]


def test_weights_and_baselines_of_the_validation_queries_go_with_them() -> None:
    data, valid = rankings(1), rankings(2)
    b, theirs = data.column("1").astype(float), valid.column("1").astype(float)
    weight = np.linspace(0.5, 1.5, len(data))
    found = train(data, b, QUICK, valid=valid, valid_baseline=theirs, sample_weight=weight).model
    pooled = np.append(weight, np.ones(len(valid)))
    expected = train(concat([data, valid]), np.append(b, theirs), QUICK, sample_weight=pooled).model
    assert found.text == expected.text
    assert found.text != train(concat([data, valid]), np.append(b, theirs), QUICK).model.text


def test_a_stopped_training_goes_on_with_the_bag_that_it_was_at(tmp_path: Path) -> None:
    data, valid, checkpoint = rankings(1), rankings(2), tmp_path / "checkpoint.json"
    whole = train(data, "feature:1", QUICK, valid=valid).model

    def stop(at: object) -> None:
        stop.seen += 1  # type: ignore[attr-defined]
        if stop.seen == 20:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    stop.seen = 0  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        train(data, "feature:1", QUICK, valid=valid, output=tmp_path, report=stop)
    assert list(tmp_path.iterdir()) == [checkpoint]
    seen: list[object] = []
    resumed = train(
        data, "feature:1", QUICK, valid=valid, output=tmp_path, resume=True, report=seen.append
    ).model  # fmt: skip
    assert resumed.text == whole.text
    assert resumed.card == whole.card
    assert sorted(path.name for path in tmp_path.iterdir()) == ["card.json", "model.txt"]
    assert len(seen) < QUICK.n_bags * QUICK.n_estimators - 11  # the first bag was not trained again


def test_the_recipe_of_the_ranker_is_that_of_the_command() -> None:
    ranker = RiskRanker.safe()
    assert ranker.settings() == SAFE
    assert RiskRanker.safe(alpha=2, n_bags=5).settings() == replace(SAFE, alpha=2, n_bags=5)


def test_bags_take_the_parameters_that_one_training_takes() -> None:
    """Also those that say otherwise than is usual here."""
    params = {**QUICK.params, "force_col_wise": False, "force_row_wise": True}
    model = train(rankings(1), "feature:1", replace(QUICK, n_bags=2, params=params), valid=rankings(2)).model
    assert model.card["settings"]["n_bags"] == 2


def test_progress_is_that_of_all_bags() -> None:
    seen: list[Progress] = []
    settings = replace(QUICK, n_bags=2, n_estimators=3, early_stopping_rounds=None)
    train(rankings(1), "feature:1", settings, valid=rankings(2), report=seen.append)
    assert [(at.iteration, at.n_iterations) for at in seen] == [(done, 6) for done in range(1, 7)]
    assert seen[0].seconds_left > 0 == seen[-1].seconds_left


def test_the_largest_seed_is_one_for_bags_too() -> None:
    settings = Settings(n_bags=2, n_estimators=2, seed=LARGEST_SEED, min_child_samples=1)
    run = BaggedRun.of(rankings(5, queries=8), "feature:0", settings)
    assert run.bag_settings(1).seed == SEED_GAP + 2 - 1
    assert len(run.train().history) == 2


def test_what_can_not_be_bagged() -> None:
    with pytest.raises(SurefootError, match="n_bags must be 1 or more"):
        replace(QUICK, n_bags=0)
    with pytest.raises(SurefootError, match="5 bags hold out 4 parts of the queries in turn; data has 3 queries"):
        train(rankings(1, queries=3), "feature:1", QUICK)
    with pytest.raises(SurefootError, match="linear trees are not averaged"):
        train(rankings(1), "feature:1", replace(QUICK, params={"linear_tree": True}))
    with pytest.raises(SurefootError, match="resolve_run takes several bags"):
        TrainingRun.of(rankings(1), "feature:1", QUICK)
    with pytest.raises(SurefootError, match="not those of the training queries"):
        train(rankings(1), np.zeros(30), QUICK, valid=rankings(2), valid_baseline="feature:1")
