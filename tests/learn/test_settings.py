"""One set of names and defaults: for Python, the estimator, the command line and recipes."""

import inspect
from dataclasses import fields

import pytest

from surefoot.errors import SurefootError
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.rankers import SKLEARN_NAMES, RiskRanker
from surefoot.learn.settings import FIELDS, Settings


def test_the_estimator_has_the_settings_with_their_defaults():
    parameters = inspect.signature(RiskRanker).parameters
    assert set(parameters) == {SKLEARN_NAMES.get(name, name) for name in FIELDS}
    for name in FIELDS:
        default = getattr(Settings(), name)
        given = parameters[SKLEARN_NAMES.get(name, name)].default
        assert given == (None if default == {} else default), name
    assert RiskRanker().settings() == Settings()


def test_a_ranker_of_settings_has_these_settings():
    settings = Settings(
        "saro", 3, objective_options={"spread": "se"}, label_gain=(0.0, 1.0, 4.0), seed=7, params={"lambda_l2": 1}
    )
    assert RiskRanker.from_settings(settings).settings() == settings


def test_every_option_has_its_help_and_every_objective_is_named():
    assert all(field.metadata["help"] for field in fields(Settings))
    named = FIELDS["objective"].metadata["help"].replace(" or ", ", ").split(", ")
    assert set(named) <= set(OBJECTIVES)
    assert len(named) == 15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "dcg"}, "metric must be one of ndcg, map, mrr, err; got 'dcg'"),
        ({"n_bags": 0}, "n_bags must be 1 or more; got 0"),
        ({"virtual_baseline": "MIN"}, "virtual_baseline must be one of MEAN, MEDIAN, MAX; got 'MIN'"),
        ({"guard": "second-stage"}, "a guard is fitted on queries that a bag did not see; set n_bags to 2 or more"),
        ({"guard": "tres", "n_bags": 2}, "guard.*second-stage"),
        ({"max_loss": 0.01}, "max_loss must lie between 0 and 1, and needs a guard"),
        ({"max_loss": 0.0, "guard": "trees", "n_bags": 2}, "max_loss must lie between 0 and 1"),
    ],
)
def test_mistakes_are_told_where_they_are_made(change, message):
    with pytest.raises(SurefootError, match=message):
        Settings(**change)


def test_all_cores_is_minus_one_or_none():
    assert Settings(n_jobs=-1) == Settings(n_jobs=None)
    assert Settings(n_jobs=2).identity() == Settings().identity()


@pytest.mark.parametrize("seed", [-1, 2**31, 0.5])
def test_seeds_that_an_engine_cannot_take_are_refused(seed):
    with pytest.raises(SurefootError, match="seed must be"):
        Settings(seed=seed)
