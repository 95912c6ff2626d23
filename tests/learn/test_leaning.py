"""Leaning on the baseline: its score by its rank, beside the model's own."""

import json
from dataclasses import replace as changed
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from surefoot.errors import InputError, SurefootError
from surefoot.learn.bagging import train_bags
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.leaning import added, leant, spread
from surefoot.learn.metrics import Metric
from surefoot.learn.models import load_model
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.training import Settings, train
from surefoot.learn.validation import Judge

QUERIES, SIZE = 40, 12
SETTINGS = Settings("ucro", 1.0, n_estimators=8, params={"num_leaves": 5, "min_child_samples": 5}, threads=1)
BASELINE = "feature:1"


def data(seed=0, digits=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(QUERIES * SIZE, 3)).round(digits)
    labels = np.searchsorted([0.5, 1.5], X[:, 0] + X[:, 1] + rng.normal(scale=0.5, size=len(X)))
    return RankingData.of(X, labels, np.repeat(np.arange(QUERIES), SIZE))


@pytest.fixture(scope="module")
def plain():
    return train(SETTINGS, data(), BASELINE).model


def test_the_first_of_the_baseline_gets_the_share_that_was_asked_for(plain):
    rows = data()
    found = leant(plain, 0.3, rows, BASELINE)
    more = (found.predict(rows) - plain.predict(rows)).reshape(QUERIES, SIZE)
    column = rows.column(1).astype(np.float64).reshape(QUERIES, SIZE)
    assert more.max(axis=1).mean() == pytest.approx(0.3 * spread(plain.predict(rows), rows.bounds))
    assert (np.take_along_axis(column, more.argmax(axis=1)[:, None], axis=1)[:, 0] == column.max(axis=1)).all()
    assert found.text == plain.text


@pytest.mark.parametrize("shift", [0.0, 50.0, -50.0])
def test_what_is_added_is_the_score_above_the_floor_by_its_rank(shift, plain):
    """As written out query by query; scores below 0 count from the least one that was seen."""
    rows, other = data(), data(1)
    for each in (rows, other):
        each.features[:, 1] += shift
    lean = leant(plain, 0.3, rows, BASELINE).card["lean"]
    assert (lean["share"], lean["feature"], lean["place"]) == (0.3, "1", 1)
    assert lean["floor"] == min(0, rows.features[:, 1].min())
    for query in range(QUERIES):
        mine = slice(*other.bounds[query : query + 2])
        scores = other.features[mine, 1].astype(np.float64)
        ranks = [1 + sum(each > own for each in scores) for own in scores]
        expected = lean["weight"] * np.maximum(scores - lean["floor"], 0) / ranks
        np.testing.assert_allclose(added(lean, other)[mine], expected)


@given(st.permutations(range(QUERIES)), st.permutations(range(SIZE)))
def test_neither_the_order_of_queries_nor_that_of_their_documents_changes_anything(queries, documents):
    rows, lean = data(), {"place": 1, "floor": -5.0, "weight": 2.0}
    rows.features[:, 1] = rows.features[:, 1].round()  # many ties
    places = np.arange(QUERIES * SIZE).reshape(QUERIES, SIZE)[np.ix_(queries, documents)].ravel()
    other = RankingData.of(rows.features[places], rows.labels[places], np.repeat(np.arange(QUERIES), SIZE))
    np.testing.assert_array_equal(added(lean, other), added(lean, rows)[places])


def test_who_leans_heavily_ranks_as_the_baseline(plain):
    rows = data()
    judge = Judge(rows, Metric(cutoff=10), baselines_of(BASELINE, rows))
    assert judge(leant(plain, 1e6, rows, BASELINE).predict(rows))["frisk"] < 1e-12
    assert judge(plain.predict(rows))["frisk"] > 0


def test_missing_scores_rank_last_and_sparse_features_do_as_dense_ones(plain):
    rows = data()
    holed = rows.features.copy()
    holed[::7, 1] = np.nan
    lost = changed(rows, features=holed)
    found = leant(plain, 0.5, lost, BASELINE)
    more = added(found.card["lean"], lost)
    assert (more[::7] == 0).all()
    assert (more >= 0).all()
    kept = np.flatnonzero(~np.isnan(holed[:SIZE, 1]))  # the others get what they would without the lost ones
    alone = RankingData.of(holed[kept], np.zeros(kept.size), np.zeros(kept.size, int))
    np.testing.assert_allclose(added(found.card["lean"], alone), more[kept])
    zeros = np.where(np.abs(rows.features) < 0.3, 0, rows.features)
    packed = changed(rows, features=sparse.csr_array(zeros))
    dense = changed(rows, features=zeros)
    assert leant(plain, 0.5, dense, BASELINE).card["lean"] == pytest.approx(
        leant(plain, 0.5, packed, BASELINE).card["lean"]
    )


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_the_weight_is_found_on_validation_queries_if_there_are_any(engine):
    rows, valid = data(), data(1)
    settings = SETTINGS if engine == "lightgbm" else changed(SETTINGS, engine=engine, params={"max_leaves": 5})
    alone = train(settings, rows, BASELINE, valid).model
    found = train(changed(settings, lean=0.4), rows, [BASELINE], valid).model
    assert found.card["lean"] == leant(alone, 0.4, valid, BASELINE).card["lean"]
    alone = train(settings, rows, BASELINE).model
    found = train(changed(settings, lean=0.4), rows, {"bm25": BASELINE}).model
    assert found.card["lean"] == leant(alone, 0.4, rows, BASELINE).card["lean"]


