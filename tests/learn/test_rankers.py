"""`RiskRanker` as an estimator of scikit-learn, and as a way into LightGBM."""

import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from surefoot.errors import SurefootError
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.scorers import risk_scorer
from tests.learn.small_rankings import documents

X, Y, QID = documents(0)
X_TEST, Y_TEST, QID_TEST = documents(1)
BM25 = "feature:0"
SHUFFLED = np.random.default_rng(7).permutation(len(X))
SCATTERED = np.argsort(np.argsort(QID[SHUFFLED], kind="stable"))  # with each query's rows in their order
ENGINES = ("lightgbm", "xgboost")
each_engine = pytest.mark.parametrize("engine", ENGINES)

AS_MANY_DOCUMENTS = "a document that is repeated competes with itself for ranks; weighed twice it does not"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": AS_MANY_DOCUMENTS,
    "check_sample_weight_equivalence_on_sparse_data": AS_MANY_DOCUMENTS,
}


def ranker(objective="ucro", **more):
    return RiskRanker(objective, **{"n_estimators": 10, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1, **more})


def by_query(order):
    """These rows with each query's brought together, in their order and that in which queries first appear."""
    _, first, codes = np.unique(QID[order], return_index=True, return_inverse=True)
    return order[np.argsort(first[codes], kind="stable")]


@each_engine
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:no qid or group")
def test_scikit_learns_own_checks(engine):
    model = RiskRanker("lambdamart", n_estimators=3, min_child_samples=1, n_jobs=1, engine=engine)
    results = check_estimator(model, expected_failed_checks=EXPECTED_FAILURES)
    assert {found["check_name"] for found in results if found["status"] == "xfail"} == set(EXPECTED_FAILURES)


@each_engine
def test_a_clone_and_a_pickle_predict_the_same(engine):
    model = ranker("saro", alpha=3, objective_options={"spread": "se"}, engine=engine)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    model.fit(X, Y, qid=QID, baseline=BM25)
    assert not hasattr(twin, "model_")
    twin.fit(X, Y, qid=QID, baseline=BM25)
    again = pickle.loads(pickle.dumps(model))
    assert model.model_.text == twin.model_.text == again.model_.text
    assert np.array_equal(again.predict(X_TEST), model.predict(X_TEST))


def test_parameters_are_set_by_name():
    model = ranker().set_params(alpha=7, objective="faro", params={"lambda_l2": 2.0})
    assert model.get_params()["alpha"] == 7
    card = model.fit(X, Y, qid=QID, baseline=BM25).model_.card
    assert (card["settings"]["objective"], card["settings"]["alpha"], card["settings"]["params"]["lambda_l2"]) == (
        "faro",
        7,
        2.0,
    )
    assert "[lambda_l2: 2]" in model.model_.text


@each_engine
@pytest.mark.parametrize(
    "baseline_of",
    [
        lambda rows: BM25,
        lambda rows: X[rows, 2],
        lambda rows: list(X[rows, 2].tolist()),
        lambda rows: np.stack([X[rows, 2], X[rows, 3]]),
        lambda rows: [X[rows, 2], X[rows, 3]],
        lambda rows: {"a": X[rows, 2], "b": BM25},
        lambda rows: ["feature:2", "feature:3"],
        lambda rows: pd.Series(X[rows, 2]),
    ],
    ids=["name", "array", "list", "matrix", "arrays", "dictionary", "names", "series"],
)
def test_scattered_queries_give_the_model_of_queries_in_one_piece(engine, baseline_of):
    weight = np.random.default_rng(1).uniform(1, 2, len(X))
    models = [
        ranker("georisk", engine=engine, n_estimators=4).fit(
            X[rows], Y[rows], qid=QID[rows], baseline=baseline_of(rows), sample_weight=weight[rows]
        )
        for rows in (SHUFFLED, by_query(SHUFFLED))
    ]
    assert models[0].model_.text == models[1].model_.text


def test_predictions_and_figures_do_not_depend_on_the_order_of_queries():
    model = ranker().fit(X, Y, qid=QID, baseline=BM25)
    assert np.array_equal(model.predict(X[SHUFFLED]), model.predict(X)[SHUFFLED])
    figures = model.evaluate(X, Y, qid=QID, baseline=X[:, 0])
    rows = SCATTERED
    assert (np.diff(QID[rows]) < 0).any()
    assert model.evaluate(X[rows], Y[rows], qid=QID[rows], baseline=X[rows, 0]) == pytest.approx(figures)


