"""Linear rankers and regression trees trained and saved as any other model, for the mean or for a risk measure."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from surefoot_lab.learners.line_search import QueryNDCG, ScaledQueries, Scaling, utility_against
from surefoot_lab.learners.linear import AFS

from surefoot.errors import SurefootError
from surefoot.learn.baseline import baselines_of
from surefoot.learn.models import load_model
from surefoot.learn.objectives import objective_of
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.risk import georisk, trisk, urisk
from tests.learn.small_rankings import TRAINING, VALIDATION

SEVERAL = ["feature:1", "-feature:2"]


def linear(learner: str, objective: str = "lambdamart", alpha: float = 2.0, **more: Any) -> Settings:
    return Settings(objective, alpha, learner=learner, n_jobs=1, **more)


@pytest.mark.parametrize("learner", ["afs", "coordinate-ascent", "adarank"])
def test_a_linear_model_is_saved_and_loaded(learner: str, tmp_path: Path) -> None:
    trained = train(TRAINING, None, linear(learner), valid=VALIDATION)
    trained.model.save(tmp_path)
    again = load_model(tmp_path)
    assert again.card["engine"]["name"] == "linear"
    np.testing.assert_array_equal(again.predict(VALIDATION), trained.model.predict(VALIDATION))
    worth = [measures["mean"] for measures in trained.history]
    assert trained.best_iteration == int(np.argmax(worth)) + 1
    assert trained.model.card["validation"]["mean"] == pytest.approx(max(worth))


def test_without_validation_the_training_queries_decide_as_in_fit() -> None:
    model = train(TRAINING, None, linear("afs")).model
    fitted = AFS(n_jobs=1).fit(TRAINING.features, TRAINING.labels, TRAINING.query_of_row)
    np.testing.assert_array_equal(model.predict(TRAINING), fitted.predict(TRAINING.features))


@pytest.mark.parametrize("objective", ["ucro", "trisk", "georisk"])
def test_a_risk_measure_as_the_utility(objective: str) -> None:
    """Each step reaches more of it, and the last more than any single feature, on the queries that it learns from."""
    given = SEVERAL if objective == "georisk" else SEVERAL[:1]
    queries = QueryNDCG(TRAINING, 10, 1)
    measure = objective_of(objective, 5.0).own_measure()
    worth = utility_against(baselines_of(given, TRAINING), measure, 5.0)(queries)
    steps = ScaledQueries(TRAINING, Scaling.of(TRAINING.features), 10, 1, lambda _: worth)
    reached = [steps.worth(weights) for weights in AFS(n_jobs=1).steps(steps)]
    assert len(reached) > 2
    assert (np.diff(reached) > 0).all()
    model = train(TRAINING, given, linear("afs", objective, 5.0)).model
    assert float(worth(queries(queries.select(model.predict(TRAINING))))) == pytest.approx(reached[-1])
    alone = [float(worth(queries(queries.select(sign * TRAINING.column(f))))) for f in range(5) for sign in (1, -1)]
    assert reached[-1] > max(alone)


def test_utilities_are_the_measures() -> None:
    queries = QueryNDCG(VALIDATION, 10, 1)
    columns = np.stack([queries(queries.select(VALIDATION.column(f))) for f in (0, 3)], axis=1)
    b = np.stack([queries(queries.select(scores)) for scores in (VALIDATION.column(1), -VALIDATION.column(2))])
    expected = {
        "ucro": [urisk(x, b[0], 3.0) for x in columns.T],
        "trisk": [trisk(x, b[0], 3.0) for x in columns.T],
        "georisk": [georisk(np.vstack([x, b]), 3.0)[0] for x in columns.T],
        "lambdamart": columns.mean(axis=0),
    }
    for name, values in expected.items():
        given = baselines_of(SEVERAL if name == "georisk" else SEVERAL[0], VALIDATION)
        utility = utility_against(given, objective_of(name, 3.0).own_measure(), 3.0)(queries)
        np.testing.assert_allclose(utility(columns), values, rtol=1e-9)
        assert float(utility(columns[:, 0])) == pytest.approx(float(values[0]))
    mean = utility_against(
        baselines_of(SEVERAL, VALIDATION).combine("MEAN"), objective_of("ucro", 3.0).own_measure(), 3.0
    )
    np.testing.assert_allclose(mean(queries)(columns), [urisk(x, b.mean(axis=0), 3.0) for x in columns.T])
    known = baselines_of(np.linspace(0, 1, len(VALIDATION)), VALIDATION)
    assert np.isfinite(utility_against(known, objective_of("ucro", 1.0).own_measure(), 1.0)(queries)(columns)).all()


def test_regression_trees_are_lightgbms() -> None:
    """The same rankings: the mean of the labels is left out of the scores, and nothing else differs."""
    chosen = linear("regression-trees", n_estimators=20, num_leaves=7, min_child_samples=5)
    model = train(TRAINING, None, chosen).model
    params = {"objective": "regression", "num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
    theirs = lightgbm.train(params, lightgbm.Dataset(TRAINING.features, TRAINING.labels), 20)
    expected = theirs.predict(TRAINING.features) - TRAINING.labels.mean()
    np.testing.assert_allclose(model.predict(TRAINING), expected, atol=1e-5)
    xgboost = train(TRAINING, None, linear("regression-trees", n_estimators=20, engine="xgboost")).model
    assert np.corrcoef(xgboost.predict(TRAINING), TRAINING.labels)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (linear("adarank", "ucro"), "adarank boosts only the mean; give --objective lambdamart"),
        (linear("regression-trees", "ucro"), "regression trees have no objective ucro; give lambdamart"),
        (
            linear("afs", params={"depth": 3}),
            "a parameter of afs must be one of k, max_features, tol, n_jobs; got 'depth'",
        ),
        (linear("afs", "ucro"), "objective ucro needs a baseline"),
    ],
)
def test_what_a_learner_can_not_do(chosen: Settings, words: str) -> None:
    with pytest.raises(SurefootError, match=words):
        train(TRAINING, None, chosen)


def test_bags_are_of_trees() -> None:
    with pytest.raises(SurefootError, match="learner afs trains one model"):
        linear("afs", n_bags=2)


@pytest.mark.parametrize("metric", ["map", "mrr", "err"])
def test_linear_rankers_maximise_the_metric_that_they_are_trained_for(metric: str) -> None:
    chosen = linear("coordinate-ascent", metric=metric, params={"n_init": 1, "max_iter": 2})
    model = train(TRAINING, None, chosen).model
    weights = model.booster.weights.copy()
    bound = model.settings.reported_metric.bind(TRAINING.labels, TRAINING.bounds)

    def reached() -> float:
        return float(bound(model.predict(TRAINING))[bound.counted].mean())

    best = reached()
    for feature in range(weights.size):
        for step in (-0.5, 0.5):
            model.booster.weights[:] = weights
            model.booster.weights[feature] += step
            assert reached() <= best + 1e-9
    assert model.card["metric"] == str(model.settings.reported_metric)


def test_linear_rankers_take_gains_of_labels() -> None:
    usual, other = (train(TRAINING, None, linear("afs", label_gain=gains)).model for gains in (None, (0, 1, 3, 7, 15)))
    assert usual.text == other.text