def test_bags_lean_once_and_the_card_tells_figures_of_the_whole(tmp_path):
    rows, valid = data(), data(1)
    settings = changed(SETTINGS, lean=0.4)
    alone = train_bags(SETTINGS, 2, rows, BASELINE, valid).model
    found = train_bags(settings, 2, rows, BASELINE, valid).model
    assert found.text == alone.text
    assert found.card["lean"] == leant(alone, 0.4, valid, BASELINE).card["lean"]
    judge = Judge(valid, Metric(cutoff=10), baselines_of(BASELINE, valid))
    assert found.card["validation"]["mean"] == judge(found.predict(valid))["mean"] != alone.card["validation"]["mean"]
    found.save(tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(valid), found.predict(valid))


def test_the_estimator_leans_query_by_query_whatever_the_order_of_rows(tmp_path):
    rows, qid = data(), np.repeat(np.arange(QUERIES), SIZE)
    found = train(changed(SETTINGS, lean=0.2), rows, BASELINE).model
    ranker = RiskRanker(n_estimators=8, num_leaves=5, min_child_samples=5, lean=0.2, n_jobs=1, learning_rate=0.1)
    ranker.fit(rows.features, rows.labels, qid=qid, baseline=BASELINE)
    np.testing.assert_allclose(ranker.predict(rows.features, qid), found.predict(rows))
    mixed = np.random.default_rng(0).permutation(len(qid))
    shuffled = ranker.judge(rows.features[mixed], rows.labels[mixed], qid[mixed], BASELINE)
    assert shuffled["frisk"] == pytest.approx(ranker.judge(rows.features, rows.labels, qid, BASELINE)["frisk"])
    np.testing.assert_allclose(ranker.predict(rows.features[mixed], qid[mixed]), found.predict(rows)[mixed])
    with pytest.raises(SurefootError, match="must know which documents are of one query; give qid"):
        ranker.predict(rows.features)
    assert ranker.judge(rows.features, rows.labels, qid, BASELINE)["mean"] == pytest.approx(
        Judge(rows, Metric(cutoff=10), baselines_of(BASELINE, rows))(found.predict(rows))["mean"]
    )
    ranker.save(tmp_path)
    np.testing.assert_allclose(load_model(tmp_path).predict(rows), found.predict(rows))
    with pytest.raises(SurefootError, match="leans on its baseline's ranking, so it must know which documents"):
        found.predict(rows.features)


def test_a_card_that_lacks_what_is_added_is_told(plain, tmp_path):
    leant(plain, 0.5, data(), BASELINE).save(tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    good = card["lean"]
    for broken in ({}, 7, {**good, "floor": "low"}, {**good, "weight": float("nan")}, {**good, "place": 99}):
        (tmp_path / "card.json").write_text(json.dumps({**card, "lean": broken}))
        with pytest.raises(InputError, match="is not the card of a trained model"):
            load_model(tmp_path)


@pytest.mark.parametrize("baseline", [None, ["feature:0", "feature:1"], "run:bm25.run", np.zeros(QUERIES * SIZE)])
def test_a_baseline_that_is_no_feature_is_told_before_training(baseline):
    for bags in (1, 2):
        with pytest.raises(SurefootError, match="a model leans on one baseline that is a feature of the data"):
            train_bags(changed(SETTINGS, lean=0.1, n_estimators=10**9), bags, data(), baseline)


def test_what_cannot_lean_is_told():
    with pytest.raises(SurefootError, match="lean must be 0 or more"):
        train(changed(SETTINGS, lean=-0.1), data(), BASELINE)
    for value in (3, np.nan):
        flat = data()
        flat.features[:, 1] = value
        for bags, both in product((1, 2), ((flat, None), (data(), flat))):
            with pytest.raises(SurefootError, match="a model can't lean on feature 1, which is the same for all"):
                train_bags(changed(SETTINGS, lean=0.1, n_estimators=10**9), bags, both[0], BASELINE, both[1])
    for bags, lean in product((1, 2), (-1, np.nan, np.inf)):
        with pytest.raises(SurefootError, match="lean must be 0 or more"):
            train_bags(changed(SETTINGS, lean=lean), bags, data(), BASELINE)
    for value in (np.inf, -np.inf):
        endless = data()
        endless.features[3, 1] = value
        with pytest.raises(SurefootError, match="a model can't lean on feature 1, which is infinite somewhere"):
            train(changed(SETTINGS, lean=0.1, n_estimators=10**9), endless, BASELINE)
