"""The same objectives under XGBoost."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_svmlight_file

from surefoot.errors import SurefootError
from surefoot.lambdas.metrics import Metric
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.data import RankingData
from surefoot.learn.engines.xgboost import LEAF_WISE, matrix_of
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.training import train
from tests.learn.small_rankings import BASELINE, TRAINING, VALIDATION, XGB, settings


def xgb(objective="ucro", **more):
    return settings(**{**XGB, "objective": objective, "n_estimators": 20, **more})


@pytest.mark.parametrize("objective", ["lambdamart", "ucro", "saro", "faro", "georisk", "tail", "churn"])
def test_objectives_learn(objective):
    result = train(TRAINING, BASELINE, xgb(objective), valid=VALIDATION)
    assert result.model.card["validation"]["mean"] > result.history[0]["mean"]
    assert result.model.booster.num_boosted_rounds() == result.best_iteration


def test_alpha_reaches_the_trees():
    texts = {train(TRAINING, BASELINE, xgb(alpha=alpha, n_estimators=3)).model.text for alpha in (0.0, 1.0, 10.0)}
    assert len(texts) == 3
    plain = train(TRAINING, BASELINE, xgb("lambdamart", n_estimators=3)).model
    assert plain.text == train(TRAINING, BASELINE, xgb(alpha=0.0, n_estimators=3)).model.text


@pytest.mark.parametrize("rates", [[0.3] * 20, [0.5] * 10 + [0.1] * 10])
def test_a_training_is_what_xgboost_does_with_the_bare_objective(rates):
    schedule = xgboost.callback.LearningRateScheduler
    objective = RiskObjective("ucro", 1.0, TRAINING.column(0), n_jobs=1)
    params = {**LEAF_WISE, "max_leaves": 7, "seed": 3, "nthread": 1}
    bare = xgboost.train(params, matrix_of(TRAINING), 20, obj=objective, callbacks=[schedule(rates)])
    ours = train(TRAINING, BASELINE, xgb(), callbacks=[schedule(rates)]).model
    assert np.array_equal(ours.predict(VALIDATION), bare.predict(xgboost.DMatrix(VALIDATION.features)))


def test_early_stopping_keeps_the_best():
    chosen = xgb(n_estimators=200, early_stopping_rounds=7, stop_on="losses")
    result = train(TRAINING, BASELINE, chosen, valid=VALIDATION)
    losses = [measures["losses"] for measures in result.history]
    assert result.best_iteration == int(np.argmin(losses)) + 1 == len(losses) - 7
    assert result.model.card["validation"] == pytest.approx(
        {name: value for name, value in result.history[result.best_iteration - 1].items() if name != "trees"}, abs=1e-12
    )


def test_callbacks_of_xgboost_are_called():
    epochs = []

    class Watch(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            epochs.append(epoch)
            return epoch == 6

    result = train(TRAINING, BASELINE, xgb(), valid=VALIDATION, callbacks=[Watch()])
    assert epochs == list(range(7))
    assert result.model.booster.num_boosted_rounds() == result.best_iteration <= 7


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "rank:ndcg"}, "XGBoost's objective is objective here"),
        ({"lambdarank_pair_method": "mean"}, "XGBoost's lambdarank_pair_method is truncation here"),
        ({"booster": "dart"}, "only booster=gbtree can be interrupted"),
        ({"tree_method": "approx"}, "only tree_method=hist can be interrupted"),
        ({"max_leaves": "many"}, "^xgboost: Invalid Parameter format for max_leaves"),
        ({"subsample": 3}, "^subsample must be above 0 and at most 1; got 3"),
    ],
)
def test_bad_parameters_are_told_in_one_line(params, message):
    with pytest.raises(SurefootError, match=message) as error:
        train(TRAINING, BASELINE, xgb(params=params))
    assert "\n" not in str(error.value)


def test_a_misspelt_parameter_is_told_by_xgboost():
    with pytest.warns(UserWarning, match="learnig_rate"):
        train(TRAINING, BASELINE, xgb(params={"learnig_rate": 0.5}, n_estimators=1))


def test_empty_arrays_may_have_any_address():
    """As those of a worker without rows, sent from another process."""
    memory = np.zeros(64, np.uint8)
    features, labels, sizes = (
        np.ndarray(shape, dtype, buffer=memory, offset=1)
        for shape, dtype in (((0, 3), np.float32), (0, np.float32), (0, np.int64))
    )
    data = SimpleNamespace(features=features, labels=labels, sizes=sizes, feature_names=None)
    assert matrix_of(data, bins={"max_bin": 4}).num_row() == 0


def mq2008(folder, part):
    with gzip.open(folder / "mq2008" / f"S{part}.txt.gz") as file:
        X, y, qid = load_svmlight_file(file, query_id=True, dtype=np.float32)
    return RankingData.of(X.toarray(), y, qid)


def test_at_alpha_zero_it_ranks_as_well_as_rank_ndcg(data):
    """The two differ by design: see the docstring of `surefoot.learn.engines.xgboost`."""
    learned, held = mq2008(data, 1), mq2008(data, 2)
    params = {"learning_rate": 0.1, "max_leaves": 15, "min_child_weight": 1.0}
    own = xgboost.train({**LEAF_WISE, **params, "objective": "rank:ndcg", "nthread": 1}, matrix_of(learned), 40)
    ours = RiskRanker("lambdamart", engine="xgboost", n_estimators=40, num_leaves=15, n_jobs=1, params=params)
    ours.fit(learned.features, learned.labels, qid=learned.query_of_row)
    metric = Metric(cutoff=10)
    reached = [
        metric(scores, held.labels, held.bounds).mean()
        for scores in (ours.predict(held.features), own.predict(matrix_of(held)), held.column(24))
    ]
    assert reached[0] == pytest.approx(reached[1], abs=0.02)
    assert min(reached[:2]) > reached[2]