def test_the_score_is_the_mean_ndcg_of_scikit_learn():
    model = ranker().fit(X, Y, qid=QID, baseline=BM25)
    predicted = model.predict(X_TEST) - np.arange(len(X_TEST)) * 1e-9  # ties in the order of rows
    expected = []
    for query in np.unique(QID_TEST):
        rows = query == QID_TEST
        found = ndcg_score([2.0 ** Y_TEST[rows] - 1], [predicted[rows]], k=10, ignore_ties=True)
        expected.append(found if Y_TEST[rows].any() else 0)
    assert model.score(X_TEST, Y_TEST, qid=QID_TEST) == pytest.approx(np.mean(expected))


def test_scores_hold_the_ranker_beside_its_baselines():
    model = ranker("georisk").fit(X, Y, qid=QID, baseline=[BM25, "feature:1"])
    scores = model.scores(X_TEST, Y_TEST, qid=QID_TEST, baseline=[BM25, "feature:1"], name="new")
    assert scores.systems == ("new", "feature:0", "feature:1")
    figures = model.evaluate(X_TEST, Y_TEST, qid=QID_TEST, baseline=[BM25, "feature:1"])
    assert scores.values[0].mean() == pytest.approx(figures["mean"])
    gains = scores.values[0] - scores.values[1:].mean(axis=0)
    assert figures["urisk"] == pytest.approx(np.where(gains < 0, 2, 1) @ gains / len(gains))
    assert figures["losses"] == (gains < 0).sum()


