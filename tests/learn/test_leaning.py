"""Leaning on the baseline: one more tree that is a share of a feature."""

import lightgbm as lgb
import numpy as np
import pytest
from scipy import sparse

from surefoot.errors import SurefootError
from surefoot.learn.bagging import train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.judging import Judge
from surefoot.learn.leaning import leant, spread
from surefoot.learn.metrics import Metric
from surefoot.learn.models import load_model
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.training import Settings, train
from surefoot.ranking_data import RankingData

QUERIES, SIZE = 40, 12
SETTINGS = Settings("ucro", 1.0, n_estimators=8, params={"num_leaves": 5, "min_child_samples": 5}, threads=1)
BASELINE = "feature:1"


def data(seed=0, digits=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(QUERIES * SIZE, 3)).round(digits)
    labels = np.searchsorted([0.5, 1.5], X[:, 0] + X[:, 1] + rng.normal(scale=0.5, size=len(X)))
    return RankingData.of(X, labels, np.repeat(np.arange(QUERIES), SIZE))


def changed(given, **more):
    from dataclasses import replace

    return replace(given, **more)


@pytest.fixture(scope="module")
def plain():
    return train(SETTINGS, data(), BASELINE).model


def test_the_tree_adds_the_share_that_was_asked_for(plain):
    found, rows = leant(plain, 0.3, data(), BASELINE), data()
    own, column = plain.predict(rows), rows.column(1).astype(np.float64)
    weight = 0.3 * spread(own, rows.bounds) / spread(column, rows.bounds)
    assert found.card["lean"] == {"share": 0.3, "feature": "1", "weight": pytest.approx(weight)}
    np.testing.assert_allclose(found.predict(rows), own + weight * column, atol=1e-6)
    assert found.booster.num_trees() == found.card["trees"] == plain.booster.num_trees() + 1


def test_unseen_values_fall_on_the_step_beside_them(plain):
    """Values between those of the training take the step of a neighbour; those beyond the ends that of the end."""
    rows, other = data(digits=6), data(1, digits=6)
    found = leant(plain, 1.0, rows, BASELINE)
    added = found.predict(other) - plain.predict(other)
    column = other.column(1).astype(np.float64)
    inside = np.abs(column) < 2
    expected = found.card["lean"]["weight"] * column[inside]
    assert np.abs(added[inside] - expected).max() < 0.25 * found.card["lean"]["weight"]
    order = np.argsort(column)
    assert (np.diff(added[order]) >= -1e-12).all()


def test_who_leans_heavily_ranks_as_the_baseline(plain):
    rows = data()
    judge = Judge(rows, Metric(cutoff=10), baselines_of(BASELINE, rows))
    assert judge(leant(plain, 1e6, rows, BASELINE).predict(rows))["frisk"] < 1e-12
    assert judge(plain.predict(rows))["frisk"] > 0


def test_missing_scores_rank_last_and_sparse_features_do_as_dense_ones(plain):
    rows = data()
    holed = rows.features.copy()
    holed[::7, 1] = np.nan
    found = leant(plain, 0.5, changed(rows, features=holed), BASELINE)
    added = found.predict(holed) - plain.predict(holed)
    assert added[::7].max() == pytest.approx(added.min())
    zeros = np.where(np.abs(rows.features) < 0.3, 0, rows.features)
    packed = changed(rows, features=sparse.csr_array(zeros))
    one, other = (leant(plain, 0.5, each, BASELINE).text for each in (changed(rows, features=zeros), packed))
    assert one == other


def test_a_score_that_is_missing_later_ranks_last_too(plain):
    rows = data()
    rows.features[:, 1] -= 10  # so that 0, which LightGBM may take for a missing value, would be the best
    found = leant(plain, 0.5, rows, BASELINE)
    lost = rows.features.copy()
    lost[0, 1] = np.nan
    added = found.predict(lost) - plain.predict(lost)
    assert added[0] == pytest.approx(added.min())


def test_bags_lean_once_and_the_card_tells_figures_of_the_whole(tmp_path):
    rows, valid = data(), data(1)
    settings = changed(SETTINGS, lean=0.4)
    alone = train_bags(SETTINGS, 2, rows, BASELINE, valid).model
    found = train_bags(settings, 2, rows, BASELINE, valid).model
    assert found.text == leant(alone, 0.4, rows, BASELINE).text
    judge = Judge(valid, Metric(cutoff=10), baselines_of(BASELINE, valid))
    assert found.card["validation"]["mean"] == judge(found.predict(valid))["mean"] != alone.card["validation"]["mean"]
    found.save(tmp_path)
    np.testing.assert_array_equal(
        lgb.Booster(model_file=tmp_path / "model.txt").predict(valid.features), load_model(tmp_path).predict(valid)
    )


def test_one_training_leans_too_and_so_does_the_estimator():
    rows = data()
    found = train(changed(SETTINGS, lean=0.2), rows, [BASELINE]).model
    assert found.text == leant(train(SETTINGS, rows, BASELINE).model, 0.2, rows, BASELINE).text
    ranker = RiskRanker(n_estimators=8, num_leaves=5, min_child_samples=5, lean=0.2, n_jobs=1, learning_rate=0.1)
    ranker.fit(rows.features, rows.labels, qid=np.repeat(np.arange(QUERIES), SIZE), baseline=BASELINE)
    np.testing.assert_allclose(ranker.predict(rows.features), found.predict(rows))


@pytest.mark.parametrize("baseline", [None, ["feature:0", "feature:1"], "run:bm25.run", np.zeros(QUERIES * SIZE)])
def test_a_baseline_that_is_no_feature_is_told_before_training(baseline):
    for bags in (1, 2):
        with pytest.raises(SurefootError, match="a model leans on one baseline that is a feature of the data"):
            train_bags(changed(SETTINGS, lean=0.1, n_estimators=10**9), bags, data(), baseline)


def test_what_cannot_lean_is_told():
    with pytest.raises(SurefootError, match="lean must be 0 or more, and 0 for XGBoost"):
        train(changed(SETTINGS, lean=0.1, engine="xgboost", params={}), data(), BASELINE)
    with pytest.raises(SurefootError, match="lean must be 0 or more"):
        train(changed(SETTINGS, lean=-0.1), data(), BASELINE)
    for value in (3, np.nan):
        flat = data()
        flat.features[:, 1] = value
        for bags in (1, 2):
            with pytest.raises(SurefootError, match="a model can't lean on feature 1, which is the same for all"):
                train_bags(changed(SETTINGS, lean=0.1, n_estimators=10**9), bags, flat, BASELINE)
    for lean in (np.nan, np.inf):
        with pytest.raises(SurefootError, match="lean must be 0 or more"):
            train(changed(SETTINGS, lean=lean), data(), BASELINE)
