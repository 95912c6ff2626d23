"""Guarded models: bags with a guard that is fitted on their out-of-bag scores, saved, loaded, applied."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from surefoot.errors import InputError, SurefootError
from surefoot.guard.guard import Guard, fit_second_stage
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import baseline_term
from surefoot.guard.trial import STRENGTHS, LabelledPair, Trial
from surefoot.lambdas.metrics import Metric
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model, load_model
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.run import Trained
from surefoot.learn.settings import SAFE, Settings
from surefoot.learn.training import resolve_run, train
from surefoot.learn.validation import Validation

QUERIES, SIZE = 120, 8
BASELINE = "feature:1"
QUICK = replace(SAFE, n_estimators=6, min_child_samples=5, n_bags=4, n_jobs=1)


def rankings(seed: int = 0, queries: int = QUERIES) -> RankingData:
    """Two features that matter; the second, the baseline, a little less."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * SIZE, 4)).astype(np.float32)
    merit = features[:, 0] + 0.8 * features[:, 1] + rng.normal(size=queries * SIZE)
    labels = np.searchsorted(np.quantile(merit, [0.6, 0.9]), merit)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), SIZE))


@pytest.fixture(scope="module")
def data() -> RankingData:
    return rankings()


@pytest.fixture(scope="module")
def trained(data: RankingData) -> Trained:
    return train(data, BASELINE, QUICK)


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return trained.model


def test_the_guard_is_fitted_on_scores_of_queries_that_the_bags_did_not_see(
    data: RankingData, trained: Trained
) -> None:
    scores = data.column("1").astype(np.float64)
    expected = fit_second_stage(Pair.of(scores, trained.out_of_bag, data.bounds), data.labels, seed=QUICK.seed)
    assert trained.model.guard == expected
    assert trained.model.guard.kind == "second-stage"
    seen = resolve_run(data, BASELINE, replace(QUICK, guard=None)).train().model.predict(data)
    assert expected != fit_second_stage(Pair.of(scores, seen, data.bounds), data.labels, seed=QUICK.seed)


def test_a_guarded_model_ranks_as_its_guard_does_query_by_query(data: RankingData, model: Model) -> None:
    plain, found = model.booster.predict(data.features), model.predict(data)
    for query in range(0, QUERIES, 10):
        rows = slice(*data.bounds[query : query + 2])
        order = model.guard.rank(data.column("1")[rows], plain[rows])  # type: ignore[union-attr]
        np.testing.assert_array_equal(np.argsort(-found[rows]), order)


def test_the_card_tells_what_both_do_on_queries_that_they_did_not_see(data: RankingData, trained: Trained) -> None:
    card = trained.model.card
    validation = Validation.of(QUICK, data, baselines_of(BASELINE, data))
    assert card["unguarded"] == pytest.approx(validation(trained.out_of_bag))  # type: ignore[arg-type]
    assert card["validation"]["frisk"] < card["unguarded"]["frisk"]
    assert card["guard"] == {
        "baseline": BASELINE, "form": "feature", "column": 1, "kind": "second-stage",
        "why": "at strength 1, the largest of 0.25, 0.5, 0.75, 1.0 that costs at most 1 % of the mean out of bag",
    }  # fmt: skip
    assert card["validation"]["mean"] != validation(trained.model.predict(data))["mean"]


