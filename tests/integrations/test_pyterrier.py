"""Pipelines of PyTerrier: their risk, guards and rankers as transformers."""

import numpy as np
import pandas
import pytest

from surefoot import SurefootError

pytestmark = pytest.mark.filterwarnings("ignore")
pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")

TOPICS = pandas.DataFrame({"qid": [f"q{i}" for i in range(20)], "query": [f"query {i}" for i in range(20)]})


def results(noise: float, seed: int) -> pandas.DataFrame:
    random = np.random.default_rng(seed)
    rows = [(qid, f"d{d}", d % 4 + random.normal(0, noise)) for qid in TOPICS["qid"] for d in range(12)]
    return pt.model.add_ranks(pandas.DataFrame(rows, columns=["qid", "docno", "score"]).merge(TOPICS, on="qid"))


QRELS = pandas.DataFrame(
    [(qid, f"d{d}", int(d % 4 == 3)) for qid in TOPICS["qid"] for d in range(12)], columns=["qid", "docno", "label"]
)


def test_risk_of_pipelines_agrees_with_the_experiment():
    from surefoot.integrations.pyterrier import risk

    systems = {"old": pt.Transformer.from_df(results(1.0, 0)), "new": pt.Transformer.from_df(results(2.0, 1))}
    found = {row["system"]: row for row in risk(systems, TOPICS, QRELS, "nDCG@10", baseline="old")}
    table = pt.Experiment(list(systems.values()), TOPICS, QRELS, ["ndcg_cut_10"], names=list(systems))
    for row in table.to_dict("records"):
        assert found[row["name"]]["mean"] == pytest.approx(row["ndcg_cut_10"], abs=1e-9)
    assert found["new"]["urisk"] < 0
    listed = risk(list(systems.values()), TOPICS, QRELS, "nDCG@10", names=list(systems), baseline="old")
    assert {row["system"]: row for row in listed} == found
    with pytest.raises(SurefootError, match="2 pipelines need as many different names"):
        risk(list(systems.values()), TOPICS, QRELS, names=["old"], baseline="old")


def test_a_guard_is_a_transformer():
    from surefoot import Guard, score_runs
    from surefoot.integrations.pyterrier import GuardTransformer

    old, new = results(0.8, 2), results(1.5, 3)
    guard = Guard.fit(old, new, QRELS, anyway=True)
    guarded = GuardTransformer(guard, pt.Transformer.from_df(old), pt.Transformer.from_df(new))(TOPICS)
    assert {"qid", "query", "docno", "score", "rank"} <= set(guarded.columns)
    expected = score_runs({"g": guard.apply(old, new)}, QRELS, "AP")
    np.testing.assert_allclose(score_runs({"g": guarded}, QRELS, "AP").values, expected.values, atol=1e-9)


def test_a_ranker_is_a_transformer():
    pytest.importorskip("lightgbm")
    from surefoot import RiskRanker
    from surefoot.integrations.pyterrier import RankerTransformer

    candidates = results(1.5, 4)
    candidates["features"] = [np.array([score, int(name[1:]) % 4]) for score, name in zip(candidates["score"], candidates["docno"], strict=True)]  # fmt: skip # noqa: E501
    ranker = RankerTransformer(RiskRanker("ucro", n_estimators=10, min_child_samples=5, n_jobs=1))
    reranked = ranker.fit(candidates, QRELS, baseline="feature:0").transform(candidates)
    top = reranked[reranked["rank"] < 3].merge(QRELS, on=["qid", "docno"])
    assert top["label"].mean() > 0.95
