"""Bags: several trainings averaged into one plain model."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.bagging import SEED_GAP, average
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Progress
from surefoot.learn.engines.lightgbm import fixed_threads
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.recipes import SAFE
from surefoot.learn.training import train

QUICK = replace(SAFE, n_estimators=12, min_child_samples=5, baseline_weight=0.0, n_bags=3)


def rankings(seed: int, queries: int = 30) -> RankingData:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * 8, 4))
    labels = np.clip(np.rint(features[:, 0] + 0.5 * rng.normal(size=queries * 8)), 0, 3)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), 8))


def test_bags_are_the_mean_of_their_trainings() -> None:
    data, valid = rankings(1), rankings(2)
    together = train(data, "feature:1", QUICK, valid=valid).model
    alone = [
        train(
            data,
            "feature:1",
            replace(QUICK, n_bags=1, seed=(SEED_GAP + QUICK.n_estimators) * bag),
            valid=valid,
        ).model
        for bag in range(3)
    ]
    expected = np.mean([model.predict(valid) for model in alone], axis=0)
    assert len({model.text for model in alone}) == 3
    np.testing.assert_allclose(together.predict(valid), expected, atol=1e-14)
    assert together.card["settings"]["n_bags"] == 3
    assert together.card["trees"] == sum(model.card["trees"] for model in alone) == together.booster.num_trees()
    plain = lgb.Booster(model_str=together.text)
    np.testing.assert_array_equal(plain.predict(valid.features), together.predict(valid))


def test_merging_one_model_changes_nothing() -> None:
    model = train(rankings(1), "feature:1", replace(QUICK, n_bags=1), valid=rankings(2)).model
    np.testing.assert_array_equal(lgb.Booster(model_str=average([model.text])).predict(rankings(2).features),
                                  model.predict(rankings(2)))  # fmt: skip


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
    assert len(seen) < 3 * QUICK.n_estimators - 11  # the first bag was not trained again


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
    settings = replace(QUICK, n_bags=2, n_estimators=3)
    train(rankings(1), "feature:1", settings, valid=rankings(2), report=seen.append)
    assert [(at.iteration, at.n_iterations) for at in seen] == [(done, 6) for done in range(1, 7)]
    assert seen[0].seconds_left > 0 == seen[-1].seconds_left


@pytest.mark.parametrize(("bags", "engine", "message"), [(0, "lightgbm", "1 or more"), (2, "xgboost", "LightGBM")])
def test_what_can_not_be_averaged(bags: int, engine: str, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        train(rankings(1), "feature:1", replace(QUICK, n_bags=bags, engine=engine))


def test_trainings_side_by_side_share_one_number_of_threads() -> None:
    """LightGBM keeps it for the whole process; trainings that set others write past each other's buffers."""
    known = ctypes.c_int()

    def most() -> int:
        lgb.basic._LIB.LGBM_GetMaxThreads(ctypes.byref(known))
        return known.value

    before = most()
    with fixed_threads(1):
        assert most() == 1
    assert most() == before
