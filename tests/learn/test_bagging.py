"""Bags: several trainings averaged into one plain model."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.bagging import APART, SAFE, SAFE_BAGS, part_checkpoint, train_bags
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Progress
from surefoot.learn.engines.lightgbm import side_by_side
from surefoot.learn.merging import averaged
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.training import train

QUICK = replace(SAFE, n_estimators=12, params={**SAFE.params, "min_child_samples": 5}, lean=0.0)


def rankings(seed: int, queries: int = 30) -> RankingData:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * 8, 4))
    labels = np.clip(np.rint(features[:, 0] + 0.5 * rng.normal(size=queries * 8)), 0, 3)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), 8))


def test_bags_are_the_mean_of_their_trainings() -> None:
    data, valid = rankings(1), rankings(2)
    together = train_bags(QUICK, 3, data, "feature:1", valid).model
    alone = [
        train(
            replace(QUICK, params={**QUICK.params, "seed": (APART + QUICK.n_estimators) * bag}),
            data,
            "feature:1",
            valid,
        ).model
        for bag in range(3)
    ]
    expected = np.mean([model.predict(valid) for model in alone], axis=0)
    assert len({model.text for model in alone}) == 3
    np.testing.assert_allclose(together.predict(valid), expected, atol=1e-14)
    assert together.card["bags"] == 3
    assert together.card["trees"] == sum(model.card["trees"] for model in alone) == together.booster.num_trees()
    plain = lgb.Booster(model_str=together.text)
    np.testing.assert_array_equal(plain.predict(valid.features), together.predict(valid))


def test_merging_one_model_changes_nothing() -> None:
    model = train(QUICK, rankings(1), "feature:1", rankings(2)).model
    np.testing.assert_array_equal(lgb.Booster(model_str=averaged([model.text])).predict(rankings(2).features),
                                  model.predict(rankings(2)))  # fmt: skip


def test_a_stopped_training_goes_on_with_the_bag_that_it_was_at(tmp_path: Path) -> None:
    data, valid, checkpoint = rankings(1), rankings(2), tmp_path / "checkpoint.json"
    whole = train_bags(QUICK, 3, data, "feature:1", valid).model

    def stop(at: object) -> None:
        stop.seen += 1  # type: ignore[attr-defined]
        if stop.seen == 20:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    stop.seen = 0  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        train_bags(QUICK, 3, data, "feature:1", valid, checkpoint=checkpoint, report=stop)
    assert part_checkpoint(checkpoint, 0).exists()
    seen: list[object] = []
    resumed = train_bags(
        QUICK, 3, data, "feature:1", valid, checkpoint=checkpoint, resume=True, report=seen.append
    ).model  # fmt: skip
    assert resumed.text == whole.text
    assert len(seen) < 3 * QUICK.n_estimators - 11  # the first bag was not trained again


def test_the_recipe_of_the_ranker_is_that_of_the_command() -> None:
    ranker = RiskRanker.safe()
    assert ranker._settings() == SAFE
    assert ranker.bags == SAFE_BAGS
    assert RiskRanker.safe(alpha=2, bags=5).get_params()["bags"] == 5


def test_bags_take_the_parameters_that_one_training_takes() -> None:
    """Also those that say otherwise than is usual here."""
    params = {**QUICK.params, "force_col_wise": False, "force_row_wise": True}
    assert train_bags(replace(QUICK, params=params), 2, rankings(1), "feature:1", rankings(2)).model.card["bags"] == 2


def test_progress_is_that_of_all_bags() -> None:
    seen: list[Progress] = []
    settings = replace(QUICK, n_estimators=3)
    train_bags(settings, 2, rankings(1), "feature:1", rankings(2), report=seen.append)
    assert [(at.iteration, at.rounds) for at in seen] == [(done, 6) for done in range(1, 7)]
    assert seen[0].seconds_left > 0 == seen[-1].seconds_left


@pytest.mark.parametrize(("bags", "engine", "message"), [(0, "lightgbm", "1 or more"), (2, "xgboost", "LightGBM")])
def test_what_can_not_be_averaged(bags: int, engine: str, message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        train_bags(replace(QUICK, engine=engine), bags, rankings(1), "feature:1")


def test_trainings_side_by_side_share_one_number_of_threads() -> None:
    """LightGBM keeps it for the whole process; trainings that set others write past each other's buffers."""
    known = ctypes.c_int()

    def most() -> int:
        lgb.basic._LIB.LGBM_GetMaxThreads(ctypes.byref(known))
        return known.value

    before = most()
    with side_by_side(1):
        assert most() == 1
    assert most() == before
