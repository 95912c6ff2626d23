import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import ndcg_score
from surefoot_lab.learners.line_search import QueryNDCG, ScaledQueries, Scaling
from surefoot_lab.learners.linear import AFS, AdaRank, CoordinateAscent
from surefoot_lab.learners.trees import LambdaMART, RegressionTrees

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData

LINEAR = [AFS(), CoordinateAscent(n_init=2, max_iter=3), AdaRank(), AdaRank(improving=True)]
# One thread: those of LightGBM wait for each other busily, which is slow on a machine with other work.
TREES = [
    learner(n_estimators=20, num_leaves=7, learning_rate=0.2, n_jobs=1) for learner in (RegressionTrees, LambdaMART)
]
ALL = LINEAR + TREES


def named(model):
    return type(model).__name__


each = pytest.mark.parametrize("model", ALL, ids=named)
each_strong = pytest.mark.parametrize("model", [model for model in ALL if getattr(model, "improving", True)], ids=named)
"""As published, AdaRank can end at the best single feature."""
each_linear = pytest.mark.parametrize("model", LINEAR, ids=named)
each_tree = pytest.mark.parametrize("model", TREES, ids=named)


def generated(seed=0, queries=40, documents=15):
    """Three features matter, one of them by being small; the others are noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(queries * documents, 8)).astype(np.float32)
    merit = X[:, 1] + 0.8 * X[:, 4] - 0.6 * X[:, 6] + random.normal(scale=0.3, size=len(X))
    y = np.searchsorted(np.quantile(merit, [0.6, 0.85, 0.95]), merit)
    return X, y, np.repeat(np.arange(queries), documents)


def slow_ndcg(scores, y, k=10):
    """One query, by the definition; equal scores in the order of rows."""
    order = np.argsort(-np.asarray(scores), kind="stable")[:k]
    gains = 2.0 ** np.asarray(y, float) - 1
    discounts = 1 / np.log2(np.arange(2, len(order) + 2))
    ideal = (np.sort(gains)[::-1][:k] * discounts).sum()
    return (gains[order] * discounts).sum() / ideal if ideal else 0.0


def mean_ndcg(scores, y, qid, k=10):
    return np.mean([slow_ndcg(scores[qid == query], y[qid == query], k) for query in np.unique(qid)])


def best_single(X, y, qid):
    return max(mean_ndcg(sign * column, y, qid) for column in X.T for sign in (1, -1))


@pytest.mark.parametrize("k", [1, 5, 10, 50])
def test_ndcg_is_that_of_scikit_learn(k):
    X, y, qid = generated(queries=12)
    queries = QueryNDCG(RankingData.of(X, y, qid), k, n_jobs=2)
    measured = iter(queries(queries.select(X[:, 1].astype(float))))
    for query in np.unique(qid):
        own = qid == query
        if y[own].any():
            assert next(measured) == pytest.approx(ndcg_score([2.0 ** y[own] - 1], [X[own, 1]], k=k))
    assert next(measured, None) is None


def test_ties_gain_nothing_from_the_order_of_a_file():
    labels = [2, 1, 0, 0]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        queries = QueryNDCG(RankingData.of(np.zeros((4, 1)), np.take(labels, order), "aaaa"), 10, 1)
        assert queries.mean(np.zeros(4)) == pytest.approx(slow_ndcg([4, 3, 2, 1], [0, 0, 1, 2]))


@each_strong
def test_beats_the_best_single_feature(model):
    X, y, qid = generated()
    fitted = clone(model).fit(X, y, qid=qid)
    assert mean_ndcg(fitted.predict(X), y, qid) > best_single(X, y, qid) + 0.02


@each_strong
def test_beats_the_best_single_feature_on_real_data(model, data):
    X, y, qid = load_svmlight_file(str(data / "mq2008" / "S1.txt.gz"), query_id=True)
    fitted = clone(model).fit(X, y, qid=qid)
    assert mean_ndcg(fitted.predict(X), y, qid) > best_single(X.toarray(), y, qid)


@each_linear
def test_the_score_reported_is_that_of_the_predictions(model):
    X, y, qid = generated()
    validation = generated(seed=1)
    alone = clone(model).fit(X, y, qid=qid)
    chosen = clone(model).fit(X, y, qid=qid, eval_set=validation)
    assert alone.best_score_ == pytest.approx(mean_ndcg(alone.predict(X), y, qid))
    assert chosen.best_score_ == pytest.approx(mean_ndcg(chosen.predict(validation[0]), *validation[1:]))
    assert chosen.best_score_ >= mean_ndcg(alone.predict(validation[0]), *validation[1:]) - 1e-9
    assert np.abs(chosen.weights_).sum() == pytest.approx(1)


def slow_adarank(X, y, qid, rounds, improving, k=10):
    """AdaRank query by query, on features that need no scaling: as published, or only with rounds that improve."""
    groups = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    groups = [rows[np.argsort(y[rows], kind="stable")] for rows in groups if y[rows].any()]

    def measured(scores):
        return np.array([slow_ndcg(scores[rows], y[rows], k) for rows in groups])

    weights, importance, reached = np.zeros(X.shape[1]), np.full(len(groups), 1 / len(groups)), measured(0 * y)
    for _ in range(rounds):
        ranked = sorted(range(X.shape[1]), key=lambda h: -round((importance * measured(X[:, h])).sum(), 9))
        for h in ranked if improving else ranked[:1]:
            e = measured(X[:, h])
            alpha = 0.5 * np.log((importance * (1 + e)).sum() / (importance * (1 - e)).sum())
            grown = weights + alpha * np.eye(X.shape[1])[h]
            now = measured(X @ grown)
            if not improving or now.mean() > reached.mean() + 1e-9:
                weights, reached, importance = grown, now, np.exp(-now) / np.exp(-now).sum()
                break
        else:
            break
    return weights / weights.sum()


@pytest.mark.parametrize("improving", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounds", [1, 3, 60])
def test_adarank_is_the_obvious_one(seed, rounds, improving):
    """As published, rounds that repeat each other are not run: the last ranking is that of all of them."""
    X, y, qid = generated(seed, queries=10, documents=8)
    learner = AdaRank(n_estimators=rounds, improving=improving)
    data = RankingData.of(X, y, qid)
    *_, weights = learner.steps(ScaledQueries(data, Scaling.of(data.features), 10, 1))
    scaled = np.stack([Scaling.of(data.features)(feature, X[:, feature]) for feature in range(8)], axis=1)
    expected = slow_adarank(scaled.astype(float), y, qid, rounds, improving)
    if improving or rounds == 1 or np.count_nonzero(weights) > 1:
        np.testing.assert_allclose(weights / weights.sum(), expected, rtol=1e-9, atol=1e-12)
    assert mean_ndcg(scaled @ weights, y, qid) == pytest.approx(mean_ndcg(scaled @ expected, y, qid))


def test_a_step_of_the_line_search_reaches_what_it_says_and_the_best_of_its_grid():
    X, y, qid = generated()
    data = RankingData.of(X, y, qid)
    learners = ScaledQueries(data, Scaling.of(data.features), 10, 1)
    weights = np.eye(8)[4]
    value = learners.worth(weights)
    step, reached = learners.step(1, weights, learners.scores(weights), value)
    assert reached == pytest.approx(learners.worth(weights + step * np.eye(8)[1]))
    assert reached >= max(learners.worth(weights + other * np.eye(8)[1]) for other in (0.25, 0.5, 1.0, 2.0, -1.0))
    assert learners.step(4, weights, learners.scores(weights), 1.0) == (0.0, 1.0)


def test_afs_picks_the_features_that_matter():
    X, y, qid = generated(queries=150)
    model = AFS(max_features=3).fit(X, y, qid=qid)
    assert np.flatnonzero(model.weights_).tolist() == [1, 4, 6]
    assert np.sign(model.weights_[[1, 4, 6]]).tolist() == [1, 1, -1]
    assert np.flatnonzero(AFS(max_features=1).fit(X, y, qid=qid).weights_).tolist() == [1]


def test_afs_stops_when_a_feature_gains_too_little():
    X, y, qid = generated()
    sizes = [np.count_nonzero(AFS(tol=t).fit(X, y, qid=qid).weights_) for t in (1e-4, 0.02, 0.9)]
    assert sizes[0] > sizes[1] >= sizes[2]
    assert sizes[2] == 0


@each_linear
def test_the_order_of_rows_and_queries_changes_nothing(model):
    X, y, qid = generated()
    X = X.round(1)  # with ties
    shuffled = np.random.default_rng(3).permutation(len(y))
    expected = clone(model).fit(X, y, qid=qid)
    found = clone(model).fit(X[shuffled], y[shuffled], qid=qid[shuffled])
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-6)


@each
def test_the_number_of_threads_changes_nothing(model):
    X, y, qid = generated()
    one, two, again = (clone(model).set_params(n_jobs=n_jobs).fit(X, y, qid=qid) for n_jobs in (1, 2, 2))
    assert one.predict(X).tolist() == two.predict(X).tolist() == again.predict(X).tolist()


@each
def test_can_be_cloned_and_pickled(model):
    X, y, qid = generated()
    assert clone(model).get_params() == model.get_params()
    fitted = clone(model).fit(X, y, qid=qid)
    assert not hasattr(clone(fitted), "n_features_in_")
    assert pickle.loads(pickle.dumps(fitted)).predict(X).tolist() == fitted.predict(X).tolist()


@each
def test_sparse_features_are_the_same_as_dense_ones(model):
    X, y, qid = generated()
    X[X < 0.5] = 0
    dense = clone(model).fit(X, y, qid=qid, eval_set=(X, y, qid))
    scant = clone(model).fit(sparse.csr_array(X), y, qid=qid, eval_set=(sparse.csr_matrix(X), y, qid))
    assert scant.predict(sparse.csr_array(X)).tolist() == dense.predict(X).tolist()


@each_linear
def test_constant_and_missing_features_get_no_weight(model):
    X, y, qid = generated()
    X = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), np.nan)])
    fitted = clone(model).fit(X, y, qid=qid)
    assert fitted.weights_[-2:].tolist() == [0, 0]
    assert np.isfinite(fitted.predict(X)).all()


@each_linear
def test_nothing_to_learn_from_gives_equal_scores(model):
    fitted = clone(model).fit(np.ones((4, 2)), [0, 1, 0, 1], qid=[1, 1, 2, 2])
    assert fitted.predict(np.ones((4, 2))).tolist() == [0, 0, 0, 0]


def test_a_missing_value_counts_as_the_mean():
    X, y, qid = generated()
    model = AFS(max_features=1).fit(X, y, qid=qid)
    assert model.predict(np.full((1, 8), np.nan)).tolist() == [0]
    X[::7, 1] = np.nan
    assert np.isfinite(model.predict(X)).all()


@each_strong
def test_heavy_tails_do_not_hide_a_feature(model):
    X, y, qid = generated()
    tailed = np.sign(X) * np.expm1(4 * np.abs(X))
    fitted = clone(model).fit(tailed, y, qid=qid)
    assert mean_ndcg(fitted.predict(tailed), y, qid) > best_single(X, y, qid) + 0.02


@each_linear
def test_a_query_without_relevant_documents_plays_no_part(model):
    X, y, qid = generated()
    y[qid == 5] = 0
    kept = qid != 5
    scaling = clone(model).fit(X, y, qid=qid).scaling_
    data = RankingData.of(X, y, qid)
    everything, without = (
        ScaledQueries(data, scaling, 10, 1),
        ScaledQueries(data.select(np.delete(np.arange(40), 5)), scaling, 10, 1),
    )
    np.testing.assert_array_equal(everything.columns, without.columns)
    weights = np.ones(8)
    assert everything.worth(weights) == without.worth(weights)
    assert np.isfinite(clone(model).fit(X, y, qid=qid).predict(X[kept])).all()


@each_tree
def test_validation_data_choose_the_number_of_trees(model):
    (X, y, qid), validation = generated(queries=15), generated(seed=1)
    full = clone(model).set_params(n_estimators=60).fit(X, y, qid=qid, eval_set=validation)
    order, curve = np.argsort(validation[1], kind="stable"), []  # equal scores: the least relevant first
    X_valid, y_valid, qid_valid = (column[order] for column in validation)
    for trees in range(1, 61):
        scores = full.booster_.predict(X_valid, num_iteration=trees, num_threads=1)
        curve.append(mean_ndcg(scores, y_valid, qid_valid))
    assert curve[full.best_iteration_ - 1] == pytest.approx(max(curve))
    early = clone(model).set_params(n_estimators=60, early_stopping_rounds=3).fit(X, y, qid=qid, eval_set=validation)
    expected = next(trees for trees in range(1, 58) if curve[trees - 1] >= max(curve[trees : trees + 3]) - 1e-9)
    assert early.best_iteration_ == early.booster_.current_iteration() == expected


@each_tree
def test_parameters_reach_the_engine(model):
    X, y, qid = generated()
    fitted = (
        clone(model)
        .set_params(n_estimators=4, num_leaves=5, min_child_samples=60, params={"max_depth": 2})
        .fit(X, y, qid=qid)
    )
    trees = fitted.booster_.trees_to_dataframe()
    assert fitted.booster_.num_trees() == 4
    assert trees.node_depth.max() == 3
    for line in ("[num_leaves: 5]", "[min_data_in_leaf: 60]", "[learning_rate: 0.2]", "[num_threads: 1]"):
        assert line in fitted.booster_.model_to_string()


def test_a_seed_repeats_and_another_differs():
    X, y, qid = generated()
    one, again, other = (CoordinateAscent(max_iter=1, seed=seed).fit(X, y, qid=qid).weights_ for seed in (0, 0, 1))
    assert one.tolist() == again.tolist()
    assert one.tolist() != other.tolist()


def test_models_can_be_fitted_side_by_side():
    X, y, qid = generated()
    expected = AFS().fit(X, y, qid=qid).weights_.tolist()
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: AFS().fit(X, y, qid=qid).weights_.tolist(), range(3)))
    assert found == [expected] * 3


@each
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "must have as many rows; got 4, 2 and 4"),
        ({"y": [0, 0.5, 1, 0]}, "labels must be whole numbers of 0 or more; document 2 has 0.5"),
        ({"X": [[1], ["x"], [2], [3]]}, "features must be numbers"),
        ({"eval_set": ([[1.0]], [1])}, r"eval_set must be \(X, y, qid\)"),
        ({"eval_set": ([[1.0, 2.0]], [1], [1])}, "eval_set: 2 features, but the training data have 1"),
        ({"eval_set": ([[1.0]], [0], [1])}, "eval_set: no query has a relevant document"),
    ],
)
def test_bad_data_are_refused(model, change, message):
    good = {"X": [[1.0], [2.0], [3.0], [4.0]], "y": [0, 1, 0, 1], "qid": [1, 1, 2, 2]}
    with pytest.raises(SurefootError, match=message):
        clone(model).fit(**good | change)


@each_linear
def test_data_that_have_no_ndcg_or_no_scale_are_refused(model):
    with pytest.raises(SurefootError, match="training data: no query has a relevant document"):
        clone(model).fit([[1.0], [2.0]], [0, 0], qid=[1, 1])
    with pytest.raises(SurefootError, match="labels must be grades of 30 or less; the largest is 31"):
        clone(model).fit([[1.0], [2.0]], [0, 31], qid=[1, 1])
    with pytest.raises(SurefootError, match="document 2 has inf in column 0"):
        clone(model).fit([[1.0], [np.inf]], [0, 1], qid=[1, 1])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AFS(k=0), "k must be a whole number of 1 or more; got 0"),
        (AFS(max_features=0), "max_features must be"),
        (AdaRank(n_estimators=0), "n_estimators must be"),
        (CoordinateAscent(n_init=1.5), "n_init must be a whole number of 1 or more; got 1.5"),
        (CoordinateAscent(n_jobs=0), "n_jobs must be"),
        (LambdaMART(min_child_samples=-1), "min_child_samples must be a whole number of 0 or more; got -1"),
        (LambdaMART(num_leaves=1), "num_leaves must be a whole number of 2 or more; got 1"),
        (RegressionTrees(n_estimators=0), "n_estimators must be"),
        (RegressionTrees(params={"bagging_fraction": 7}), "LightGBM can't learn from this: .*bagging_fraction"),
    ],
)
def test_bad_parameters_are_refused(model, message):
    with pytest.raises(SurefootError, match=message):
        model.fit(*generated(queries=3)[:2], qid=generated(queries=3)[2])


@each
def test_predicting_needs_a_fitted_model_and_as_many_features(model):
    with pytest.raises(SurefootError, match=f"this {named(model)} has not learned yet; call fit first"):
        clone(model).predict([[1.0]])
    X, y, qid = generated()
    with pytest.raises(SurefootError, match="data: 7 features, but the training data have 8"):
        clone(model).fit(X, y, qid=qid).predict(X[:, 1:])
