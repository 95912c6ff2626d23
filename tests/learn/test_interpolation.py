"""Interpolation with the baseline: its score by its rank, beside the model's own."""

import json
from dataclasses import replace as changed
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from surefoot.errors import InputError, SurefootError
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.interpolation import BaselineTerm, within_query_std
from surefoot.learn.models import load_model
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.learn.validation import Validation

QUERIES, SIZE = 40, 12
SETTINGS = Settings("ucro", 1.0, n_estimators=8, num_leaves=5, min_child_samples=5, n_jobs=1)
BASELINE = "feature:1"


def data(seed=0, digits=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(QUERIES * SIZE, 3)).round(digits)
    labels = np.searchsorted([0.5, 1.5], X[:, 0] + X[:, 1] + rng.normal(scale=0.5, size=len(X)))
    return RankingData.of(X, labels, np.repeat(np.arange(QUERIES), SIZE))


@pytest.fixture(scope="module")
def plain():
    return train(data(), BASELINE, SETTINGS).model


def test_the_first_of_the_baseline_gets_the_weight_that_was_asked_for(plain):
    rows = data()
    found = plain.interpolate(0.3, BASELINE, rows)
    more = (found.predict(rows) - plain.predict(rows)).reshape(QUERIES, SIZE)
    column = rows.column(1).astype(np.float64).reshape(QUERIES, SIZE)
    assert more.max(axis=1).mean() == pytest.approx(0.3 * within_query_std(plain.predict(rows), rows.bounds))
    assert (np.take_along_axis(column, more.argmax(axis=1)[:, None], axis=1)[:, 0] == column.max(axis=1)).all()
    assert found.text == plain.text


@pytest.mark.parametrize("shift", [0.0, 50.0, -50.0])
def test_what_is_added_is_the_score_above_the_floor_by_its_rank(shift, plain):
    """As written out query by query; scores below 0 count from the least one that was seen."""
    rows, other = data(), data(1)
    for each in (rows, other):
        each.features[:, 1] += shift
    model = plain.interpolate(0.3, BASELINE, rows)
    lean, term = model.card["interpolation"], model.term
    assert (lean["baseline_weight"], lean["feature"], lean["column"]) == (0.3, "1", 1)
    assert lean["floor"] == min(0, rows.features[:, 1].min())
    for query in range(QUERIES):
        mine = slice(*other.bounds[query : query + 2])
        scores = other.features[mine, 1].astype(np.float64)
        ranks = [1 + sum(each > own for each in scores) for own in scores]
        expected = lean["weight"] * np.maximum(scores - lean["floor"], 0) / ranks
        np.testing.assert_allclose(term(other)[mine], expected)


@given(st.permutations(range(QUERIES)), st.permutations(range(SIZE)))
def test_neither_the_order_of_queries_nor_that_of_their_documents_changes_anything(queries, documents):
    rows, term = data(), BaselineTerm("1", column=1, floor=-5.0, weight=2.0)
    rows.features[:, 1] = rows.features[:, 1].round()  # many ties
    places = np.arange(QUERIES * SIZE).reshape(QUERIES, SIZE)[np.ix_(queries, documents)].ravel()
    other = RankingData.of(rows.features[places], rows.labels[places], np.repeat(np.arange(QUERIES), SIZE))
    np.testing.assert_array_equal(term(other), term(rows)[places])


def test_a_large_weight_ranks_as_the_baseline(plain):
    rows = data()
    measures_of = Validation.of(SETTINGS, rows, baselines_of(BASELINE, rows))
    assert measures_of(plain.interpolate(1e6, BASELINE, rows).predict(rows))["frisk"] < 1e-12
    assert measures_of(plain.predict(rows))["frisk"] > 0


def test_missing_scores_rank_last_and_sparse_features_do_as_dense_ones(plain):
    rows = data()
    holed = rows.features.copy()
    holed[::7, 1] = np.nan
    lost = changed(rows, features=holed)
    found = plain.interpolate(0.5, BASELINE, lost)
    more = found.term(lost)
    assert (more[::7] == 0).all()
    assert (more >= 0).all()
    kept = np.flatnonzero(~np.isnan(holed[:SIZE, 1]))  # the others get what they would without the lost ones
    alone = RankingData.of(holed[kept], np.zeros(kept.size), np.zeros(kept.size, int))
    np.testing.assert_allclose(found.term(alone), more[kept])
    zeros = np.where(np.abs(rows.features) < 0.3, 0, rows.features)
    packed = changed(rows, features=sparse.csr_array(zeros))
    dense = changed(rows, features=zeros)
    assert plain.interpolate(0.5, BASELINE, dense).card["interpolation"] == pytest.approx(
        plain.interpolate(0.5, BASELINE, packed).card["interpolation"]
    )


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_the_weight_is_found_on_validation_queries_if_there_are_any(engine):
    rows, valid = data(), data(1)
    settings = SETTINGS if engine == "lightgbm" else changed(SETTINGS, engine=engine)
    alone = train(rows, BASELINE, settings, valid=valid).model
    found = train(rows, [BASELINE], changed(settings, baseline_weight=0.4), valid=valid).model
    assert found.card["interpolation"] == alone.interpolate(0.4, BASELINE, valid).card["interpolation"]
    alone = train(rows, BASELINE, settings).model
    found = train(rows, {"bm25": BASELINE}, changed(settings, baseline_weight=0.4)).model
    assert found.card["interpolation"] == alone.interpolate(0.4, BASELINE, rows).card["interpolation"]