@each_engine
@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_names(engine, frame_of):
    names = ["bm25", "pagerank", "c", "d", "e"]
    frame, held_out = (frame_of(dict(zip(names, rows.T, strict=True))) for rows in (X, X_TEST))
    named = ranker(engine=engine).fit(frame, Y, qid=QID, baseline="feature:bm25", eval_set=(held_out, Y_TEST, QID_TEST))
    plain = ranker(engine=engine).fit(X, Y, qid=QID, baseline=BM25, eval_set=(X_TEST, Y_TEST, QID_TEST))
    assert list(named.feature_names_in_) == names == list(named.model_.card["data"]["feature_names"])
    assert np.array_equal(named.predict(held_out), plain.predict(X_TEST))
    booster = named.model_.booster
    assert (booster.feature_name() if engine == "lightgbm" else booster.feature_names) == names
    with pytest.raises(ValueError, match="feature names"):
        named.predict(held_out[names[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        ranker(engine=engine).fit(frame, Y, qid=QID, baseline=BM25, eval_set=(held_out[names[::-1]], Y_TEST, QID_TEST))


@each_engine
def test_a_sparse_matrix_is_the_dense_one_with_zeros(engine):
    holey, holey_test = (np.where(abs(rows) < 0.5, 0, rows) for rows in (X, X_TEST))
    dense = ranker(engine=engine).fit(holey, Y, qid=QID, baseline=BM25)
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        model = ranker(engine=engine).fit(form(holey), Y, qid=QID, baseline=BM25)
        assert model.model_.text == dense.model_.text
        assert np.array_equal(model.predict(form(holey_test)), dense.predict(holey_test))
        more = ranker(engine=engine, n_estimators=2).fit(form(holey), Y, qid=QID, baseline=BM25, init_model=model)
        assert not np.array_equal(more.predict(holey_test), dense.predict(holey_test))


class LeastRisk(RiskRanker):
    """Chosen by risk, not by the mean."""

    def score(self, X, y, qid=None, baseline=None):
        return self.evaluate(X, y, qid, baseline)["urisk"]


@pytest.mark.parametrize("kind", [RiskRanker, LeastRisk])
def test_alpha_is_searched_by_groups_of_queries(kind):
    baseline = X[:, 0]
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind("ucro", n_estimators=5, min_child_samples=5, n_jobs=1).set_fit_request(qid=True, baseline=True)
        model.set_score_request(qid=True, **({"baseline": True} if kind is LeastRisk else {}))
        search = GridSearchCV(model, {"alpha": [0.0, 5.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, Y, qid=QID, groups=QID, baseline=baseline)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    learned, held = next(GroupKFold(3).split(X, Y, QID))
    assert not set(QID[learned]) & set(QID[held])
    for place, alpha in enumerate([0.0, 5.0]):
        model = clone(search.estimator).set_params(alpha=alpha)
        model.fit(X[learned], Y[learned], qid=QID[learned], baseline=baseline[learned])
        figures = model.evaluate(X[held], Y[held], QID[held], baseline[held])
        expected = figures["urisk" if kind is LeastRisk else "mean"]
        assert search.cv_results_["split0_test_score"][place] == expected


@pytest.mark.parametrize("params", [{}, {"bagging_fraction": 0.7, "bagging_freq": 1}])
def test_callbacks_see_one_training_also_where_it_is_random(params):
    record, iterations = {}, []

    def rate(iteration):
        iterations.append(iteration)
        return 0.2 * 0.99**iteration

    callbacks = [lgb.record_evaluation(record), lgb.reset_parameter(learning_rate=rate)]
    model = ranker(n_estimators=60, params=params).fit(
        X, Y, qid=QID, baseline=BM25, eval_set=(X_TEST, Y_TEST, QID_TEST), callbacks=callbacks
    )
    assert iterations == list(range(60))
    assert record["valid"]["urisk"] == [figures["urisk"] for figures in model.history_]
    listed = lgb.reset_parameter(learning_rate=[0.2 * 0.99**i for i in range(60)])
    again = ranker(n_estimators=60, params=params).fit(
        X, Y, qid=QID, baseline=BM25, eval_set=(X_TEST, Y_TEST, QID_TEST), callbacks=[listed]
    )
    assert again.history_ == model.history_


def test_a_callback_may_end_the_training():
    model = ranker(n_estimators=200).fit(
        X, Y, qid=QID, baseline=BM25, eval_set=(X_TEST, Y_TEST, QID_TEST),
        callbacks=[lgb.early_stopping(5, first_metric_only=True, verbose=False)],
    )  # fmt: skip
    assert len(model.history_) < 200
    assert model.model_.booster.num_trees() == model.best_iteration_


@each_engine
def test_training_goes_on_from_a_model(engine, tmp_path):
    whole = ranker(engine=engine, n_estimators=12).fit(X, Y, qid=QID, baseline=BM25)
    first = ranker(engine=engine, n_estimators=5).fit(X, Y, qid=QID, baseline=BM25)
    first.save(tmp_path)
    file = tmp_path / ("model.txt" if engine == "lightgbm" else "model.json")
    for start in (first, first.model_.booster, file, str(file)):
        rest = ranker(engine=engine, n_estimators=7).fit(X, Y, qid=QID, baseline=BM25, init_model=start)
        assert np.array_equal(rest.predict(X_TEST), whole.predict(X_TEST))
        assert rest.best_iteration_ == 7
    best = ranker(engine=engine, n_estimators=7).fit(
        X, Y, qid=QID, baseline=BM25, init_model=first, eval_set=(X_TEST, Y_TEST, QID_TEST)
    )
    assert best.evaluate(X_TEST, Y_TEST, QID_TEST, BM25) == pytest.approx(best.model_.card["validation"])


def test_monotone_constraints_hold():
    model = ranker(params={"monotone_constraints": [-1, 0, 0, 0, 0]}).fit(X, Y, qid=QID, baseline=BM25)
    assert "[monotone_constraints: -1,0,0,0,0]" in model.model_.text
    steps = np.repeat(X_TEST[:1], 50, axis=0)
    steps[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(model.predict(steps)) <= 0).all()
    free = ranker().fit(X, Y, qid=QID, baseline=BM25)
    assert (np.diff(free.predict(steps)) > 0).any()


def test_categorical_features_split_by_sets():
    random = np.random.default_rng(0)
    kinds = random.integers(0, 6, len(X)).astype(np.float32)
    labels = np.isin(kinds, [1, 4]).astype(int)
    frame = pd.DataFrame({"kind": kinds, "noise": X[:, 1]})
    model = ranker("lambdamart", params={"min_data_per_group": 1, "cat_smooth": 1}, n_estimators=3, num_leaves=2)
    by_name = clone(model).fit(frame, labels, qid=QID, categorical_feature=["kind"])
    by_place = clone(model).fit(frame.to_numpy(), labels, qid=QID, categorical_feature=[0])
    plain = clone(model).fit(frame, labels, qid=QID)
    assert by_name.score(frame, labels, QID) == 1.0 > plain.score(frame, labels, QID)
    assert np.array_equal(by_name.predict(frame), by_place.predict(frame.to_numpy()))
    assert "num_cat=1" in by_name.model_.text
    assert "num_cat=1" not in plain.model_.text
    xgb = clone(model).set_params(engine="xgboost", params={"feature_types": ["c", "q"], "max_cat_to_onehot": 1})
    assert xgb.fit(frame, labels, qid=QID).score(frame, labels, QID) == 1.0
    with pytest.raises(SurefootError, match="categorical features are given to XGBoost by params"):
        ranker(engine="xgboost").fit(X, Y, qid=QID, baseline=BM25, categorical_feature=[0])


@pytest.mark.parametrize("objective", ["lambdamart", "ucro", "smooth"])
def test_a_query_of_weight_two_is_that_query_twice(objective):
    coarse = np.round(X * 2) / 2  # few values, so that bins are the same
    heavy = QID < 5
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(heavy)])
    ids = np.concatenate([QID, QID[heavy] + 1000])
    model = ranker(objective, min_child_samples=1, params={"min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0.1})
    doubled = clone(model).fit(coarse[twice], Y[twice], qid=ids, baseline=BM25)
    by_row = clone(model).fit(coarse, Y, qid=QID, baseline=BM25, sample_weight=1.0 + heavy)
    by_query = clone(model).fit(coarse, Y, qid=QID, baseline=BM25, sample_weight=1.0 + (np.arange(25) < 5))
    plain = clone(model).fit(coarse, Y, qid=QID, baseline=BM25)
    assert by_row.model_.text == by_query.model_.text
    assert by_row.predict(coarse) == pytest.approx(doubled.predict(coarse), abs=1e-4)
    assert abs(plain.predict(coarse) - doubled.predict(coarse)).max() > 0.1


@pytest.mark.parametrize("bad", [np.full(300, -1.0), np.full(300, np.nan), np.zeros(300), np.ones((300, 2))])
def test_weights_that_can_not_be_are_refused(bad):
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        ranker().fit(X, Y, qid=QID, baseline=BM25, sample_weight=bad)


def test_err_is_told_on_the_scale_of_the_training_data():
    model = ranker(metric="err").fit(X, Y, qid=QID, baseline=BM25)
    low = np.minimum(Y_TEST, 1)  # grades of 0 and 1, on a scale up to 3
    assert model.score(X_TEST, low, qid=QID_TEST) < 1 / 2**3 * 3
    validated = ranker(metric="err").fit(X, Y, qid=QID, baseline=BM25, eval_set=(X_TEST, low, QID_TEST))
    assert validated.score(X_TEST, low, QID_TEST) == pytest.approx(validated.model_.card["validation"]["mean"])


@pytest.mark.filterwarnings("ignore:no qid or group")
def test_all_cores_by_minus_one_and_without_query_ids_one_query():
    model = ranker("lambdamart", n_jobs=-1, n_estimators=2).fit(X[:40], Y[:40])
    assert model.model_.card["data"]["queries"] == 1
    with pytest.raises(SurefootError, match="n_jobs must be 1 or more; got 0"):
        ranker("lambdamart", n_jobs=0).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"qid": QID[:-1]}, "features, labels and qid must have as many rows; got 300, 300 and 299"),
        ({"baseline": np.ones(7)}, "a score for each of 300 documents or a value for each of 25 queries"),
        ({"baseline": "feature:9"}, "no feature 9; they are numbered 0 to 4"),
        ({"baseline": np.full(300, np.nan)}, "a baseline's scores must be finite numbers"),
        ({"baseline": None}, "objective ucro needs a baseline"),
    ],
)
def test_bad_input_is_told_in_one_line(more, message):
    with pytest.raises(SurefootError, match=message) as error:
        ranker().fit(X, Y, **{"qid": QID, "baseline": BM25, **more})
    assert "\n" not in str(error.value)


def test_labels_must_be_grades():
    with pytest.raises(SurefootError, match=r"labels must be whole numbers of 0 or more; document 1 has [01]\.5"):
        ranker().fit(X, Y + 0.5, qid=QID, baseline=BM25)


def test_groups_as_in_lightgbm():
    order = by_query(np.arange(len(X)))
    sizes = np.unique(QID[order], return_counts=True)[1]
    by_qid = ranker().fit(X[order], Y[order], qid=QID[order], baseline=BM25, eval_set=(X_TEST, Y_TEST, QID_TEST))
    test_order = np.argsort(QID_TEST, kind="stable")
    test_sizes = np.unique(QID_TEST, return_counts=True)[1]
    by_group = ranker().fit(
        X[order], Y[order], group=sizes, baseline=BM25,
        eval_set=[(X_TEST[test_order], Y_TEST[test_order])], eval_group=[test_sizes],
    )  # fmt: skip
    assert by_group.model_.text == by_qid.model_.text
    assert [one["mean"] for one in by_group.history_] == pytest.approx([one["mean"] for one in by_qid.history_])
    for wrong, message in (
        ({"group": [3]}, "group must have the number of rows of each query"),
        ({"group": sizes, "qid": QID}, "give qid or group, not both"),
        ({"qid": QID, "eval_set": (X, Y)}, "eval_set needs its queries"),
        ({"qid": QID, "eval_set": [(X, Y, QID)] * 2}, "there can be one evaluation set; got 2"),
    ):
        with pytest.raises(SurefootError, match=message):
            ranker().fit(X, Y, baseline=BM25, **wrong)


def test_rows_without_queries_are_warned_of():
    with pytest.warns(UserWarning, match=f"no qid or group: all {len(X)} rows count as one query"):
        ranker("lambdamart").fit(X, Y)


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_a_saved_ranker_loads(engine, tmp_path):
    model = ranker("saro", alpha=3, engine=engine, label_gain=(0.0, 1.0, 3.0, 7.0, 15.0)).fit(
        X, Y, qid=QID, baseline=BM25
    )
    model.save(tmp_path / "model")
    again = RiskRanker.load(tmp_path / "model")
    assert again.get_params() | {"n_jobs": 1} == model.get_params() | {"n_jobs": 1}
    assert np.array_equal(again.predict(X_TEST), model.predict(X_TEST))
    assert again.best_iteration_ == model.best_iteration_
    assert type(again.booster_).__name__ == "Booster"
    assert again.feature_importances_.shape == (X.shape[1],)
    assert np.argmax(again.feature_importances_) == np.argmax(model.feature_importances_)
    assert again.feature_importances_.sum() > 0


def test_weights_of_rows_weigh_queries_in_the_score():
    model = ranker().fit(X, Y, qid=QID, baseline=BM25)
    only = QID_TEST[0] == QID_TEST
    for features in (X_TEST, X_TEST.tolist()):
        assert model.score(features, Y_TEST, QID_TEST, sample_weight=only.astype(float)) == pytest.approx(
            model.score(X_TEST[only], Y_TEST[only], QID_TEST[only])
        )
    assert model.score(X_TEST, Y_TEST, QID_TEST) == pytest.approx(model.evaluate(X_TEST, Y_TEST, QID_TEST)["mean"])


@pytest.mark.parametrize("name", ["urisk", "losses"])
def test_a_pipeline_is_searched_by_risk(name):
    with sklearn.config_context(enable_metadata_routing=True):
        model = ranker().set_fit_request(qid=True, baseline=True).set_score_request(qid=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("rank", model)])
        grid = {"rank__alpha": [0.0, 5.0]}
        scorer = risk_scorer(name, baseline=BM25)
        by_risk = GridSearchCV(pipeline, grid, cv=GroupKFold(3), scoring=scorer, error_score="raise")
        by_risk.fit(X, Y, qid=QID, groups=QID, baseline=X[:, 0])
        by_mean = GridSearchCV(pipeline, grid, cv=GroupKFold(3), error_score="raise")
        by_mean.fit(X, Y, qid=QID, groups=QID, baseline=X[:, 0])
    assert np.isfinite(by_mean.cv_results_["mean_test_score"]).all()
    learned, held = next(GroupKFold(3).split(X, Y, QID))
    scale = StandardScaler().fit(X[learned])
    own = ranker(alpha=5.0).fit(scale.transform(X[learned]), Y[learned], qid=QID[learned], baseline=X[learned, 0])
    measured = own.evaluate(scale.transform(X[held]), Y[held], QID[held], BM25)[name]
    sign = 1 if name == "urisk" else -1
    assert by_risk.cv_results_["split0_test_score"][1] == pytest.approx(sign * measured)
    with pytest.raises(SurefootError, match=r"ranker \(did you mean urisk\?\); there are mean"):
        risk_scorer("risk")


def test_without_validation_the_reported_metric_is_told():
    model = ranker("lambdamart", n_estimators=30, cutoff=5).fit(X, Y, qid=QID)
    assert max(one["mean"] for one in model.history_) <= 1
    before_last = ranker("lambdamart", n_estimators=29, cutoff=5).fit(X, Y, qid=QID)
    assert model.history_[-1]["mean"] == pytest.approx(before_last.evaluate(X, Y, QID)["mean"], abs=1e-6)