def test_a_second_stage_that_the_mean_can_not_bear_is_weakened_or_left_out(
    data: RankingData, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair.of(data.column("1").astype(np.float64), trained.out_of_bag, data.bounds)
    judged = LabelledPair(pair, data.labels.astype(np.float64), Metric(cutoff=10).bind(data.labels, data.bounds))
    trial = Trial(judged, np.arange(QUERIES), ("second-stage",), 0.5, QUICK.seed)
    full, (found, values) = trial.fit_trees(trial.queries), trial.strongest()
    assert found == full
    for fold in range(5):  # values are of queries that the trees did not see
        other = trial.fit_trees(trial.queries[trial.fold != fold])
        np.testing.assert_array_equal(values[trial.fold == fold], trial.of(other)[trial.fold == fold])
    unguarded = trial.of(Guard())
    for bearable in range(5):
        means = {strength: unguarded - (STRENGTHS.index(strength) >= bearable) for strength in STRENGTHS}
        monkeypatch.setattr(Trial, "_unseen", lambda _, strength, means=means: means[strength])
        weaker, values = trial.strongest()
        strength = (0.0, *STRENGTHS)[bearable]
        assert weaker == (full.blended(strength) if bearable else Guard())
        assert weaker.card.get("strength", 0.0) == strength
        assert ("so nothing is changed" in weaker.card["why"]) == (not bearable)
        np.testing.assert_array_equal(values, unguarded)
    np.testing.assert_array_equal(trial.of(full.blended(0.0)), unguarded)


def test_a_second_stage_may_be_added_to_an_interpolation(data: RankingData, trained: Trained) -> None:
    pair = Pair.of(data.column("1").astype(np.float64), trained.out_of_bag, data.bounds)
    full = fit_second_stage(pair, data.labels)
    own = pair.candidate.filled / full.scale.spread
    expected = own + 0.5 * (full.scores(pair) - own) + 0.2 * baseline_term(pair, full.scale)
    np.testing.assert_allclose(full.blended(0.5, 0.2).scores(pair), expected, atol=1e-9)


def test_in_a_folder_no_engine_takes_the_trees_for_the_model(
    data: RankingData, model: Model, tmp_path: Path, capfd: Any
) -> None:
    model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["card.json", "guard.json", "unguarded-trees.txt"]
    with pytest.raises(lgb.basic.LightGBMError, match="Unknown model format"):
        lgb.Booster(model_file=tmp_path / "unguarded-trees.txt")
    assert (tmp_path / "unguarded-trees.txt").read_text().startswith("These trees are of a guarded model")
    found = load_model(tmp_path)
    assert (found.guard, found.text) == (model.guard, model.text)
    np.testing.assert_array_equal(found.predict(data), model.predict(data))


def test_xgboost_likewise(data: RankingData, tmp_path: Path) -> None:
    import xgboost

    found = train(data, BASELINE, replace(QUICK, engine="xgboost"), output=tmp_path).model
    with pytest.raises(xgboost.core.XGBoostError):
        xgboost.Booster(model_file=tmp_path / "unguarded-trees.json")
    np.testing.assert_array_equal(load_model(tmp_path).predict(data), found.predict(data))


def test_rows_in_any_order_need_their_queries(data: RankingData, model: Model) -> None:
    qid = np.repeat(np.arange(QUERIES), SIZE)
    mixed = np.random.default_rng(0).permutation(qid.size)
    shuffled = model.predict(np.asarray(data.features)[mixed], qid[mixed])
    expected = model.predict(data)
    for query in range(0, QUERIES, 20):
        own = np.flatnonzero(qid[mixed] == query)
        np.testing.assert_array_equal(np.argsort(-shuffled[own]), np.argsort(-expected[mixed][own]))
    with pytest.raises(SurefootError, match="must know the query of each document; give RankingData, or qid"):
        model.predict(data.features)


def test_the_estimator_is_the_same_model(data: RankingData, model: Model, tmp_path: Path) -> None:
    qid = np.repeat(np.arange(QUERIES), SIZE)
    ranker = RiskRanker.safe(n_estimators=6, min_child_samples=5, n_bags=4, n_jobs=1)
    ranker.fit(data.features, data.labels, qid=qid, baseline=BASELINE)
    np.testing.assert_array_equal(ranker.predict(data.features, qid), model.predict(data))
    ranker.save(tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(data), model.predict(data))
    with pytest.raises(SurefootError, match="or qid"):
        ranker.predict(data.features)


def test_the_estimator_takes_a_baseline_of_its_rows_in_any_order(data: RankingData, model: Model) -> None:
    qid = np.repeat(np.arange(QUERIES), SIZE)
    mixed = np.random.default_rng(0).permutation(qid.size)
    scores = data.column("1").astype(np.float64)
    ranker = RiskRanker.safe(n_estimators=6, min_child_samples=5, n_bags=4, n_jobs=1)
    ranker.fit(data.features, data.labels, qid=qid, baseline=scores)
    np.testing.assert_array_equal(ranker.predict(data.features, qid, scores), model.predict(data))
    found = ranker.predict(np.asarray(data.features)[mixed], qid[mixed], scores[mixed])
    np.testing.assert_array_equal(found, model.predict(data)[mixed])
    assert ranker.evaluate(data.features, data.labels, qid, scores)["mean"] > 0.5


def test_a_baseline_that_is_no_feature_is_given_again_where_the_model_ranks(data: RankingData, model: Model) -> None:
    scores = data.column("1").astype(np.float64)
    found = train(data, scores, QUICK).model
    assert found.card["guard"]["form"] is None
    np.testing.assert_array_equal(found.predict(data, baseline=scores), model.predict(data))
    with pytest.raises(SurefootError, match="guarded by 'baseline', which is not a feature"):
        found.predict(data)


@pytest.mark.parametrize("form", ["-feature:1", "rank:3", "order"])
def test_other_forms_of_features_are_known_wherever_the_model_ranks(form: str) -> None:
    data = rankings()
    data.features[:, 3] = np.tile(np.arange(1, SIZE + 1), QUERIES)
    found = train(data, form, replace(QUICK, guard="z")).model
    assert found.card["guard"]["form"] == form.partition(":")[0]
    towards = replace(found, guard=Guard("z", 1.0))
    metric = Validation.of(Settings(), data, baselines_of(form, data))
    own, b = metric.scores("model", towards.predict(data)).values
    np.testing.assert_allclose(own, b)


def test_few_queries_get_a_guard_that_needs_less() -> None:
    found = train(rankings(queries=60), BASELINE, QUICK).model
    assert found.guard.kind != "second-stage"  # type: ignore[union-attr]
    assert found.card["guard"]["why"]


def test_a_budget_is_certified_on_queries_that_had_no_part_in_the_guard(data: RankingData) -> None:
    bold, careful = (train(data, BASELINE, replace(QUICK, guard="z", max_loss=limit)).model for limit in (0.5, 0.05))
    assert bold.guard.safety < careful.guard.safety <= 1  # type: ignore[union-attr]
    certificate = bold.card["guard"]["certificate"]
    assert (certificate["limit"], certificate["confidence"], certificate["queries"]) == (0.5, 0.9, QUERIES // 2)
    assert certificate["words"].startswith("On queries like these F_Risk")
    assert certificate["words"].endswith("the model is the average of all bags, which no test covers.")
    assert "validation" not in bold.card


def test_an_edited_guard_or_a_missing_one_is_told(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path)
    guard = json.loads((tmp_path / "guard.json").read_text())
    (tmp_path / "guard.json").write_text(json.dumps({**guard, "safety": 0.5}))
    with pytest.raises(InputError, match="was changed after it was fitted"):
        load_model(tmp_path)
    (tmp_path / "guard.json").unlink()
    with pytest.raises(SurefootError, match=r"guard\.json"):
        load_model(tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    for broken in ({}, 7, {**card["guard"], "column": 99}):
        (tmp_path / "card.json").write_text(json.dumps({**card, "guard": broken}))
        with pytest.raises(InputError, match="is not the card of a trained model"):
            load_model(tmp_path)


@pytest.mark.parametrize("baseline", [None, ["feature:0", "feature:1"], np.zeros(QUERIES)])
def test_what_can_not_guard_is_told_before_training(data: RankingData, baseline: Any) -> None:
    with pytest.raises(SurefootError, match="a guard needs one baseline that scores documents"):
        train(data, baseline, replace(QUICK, n_estimators=10**9))


def test_a_baseline_without_an_order_is_told_before_training() -> None:
    flat = rankings()
    flat.features[:, 1] = 3
    with pytest.raises(SurefootError, match="the baseline feature:1 is the same for all documents of a query"):
        train(flat, BASELINE, replace(QUICK, n_estimators=10**9))