def test_bags_are_interpolated_once_and_the_card_has_the_measures_of_the_whole(tmp_path):
    rows, valid = data(), data(1)
    settings = changed(SETTINGS, n_bags=2, baseline_weight=0.4)
    alone = train(rows, BASELINE, changed(SETTINGS, n_bags=2), valid=valid).model
    found = train(rows, BASELINE, settings, valid=valid).model
    assert found.text == alone.text
    assert found.card["interpolation"] == alone.interpolate(0.4, BASELINE, valid).card["interpolation"]
    measures_of = Validation.of(SETTINGS, valid, baselines_of(BASELINE, valid))
    assert (
        found.card["validation"]["mean"]
        == measures_of(found.predict(valid))["mean"]
        != alone.card["validation"]["mean"]
    )
    found.save(tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(valid), found.predict(valid))


def test_the_estimator_is_interpolated_query_by_query_whatever_the_order_of_rows(tmp_path):
    rows, qid = data(), np.repeat(np.arange(QUERIES), SIZE)
    found = train(rows, BASELINE, changed(SETTINGS, baseline_weight=0.2)).model
    ranker = RiskRanker(n_estimators=8, num_leaves=5, min_child_samples=5, baseline_weight=0.2, n_jobs=1)
    ranker.fit(rows.features, rows.labels, qid=qid, baseline=BASELINE)
    np.testing.assert_allclose(ranker.predict(rows.features, qid), found.predict(rows))
    mixed = np.random.default_rng(0).permutation(len(qid))
    shuffled = ranker.evaluate(rows.features[mixed], rows.labels[mixed], qid[mixed], BASELINE)
    assert shuffled["frisk"] == pytest.approx(ranker.evaluate(rows.features, rows.labels, qid, BASELINE)["frisk"])
    np.testing.assert_allclose(ranker.predict(rows.features[mixed], qid[mixed]), found.predict(rows)[mixed])
    with pytest.raises(SurefootError, match="must know which documents are of one query; give RankingData, or qid"):
        ranker.predict(rows.features)
    assert ranker.evaluate(rows.features, rows.labels, qid, BASELINE)["mean"] == pytest.approx(
        Validation.of(SETTINGS, rows, baselines_of(BASELINE, rows))(found.predict(rows))["mean"]
    )
    ranker.save(tmp_path)
    np.testing.assert_allclose(load_model(tmp_path).predict(rows), found.predict(rows))
    with pytest.raises(
        SurefootError, match="interpolated with its baseline's ranking, so it must know which documents"
    ):
        found.predict(rows.features)


def test_a_card_that_lacks_the_term_is_told(plain, tmp_path):
    plain.interpolate(0.5, BASELINE, data()).save(tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    good = card["interpolation"]
    for broken in ({}, 7, {**good, "floor": "low"}, {**good, "weight": float("nan")}, {**good, "column": 99}):
        (tmp_path / "card.json").write_text(json.dumps({**card, "interpolation": broken}))
        with pytest.raises(InputError, match="is not the card of a trained model"):
            load_model(tmp_path)


@pytest.mark.parametrize("baseline", [None, ["feature:0", "feature:1"], "run:bm25.run", np.zeros(QUERIES * SIZE)])
def test_a_baseline_that_is_no_feature_is_told_before_training(baseline):
    for bags in (1, 2):
        with pytest.raises(
            SurefootError, match="a model is interpolated with one baseline that is a feature of the data"
        ):
            train(data(), baseline, changed(SETTINGS, baseline_weight=0.1, n_estimators=10**9, n_bags=bags))


def test_what_cannot_be_interpolated_is_told():
    with pytest.raises(SurefootError, match="baseline_weight must be 0 or more"):
        train(data(), BASELINE, changed(SETTINGS, baseline_weight=-0.1))
    for value in (3, np.nan):
        flat = data()
        flat.features[:, 1] = value
        for bags, both in product((1, 2), ((flat, None), (data(), flat))):
            with pytest.raises(
                SurefootError, match="a model can't be interpolated with feature 1, which is the same for all"
            ):
                train(
                    both[0],
                    BASELINE,
                    changed(SETTINGS, baseline_weight=0.1, n_estimators=10**9, n_bags=bags),
                    valid=both[1],
                )
    for bags, weight in product((1, 2), (-1, np.nan, np.inf)):
        with pytest.raises(SurefootError, match="baseline_weight must be 0 or more"):
            train(data(), BASELINE, changed(SETTINGS, baseline_weight=weight, n_bags=bags))
    for value in (np.inf, -np.inf):
        endless = data()
        endless.features[3, 1] = value
        with pytest.raises(
            SurefootError, match="a model can't be interpolated with feature 1, which is infinite somewhere"
        ):
            train(endless, BASELINE, changed(SETTINGS, baseline_weight=0.1, n_estimators=10**9))
