"""What validation queries choose: thresholds of selective re-ranking, and a ranker for each query."""

from dataclasses import replace

import numpy as np
import pytest
from surefoot_lab.tradeoff.churn import disagreement, kendall_distance
from surefoot_lab.tradeoff.plane import selective_curve
from surefoot_lab.tradeoff.sweep import QueryScores, Sweep
from surefoot_lab.tradeoff.tables import (
    best_by_bin,
    churn_table,
    selector_table,
    threshold_table,
    tradeoff_tables,
)

from surefoot import risk
from surefoot.errors import SurefootError
from surefoot.guard.trial import best_threshold
from surefoot.learn.data import RankingData
from surefoot.learn.models import load_model
from surefoot.learn.queries import query_feature, with_query_feature
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from tests.lab.tradeoff.conftest import ranking_data

FEW = BootstrapMethod(n_resamples=200)
ALPHAS = np.array([0.0, 5.0])


def sweep(seed: int = 0, queries: int = 60) -> Sweep:
    """Where models disagree the gain-only one loses; where the feature is high, too."""
    random = np.random.default_rng(seed)

    def drawn() -> tuple[Scores, Scores, Scores]:
        topics = [f"q{query}" for query in range(queries)]
        apart, feature = random.uniform(size=(2, queries))
        base = random.uniform(0.3, 0.6, queries)
        rows = [base, base + 0.2 - 0.4 * apart, base + 0.02]
        names = ["old", "alpha=0", "alpha=5"]
        scores = Scores(np.stack(rows), names, topics, "ndcg@10")
        return (scores, Scores(apart[None], ["disagreement"], topics, "value"),
                Scores(np.where(apart > 0.5, 1 + feature, feature)[None], ["max:1"], topics, "value"))  # fmt: skip

    (test, apart, feature), (valid, valid_apart, valid_feature) = drawn(), drawn()
    return Sweep("ucro", ALPHAS, (3, 3), test, test, ([{"mean": 0.1}], [{"mean": 0.1}]), True, None, feature, (), apart,
                 QueryScores(valid, valid_feature, valid_apart))  # fmt: skip


def test_disagreement_is_the_mean_distance_of_all_pairs() -> None:
    random = np.random.default_rng(0)
    rankings, bounds = random.normal(size=(4, 30)), np.array([0, 10, 11, 30])
    pairs = [kendall_distance(rankings[i], rankings[j], bounds) for i in range(4) for j in range(i)]
    np.testing.assert_allclose(disagreement(list(rankings), bounds), np.mean(pairs, axis=0))
    assert disagreement(rankings[:1], bounds).tolist() == [0, 0, 0]


def test_the_selector_finds_where_risk_pays() -> None:
    found = sweep()
    assert found.valid is not None
    assert found.valid.disagreement is not None
    _, best = best_by_bin(found.valid.scores.values, found.valid.disagreement.values[0])
    assert best.tolist() == [1, 1, 2, 2]
    table = selector_table([found, sweep(1)], FEW)
    single, picked, oracle = table["mean"]
    assert single < picked < oracle
    assert table["low"][1] > 0, "the difference is clear"
    assert table["difference"].tolist() == pytest.approx([0, picked - single, oracle - single])
    assert "of what the oracle gains" in table.notes[0]
    test = np.concatenate([found.test.values, sweep(1).test.values], axis=1)
    assert oracle == pytest.approx(test.max(axis=0).mean())


def test_the_best_threshold_is_that_of_the_validation_queries() -> None:
    found = sweep()
    assert found.valid is not None
    assert found.valid.feature is not None
    assert found.feature is not None
    x, b, feature = found.valid.scores["alpha=0"], found.valid.scores["old"], found.valid.feature.values[0]
    for alpha in (0.0, 5.0):
        threshold = best_threshold(risk.Linear(alpha)(x - b), feature)
        curve = selective_curve(x, b, feature)
        assert threshold in curve.thresholds
        worth = {at: float(risk.urisk(np.where(feature < at, x, b), b, alpha)) for at in [*feature, np.inf]}
        assert worth[threshold] == pytest.approx(max(worth.values()))
        table = {row["alpha"]: row for row in threshold_table([found], FEW).rows()}
        tested = np.where(found.feature.values[0] < threshold, found.test["alpha=0"], found.test["old"])
        assert table[alpha]["selective_frisk"] == pytest.approx(float(risk.frisk(tested, found.test["old"])))
        assert table[alpha]["reranked"] == pytest.approx((found.feature.values[0] < threshold).mean())
        apart = risk.urisk(found.test[f"alpha={alpha:g}"], found.test["old"], alpha) - risk.urisk(
            tested, found.test["old"], alpha
        )
        assert table[alpha]["difference"] == pytest.approx(float(apart))
        assert table[alpha]["low"] <= table[alpha]["difference"] <= table[alpha]["high"]


def test_tables_come_with_their_data() -> None:
    found = sweep()
    assert list(tradeoff_tables(found, [found], FEW)) == ["tradeoff", "thresholds", "selector"]
    assert list(tradeoff_tables(found, [replace(found, valid=None)], FEW)) == ["tradeoff"]
    churned = replace(found, churn=Scores([[0.05, 0.3], [0.0, 1.0]], ["a", "b"], ["q", "r"], "value"))
    table = churn_table(churned)
    assert [table["below 0.1"].tolist(), table["below 0.4"].tolist(), table["below 1"].tolist()] == [
        [1, 1],
        [1, 0],
        [0, 1],
    ]
    for choose in (selector_table, threshold_table):
        with pytest.raises(SurefootError, match="chosen on validation queries"):
            choose([replace(found, valid=None)], FEW)


def test_a_model_knows_the_query_feature_it_was_trained_with(tmp_path) -> None:
    data, settings = ranking_data(1), Settings("lambdamart", n_estimators=8, query_feature="max:0", n_jobs=1)
    wider = with_query_feature(data, "max:0")
    assert query_feature(data, "max:0").tolist() == [rows.max() for rows in np.split(data.column(0), data.bounds[1:-1])]
    model = train(data, "feature:0", settings, valid=ranking_data(2)).model
    by_hand = train(
        wider, "feature:0", replace(settings, query_feature=None), valid=with_query_feature(ranking_data(2), "max:0")
    )
    np.testing.assert_array_equal(model.predict(data), by_hand.model.predict(wider))
    np.testing.assert_array_equal(model.predict(wider), model.predict(data))
    model.save(tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(data), model.predict(data))
    with pytest.raises(SurefootError, match="or a feature of the query, so it must know"):
        model.predict(np.asarray(data.features))
    other = RankingData.of(np.column_stack([data.features, data.column(1)]), data.labels, data.query_of_row)
    with pytest.raises(SurefootError, match="trained on 5 features; got 6"):
        model.predict(other)
