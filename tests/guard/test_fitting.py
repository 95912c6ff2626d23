"""Fitting a guard: the second stage, the choice, and that nothing is measured on queries that chose it."""

import json

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.guard.fitting import fit_guard
from surefoot.guard.guard import FEATURES, Guard, features_of, fit_second_stage
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import N_TREES, SEEDS, trees_of
from surefoot.guard.trial import PEAKS, PRIOR_GAIN, WEIGHTS, Trial, best_threshold, expected_gain, select
from surefoot.lambdas.metrics import Metric

SIZE = 20
KINDS = ["log-rank", "z", "second-stage"]


def rankings(queries=120, seed=0, noise=1.0):
    """A baseline, and a candidate that is better in most queries and lost in some."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=queries * SIZE)
    b = truth + rng.normal(size=truth.size)
    c = truth + noise * rng.normal(size=truth.size) * np.repeat(rng.choice([0.3, 1.6], queries), SIZE)
    return b, c, np.searchsorted([0.8, 1.6], truth), np.arange(0, truth.size + 1, SIZE)


@pytest.fixture(scope="module")
def fit():
    return fit_guard(*rankings(), kinds=KINDS)


def test_the_table_has_a_row_for_each_kind_and_the_choice(fit):
    assert fit["guard"].tolist() == ["baseline", "none", "log-rank", "z", "second-stage", "chosen"]
    b = fit.outcomes["baseline"]
    for row in fit.rows():
        x = fit.outcomes[row["guard"]]
        assert row["mean"] == pytest.approx(x.mean())
        assert row["frisk"] == pytest.approx(np.maximum(b - x, 0).mean())
        assert row["losses"] == (x < b).sum()
        assert row["frisk_low"] <= row["frisk_change"] <= row["frisk_high"]
        assert row["mean_change"] == pytest.approx(x.mean() - fit.outcomes["none"].mean())
    assert fit["frisk_high"][-1] < 0
    assert "after shrinkage; before shrinkage, on the queries that chose it: +" in fit.why
    assert fit.guard.card["measure"] == "ndcg@10"


def test_the_outcomes_are_those_of_the_metric(fit):
    b, c, labels, bounds = rankings()
    metric = Metric(cutoff=10).bind(labels, bounds)
    assert fit.outcomes["none"] == pytest.approx(metric(c))
    assert fit.outcomes["baseline"] == pytest.approx(metric(b))


@pytest.mark.parametrize("query", [0, 7])
def test_a_query_has_no_part_in_what_is_measured_on_it(query, fit):
    """Other labels of a query change what is learned for others, but not how the query itself is ranked."""
    b, c, labels, bounds = rankings()
    rows = slice(bounds[query], bounds[query + 1])
    other = labels.copy()
    other[rows] = 2 - labels[rows]
    metric = Metric(cutoff=10).bind(labels, bounds)
    changed = fit_guard(b, c, other, bounds, kinds=KINDS, metric=metric, anyway=True)
    for kind in (*KINDS, "chosen"):
        assert changed.outcomes[kind][query] == fit.outcomes[kind][query]
    assert not np.array_equal(changed.outcomes["second-stage"], fit.outcomes["second-stage"])


def test_a_candidate_that_never_loses_is_left_alone():
    b, _, labels, bounds = rankings(60)
    fit = fit_guard(b, labels + 0.1 * b, labels, bounds)
    assert str(fit.guard) == "none"
    assert fit.why == "no guard raises U_Risk, so none is taken"
    assert (fit["frisk"] == 0).all()


def test_few_queries_leave_the_candidate_alone_and_say_so():
    b, c, labels, bounds = rankings(5)
    fit = fit_guard(b, c, labels, bounds, anyway=True)
    assert str(fit.guard) == "none"
    assert "10 or more are needed" in fit.why
    assert "second-stage" not in fit["guard"]


def test_one_query():
    b, c, labels, bounds = rankings(1)
    assert str(fit_guard(b, c, labels, bounds, anyway=True).guard) == "none"


def test_the_same_seed_gives_the_same_guard(fit):
    again = fit_guard(*rankings(), kinds=KINDS)
    assert again.guard == fit.guard
    assert again.rows() == fit.rows()


def test_the_second_stage_equals_lightgbm_and_starts_from_the_candidate():
    import lightgbm as lgb

    b, c, labels, bounds = rankings(30)
    pair = Pair.of(b, c, bounds)
    guard = fit_second_stage(pair, labels)
    assert len(guard.trees) == N_TREES * SEEDS
    assert max(len(tree.value) for tree in guard.trees) <= 6
    columns = features_of(pair, guard.scale)
    booster = lgb.train(
        {"num_leaves": 6, "verbosity": -1, "min_data_in_leaf": 10}, lgb.Dataset(columns.T, labels.astype(float)), 5
    )
    from surefoot.guard.second_stage import Forest

    forest = Forest(tuple(trees_of(booster.model_to_string())))
    assert forest(columns) == pytest.approx(booster.predict(columns.T), abs=1e-12)
    assert guard.scores(pair) == pytest.approx(columns[0] + Forest(guard.trees)(columns), abs=1e-6)


def test_the_second_stage_takes_documents_that_a_ranker_did_not_return():
    b, c, labels, bounds = rankings(30)
    b[::7], c[::5] = -np.inf, -np.inf
    pair = Pair.of(b, c, bounds)
    assert np.isfinite(fit_second_stage(pair, labels).scores(pair)).all()


def test_the_second_stage_uses_the_features_it_may():
    b, c, labels, bounds = rankings(30)
    guard = fit_second_stage(Pair.of(b, c, bounds), labels, features=("z", "lean"))
    used = {FEATURES[feature] for tree in guard.trees for feature in tree.feature}
    assert used <= {"z", "lean"}


def test_a_gain_is_shrunk_towards_the_prior():
    """By hand: n queries with their gain, and 80 with the prior's, in units of the candidate's F_Risk."""
    rng = np.random.default_rng(0)
    b, c = rng.random((2, 50))
    guarded = np.stack([c, np.maximum(c, b - 0.2), c + 0.01, c - 0.01])
    u = [np.mean([d if d > 0 else 1.5 * d for d in x - b]) for x in guarded]
    risk = np.mean([max(d, 0) for d in b - c])
    for prior in ([0, 0, 0, 0], [0, 0.3, 0.3, 0.3], [0, 0, 0, 9.0]):
        shrunk = [(50 * (own - u[0]) + 80 * p * risk) / 130 for own, p in zip(u, prior, strict=True)]
        found = select(guarded, b, np.array(prior))
        assert found.index == int(np.argmax(shrunk))
        assert found.gain == pytest.approx(u[found.index] - u[0])
    assert select(np.stack([c, c - 0.01]), b, np.zeros(2)).index == 0
    assert select(np.stack([c, c]), b, np.zeros(2)).index == 0


@pytest.mark.parametrize("kind", PEAKS)
def test_the_prior_is_largest_at_its_peak(kind):
    gains = [expected_gain(Guard(kind, weight)) for weight in WEIGHTS]
    assert WEIGHTS[int(np.argmax(gains))] == PEAKS[kind]
    assert max(gains) == PRIOR_GAIN


def test_a_candidate_below_its_baseline_is_refused():
    b, c, labels, bounds = rankings(40)
    with pytest.raises(SurefootError, match=r"the candidate's mean, 0\.\d+, is below the baseline's.*--anyway"):
        fit_guard(b, -c, labels, bounds)
    assert fit_guard(b, -c, labels, bounds, anyway=True).guard.kind != "none"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [1.0]}, "need as many labels; got 1"),
        ({"labels": -np.ones(60)}, "finite numbers of 0 or more"),
        ({"offsets": [0, 30]}, "offsets must rise from 0 to 60"),
        ({"offsets": [0, 30, 30, 60]}, "offsets must rise"),
        ({"kinds": ["magic"]}, "must be one of log-rank"),
    ],
)
def test_bad_input(change, message):
    b, c, labels, bounds = rankings(3)
    given = {"labels": labels, "offsets": bounds} | change
    with pytest.raises(SurefootError, match=message):
        fit_guard(b, c, given.pop("labels"), given.pop("offsets"), **given)


def test_folds_are_even():
    trial = Trial(None, np.arange(23), (), 0.5, 0)
    assert np.bincount(trial.fold).tolist() == [5, 5, 5, 4, 4]


def test_a_threshold_is_fitted_without_the_queries_that_it_is_measured_on():
    """The candidate is lost where the baseline's best score is high; a threshold finds that."""
    rng = np.random.default_rng(0)
    queries, is_sure = 300, np.tile([False, True, False], 100)
    truth = rng.normal(size=(queries, SIZE))
    b = truth + np.where(is_sure, 0.2, 1.5)[:, None] * rng.normal(size=truth.shape) + np.where(is_sure, 9, 0)[:, None]
    c = truth + np.where(is_sure, 2.0, 0.3)[:, None] * rng.normal(size=truth.shape)
    labels, bounds = np.searchsorted([0.8, 1.6], truth.ravel()), np.arange(0, truth.size + 1, SIZE)
    fit = fit_guard(b.ravel(), c.ravel(), labels, bounds, kinds=["threshold"])
    rows = {row["guard"]: row for row in fit.rows()}
    assert fit.guard.kind == "threshold"
    assert 4 < fit.guard.threshold < 10
    assert rows["threshold"]["frisk"] < 0.2 * rows["none"]["frisk"]
    assert rows["threshold"]["mean"] > rows["none"]["mean"]
    assert Guard.from_json(json.loads(json.dumps(fit.guard.to_json()))) == fit.guard
    number = int(fit.guard.takes_candidate(Pair.of(b.ravel(), c.ravel(), bounds)).sum())
    assert 0 < number < 300
    assert fit.why.endswith(f"; it ranks {number} of 300 queries by the candidate")


def test_a_guard_that_never_uses_the_candidate_says_so():
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(60, SIZE))
    b, c = truth + 0.1 * rng.normal(size=truth.shape), truth + 3 * rng.normal(size=truth.shape)
    bounds = np.arange(0, truth.size + 1, SIZE)
    fit = fit_guard(b.ravel(), c.ravel(), truth.ravel() > 1, bounds, kinds=["threshold"], anyway=True)
    assert fit.guard.kind == "threshold"
    assert not fit.guard.takes_candidate(Pair.of(b.ravel(), c.ravel(), bounds)).any()
    assert fit.why.endswith("; it ranks none of 60 queries by the candidate, so serving it is serving the baseline")


def test_the_best_threshold_is_that_of_all():
    rng = np.random.default_rng(1)
    for _ in range(20):
        gains, numbers = rng.normal(size=12), rng.integers(0, 6, 12).astype(float)
        reached = gains[numbers < best_threshold(gains, numbers)].sum()
        assert reached == pytest.approx(max(gains[numbers < edge].sum() for edge in [*numbers, np.inf]))
    assert best_threshold(np.ones(3), np.arange(3.0)) == np.inf
