"""The evaluator with a real model of sentence-transformers, made here without a download."""

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

WORDS = "apple pear plum cherry river lake sea brook".split()


def bag_of_words(words):
    from sentence_transformers.sentence_transformer.modules import BoW

    return st.SentenceTransformer(modules=[BoW(vocab=words)], device="cpu")


def test_queries_that_a_checkpoint_made_worse(tmp_path):
    from surefoot import score_runs
    from surefoot.integrations.sentence_transformers import RiskEvaluator

    corpus = {f"d{i}": f"{word} {WORDS[i % 3]}" for i, word in enumerate(WORDS)}
    queries = {f"q{i}": word for i, word in enumerate(WORDS)}
    relevant = {f"q{i}": {f"d{i}"} for i in range(len(WORDS))}
    groups = {f"q{i}": "fruit" if i < 4 else "water" for i in range(len(WORDS))}
    evaluator = RiskEvaluator(queries, corpus, relevant, "RR", groups=groups)
    whole = bag_of_words(WORDS)
    first = evaluator(whole)
    assert first["RR_low"] <= first["RR"] <= first["RR_high"]
    assert "urisk" not in first
    expected = score_runs({"m": evaluator.retrieve(whole)}, {q: dict.fromkeys(d, 1) for q, d in relevant.items()}, "RR")
    np.testing.assert_allclose(evaluator.scores[0].values, expected.values, atol=1e-9)
    second = evaluator(bag_of_words(WORDS[:4]), str(tmp_path), epoch=1, steps=10)
    assert second["losses"] > 0
    assert second["urisk"] < 0
    assert second["RR_fruit"] > second["RR_water"]
    assert (tmp_path / "surefoot_epoch1-step10.csv").read_text().startswith("topic,epoch1-step10\n")
    assert evaluator.primary_metric == "RR"
